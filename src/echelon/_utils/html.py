"""Tables for notebooks: no scripts, no colours of their own, readable on any ground."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

_CELL = "padding:2px 10px 2px 0;background:transparent;border:0;vertical-align:middle;"
_LINE = "border-top:1px solid rgba(128,128,128,0.35);"


def html_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str = "",
    words: Collection[int] = (0,),
) -> str:
    """A table of cells that are HTML already; columns of `words` are text, the others hold figures.

    `header` and `note` are plain text.
    """
    top = "".join(_cell("th", escape(title), j in words) for j, title in enumerate(header))
    body = "".join(
        f'<tr style="background:transparent;{_LINE}">'
        + "".join(_cell("td", cell, j in words) for j, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    caption = f'<div style="opacity:0.75;margin:4px 0;">{escape(note)}</div>' if note else ""
    return (
        '<div style="color:inherit;background:transparent;font-size:13px;">'
        '<table style="border-collapse:collapse;background:transparent;color:inherit;">'
        f'<thead><tr style="background:transparent;">{top}</tr></thead><tbody>{body}</tbody>'
        f"</table>{caption}</div>"
    )


def _cell(kind: str, content: str, is_text: bool) -> str:
    side = "left" if is_text else "right"
    return f'<{kind} style="{_CELL}text-align:{side};">{content}</{kind}>'
