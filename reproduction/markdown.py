"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    r"""Lines of a table.

    Examples
    --------
    >>> markdown_table(["a", "b"], [["1", "2 *"]])
    ['| a | b |', '| --- | --- |', '| 1 | 2 \\* |']
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(_escape(cell) for cell in line) + " |" for line in lines]


def _escape(text: str) -> str:
    return text.replace("*", r"\*").replace("|", r"\|")
