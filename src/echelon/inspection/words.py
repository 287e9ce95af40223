"""Explanations of rows in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ordinal.columns import is_missing

# A contribution below this share of the largest one is not worth a word.
_SLIGHT = 0.05


def row_sentence(explanation: Any, n: int) -> str:
    """Predicted label, how sure, and what pushed it up and down."""
    parts = [_verdict(explanation), _position(explanation)]
    for word, sign in (("raises", 1.0), ("lowers", -1.0)):
        told = _pushes(explanation, word, sign, n)
        if told:
            parts.append(told)
    return " ".join(parts)


def shown_value(value: Any) -> str:
    """A cell as a reader would write it."""
    if is_missing(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.0f}" if 1e4 <= abs(float(value)) < 1e9 else f"{value:.4g}"
    text = str(value)
    return text[:10] if text.endswith("00:00:00") else text


def _verdict(explanation: Any) -> str:
    label, p = str(explanation.prediction), explanation.probabilities
    if p is None:
        return f"Predicted {label}."
    labels = [str(name) for name in explanation.classes.tolist()]
    code = labels.index(label)
    near = p[max(code - 1, 0) : code + 2].sum()
    sure = f"with probability {p[code]:.2f}"
    return f"Predicted {label} {sure}" + (f" ({near:.2f} within one)." if len(p) > 2 else ".")


def _position(explanation: Any) -> str:
    difference = explanation.total - explanation.base
    place, unit = ("It stands", " ranks") if explanation.unit == "ranks" else ("Its score is", "")
    if abs(difference) < 0.005:
        return f"{place} at the mean of the rows compared with."
    side = "above" if difference > 0 else "below"
    return f"{place} {abs(difference):.2f}{unit} {side} the mean of the rows compared with."


def _pushes(explanation: Any, word: str, sign: float, n: int) -> str:
    largest = max((abs(term.contribution) for term in explanation.terms), default=0.0)
    least = _SLIGHT * largest
    pushing = [term for term in explanation.terms if sign * term.contribution > least]
    what, unit = ("it", " ranks") if explanation.unit == "ranks" else ("the score", "")
    told = [
        f"{term.feature} {shown_value(term.value)} {word} {what} by "
        f"{_amount(abs(term.contribution))}{unit}"
        for term in pushing[:n]
    ]
    return f"{_listed(told)}." if told else ""


def _amount(size: float) -> str:
    return f"{size:.2f}" if size >= 0.01 else f"{size:.1g}"


def _listed(texts: list[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last
