"""Text files by path or as open streams, gzip-compressed or not."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO, TypeAlias, cast

from .._utils.files import write_whole

FileLike: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]
"""A path, or an open file of text or bytes."""

_GZIP = b"\x1f\x8b"


def read_text(source: FileLike) -> str:
    """Content of a path or of an open file; compressed content is recognised by itself."""
    if isinstance(source, (str, os.PathLike)):
        content = Path(source).read_bytes()
    else:
        found = source.read()
        if isinstance(found, str):
            return found
        content = found
    try:
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{name_of(source)} is not readable as UTF-8 text: {error}.") from error


def write_text(target: FileLike, text: str) -> None:
    """Write text whole or not at all to a path, compressed if it ends in ``.gz``, or to a file."""
    if isinstance(target, (str, os.PathLike)):
        content = text.encode()
        path = Path(target)
        write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    elif isinstance(target, io.TextIOBase):
        target.write(text)
    else:
        cast("IO[bytes]", target).write(text.encode())


def name_of(source: FileLike) -> str:
    """What errors call a path or a file."""
    if isinstance(source, (str, os.PathLike)):
        return str(source)
    return str(getattr(source, "name", None) or "The file")
