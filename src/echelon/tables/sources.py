"""Where the bytes of a table come from: a file, a compressed file, or standard input."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, BinaryIO

from .faults import Argument, TableError
from .formats import (
    GZIP_MAGIC,
    binary_format,
    checked_format,
    named_format,
    refuse_other_content,
    sniffed_format,
)

FIRST_BYTES = 1 << 16


class Source:
    """Bytes that can be read once, or again and again after `keep`.

    Parameters
    ----------
    source : str or Path
        A path, or ``"-"`` for standard input.
    encoding : str, optional
        Encoding of text, such as ``"latin-1"``, which is then given as UTF-8; UTF-8 by default, and
        UTF-16 where the first bytes say so.
    """

    def __init__(self, source: str | Path, encoding: str | None = None) -> None:
        self.encoding = None if encoding is None else _checked_encoding(encoding)
        self.path = None if str(source) == "-" else Path(source)
        self.name = "Standard input" if self.path is None else str(source)
        if self.path is not None:
            _refuse_no_file(self.path)
        self._passes_by = self.path is None or not self.path.is_file()
        self._kept: BinaryIO | None = None
        self._begun: BinaryIO | None = None
        self._pipe: BinaryIO | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._kept, self._pipe):
            if stream is not None:
                stream.close()
        if self._folder is not None:
            self._folder.cleanup()

    def keep(self) -> None:
        """Make sure that the bytes can be read more than once."""
        if self.can_be_reopened:
            return
        kept = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the source)
        shutil.copyfileobj(self._begin(), kept)
        self._kept = kept

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """A stream of the bytes from the start, decompressed."""
        with _one_sentence(self.name):
            raw = self._raw()
            try:
                yield self._as_utf8(_decompressed(raw))
            finally:
                if raw is not self._kept:
                    raw.close()

    def plain_path(self) -> Path:
        """A file of the bytes, decompressed, for libraries that read nothing but files."""
        if self._folder is not None:
            return Path(self._folder.name) / "table"
        if self.path is not None and not self._passes_by:
            with _one_sentence(self.name), open(self.path, "rb") as raw:
                if raw.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
                    return self.path
        with self.open() as stream:
            self._folder = tempfile.TemporaryDirectory(prefix="echelon-")
            with open(self.plain_path(), "wb") as plain:
                shutil.copyfileobj(stream, plain)
        return self.plain_path()

    @property
    def can_be_reopened(self) -> bool:
        """Whether the bytes can be read again from the start."""
        return not self._passes_by or self._kept is not None

    def head(self, size: int = FIRST_BYTES) -> bytes:
        """The first bytes, decompressed; reading starts before them.

        Fewer than asked for where the bytes cannot be read again.
        """
        if not self.can_be_reopened:
            raw = self._begin()
            with _one_sentence(self.name):
                head = _decompressed_head(raw.peek(FIRST_BYTES))
                found = self._encoding_of(head)
                return head if found is None else head.decode(found, "ignore").encode()
        with self.open() as stream:
            return stream.read(size)

    def _encoding_of(self, head: bytes) -> str | None:
        """The encoding that is not UTF-8 and has to be turned into it."""
        if binary_format(head) is not None:
            return None
        if self.encoding is not None:
            return None if self.encoding == "utf-8" else self.encoding
        return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None

    def _as_utf8(self, stream: Any) -> BinaryIO:
        encoding = self._encoding_of(stream.peek(8)[:8])
        if encoding is None:
            return stream
        return io.BufferedReader(_Recoded(stream, encoding, self.name), FIRST_BYTES)

    def format(self, stated: str | None) -> str:
        """The format of the table: as stated, as named, or as its first bytes show."""
        format = checked_format(stated)
        head = self.head()
        if not head:
            raise TableError(f"{self.name} is empty.")
        if format is None:
            named = None if self.path is None else named_format(self.path)
            format = named or sniffed_format(head)
        refuse_other_content(self.name, format, head)
        return format

    def _begin(self) -> Any:
        if self._begun is None:
            if self.path is None and sys.stdin is None:
                raise TableError("Standard input is closed; name a file.")
            if self.path is not None:
                self._pipe = open(self.path, "rb")  # noqa: SIM115 (closed with the source)
            stream = _Rejoined(self._pipe or sys.stdin.buffer)
            self._begun = io.BufferedReader(stream, buffer_size=FIRST_BYTES)
        return self._begun

    def _raw(self) -> BinaryIO:
        if self._kept is not None:
            self._kept.seek(0)
            return self._kept
        if self._passes_by:
            return self._begin()
        assert self.path is not None
        return open(self.path, "rb")


class _Rejoined(io.RawIOBase):
    """A stream whose beginning has been read already."""

    def __init__(self, raw: Any) -> None:
        # A pipe gives few bytes at a time; the format shows in more than that.
        self._head, self._rest = io.BytesIO(raw.read(FIRST_BYTES)), raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._head.readinto(buffer) or int(self._rest.readinto(buffer))


class _Recoded(io.RawIOBase):
    """A stream of text in some encoding as UTF-8."""

    def __init__(self, stream: Any, encoding: str, name: str) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._waiting:
            found = self._stream.read(FIRST_BYTES)
            try:
                self._waiting = self._decoder.decode(found, final=not found).encode("utf-8")
            except UnicodeError:
                raise TableError(
                    f"{self._name} has bytes that are not text in {self._encoding}; give another ",
                    Argument("encoding"),
                    ".",
                ) from None
            if not found:
                break
        size = min(len(buffer), len(self._waiting))
        buffer[:size] = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return size


def _checked_encoding(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, ValueError):
        raise TableError(
            f"There is no encoding of text {encoding!r}; known ones are utf-8, utf-16, latin-1, "
            "cp1252, cp1251, shift_jis and others of Python."
        ) from None
    return found.name


def _refuse_no_file(path: Path) -> None:
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a file.")
    if not path.exists():
        raise TableError(f"{path} is not a file.")
    if not os.access(path, os.R_OK):
        raise TableError(f"{path} may not be read.")


def _decompressed(raw: Any) -> BinaryIO:
    buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    if buffered.peek(2).startswith(GZIP_MAGIC):
        # A GzipFile looks ahead without an end, a buffer as far as it goes.
        return io.BufferedReader(gzip.GzipFile(fileobj=buffered), FIRST_BYTES)
    return buffered


def _decompressed_head(head: bytes) -> bytes:
    if not head.startswith(GZIP_MAGIC):
        return head
    unzip = zlib.decompressobj(wbits=31)
    plain = unzip.decompress(head, FIRST_BYTES)
    if not plain and not unzip.eof:
        raise EOFError
    return plain


@contextmanager
def _one_sentence(name: str) -> Iterator[None]:
    """Say what a damaged or unreadable file is."""
    try:
        yield
    except EOFError:
        raise TableError(
            f"{name} ends in the middle of its compressed data; it was cut short."
        ) from None
    except (gzip.BadGzipFile, zlib.error):
        raise TableError(f"{name} has damaged compressed data.") from None
    except OSError as error:
        raise TableError(f"{name} cannot be read: {error.strerror or error}.") from None


def files_of(source: str | Path) -> list[Path] | None:
    """Files in a folder, or those that match a pattern, in sorted order; None for a single file.

    Parameters
    ----------
    source : str or Path
        A folder, or a path with one of ``*?[`` in it where no file has this very name.
    """
    path = Path(source)
    if path.is_dir():
        # Programs that write folders of tables leave marks of their own in them.
        found = [f for f in path.iterdir() if f.is_file() and not f.name.startswith((".", "_"))]
        if not found:
            raise TableError(f"{source} is a folder without files.")
        return sorted(found)
    if not any(sign in str(source) for sign in "*?[") or path.exists():
        return None
    matched = sorted(Path(name) for name in glob(str(source), recursive=True))
    found = [file for file in matched if file.is_file()]
    if not found:
        raise TableError(f"No file matches {str(source)!r}.")
    return found


def is_svmlight(source: str | Path, format: str | None = None) -> bool:
    """Whether a table is one of svmlight, which has names for labels and queries of its own."""
    files = None if str(source) == "-" else files_of(source)
    path = Path(source) if files is None else files[0]
    return (checked_format(format) or named_format(path)) == "svmlight"
