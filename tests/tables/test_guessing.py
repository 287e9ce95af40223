"""What is guessed of columns, what is said of it, and what has to be stated."""

import numpy as np
import pandas as pd
import pytest

from echelon.tables import Column, TableError, guessing, labelled_table
from echelon.tables.guessing import edge_codes, guess_column
from echelon.tables.options import StatedColumn, TableOptions

N = 60
Y = np.random.default_rng(1).permutation(N) % 3
LIKERT = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


def frame_of(**columns):
    rng = np.random.default_rng(0)
    base = {"size": rng.normal(size=N), **columns, "y": Y}
    return pd.DataFrame({name: np.resize(values, N) for name, values in base.items()})


def test_answers_of_a_known_scale_keep_their_order():
    table = labelled_table(frame_of(q1=LIKERT))
    column = table.schema.columns[1]
    assert (column.kind, column.levels) == ("ordered", tuple(LIKERT))
    assert table.X["q1"].cat.codes.tolist()[:5] == [0, 1, 2, 3, 4]
    (note,) = table.notes
    assert note.startswith("Column 'q1' is taken as ordered, strongly disagree < disagree <")
    assert "ordered='q1: strongly disagree<" in note


def test_a_stated_order_is_taken_as_it_is():
    frame = frame_of(stage=["IV", "I", "II", "III"])
    table = labelled_table(frame, ordered="stage: I<II<III<IV<V")
    assert table.X["stage"].cat.codes.tolist()[:4] == [3, 0, 1, 2]
    assert table.notes == ("No row of column 'stage' has 'V', which its stated order names.",)
    with pytest.raises(TableError, match=r"does not name: IV; name them in `ordered` or, .*: IV"):
        labelled_table(frame, ordered="stage: I<II<III")
    with pytest.raises(TableError, match=r"'stage' has no order that its cells show; give it"):
        labelled_table(frame, ordered="stage")


def test_numbers_are_ordered_by_their_values_and_codes_are_missing():
    table = labelled_table(frame_of(q=[1, 2, 10, 99]), ordered="q", missing="q: 99")
    assert table.schema.columns[1].levels == ("1", "2", "10")
    assert table.X["q"].isna().sum() == N // 4


def test_a_level_that_the_model_does_not_know_is_refused():
    schema = labelled_table(frame_of(q1=LIKERT)).schema
    other = frame_of(q1=[*LIKERT[:4], "Agree!"])
    with pytest.raises(TableError, match=r"'q1' .* holds 'Agree!' in row 5, which is not on its"):
        schema.apply(other)


def test_codes_at_the_edge_of_a_scale_are_told():
    table = labelled_table(frame_of(q=[1, 2, 3, 4, 5, 98, 99]))
    (note,) = table.notes
    assert "holds 98 and 99 far beyond its other values" in note and "'q: 98,99'" in note
    stated = labelled_table(frame_of(q=[1, 2, 3, 4, 5, 98, 99]), missing="98,99")
    assert stated.X["q"].max() == 5 and stated.notes == ()


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 2, 3, 4, 5, 99], [99]),
        ([0, 1, -9], [-9]),
        ([1, 2, 3, 8, 9], [8, 9]),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], []),
        ([5, 6, 7, 8, 9], []),
        (list(range(0, 100)), []),
        ([1.5, 2.5, 99.0], []),
        ([97, 98, 99, 100], []),
        ([5, 99], []),
    ],
)
def test_edge_codes(values, codes):
    assert edge_codes(np.array(values, dtype=float)) == codes


def test_a_target_with_a_code_beyond_its_scale_is_refused():
    frame = frame_of().assign(y=np.resize([1, 2, 3, 4, 99], N))
    with pytest.raises(TableError, match=r"target 'y' holds 99 far beyond .* missing='y: 99' and"):
        labelled_table(frame)
    assert labelled_table(frame, order="1<2<3<4<99").classes[-1] == 99
    table = labelled_table(frame, missing="y: 99", drop_unlabelled=True)
    assert table.classes == [1, 2, 3, 4] and len(table.X) == N * 4 // 5


@pytest.mark.parametrize("name", ["pw", "survey_weight", "WTMEC2YR", "wgt_final", "wtssall"])
def test_names_of_survey_weights(name):
    table = labelled_table(frame_of(**{name: np.linspace(0.5, 90, 7)}), "y")
    assert list(table.X) == ["size"]
    assert any("survey weight" in str(note) for note in table.notes)


@pytest.mark.parametrize("name", ["Whole_weight", "curb-weight", "weight_kg", "height", "growth"])
def test_weights_of_things_are_inputs(name):
    table = labelled_table(frame_of(**{name: np.linspace(0.1, 0.7, 7)}), "y")
    assert list(table.X) == ["size", name]
    assert not any("weight" in str(note) for note in table.notes)


def test_a_weight_with_a_mean_of_one_is_one_of_rows():
    table = labelled_table(frame_of(weight_full=[0.4, 1.6], weight=[1501.5, 2002.5]), "y")
    assert list(table.X) == ["size", "weight"]
    assert any("its mean is about one" in str(note) for note in table.notes)
    assert any("if it is a survey weight" in str(note) for note in table.notes)


def test_weights_and_owners_are_no_inputs_unless_that_is_stated():
    frame = frame_of(pw=np.linspace(0.5, 2, 7), patient=np.arange(30), weight=[60.5, 70.5, 80.0])
    table = labelled_table(frame)
    assert table.schema.names == ["size", "weight"]
    assert [note.split(",")[0].split(":")[0] for note in table.notes] == [
        "Column 'pw' left out",
        "Column 'patient' left out as an identifier",
        "Column 'weight' is an input; if it is a survey weight",
    ]
    kept = labelled_table(frame, keep=["pw", "patient", "weight"])
    assert kept.schema.names == ["size", "pw", "patient", "weight"] and kept.notes == ()


@pytest.mark.parametrize("name", ["id", "user_id", "caseID", "patient", "RESP", "idno"])
def test_identifiers_that_repeat_are_groups(name):
    table = labelled_table(frame_of(**{name: np.arange(30)}))
    assert table.schema.names == ["size"] and list(table.owners) == [name]
    assert f"give group={name!r}, or keep" in table.notes[0]


@pytest.mark.parametrize(
    ("name", "values", "note"),
    [
        ("judge", np.arange(9), "if rows of one value belong together, give group='judge'."),
        ("visit_week", np.arange(4), "if the model is for later rows, give time='visit_week'."),
        ("seen", pd.date_range("2020-01-01", periods=30), "give time='seen'."),
    ],
)
def test_inputs_that_may_be_groups_or_times_are_told(name, values, note):
    table = labelled_table(frame_of(**{name: values}))
    assert table.schema.names == ["size", name]
    assert [str(told).endswith(note) for told in table.notes] == [True]
    stated = labelled_table(frame_of(**{name: values}), keep=[name])
    assert stated.notes == ()


@pytest.mark.parametrize(
    "cells", [np.array(["c", "a", "b"])[Y], Y + 7, 10 * Y - np.linspace(0, 1, N)]
)
def test_an_input_that_tells_every_label_is_told(cells):
    table = labelled_table(frame_of(copy=cells))
    (note,) = table.notes
    assert "'copy' tells the label of every row" in note and "drop=['copy']" in note
    assert labelled_table(frame_of(copy=cells), keep=["copy"]).notes == ()
    other = np.array(cells)
    other[0] = cells[np.flatnonzero(Y[0] != Y)[0]]
    assert labelled_table(frame_of(copy=other)).notes == ()


def test_measures_with_the_name_of_an_owner_are_inputs():
    table = labelled_table(frame_of(km_to_centre=np.arange(30), store=np.linspace(0, 1, 30)))
    assert table.schema.names == ["size", "km_to_centre", "store"]


def test_all_problems_are_listed_with_what_solves_them():
    frame = frame_of(
        sum=[f"{i},{100 + i}" for i in range(1, 13)],
        day=["03/01/2022", "02/05/2022"],
        empty=[None],
    )
    with pytest.raises(TableError) as error:
        labelled_table(frame.assign(y=np.resize(["low", "high"], N)), weight="day")
    lines = str(error.value).split("\n- ")
    assert lines[0] == "The table has 4 problems:"
    assert "order='lowest<…<highest'" in lines[1]
    assert "drop=['empty']" in lines[2]
    assert "decimal=',' or thousands=','" in lines[3]
    assert lines[4] == "The weights 'day' must be numbers; found '03/01/2022'."
    assert len(error.value.problems) == 4


def test_kinds_that_are_stated_and_do_not_hold():
    words = pd.Series(["3", "4", "many"])
    guess = guess_column("n", words, StatedColumn(kind="number"))
    assert guess.problem.startswith("Column 'n' is stated to be of kind number and holds 'many'")
    named = guess_column("n", words, StatedColumn(kind="number", missing=("many",)))
    assert named.problem is None and named.column.converted(words, "t")[:2].tolist() == [3.0, 4.0]


def test_marks_that_are_stated_hold_for_every_column():
    frame = pd.Series(["1.234", "2.500,5"])
    guess = guess_column("n", frame, None, TableOptions(decimal=",", thousands="."))
    assert guess.column.converted(frame, "t").tolist() == [1234.0, 2500.5]
    with pytest.raises(TableError, match=r"Column 'n' of t holds '1\.5\.5' in row 1, where a num"):
        guess.column.converted(pd.Series(["1.5.5"]), "t")


def _long_texts(n, distinct=None, missing=0):
    texts = [f"{'what people write of films is long and ' * 3}number {i}" for i in range(n)]
    found = np.resize(np.array(texts[:distinct], dtype=object), n)
    found[:missing] = None
    return pd.Series(found)


@pytest.mark.parametrize(
    "series",
    [
        _long_texts(60),
        _long_texts(50),
        _long_texts(700, missing=600),
        _long_texts(600, distinct=120),
        _long_texts(600, distinct=121),
        _long_texts(700).astype("str"),
        pd.concat([_long_texts(60), pd.Series([3.0] * 60)], ignore_index=True),
        pd.concat([_long_texts(60), pd.Series(["2020-01-03"] * 600)], ignore_index=True),
        pd.Series(["x" * 100 + str(i) for i in range(60)]),
        pd.Series(["unknown " * 20] * 60),
    ],
)
@pytest.mark.parametrize("missing", [(), ("unknown " * 19 + "unknown",), ("3",)])
def test_long_texts_are_told_without_all_of_them_in_memory(series, missing, monkeypatch):
    found = guess_column("t", series, StatedColumn(missing=missing))
    monkeypatch.setattr(guessing, "_are_long_sentences", lambda *_: False)
    assert found == guess_column("t", series, StatedColumn(missing=missing))


def test_texts_are_not_copied_unless_some_are_missing():
    series = pd.Series(["so it was", None, " NA ", "-99.0"] * 400).astype("str")
    column = Column("t", "text", None, ("-99",))
    found = column.converted(series, "t")
    assert found[:4].tolist() == ["so it was", np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(found.isna(), column.converted(series.astype(object), "t").isna())
    whole = series.where(series == "so it was", "and so on")
    assert column.converted(whole, "t") is whole
