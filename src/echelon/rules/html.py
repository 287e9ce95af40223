"""Small tables for notebooks: no scripts, no colours of their own, readable on any ground."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from .words import percent

_CELL = "padding:2px 10px 2px 0;background:transparent;border:0;vertical-align:middle;"
_LINE = "border-top:1px solid rgba(128,128,128,0.35);"
_WIDTH, _HEIGHT = 60, 18


def table(header: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """A table of cells that are HTML already; the first column is text, the others hold figures.

    `header` and `note` are plain text.
    """
    top = "".join(_cell("th", escape(title), j) for j, title in enumerate(header))
    body = "".join(
        f'<tr style="background:transparent;{_LINE}">'
        + "".join(_cell("td", cell, j) for j, cell in enumerate(row))
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


def bar(share: float) -> str:
    """A share from 0 to 1 as its percent and a bar."""
    filled = _WIDTH * min(max(share, 0.0), 1.0)
    drawn = _svg(_outline() + _block(0, 0, filled, _HEIGHT), percent(share))
    return f'<span style="white-space:nowrap;">{percent(share)}&nbsp;{drawn}</span>'


def histogram(shares: npt.NDArray[np.float64], labels: Sequence[str]) -> str:
    """Shares of the classes from lowest to highest as columns; hovering shows the figures."""
    width = _WIDTH / len(shares)
    top = max(float(shares.max()), 1e-300)
    blocks = [
        f"<g><title>{escape(label)}: {percent(share)}</title>"
        f'<rect x="{j * width:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}" fill="none" '
        'pointer-events="all"/>'
        + _block(j * width + 0.5, _HEIGHT * (1 - share / top), width - 1, _HEIGHT * share / top)
        + "</g>"
        for j, (share, label) in enumerate(zip(shares.tolist(), labels, strict=True))
    ]
    ground = _block(0, _HEIGHT - 0.5, _WIDTH, 0.5)
    pairs = zip(labels, shares.tolist(), strict=True)
    words = ", ".join(f"{label}: {percent(share)}" for label, share in pairs)
    return _svg("".join(blocks) + ground, words)


def _cell(kind: str, content: str, column: int) -> str:
    side = "left" if column == 0 else "right"
    return f'<{kind} style="{_CELL}text-align:{side};">{content}</{kind}>'


def _svg(content: str, words: str) -> str:
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" style="vertical-align:middle;" role="img" '
        f'aria-label="{escape(words, quote=True)}">{content}</svg>'
    )


def _outline() -> str:
    return (
        f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.35"/>'
    )


def _block(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
        'fill="currentColor" fill-opacity="0.6"/>'
    )
