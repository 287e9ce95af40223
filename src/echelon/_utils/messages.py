"""Sentences for the user: parameters out of range, and warnings at the line that caused them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any
from unicodedata import category

# Control and format characters, lone surrogates, ends of lines and of paragraphs.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# They join or part letters of Arabic, Persian and Indic words, and emoji.
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    r"""Text of any origin on one line, with what acts on a terminal or turns text written out.

    Control characters, marks of direction and other characters that are not seen become escapes
    as in JSON, so that JSON stays the same.

    Examples
    --------
    >>> printable("a\x1b[31m b\u202ec")
    'a\\u001b[31m b\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(_escaped(c) if category(c) in _HIDDEN and c not in _JOINERS else c for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def require_choice(name: str, value: Any, accepted: Iterable[Any], *others: str) -> None:
    """Raise unless a parameter is one of the accepted values, which are mostly names.

    ``others`` say in words what else is accepted, which the caller has dealt with before.

    Examples
    --------
    >>> require_choice("ties", "best", ("half", "error"))
    Traceback (most recent call last):
    ValueError: ties must be 'half' or 'error'; found 'best'.
    >>> require_choice("cost", 3, ("absolute", "squared"), "a matrix")
    Traceback (most recent call last):
    ValueError: cost must be 'absolute', 'squared' or a matrix; found 3.
    """
    values = list(accepted)
    # True is an int, and equal to 1, but it is not the value 1.
    if any(
        isinstance(value, type(one))
        and isinstance(value, bool) == isinstance(one, bool)
        and value == one
        for one in values
    ):
        return
    *first, last = [*map(repr, values), *others]
    listed = f"{', '.join(first)} or {last}" if first else last
    raise ValueError(f"{name} must be {listed}; found {value!r}.")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn as from the innermost line outside this package."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "echelon"
