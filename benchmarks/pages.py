"""What studies share: finished pieces kept in a file, and tables written into documents."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


class Pieces:
    """Finished pieces of a study by their name, a line each, so that a study can be resumed.

    Parameters
    ----------
    path : Path
        Made, with its folder, when the first piece is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        try:
            self.known: dict[str, Any] = dict(map(json.loads, lines))
        except ValueError as error:
            raise ValueError(f"{path} holds other lines than a study's; give another.") from error

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """The piece of that name, measured now if it is not there."""
        if name not in self.known:
            found = measure()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, found]) + "\n")
            self.known[name] = found
        return self.known[name]


def study_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The options that every study has."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--store", type=Path, default=Path(f"build/{name}.jsonl"))
    parser.add_argument("--write", type=Path, help="the page that gets the table")
    return parser


def publish(text: str, page: Path | None, mark: str) -> None:
    """Print what a study found, and put it into a page if one is given."""
    print(text)
    if page is not None:
        write_between(page, mark, text)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows))


def write_between(page: Path, name: str, text: str) -> None:
    """Put `text` between the comments ``name: start`` and ``name: end`` of a page."""
    start, end = (f"<!-- {name}: {edge} -->" for edge in ("start", "end"))
    before, found, rest = page.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} has no marks {start} and {end}.")
    page.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")
