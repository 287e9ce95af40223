"""Command line of the benchmarks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .cases import CASES
from .environment import environment
from .memory import peak_memory
from .registry import Case, Judged, Row, exponent, run_case, select
from .report import Results, table, write_json


def main(arguments: list[str] | None = None) -> int:
    """Run or list the cases; 1 if something of ours failed, 2 if there is no such case."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(case.name for case in CASES))
        return 0
    try:
        cases = select(CASES, options.only)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    results = Results()
    for case in cases:
        print(f"running {case.name} ...", file=sys.stderr, flush=True)
        _run(case, options.quick, results)
    write_json(results, environment(), options.json)
    print(table(results))
    print(f"written to {options.json}", file=sys.stderr)
    return int(any(row.failed for row in results.rows))


def _run(case: Case, quick: bool, results: Results) -> None:
    rows = list(run_case(case, quick))
    results.rows += rows
    slope = exponent(rows) if case.scaling else None
    if slope is not None:
        results.exponents[case.name] = Judged(slope, case.exponent_target)
    if case.memory:
        results.memory += _memory(case, rows)


def _memory(case: Case, rows: list[Row]) -> list[dict[str, Any]]:
    timed = [row for row in rows if row.ours is not None]
    runs = [
        *dict.fromkeys((row.size, None) for row in timed),
        *((row.size, row.peer) for row in timed if row.peer is not None),
    ]
    return [_peak(case, size, peer) for size, peer in runs]


def _peak(case: Case, size: int, peer: str | None) -> dict[str, Any]:
    ours = case.memory_target if peer is None else None
    found = Judged(peak_memory(case.name, size, peer), ours(size) if ours else None)
    return {
        "case": case.name,
        "size": size,
        "peer": peer,
        "bytes": found.value,
        "target": found.target,
        "met": found.met,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time Echelon beside its peers, on the same arrays, in alternating rounds.",
    )
    names = sorted({case.name.split("/")[0] for case in CASES})
    parser.add_argument("--only", metavar="NAME", help=f"a case or one of: {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument(
        "--json",
        metavar="PATH",
        type=Path,
        default=Path("build/bench.json"),
        help="where to write every round and the environment (default: build/bench.json)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
