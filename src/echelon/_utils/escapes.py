"""Texts of any origin in files that other programs read: spreadsheets, Markdown."""

from __future__ import annotations

import re
from html import escape

# How a cell begins that a spreadsheet runs as a formula. A mark alone is no formula.
FORMULA = r"(?s)^[=+\-@\t\r\n＝＋－＠]."
# And what is nothing but a number, which is shown as it is.
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
#: Before a cell it says that what follows is text.
TEXT_MARK = "'"

_MARKDOWN = re.compile(r"([\\`*_\[\]|])")


def inert_cell(text: str) -> str:
    """A text that no spreadsheet runs.

    Examples
    --------
    >>> inert_cell("=1+1"), inert_cell("-1.5"), inert_cell("a=b")
    ("'=1+1", '-1.5', 'a=b')
    """
    # A dollar also stands before a last newline.
    number = re.match(NUMBER, text) and not text.endswith("\n")
    return f"{TEXT_MARK}{text}" if re.match(FORMULA, text) and not number else text


def markdown_cell(text: str) -> str:
    r"""A text in a table of Markdown, in which nothing is markup.

    Examples
    --------
    >>> markdown_cell("a|b <i> *c*")
    'a\\|b &lt;i&gt; \\*c\\*'
    """
    return _MARKDOWN.sub(r"\\\1", escape(" ".join(text.split()), quote=False))
