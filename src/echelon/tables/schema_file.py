"""A small TOML file that states how a table is read, written by a guess and edited by a person."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from .faults import TableError
from .options import TableOptions, checked_column
from .reading import FileOptions

_TEXTS = ("target", "order", "decimal", "thousands", "date_format")
_FILE = ("format", "delimiter", "encoding")
_ENTRIES = (*_TEXTS, *_FILE, "sheet", "stop_words", "drop_unlabelled", "columns")


def read_schema_file(path: str | Path) -> tuple[TableOptions, FileOptions]:
    """What a schema file states of a table and of its file.

    Parameters
    ----------
    path : str or Path
        A file as `TableInspection.to_toml` gives it.

    Raises
    ------
    TableError
        If the file cannot be read, or states what no table has.
    """
    try:
        stored = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TableError(f"{path} is no schema file in TOML: {str(error).rstrip('.')}.") from None
    unknown = [name for name in stored if name not in _ENTRIES]
    if unknown:
        raise TableError(
            f"{path} states {unknown[0]!r}, which no schema has; it has {', '.join(_ENTRIES)}."
        )
    for name in (*_TEXTS, *_FILE):
        if not isinstance(stored.get(name, ""), str):
            raise TableError(f"{path} must have a text as {name}; found {stored[name]!r}.")
    sheet = stored.get("sheet", "")
    if isinstance(sheet, bool) or not isinstance(sheet, str | int):
        raise TableError(f"{path} must have a name or a number as sheet; found {sheet!r}.")
    if not isinstance(stored.get("drop_unlabelled", False), bool):
        raise TableError(f"{path} must have true or false as drop_unlabelled.")
    stop_words = stored.get("stop_words", [])
    if not isinstance(stop_words, list) or not all(isinstance(w, str) for w in stop_words):
        raise TableError(f"{path} must list texts as stop_words; found {stop_words!r}.")
    columns = stored.get("columns", {})
    if not isinstance(columns, dict):
        raise TableError(f"{path} must have a table of columns; found {columns!r}.")
    options = TableOptions(
        **{name: stored[name] for name in (*_TEXTS, "drop_unlabelled") if name in stored},
        stop_words=stop_words,
        columns={name: checked_column(name, entry) for name, entry in columns.items()},
    )
    return options, FileOptions(
        **{name: stored[name] for name in (*_FILE, "sheet") if name in stored}
    )


def schema_text(stated: dict[str, Any], columns: dict[str, dict[str, Any]]) -> str:
    """TOML of what is stated of a table and of each of its columns.

    Examples
    --------
    >>> print(schema_text({"target": "grade"}, {"age": {"kind": "number"}}), end="")
    target = "grade"
    <BLANKLINE>
    [columns]
    "age" = { kind = "number" }
    """
    lines = [f"{name} = {_value(value)}" for name, value in stated.items()]
    lines += ["", "[columns]"]
    for name, entry in columns.items():
        inside = ", ".join(f"{key} = {_value(value)}" for key, value in entry.items())
        lines.append(f"{_value(name)} = {{ {inside} }}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A text, a truth value or a list of texts in TOML, which writes them as JSON does."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # DEL is the one character that JSON leaves as it is and TOML does not allow.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
