"""Files that are whole or not there, and the folder for what can be made again."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


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
