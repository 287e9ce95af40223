"""A file read in one pass by the kinds of its first rows is read as in two."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from echelon.tables import TableError, delimited, read_chunks, read_labelled_table, read_table
from echelon.tables.delimited import DelimitedReader
from echelon.tables.reading import FileOptions, open_reader

ROWS = 60
PLAIN = {
    "integer": st.integers(-5, 2**53).map(str),
    "number": st.floats(-1e6, 1e6).map(repr),
    "boolean": st.sampled_from(["true", "False", "YES", "no"]),
    "date": st.dates().map(str),
    "text": st.sampled_from(["a", "b b", "é", '"x,y"', '"two\nlines"', " c "]),
    "empty": st.just(""),
}
ODD_NUMBERS = ["", "NA", " 7 ", "0", "1", "1e3", "9007199254740993", "nan", "inf", "-0", "+1"]
ODD_TEXTS = ["2020", "2020-01-01T10:00:00Z", "2020-01-01 10:00", "12:00", " 2020-01-01", "tRue"]
ODD = st.sampled_from([*ODD_NUMBERS, *ODD_TEXTS, "0x1F", "１２", "\u00a01", "1.", ".5", "1e400"])


@st.composite
def files(draw):
    """A file whose first rows are of one kind each, and a few odd cells anywhere."""
    kinds = draw(st.lists(st.sampled_from(sorted(PLAIN)), min_size=1, max_size=4))
    pools = [draw(st.lists(PLAIN[kind], min_size=1, max_size=4)) for kind in kinds]
    cells = [[pool[row % len(pool)] for pool in pools] for row in range(ROWS)]
    for _ in range(draw(st.integers(0, 3))):
        row, column = draw(st.integers(0, ROWS - 1)), draw(st.integers(0, len(kinds) - 1))
        cells[row][column] = draw(ODD)
    header = ",".join(f"column {j}" for j in range(len(kinds)))
    # A last column keeps rows from being empty.
    return "\n".join([f"{header},y", *(",".join([*row, "1"]) for row in cells)]) + "\n"


@given(text=files(), target=st.sampled_from([None, "column 0", "y"]))
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_one_pass_gives_what_two_passes_give(tmp_path, monkeypatch, text, target):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(DelimitedReader, "whole", lambda *_: None)
    expected = read_table(path, target=target)
    monkeypatch.undo()
    monkeypatch.setattr(delimited, "_FIRST_ROWS", 60)
    assert_frame_equal(read_table(path, target=target), expected)


def one_pass(path, target=None, coded=()):
    with open_reader(path, FileOptions()) as reader:
        return reader.whole(target, coded)


def long_frame(n=40_000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "whole": rng.integers(0, 100, n),
            "number": rng.normal(size=n),
            "day": (np.datetime64("2020-01-01") + rng.integers(0, 99, n)).astype(str),
            "word": rng.choice(["long enough", "short"], n),
            "y": rng.integers(1, 4, n),
        }
    )


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_long_files_are_read_at_once(tmp_path, name):
    frame = long_frame()
    frame.to_csv(tmp_path / name, index=False)
    assert one_pass(tmp_path / name, "y").num_rows == len(frame)
    found = read_labelled_table(tmp_path / name, "y")
    np.testing.assert_array_equal(found.X["number"], frame["number"])
    assert {c.name: c.kind for c in found.schema.columns} == {
        "whole": "number",
        "number": "number",
        "day": "date",
        "word": "category",
    }


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("whole", "0.5"),
        ("number", "none of them"),
        ("y", "NA"),
        ("y", ""),
        ("day", "x"),
        ("word", ""),
        ("word", "two\nlines"),
    ],
)
def test_a_column_with_a_late_cell_of_another_kind_is_read_again(
    tmp_path, monkeypatch, column, cell
):
    frame = long_frame().astype({column: object})
    frame.loc[len(frame) - 1, column] = cell
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert one_pass(path, "y").num_rows == len(frame)
    found = read_table(path, target="y")
    parts = pd.concat(read_chunks(path, target="y", rows=9_999))
    monkeypatch.setattr(DelimitedReader, "whole", lambda *_: None)
    for other in (read_table(path, target="y"), parts):
        assert_frame_equal(found, other)
    assert found[column].isna().iloc[-1] if cell == "" else str(found[column].iloc[-1]) == cell


def test_more_odd_columns_than_are_read_again_take_two_passes(tmp_path):
    frame = pd.DataFrame({f"c{j}": [*range(30_000), "x"] for j in range(5)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert one_pass(tmp_path / "t.csv") is None
    assert read_table(tmp_path / "t.csv")["c4"].iloc[-1] == "x"


def test_texts_that_repeat_are_categories_or_answers_as_they_are_uncoded(tmp_path, monkeypatch):
    n = 40_000
    rng = np.random.default_rng(0)
    frame = long_frame(n).assign(
        answer=rng.choice(["never", "sometimes", "always", "", "NA"], n),
        euro=rng.choice(["1.234,50 €", "7 €", "8,5 €"], n),
        either=rng.choice(["03/21/2022", "04/22/2022"], n),
        user=rng.choice([f"user {k}" for k in range(99)], n),
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert str(one_pass(path, "y", ["answer"])["answer"].type).startswith("dictionary")
    found = read_labelled_table(path, "y")
    monkeypatch.setattr(DelimitedReader, "whole", lambda *_: None)
    plain = read_labelled_table(path, "y")
    assert found.schema == plain.schema
    assert [str(note) for note in found.notes] == [str(note) for note in plain.notes]
    assert_frame_equal(found.X, plain.X)


def test_late_faults_get_their_sentence(tmp_path):
    content = long_frame().to_csv(index=False).encode()
    for added, said in ((b"1,2\n", "has 2 cells in line 40002"), (b'"', "quotation mark")):
        (tmp_path / "t.csv").write_bytes(content + added)
        with pytest.raises(TableError, match=said):
            read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content + "1,2,ä,b,1\n".encode("latin-1")))
    with pytest.raises(TableError, match="not UTF-8"):
        read_table(tmp_path / "t.csv.gz")


def test_words_of_a_row_are_not_taken_for_a_fault(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\na quotation mark\n")
    with pytest.raises(TableError, match="has 1 cells in line 3"):
        read_table(path)
