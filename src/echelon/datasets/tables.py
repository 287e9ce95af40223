"""Text files by path or as open streams, gzip-compressed or not.

A table is a header and one list of text fields per column; an empty field is a missing value.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from .._utils.files import cache_folder, write_whole

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


def shortest_texts(values: npt.NDArray[np.float64]) -> list[str]:
    """Shortest texts that are read back as the same numbers."""
    return [repr(value).removesuffix(".0") for value in values.tolist()]


def is_number(text: str) -> bool:
    """Whether a text is read as a number, be it infinite."""
    try:
        float(text)
    except ValueError:
        return False
    return True


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


@dataclass(frozen=True)
class TextTable:
    """Column names and the text fields of each column; the target is the last column."""

    names: list[str]
    columns: Sequence[Sequence[str]]

    @property
    def target(self) -> Sequence[str]:
        """Fields of the last column."""
        return self.columns[-1]

    @property
    def n_rows(self) -> int:
        """Number of rows below the header."""
        return len(self.target)


def read_table(path: Path) -> TextTable:
    """Read a CSV file with a header row, gzip-compressed if its name ends in ``.gz``."""
    try:
        rows = csv.reader(io.StringIO(read_text(path), newline=""))
        names = next(rows, [])
        columns = list(zip(*rows, strict=True))
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path} is not a readable CSV table: {error}.") from error
    if not names or len(columns) != len(names):
        raise ValueError(
            f"{path} must have as many fields in each row as its header has names; found "
            f"{len(names)} names and {len(columns)} fields."
        )
    return TextTable(names, columns)


def write_table(path: Path, table: TextTable) -> None:
    """Write a gzip-compressed CSV file in one step: readers see the old file or the whole new one.

    The bytes depend on the table alone, not on the time of writing.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.names)
    writer.writerows(zip(*table.columns, strict=True))
    write_text(path, text.getvalue())


def data_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders to look in, the one that downloads are written to last.

    `data_home` alone if it is given, else ``$ECHELON_DATA`` (if set) and the user's cache.
    """
    if data_home is not None:
        return [Path(data_home).expanduser()]
    shared = os.environ.get("ECHELON_DATA")
    return [*([Path(shared).expanduser()] if shared else []), cache_folder()]


def find_file(file: str, folders: list[Path]) -> Path | None:
    """First place where a file exists."""
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def missing(what: str, file: str, folders: list[Path], reason: str) -> FileNotFoundError:
    """The error that says why a file is not there and where to put it."""
    return FileNotFoundError(
        f"{what} in no data folder and {reason}; {where_to_put(file, folders)}."
    )


def where_to_put(file: str, folders: list[Path]) -> str:
    """Clause that says where a missing file belongs."""
    places = " or ".join(str(folder / file) for folder in folders)
    return f"put the table at {places}, or set ECHELON_DATA to the folder that holds {file}"


def numbers(fields: Iterable[str], *, where: str) -> npt.NDArray[np.float64]:
    """Fields as floats, NaN where empty."""
    try:
        return np.array([float(field) if field else np.nan for field in fields])
    except ValueError as error:
        raise ValueError(f"{where} must hold numbers or empty fields; {error}.") from error


def content_checksum(table: TextTable, n_inputs: int) -> str:
    """SHA-256 of the number of rows, of inputs, and the sorted target values.

    Numbers count at six significant digits, so that "7", "7.0" and "7.0000" are one value, and
    the order of rows does not matter: copies of one set from different places agree.
    """
    values = sorted(_canonical(field) for field in table.target)
    return _sha256([f"{table.n_rows} {n_inputs}", *values])


def exact_checksum(columns: Sequence[Sequence[str]]) -> str:
    """SHA-256 of every field in its place, numbers at six significant digits."""
    rows = zip(*columns, strict=True)
    return _sha256(",".join(_canonical(field) for field in row) for row in rows)


def _canonical(field: str) -> str:
    try:
        return f"{float(field) + 0.0:.6g}"
    except ValueError:
        return field


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
