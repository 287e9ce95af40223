"""Files that are whole or not there, and logs of finished work that only grow.

A piece of work is done when its line ends in a newline. A line that a killed process left
unfinished at the end of the file is not read, and is dropped before the next one is written.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write to a file that takes its place in one step, at a clean end of the block only.

    Whatever ends the block early leaves the file that was there, or none. A file that was there
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
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by replacing it in one step, so that no reader meets half of it."""
    with whole_file(path) as file:
        file.write(content)


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
