"""The report: an aligned table to read and JSON to keep."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from echelon._utils.frames import aligned

from .registry import Judged, Row
from .timing import Timing

HEADINGS = (
    "case",
    "n",
    "peer",
    "ours best",
    "ours median",
    "peer best",
    "peer median",
    "ratio",
    "range",
    "target",
    "remarks",
)
# These columns hold words; the others hold figures and stand to the right.
_WORDS = {0, 2, 10}


@dataclass
class Results:
    """Everything a run of the benchmarks found."""

    rows: list[Row] = field(default_factory=list)
    exponents: dict[str, Judged] = field(default_factory=dict)
    memory: list[dict[str, Any]] = field(default_factory=list)


def table(results: Results) -> str:
    """All rows, then exponents and memory, as plain text."""
    blocks = [underlined([HEADINGS, *map(_cells, results.rows)], _WORDS)]
    if results.exponents:
        lines = [("scaling", "seconds ~ n^", "target")]
        lines += [
            (name, f"{slope.value:.2f}", _target(slope.target, slope.met))
            for name, slope in results.exponents.items()
        ]
        blocks.append(underlined(lines, {0}))
    if results.memory:
        lines = [("peak memory", "n", "who", "MB above the data", "target")]
        lines += [_memory_cells(entry) for entry in results.memory]
        blocks.append(underlined(lines, {0, 2}))
    return "\n\n".join(blocks)


def underlined(lines: list[tuple[str, ...]], words: set[int]) -> str:
    """Columns of equal width, the first line underlined."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    head, *rest = aligned(lines, words)
    return "\n".join([head, "  ".join("-" * width for width in widths), *rest])


def write_json(results: Results, facts: dict[str, Any], path: Path) -> None:
    """Write the environment and the results, creating the folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "environment": facts,
        "results": [as_dict(row) for row in results.rows],
        "exponents": {
            name: {"value": slope.value, "target": slope.target, "met": slope.met}
            for name, slope in results.exponents.items()
        },
        "memory": results.memory,
    }
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def as_dict(row: Row) -> dict[str, Any]:
    """A row with its rounds, for JSON."""
    return {
        "case": row.case,
        "size": row.size,
        "peer": row.peer,
        "ours": _timing(row.ours),
        "theirs": _timing(row.theirs),
        "ratio": None
        if row.ratio is None
        else {"median": row.ratio.median, "low": row.ratio.low, "high": row.ratio.high},
        "target": row.target,
        "met": row.met,
        "agreement": {name: _finite(value) for name, value in row.agreement.items()},
        "notes": list(row.notes),
    }


def duration(seconds: float) -> str:
    """Seconds with a unit that suits them and three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds / 1e-6:.3g} µs"


def _cells(row: Row) -> tuple[str, ...]:
    figures = [f"{name} {value:.8g}" for name, value in row.agreement.items()]
    return (
        row.case,
        f"{row.size:,}" if row.size else "",
        row.peer or "",
        *_times(row.ours),
        *_times(row.theirs),
        "" if row.ratio is None else f"{row.ratio.median:.3g}",
        "" if row.ratio is None else f"{row.ratio.low:.3g} – {row.ratio.high:.3g}",
        _target(row.target, row.met),
        "; ".join([*figures, *row.notes]),
    )


def _times(timing: Timing | None) -> tuple[str, str]:
    return ("", "") if timing is None else (duration(timing.best), duration(timing.median))


def _target(target: float | None, met: bool | None) -> str:
    if target is None:
        return ""
    verdict = {None: "", True: " met", False: " missed"}[met]
    return f"≤ {target:g}{verdict}"


def _timing(timing: Timing | None) -> dict[str, Any] | None:
    if timing is None:
        return None
    return {"best": timing.best, "median": timing.median, "rounds": list(timing.seconds)}


def _finite(value: float) -> float | None:
    # JSON knows neither NaN nor infinity.
    return float(value) if math.isfinite(value) else None


def _memory_cells(entry: dict[str, Any]) -> tuple[str, ...]:
    found, target = entry["bytes"], entry["target"]
    return (
        entry["case"],
        f"{entry['size']:,}",
        entry["peer"] or "ours",
        "unknown" if found is None else f"{found / 1e6:.1f}",
        _target(None if target is None else target / 1e6, entry["met"]),
    )
