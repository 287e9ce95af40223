"""Files that are whole or not there, and logs of finished work that only grow.

A piece of work is done when its line ends in a newline. A line that a killed process left
unfinished at the end of the file is not read, and is dropped before the next one is written.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

if sys.platform != "win32":
    import fcntl

# How names of files that are being written begin and end.
_PART = (".echelon-", ".part")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write to a file that takes its place in one step, at a clean end of the block only.

    Whatever ends the block early leaves the file that was there, or none; what a killed process
    leaves beside it is removed by the next one that writes to the folder. A file that was there
    leaves its permissions to the new one, a link stays a link, and a device or a pipe is written
    to directly, since nothing can take its place.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "numbers.txt"
    ...     with whole_file(path) as file:
    ...         _ = file.write(b"1 2 3")
    ...         seen = path.exists()
    ...     seen, path.read_bytes()
    (False, b'1 2 3')
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        with open(path, "wb") as file:
            yield file
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder.")
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    _remove_abandoned(path.parent)
    file = _new_part(path.parent)
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        os.chmod(file.name, mode)
        if sys.platform == "win32":
            # Windows does not move a file that is open.
            file.close()
        os.replace(file.name, path)
        file.close()
    except BaseException:
        with suppress(OSError):
            file.close()
        Path(file.name).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by replacing it in one step, so that no reader meets half of it."""
    with whole_file(path) as file:
        file.write(content)


def _new_part(folder: Path) -> Any:
    """A new file, locked as long as it is open; its name is short, whatever it will be called."""
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=_PART[0], suffix=_PART[1])
        file = open(name, "wb", opener=lambda *_: handle)  # noqa: B023, SIM115
        try:
            _lock(file)
        except BlockingIOError:
            # Another process takes it for abandoned and is about to remove it.
            file.close()
            continue
        except OSError:
            # A file system without locks, on which nothing is taken for abandoned.
            return file
        if os.fstat(handle).st_nlink:
            return file
        file.close()


def _remove_abandoned(folder: Path) -> None:
    """Remove parts whose writers were killed: nobody has them open any more."""
    for part in folder.glob(f"{_PART[0]}*{_PART[1]}"):
        # Windows does not remove a file that is open.
        with suppress(OSError), nullcontext() if sys.platform == "win32" else open(part) as file:
            _lock(file)
            part.unlink()


def _lock(file: Any) -> None:
    """Lock a file, or raise an OSError if another process has it."""
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cache_folder() -> Path:
    """``$ECHELON_CACHE``, else ``echelon`` in ``$XDG_CACHE_HOME``, else ``~/.cache/echelon``."""
    own = os.environ.get("ECHELON_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(shared).expanduser() / "echelon"


class AppendLog:
    """Lines of JSON on disk.

    Parameters
    ----------
    path : path
        Made, with its folder, when the first line is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = AppendLog(Path(folder) / "runs" / "done.jsonl")
    ...     log.append({"fold": 1})
    ...     log.lines()
    [b'{"fold": 1}']
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._tail_checked = False

    def lines(self) -> list[bytes]:
        """The finished lines, without their newlines."""
        return self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []

    def append(self, content: dict[str, Any], **options: Any) -> None:
        """Write an object, on disk before this returns; options are those of ``json.dumps``."""
        line = json.dumps(content, default=_to_python, **options) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._tail_checked:
            self._drop_unfinished_line()
        # One write to a file opened for appending: lines of two processes do not mix.
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def _drop_unfinished_line(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            if not content.endswith(b"\n"):
                os.truncate(self.path, content.rfind(b"\n") + 1)
        self._tail_checked = True


def _to_python(value: Any) -> Any:
    """NumPy scalars as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"A value of type {type(value).__name__} cannot be kept as JSON.")
