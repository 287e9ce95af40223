"""Values of options that are more than a word: costs in a file, durations, files to write."""

from __future__ import annotations

import csv
import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from .failures import UsageError
from .output import require_output

_NUMBER = r"(?:\d+\.?\d*|\.\d+)"
_DURATION = re.compile(
    rf"(?:({_NUMBER})h)?(?:({_NUMBER})m(?:in)?)?(?:({_NUMBER})(?:s(?:ec)?)?)?", re.IGNORECASE
)

_SHARE = re.compile(rf"({_NUMBER})(%?)")


def read_seconds(text: str, option: str = "--budget") -> float:
    """Seconds of a duration such as 90s, 10m or 1h30m; a plain number means seconds.

    Examples
    --------
    >>> read_seconds("10m"), read_seconds("1h30m"), read_seconds("45")
    (600.0, 5400.0, 45.0)
    """
    found = _DURATION.fullmatch("".join(text.split()))
    parts = found.groups(default="0") if found else ("0",)
    seconds = sum(float(n) * unit for n, unit in zip(parts, (3600.0, 60.0, 1.0), strict=False))
    if seconds <= 0.0:
        raise UsageError(f"{option} must be a duration such as 90s, 10m or 1h30m; found {text!r}.")
    return seconds


def read_share(text: str, option: str) -> float:
    """A share such as 2%, "2 %" or 0.02.

    Examples
    --------
    >>> read_share("2 %", "--margin"), read_share("0.05", "--margin")
    (0.02, 0.05)
    """
    found = _SHARE.fullmatch("".join(text.split()))
    # Who writes 2 means 2 % rather than 200 %.
    if found is None or (not found[2] and float(found[1]) >= 1.0):
        raise UsageError(f"{option} must be a share such as 2% or 0.02; found {text!r}.")
    return float(found[1]) / (100.0 if found[2] else 1.0)


def read_equivalence(margin: str, prefer: str) -> dict[str, Any]:
    """What a leaderboard takes for equivalent, and which of the equivalent models is chosen."""
    from echelon._utils.messages import require_choice
    from echelon.model_selection.leaderboard import Preference

    require_choice("prefer", prefer, get_args(Preference))
    return {"margin": read_share(margin, "--margin"), "prefer": prefer}


def read_cost(path: Path | None, classes: Sequence[Any]) -> Any:
    """The cost matrix in a CSV file: a row for each true label, a column for each predicted one.

    The first row and the first column may name the labels, in any order; without names they are in
    the order of the labels. No file gives None.
    """
    if path is None:
        return None
    from echelon.datasets.tables import is_number
    from echelon.ordinal.costs import check_cost_matrix

    rows = _read_rows(path)
    if rows and not is_number(rows[0][-1]):
        rows = _by_name(path, rows, [str(label) for label in classes])
    try:
        cost = [[float(cell) for cell in row] for row in rows]
    except ValueError as error:
        raise UsageError(f"{path} is not a square of numbers: {error}.") from None
    if any(len(row) != len(cost) for row in cost):
        raise UsageError(f"{path} is not a square of numbers: its rows differ in length.")
    return check_cost_matrix(cost, len(classes))


def require_places(sources: Iterable[str | Path | None], **options: str | Path | None) -> None:
    """Refuse files that cannot be written, that are being read, or that are named twice.

    Before the work, not after it. ``"-"`` is a standard stream, which may be a file too.
    """
    files = chain.from_iterable(map(_files_read, sources))
    read = [identity for file in files if (identity := _identity(file, 0)) is not None]
    written: dict[object, str] = {}
    for name, place in options.items():
        if place is None:
            continue
        option = f"--{name} {place}"
        if str(place) == "-":
            require_output()
        else:
            _require_place(option, Path(place))
        identity = _identity(place, 1)
        if identity in read:
            raise UsageError(f"{option} would replace what is read; name another file.")
        if identity is not None and identity in written:
            raise UsageError(f"{written[identity]} and {option} are one file; name two.")
        written[identity] = option


def _files_read(source: str | Path | None) -> Sequence[str | Path | None]:
    """The files that a source names: of a folder or a pattern all of them."""
    if source is None or str(source) == "-":
        return [source]
    from echelon.tables.sources import files_of

    return files_of(source) or [source]


def _identity(place: str | Path | None, stream: int) -> object:
    """What two names of one regular file have in common, whether it is there or not; else None."""
    if place is None:
        return None
    try:
        found = os.fstat(stream) if str(place) == "-" else os.stat(place)
    except FileNotFoundError:
        return os.path.normcase(os.path.realpath(place))
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _require_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{option} is a folder; name a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{option} lies in a folder that does not exist.")
    if not os.access(folder if not path.exists() or path.is_file() else path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def require_key(path: Path | None) -> None:
    """Refuse a private key that cannot sign: before the work, not after it."""
    if path is not None:
        from echelon.trained.signing import sign

        sign(b"", path)


def require_confidence(confidence: float) -> None:
    """Refuse a confidence that is no share."""
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"--confidence must lie between 0 and 1; found {confidence:g}.")


def refuse_model_as_table(data: str | Path | None, usage: str) -> None:
    """Refuse a model file in the place of a table, and say how the command is written."""
    if data is not None and Path(data).suffix == ".echelon":
        raise UsageError(f"{data} is a model file and no table; write echelon {usage}.")


def _read_rows(path: Path) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"The costs in {path} cannot be read: {reason}.") from None


def _by_name(path: Path, rows: list[list[str]], labels: list[str]) -> list[list[str]]:
    """Cells in the order of the labels."""
    columns = rows[0][1:]
    cells = {row[0]: dict(zip(columns, row[1:], strict=False)) for row in rows[1:]}
    for found in (columns, list(cells)):
        if sorted(found) != sorted(labels):
            raise UsageError(
                f"{path} must name the labels {', '.join(labels)}, once by row and once by column; "
                f"found {', '.join(found)}."
            )
    return [[cells[true].get(predicted, "") for predicted in labels] for true in labels]
