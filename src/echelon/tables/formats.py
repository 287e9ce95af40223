"""Formats of tables: by option, by the file's name, or by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path

from .faults import Argument, TableError, listed

TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight")
SHEET_FORMATS = ("xlsx", "xls", "xlsb", "ods")
SURVEY_FORMATS = ("dta", "sav", "por")
FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl", "svmlight", *SHEET_FORMATS, *SURVEY_FORMATS)
#: Formats whose text may have been written in several encodings.
ENCODED_FORMATS = (*TEXT_FORMATS, "dta", "sav")
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
    ".xlsm": "xlsx",
    ".zsav": "sav",
    **{f".{name}": name for name in (*SHEET_FORMATS, *SURVEY_FORMATS)},
}
_ALIASES = {
    "feather": "arrow",
    "ipc": "arrow",
    "ndjson": "jsonl",
    "libsvm": "svmlight",
    "excel": "xlsx",
    "xlsm": "xlsx",
    "stata": "dta",
    "spss": "sav",
    "zsav": "sav",
}
_DELIMITERS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "space": " "}

PARQUET_MAGIC = b"PAR1"
ARROW_FILE_MAGIC = b"ARROW1"
ARROW_STREAM_MAGIC = b"\xff\xff\xff\xff"
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
# Of xls, and of whatever a password protects.
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SAV_MAGIC = (b"$FL2@(#)", b"$FL3@(#)")
_DTA_MAGIC = b"<stata_dta>"
# Before Stata 13: a version, the order of bytes, the type of the file.
_OLD_DTA = re.compile(rb"[\x68-\x73][\x01\x02]\x01", re.DOTALL)
_OTHER_MAGIC = {
    ZIP_MAGIC: "a zip archive",
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
    return binary_format(head) or (
        "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "csv"
    )


def binary_format(head: bytes) -> str | None:
    """Format that is no text and that the first bytes show."""
    for magic, format in (
        (PARQUET_MAGIC, "parquet"),
        ((ARROW_FILE_MAGIC, ARROW_STREAM_MAGIC), "arrow"),
        (_SAV_MAGIC, "sav"),
        (_DTA_MAGIC, "dta"),
        (OLE_MAGIC, "xls"),
    ):
        if head.startswith(magic):
            return format
    if _OLD_DTA.match(head):
        return "dta"
    if not head.startswith(ZIP_MAGIC):
        return None
    # The names of an archive's first parts stand in the plain.
    if b"application/vnd.oasis.opendocument.spreadsheet" in head[:200]:
        return "ods"
    return "xlsx" if any(name in head for name in (b"[Content_Types].xml", b"xl/")) else None


def refuse_other_content(name: str, format: str, head: bytes) -> None:
    """Refuse first bytes that cannot be those of the format."""
    found = binary_format(head)
    for magic, what in _OTHER_MAGIC.items():
        if found is None and head.startswith(magic):
            raise TableError(
                f"{name} is {what}, not a table; the formats that are read are "
                f"{', '.join(FORMATS)}, and text also as .gz."
            )
    if format in ("csv", "jsonl") and head.lstrip().startswith((b"[{", b"[\n")):
        raise TableError(f"{name} is one JSON array; JSON is read with an object on every line.")
    # Spreadsheets are told apart by their parts, whatever their names.
    if found is not None and found != format and not {found, format} <= set(SHEET_FORMATS):
        raise TableError(
            f"{name} is a binary file of format {found}, not {format}; name it .{found} or give ",
            Argument("format", found),
            ".",
        )
    if found is None and format in (*SHEET_FORMATS, "dta", "sav"):
        raise TableError(
            f"{name} does not begin as a file of format {format} does; if it is text, give ",
            Argument("format", "csv"),
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
