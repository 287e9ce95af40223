"""Formats of tables, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

MISSING_MARKS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None")
_WANTED = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "one of true, false, yes and no",
    "date": "a date such as 2024-01-31",
}


@dataclass(frozen=True)
class Argument:
    """An argument that a message names, with the value to give for it if there is one.

    Examples
    --------
    >>> str(Argument("drop", ["id"])), str(Argument("order"))
    ("drop=['id']", '`order`')
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return f"`{self.name}`" if self.value is None else f"{self.name}={self.value!r}"


class TableError(ValueError):
    """A table that cannot be used; the text is one whole sentence for the user.

    Parameters
    ----------
    *parts : str or Argument
        The sentence; arguments are named as in Python, unless `worded` writes them otherwise.

    Examples
    --------
    >>> error = TableError("Leave it out with ", Argument("drop", ["id"]), ".")
    >>> str(error)
    "Leave it out with drop=['id']."
    >>> error.worded(lambda argument: f"--{argument.name}")
    'Leave it out with --drop.'
    """

    def __init__(self, *parts: str | Argument) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def worded(self, write: Callable[[Argument], str]) -> str:
        """The sentence with arguments as another interface than Python writes them."""
        return "".join(write(p) if isinstance(p, Argument) else p for p in self.parts)


def opening(where: str) -> str:
    """What a table is called, at the start of a sentence; the name of a file stays as it is."""
    return {"the table": "The table", "standard input": "Standard input"}.get(where, where)


def inside(where: str) -> str:
    """What a table is called within a sentence."""
    return {"The table": "the table", "Standard input": "standard input"}.get(where, where)


def listed(names: Iterable[object], limit: int = 10) -> str:
    """Names with commas between them, cut where there are many."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant, whatever its case."""
    by_lower = {other.strip().lower(): other for other in names}
    close = get_close_matches(name.strip().lower(), list(by_lower), n=1, cutoff=0.75)
    return by_lower[close[0]] if close else None


def columns_phrase(names: Sequence[str]) -> str:
    """``column 'a'`` or ``columns 'a', 'b'``."""
    word = "column" if len(names) == 1 else "columns"
    return f"{word} {listed(repr(name) for name in names)}"


def refuse_repeated(where: str, names: Sequence[str]) -> None:
    """Refuse names that more than one column has."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(f"{where} has more than one {columns_phrase(repeated)}.")


def counted(count: int) -> str:
    """``1 row`` or ``2 rows``."""
    return "1 row" if count == 1 else f"{count:,} rows"


def wrong_cell(where: str, name: str, kind: str, found: object, row: int) -> TableError:
    """The error for a cell that is not of its column's kind; rows count from 0."""
    return TableError(
        f"Column {name!r} of {inside(where)} holds {found!r} in row {row + 1}, where "
        f"{_WANTED[kind]} is expected."
    )


def no_such_column(where: str, name: str, names: Sequence[str]) -> TableError:
    """The error for a column that a user named and the table does not have."""
    meant = nearest(name, names)
    if meant is not None:
        return TableError(f"{where} has no column {name!r}; did you mean {meant!r}?")
    return TableError(f"{where} has no column {name!r}; it has {listed(names, 20)}.")


FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl", "svmlight")
TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight")
# Columns of an svmlight file.
LABEL = "label"
QUERY = "qid"
WRITTEN_FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl")

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
}
_ALIASES = {"feather": "arrow", "ipc": "arrow", "ndjson": "jsonl", "libsvm": "svmlight"}
_DELIMITERS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "space": " "}
_DELIMITER_NAMES = {"\t": "tab", " ": "space"}
_LIKELY_DELIMITERS = ",;\t|"

PARQUET_MAGIC = b"PAR1"
ARROW_FILE_MAGIC = b"ARROW1"
ARROW_STREAM_MAGIC = b"\xff\xff\xff\xff"
GZIP_MAGIC = b"\x1f\x8b"
_OTHER_MAGIC = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
    b"FEA1": "a Feather file of the first version",
}


def named_format(path: Path) -> str | None:
    """Format that the name of a file states, with or without ``.gz``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def is_svmlight(source: str | Path, format: str | None = None) -> bool:
    """Whether a table is one of svmlight, which has names for labels and queries of its own."""
    return (checked_format(format) or named_format(Path(source))) == "svmlight"


def checked_format(format: str | None, allowed: tuple[str, ...] = FORMATS) -> str | None:
    """The format that a user stated, if any."""
    if format is None:
        return None
    known = _ALIASES.get(format.lower(), format.lower())
    if known not in allowed:
        raise TableError(f"The format must be one of {', '.join(allowed)}; found {format!r}.")
    return known


def sniffed_format(head: bytes) -> str:
    """Format that the first bytes of a table show; text is CSV unless it starts an object."""
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith((ARROW_FILE_MAGIC, ARROW_STREAM_MAGIC)):
        return "arrow"
    return "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "csv"


def refuse_other_content(name: str, format: str, head: bytes) -> None:
    """Refuse first bytes that cannot be those of the format."""
    for magic, what in _OTHER_MAGIC.items():
        if head.startswith(magic):
            raise TableError(
                f"{name} is {what}, not a table; the formats that are read are "
                f"{', '.join(FORMATS)}, and text also as .gz."
            )
    if format in ("csv", "jsonl") and head.lstrip().startswith((b"[{", b"[\n")):
        raise TableError(f"{name} is one JSON array; JSON is read with an object on every line.")
    found = sniffed_format(head)
    if format in TEXT_FORMATS and found in ("parquet", "arrow"):
        raise TableError(
            f"{name} is a binary file of format {found}, not {format}; name it .{found} or give ",
            Argument("format", found),
            ".",
        )


def checked_delimiter(delimiter: str | None, format: str) -> str:
    """The one character between the columns of a text table."""
    if delimiter is None:
        return "\t" if format == "tsv" else ","
    character = _DELIMITERS.get(delimiter.lower(), delimiter)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise TableError(f"The delimiter must be one character, or tab; found {delimiter!r}.")
    return character


def delimiter_name(character: str) -> str:
    """A delimiter as users write it on a command line."""
    return _DELIMITER_NAMES.get(character, f"'{character}'")


def likely_delimiter(header: str, used: str) -> str | None:
    """The delimiter that a header line seems to have, if not the one used."""
    counts = {mark: header.count(mark) for mark in _LIKELY_DELIMITERS if mark != used}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else None


def output_format(path: str | Path, format: str | None) -> str:
    """Format that a table is written in."""
    stated = checked_format(format, WRITTEN_FORMATS)
    if stated is not None:
        return stated
    if str(path) == "-":
        return "csv"
    named = named_format(Path(path))
    if named not in WRITTEN_FORMATS:
        endings = listed(s for s, f in _SUFFIXES.items() if f in WRITTEN_FORMATS)
        raise TableError(f"The name of a table to write must end in {endings}; found {path}.")
    return named
