"""How numbers and dates are written in text: decimal marks, thousands, units, days and months.

A notation is taken where all cells of a column agree on it and no other reading is possible. Texts
such as ``1,234`` may be whole numbers with thousands or numbers with decimals, and ``03/01/2022``
may be of January or of March: unless another cell decides, such a column is `Ambiguous`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .faults import Argument, TableError

# A few texts such as 1,2 may be codes; with a unit they are numbers.
_MOST_CODES = 10
# Spaces at which no line is broken stand between thousands too.
_SPACES = "\u00a0\u202f\u2009"
_MINUS = "\u2212"
_UNIT = r"[$€£¥₹₽₩฿₺%‰]|USD|EUR|GBP|CHF|JPY|CAD|AUD|kr|zł|Kč|Ft|Fr\.?|Rs\.?|R\$|C\$|A\$"
_LEADING_UNIT = re.compile(rf"[+-]?({_UNIT})\s*(?=[+-]?\d)")
_TRAILING_UNIT = re.compile(rf"(?<=\d)\s*({_UNIT})$")
_MARKS = ((".", ","), (",", "."), (",", ""), (".", "'"), (",", "'"), (".", " "), (",", " "))
_DAYS_AND_MONTHS = (("%d", "%m"), ("%m", "%d"))
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DIGIT_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1(?:\d{4}|\d{2})\b")
_WORD_DATE = re.compile(
    r"(?:[A-Za-z]+,? )?(?:\d{1,2}[ -][A-Za-z]{3,9}\.?[ ,-]|[A-Za-z]{3,9} \d{1,2},? )\d{2,4}\b"
)


@dataclass(frozen=True)
class Notation:
    """How the cells of a column are written.

    Parameters
    ----------
    decimal : str
        The mark before decimals.
    thousands : str
        The mark between thousands, if any.
    unit : str
        A sign of a currency or a share beside the number, which does not count.
    date : str
        Format of dates, as `datetime.datetime.strptime` takes it; then the cells are dates.

    Examples
    --------
    >>> Notation(",", ".", "€").numbers(["1.234,50 €", "-7 €"])
    array([1234.5,   -7. ])
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    date: str = ""

    @property
    def kind(self) -> str:
        """Kind of a column that is written like this."""
        return "date" if self.date else "number"

    @property
    def words(self) -> str:
        """What is unusual about it."""
        if self.date:
            return f"dates of the form {self.date}"
        marks = ["decimal commas"] if self.decimal == "," else []
        marks += [f"{_NAMES[self.thousands]} between thousands"] if self.thousands else []
        unit = f" in {self.unit}" if self.unit else ""
        return f"numbers{unit}" + (f" with {' and '.join(marks)}" if marks else "")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        mark, point = re.escape(self.thousands), re.escape(self.decimal)
        whole = rf"(?:\d{{1,3}}(?:{mark}\d{{3}})+|\d+)" if mark else r"\d+"
        return re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")

    def numbers(self, texts: Sequence[str]) -> np.ndarray:
        """Numbers of texts, NaN where a text is none."""
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def _number(self, text: str) -> float:
        plain = _bare(text)[0]
        if not self._pattern.fullmatch(plain):
            return float("nan")
        if self.thousands:
            plain = plain.replace(self.thousands, "")
        return float(plain.replace(self.decimal, "."))

    def times(self, texts: Sequence[str]) -> Any:
        """Times of texts (``datetime64[us]``), NaT where a text is none."""
        import pandas as pd

        # Names of months may be short or long, and their case is free.
        found = pd.to_datetime(pd.Series(texts, dtype=object), format=self.date, errors="coerce")
        return found.to_numpy(dtype="datetime64[us]")

    def fits(self, texts: Sequence[str]) -> bool:
        """Whether all texts are written like this."""
        if self.date:
            return not np.isnat(self.times(texts)).any()
        return all(self._pattern.fullmatch(_bare(text)[0]) for text in texts)

    def to_dict(self) -> dict[str, str]:
        """What differs from plain numbers."""
        return {name: value for name, value in asdict(self).items() if value != _PLAIN[name]}

    @classmethod
    def from_dict(cls, stored: Any) -> Notation:
        """A notation from what `to_dict` gave."""
        if not isinstance(stored, dict) or not all(
            name in _PLAIN and isinstance(value, str) for name, value in stored.items()
        ):
            raise TableError(f"A column's notation must be texts by name; found {stored!r}.")
        notation = cls(**stored)
        check_marks(notation.decimal, notation.thousands)
        return notation


_PLAIN = asdict(Notation())
_NAMES = {",": "commas", ".": "points", "'": "apostrophes", " ": "spaces"}


@dataclass(frozen=True)
class Ambiguous:
    """Cells that can be read in two ways, and the options that decide.

    Parameters
    ----------
    what : str
        Such as "numbers with a comma".
    example : str
    arguments : tuple of Argument
        Either of them says what is meant.
    """

    what: str
    example: str
    arguments: tuple[Argument, ...]


def check_marks(decimal: str, thousands: str) -> None:
    """Refuse marks in numbers that contradict each other."""
    if decimal not in (".", ","):
        raise TableError(f"The decimal mark must be a point or a comma; found {decimal!r}.")
    if thousands not in ("", *_NAMES):
        raise TableError(
            "The mark between thousands must be a point, a comma, an apostrophe or a space; found "
            f"{thousands!r}."
        )
    if decimal == thousands:
        raise TableError(
            f"The decimal mark and the mark between thousands must differ; found {decimal!r} twice."
        )


def find_notation(
    texts: Sequence[str],
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
) -> Notation | Ambiguous | None:
    """The notation that all of these texts share, if they are numbers or dates at all.

    Parameters
    ----------
    texts : sequence of str
        The distinct cells of a column that is not of plain numbers or ISO dates.
    decimal, thousands, date_format : str, optional
        What is known of numbers and dates in the table.

    Examples
    --------
    >>> find_notation([f"{n}%" for n in range(20)]).words
    'numbers in %'
    >>> find_notation(["13/01/2022", "02/01/2022"]).date
    '%d/%m/%Y'
    >>> find_notation(["03/01/2022", "02/01/2022"]).arguments[0]
    Argument(name='date_format', value='%d/%m/%Y')
    """
    if not texts:
        return None
    if _bare(texts[0])[0][:1].isdigit() or texts[0].strip()[:1] in "+-.,'$€£¥₹" + _MINUS:
        found = _number_notation(texts, decimal, thousands)
        if found is not None:
            return found
    return _date_notation(texts, date_format)


def _bare(text: str) -> tuple[str, str]:
    """A number without its unit and with plain signs, and the unit."""
    plain = text.strip().replace(_MINUS, "-").replace("\u2019", "'")
    for space in _SPACES:
        plain = plain.replace(space, " ")
    unit = ""
    for pattern in (_LEADING_UNIT, _TRAILING_UNIT):
        found = pattern.search(plain) if pattern is _TRAILING_UNIT else pattern.match(plain)
        if found:
            unit = found[1]
            plain = plain[: found.start(1)] + plain[found.end(1) :]
            break
    return plain.strip().replace("- ", "-") if unit else plain.strip(), unit


def _number_notation(
    texts: Sequence[str], decimal: str | None, thousands: str | None
) -> Notation | Ambiguous | None:
    bare, units = zip(*map(_bare, texts), strict=True)
    if len(set(units)) > 1:
        return None
    unit, stated = units[0], decimal is not None or thousands is not None
    if stated:
        tried = [(decimal or "." if thousands != "." else decimal or ",", thousands or "")]
    else:
        tried = [(".", ""), *_MARKS]
        if not unit and sum(not text.lstrip("+-").isdigit() for text in bare) <= _MOST_CODES:
            return None
    fitting = [n for n in (Notation(*marks, unit) for marks in tried) if n.fits(bare)]
    if not fitting:
        return None
    # Of those that fit, one without a mark that occurs nowhere says the same in fewer words.
    used = [n for n in fitting if not n.thousands or any(n.thousands in text for text in bare)]
    used = [n for n in used if n.decimal == "." or any("," in text for text in bare)] or fitting
    values = {tuple(n.numbers(bare)) for n in used}
    if len(values) == 1:
        return used[0]
    example = next(text for text, one in zip(texts, bare, strict=True) if "," in one or "." in one)
    both = Argument("decimal", ","), Argument("thousands", ",")
    return Ambiguous("numbers with a comma", example, both)


def _date_notation(texts: Sequence[str], date_format: str | None) -> Notation | Ambiguous | None:
    if date_format is not None:
        stated = Notation(date=date_format)
        return stated if stated.fits(texts) else None
    first = texts[0].strip()
    digits = _DIGIT_DATE.match(first)
    if digits is None and not _WORD_DATE.match(first):
        return None
    formats = _digit_formats(first, digits[1]) if digits else _WORD_FORMATS
    fitting = [
        notation
        for form in formats
        for notation in (Notation(date=form + time) for time in _TIMES)
        if notation.fits(texts[:20]) and notation.fits(texts)
    ]
    if not fitting:
        return None
    if len({tuple(notation.times(texts)) for notation in fitting}) == 1:
        return fitting[0]
    arguments = tuple(Argument("date_format", notation.date) for notation in fitting)
    return Ambiguous("dates", first, arguments)


_WORD_FORMATS = tuple(
    before + form
    for form in (
        *(
            f"%d{gap}{month}{gap}{year}"
            for gap in " -"
            for month in ("%b", "%B")
            for year in ("%Y", "%y")
        ),
        *(f"{month} %d{comma} %Y" for month in ("%b", "%B") for comma in (",", "")),
    )
    for before in ("", "%A, ", "%a, ")
)


def _digit_formats(first: str, mark: str) -> list[str]:
    """Formats of dates in digits with this mark between them, in the order of their likelihood."""
    if re.match(r"\d{4}", first):
        return [f"%Y{mark}%m{mark}%d"]
    # Points are written where days come first.
    orders = _DAYS_AND_MONTHS[:1] if mark == "." else _DAYS_AND_MONTHS
    year = "%Y" if re.match(rf"\d+{re.escape(mark)}\d+{re.escape(mark)}\d{{4}}", first) else "%y"
    return [f"{one}{mark}{two}{mark}{year}" for one, two in orders]
