import pytest

from echelon.tables import Schema, TableError
from echelon.tables.lookalikes import notes_on_texts, refuse_written_numbers
from echelon.tables.schema import Column


def schema_of(**texts):
    return Schema(tuple(Column(name, "category", tuple(t)) for name, t in texts.items()))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("{:,}", "a comma, such as '1,000'; write them without it"),
        ("{:,}.50", "a comma, such as '1,000.50'; write them without it"),
        ("{},5", "a comma, such as '1000,5'; write them with a decimal point"),
        ("{}%", "signs, such as '1000%'; write plain numbers"),
        ("€{:,}.00", "signs, such as '€1,000.00'; write plain numbers"),
        ("{} USD", "signs, such as '1000 USD'; write plain numbers"),
        ("-${}", "signs, such as '-$1000'; write plain numbers"),
        ("{:_}", "marks of thousands, such as '1.000'; write plain numbers"),
    ],
)
def test_numbers_that_are_written_with_more_than_digits(form, words):
    texts = [form.format(1000 + 37 * i).replace("_", ".") for i in range(12)]
    with pytest.raises(TableError) as error:
        refuse_written_numbers(schema_of(plain=["a", "b"], size=texts), "t.csv")
    assert f"Column 'size' of t.csv holds numbers with {words}" in str(error.value)
    refuse_written_numbers(schema_of(size=texts[:10]), "t.csv")


def test_all_columns_of_such_numbers_are_named_at_once():
    percent = [f"{i}%" for i in range(12)]
    with pytest.raises(
        TableError, match=r"'a' of .* drop=\['a'\]; look at columns 'b', 'c' too\.$"
    ):
        refuse_written_numbers(schema_of(a=percent, b=percent, c=percent), "t.csv")


@pytest.mark.parametrize("form", ["{}.09.2024", "10.0.0.{}", "1.2.{}", "0151 {}", "{} km", "C{}"])
def test_texts_with_digits_that_are_no_numbers(form):
    refuse_written_numbers(schema_of(text=[form.format(i) for i in range(10, 30)]), "t.csv")


@pytest.mark.parametrize("date", ["11/09/2024", "1.9.24", "2024/09/11", "11-Sep-2024 10:00"])
def test_dates_in_other_forms_have_a_note(date):
    (note,) = notes_on_texts(schema_of(day=[date]), 100)
    assert note == (
        f"Column 'day' is taken for categories; write dates such as {date!r} as 2024-01-31."
    )
    assert notes_on_texts(schema_of(day=[date, "unknown"]), 100) == []


def test_free_text_has_a_note():
    texts = [f"text {i}" for i in range(60)]
    (note,) = notes_on_texts(schema_of(comment=texts), 100)
    assert note.startswith("Column 'comment' has 60 different texts in 100 rows")
    assert notes_on_texts(schema_of(comment=texts), 120) == []
    assert notes_on_texts(schema_of(comment=texts[:50]), 60) == []
