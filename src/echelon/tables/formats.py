"""Formats of tables: by option, by the file's name, or by its first bytes."""

from __future__ import annotations

from pathlib import Path

from .faults import Argument, TableError, listed

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
    return {"\t": "tab", " ": "space"}.get(character, f"'{character}'")


def likely_delimiter(header: str, used: str) -> str | None:
    """The delimiter that a header line seems to have, if not the one used."""
    counts = {mark: header.count(mark) for mark in ",;\t|" if mark != used}
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
