"""Numbers and dates as people write them: one reading, two readings, or none."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.tables import TableError
from echelon.tables.notation import Ambiguous, Notation, find_notation

NUMBERS = [1000.5 + 37.25 * i for i in range(12)]


def written(value, decimal, thousands, unit=""):
    text = f"{value:,.2f}".replace(",", "_").replace(".", decimal).replace("_", thousands)
    return f"{text} {unit}".strip()


@pytest.mark.parametrize(
    ("decimal", "thousands", "unit"),
    [
        *[(",", ".", ""), (",", "", ""), (".", ",", ""), (".", "'", ""), (",", " ", "")],
        *[(".", "", "%"), (".", ",", "€"), (",", "\u202f", "EUR"), (",", "\u00a0", "kr")],
    ],
)
def test_the_notation_of_a_column_is_found_and_read(decimal, thousands, unit):
    texts = [written(value, decimal, thousands, unit) for value in NUMBERS]
    found = find_notation(texts)
    assert found.decimal == decimal and found.unit == unit
    np.testing.assert_allclose(found.numbers(texts), NUMBERS)
    assert np.isnan(found.numbers(["many"])[0]) and not found.fits([*texts, "many"])


@pytest.mark.parametrize("texts", [["-$5", "$6"], ["$ -5", "$6"], ["\u22125 $", "6 $"]])
def test_signs_stand_before_or_behind_the_unit(texts):
    assert find_notation(texts).numbers(texts).tolist() == [-5.0, 6.0]


def test_a_comma_that_may_be_either_has_to_be_stated():
    texts = [f"{i},{100 + i}" for i in range(1, 13)]
    found = find_notation(texts)
    assert isinstance(found, Ambiguous)
    assert [argument.name for argument in found.arguments] == ["decimal", "thousands"]
    assert find_notation(texts, decimal=",").numbers(["1,101"]).tolist() == [1.101]
    assert find_notation(texts, thousands=",").numbers(["1,101"]).tolist() == [1101.0]
    assert find_notation([*texts, "1,5"]).decimal == ","
    assert find_notation([*texts, "1,101,000"]).thousands == ","


@pytest.mark.parametrize("form", ["10.0.0.{}", "1.2.{}.4", "0151 {}", "{} km", "C{}", "{}-{}"])
def test_texts_with_digits_that_are_no_numbers(form):
    assert find_notation([form.format(i, i) for i in range(10, 30)]) is None


def test_a_few_codes_are_no_numbers_and_units_must_agree():
    assert find_notation(["1,2", "3,4", "2,1"]) is None
    assert find_notation(["5 %", "6 €"]) is None
    assert find_notation([]) is None


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["13/01/2022", "02/01/2022"], "%d/%m/%Y"),
        (["01/13/2022", "01/02/2022"], "%m/%d/%Y"),
        (["3.1.2022", "2.1.2022"], "%d.%m.%Y"),
        (["2022/01/03", "2022/02/01"], "%Y/%m/%d"),
        (["3 Jan 2022", "4 Feb 2022"], "%d %b %Y"),
        (["11-Sep-2024 10:00", "1-Oct-2024 11:30"], "%d-%b-%Y %H:%M"),
        (["January 3, 2022", "February 14, 2022"], "%B %d, %Y"),
        (["31/12/99", "01/01/00"], "%d/%m/%y"),
    ],
)
def test_dates_in_other_forms(texts, form):
    found = find_notation(texts)
    assert found == Notation(date=form)
    assert found.kind == "date" and not found.fits([*texts, "soon"])


def test_days_and_months_that_may_be_either_have_to_be_stated():
    texts = ["03/01/2022", "02/05/2022"]
    assert [a.value for a in find_notation(texts).arguments] == ["%d/%m/%Y", "%m/%d/%Y"]
    stated = find_notation(texts, date_format="%m/%d/%Y")
    assert stated.times(texts)[0] == np.datetime64("2022-03-01")
    assert find_notation(texts, date_format="%Y") is None


@given(st.lists(st.dates(datetime.date(1950, 1, 1), datetime.date(2040, 1, 1)), min_size=1))
def test_a_date_is_read_as_it_was_written_or_left_to_the_user(days):
    texts = [day.strftime("%d/%m/%Y") for day in days]
    found = find_notation(texts)
    if isinstance(found, Notation) and found.date == "%d/%m/%Y":
        assert found.times(texts).astype("datetime64[D]").tolist() == days
    else:
        # Written as it is, it would be one of some month as well.
        assert all(day.day <= 12 for day in days)


def test_marks_that_contradict_each_other():
    for decimal, thousands, message in ((";", "", "point or a comma"), (".", "x", "apostrophe")):
        with pytest.raises(TableError, match=message):
            Notation.from_dict({"decimal": decimal, "thousands": thousands})
    with pytest.raises(TableError, match=r"must differ; found ',' twice"):
        Notation.from_dict({"decimal": ",", "thousands": ","})
    with pytest.raises(TableError, match="must be texts by name"):
        Notation.from_dict({"decimals": ","})
    assert Notation.from_dict(Notation(",", ".").to_dict()) == Notation(",", ".")
