import re

import numpy as np
import pandas as pd
import pytest

from echelon.tables import (
    TableError,
    encode_target,
    labelled_table,
    parse_order,
    read_labelled_table,
)

WORDS = ["poor", "fair", "good"]


def frame_of(labels, **columns):
    rows = len(labels)
    return pd.DataFrame({"a": np.arange(rows) * 0.5 + 0.1, **columns, "y": labels})


def test_text_labels_in_a_stated_order_with_a_level_that_no_row_has():
    table = labelled_table(frame_of(WORDS), "y", "poor < fair<good<superb")
    assert table.classes == [*WORDS, "superb"]
    assert list(table.y) == WORDS
    assert table.target == "y" and table.schema.names == ["a"]
    assert table.notes == ("No row has the label 'superb' that the order names.",)


def test_numbers_have_an_order_and_another_may_be_stated():
    table = labelled_table(frame_of([10, 5, 1]))
    assert table.classes == [1, 5, 10]
    table = labelled_table(frame_of([10, 5, 1]), None, "10<5<1")
    assert table.classes == [10, 5, 1]
    assert table.y.tolist() == [10, 5, 1]


def test_stated_numbers_that_no_row_has_stay_numbers():
    table = labelled_table(frame_of([1, 2, 1]), "y", "1<2<3")
    assert table.classes == [1, 2, 3] and table.y.tolist() == [1, 2, 1]
    assert table.notes == ("No row has the label '3' that the order names.",)
    table = labelled_table(frame_of([1.0, 2.0, 1.5]), "y", "1<1.5<2")
    assert table.classes == [1.0, 1.5, 2.0]
    assert table.notes == ()


def test_numbers_and_words_together_are_words():
    table = labelled_table(frame_of([1, 2, 1]), "y", "1<2<more")
    assert table.classes == ["1", "2", "more"] and list(table.y) == ["1", "2", "1"]
    table = labelled_table(frame_of([1, 2, 1]), "y", "none<1<2<more")
    assert table.notes == ("No row has the labels 'none', 'more' that the order names.",)


def test_an_ordered_category_states_its_order(tmp_path):
    grades = pd.Categorical(["good", "poor", "good"], categories=WORDS, ordered=True)
    table = labelled_table(frame_of(grades))
    assert table.classes == WORDS
    assert table.notes == ()
    assert list(table.y) == ["good", "poor", "good"] and table.y.ordered
    path = tmp_path / "grades.parquet"
    frame_of(grades).to_parquet(path)
    again = read_labelled_table(path)
    assert again.classes == WORDS and list(again.y) == list(table.y)
    reverse = read_labelled_table(path, order="good<fair<poor")
    assert reverse.classes == ["good", "fair", "poor"] and list(reverse.y) == list(table.y)


def test_an_unordered_category_is_not_an_order():
    with pytest.raises(TableError, match="has text labels: fair, good, poor; give their order"):
        labelled_table(frame_of(pd.Categorical(WORDS)))


def test_many_text_labels_are_named_without_an_order_to_copy():
    labels = [f"level {place:02}" for place in range(12)]
    with pytest.raises(TableError) as refusal:
        labelled_table(frame_of(labels))
    said = str(refusal.value)
    assert "level 09 and 2 more; give" in said
    assert said.endswith("with order='lowest<…<highest'.")
    assert said.count("<") == 2


def test_words_of_truth_are_words_in_a_target(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("a,vote\n1,no\n2,yes\n3,no\n")
    table = read_labelled_table(path, order="no<yes")
    assert table.classes == ["no", "yes"] and list(table.y) == ["no", "yes", "no"]


def test_none_is_a_label_and_a_mark_elsewhere(tmp_path):
    path = tmp_path / "improved.csv"
    path.write_text("dose,site,improved\n1,x,None\n?,None,Some\n3,y,Marked\n")
    table = read_labelled_table(path, order="None<Some<Marked")
    assert list(table.y) == ["None", "Some", "Marked"]
    assert table.X.isna().to_numpy().tolist() == [[False, False], [True, True], [False, False]]


def test_rows_without_a_label_may_be_left_out(tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text("a,stars\n1,5\n2,\n3,4\n")
    table = read_labelled_table(path, drop_unlabelled=True)
    assert table.classes == [4, 5] and table.y.tolist() == [5, 4]
    assert table.y.dtype.kind == "i"
    assert table.X["a"].tolist() == [1, 3]
    assert table.notes == ("1 row without a label left out.",)


def test_labels_with_breaks_are_shown_on_one_line():
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": ["low\nest", "high"]})
    with pytest.raises(TableError, match=re.escape("'high', 'low\\nest'; give")):
        labelled_table(frame)


def test_labels_beyond_integers_stay_numbers():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [4.4e19, np.nan, 3.0]})
    assert labelled_table(frame, drop_unlabelled=True).classes == [3.0, 4.4e19]


def test_identifiers_are_left_out_with_a_note_unless_kept():
    rows = 30
    columns = {
        "row": np.arange(1, rows + 1),
        "userId": np.arange(rows) * 7 + 3,
        "phone": 10**10 + np.arange(rows) ** 2,
        "name": [f"person {place}" for place in range(rows)],
        "price": np.arange(rows) ** 2 * 1_000 + 50_000,
        "qid": [1, 2] * (rows // 2),
    }
    frame = frame_of([1, 2, 3] * 10, **columns)
    table = labelled_table(frame)
    assert table.schema.names == ["a", "price"]
    assert table.notes == (
        "Column 'row' left out as an identifier: it counts the rows.",
        "Column 'userId' left out as an identifier: its name and its distinct whole numbers are "
        "those of an identifier.",
        "Column 'phone' left out as an identifier: its long whole numbers differ in every row.",
        "Column 'name' left out as an identifier: its text differs in every row.",
        "Column 'qid' left out as an identifier: it names queries.",
    )
    kept = labelled_table(frame, keep=["phone"], drop=["price", "name"])
    assert kept.schema.names == ["a", "phone"]


def test_only_identifiers_are_no_inputs():
    frame = frame_of([1, 2] * 15, name=[f"person {place}" for place in range(30)])
    with pytest.raises(TableError, match="has no input: column 'name' would be left out"):
        labelled_table(frame, drop=["a"])


def test_columns_that_are_not_there():
    frame = frame_of([1, 2, 3], quality=[1, 2, 3])
    with pytest.raises(TableError, match=r"^The table has no column 'z'; it has a, quality, y\.$"):
        labelled_table(frame, "z")
    with pytest.raises(TableError, match="has no column 'Qualty'; did you mean 'quality'"):
        labelled_table(frame, "Qualty")
    with pytest.raises(TableError, match="has no column 'b'"):
        labelled_table(frame, drop=["b"])
    with pytest.raises(TableError, match="The target 'y' cannot be left out"):
        labelled_table(frame, drop=["y"])


def test_frames_that_no_table_is():
    with pytest.raises(TableError, match="The table has no rows"):
        labelled_table(frame_of([]))
    twice = pd.concat([frame_of([1, 2]), frame_of([1, 2])], axis=1)
    with pytest.raises(TableError, match="has more than one columns 'a', 'y'"):
        labelled_table(twice)


def test_labels_that_the_order_does_not_name():
    with pytest.raises(TableError, match=r"has labels that `order` does not name: good\.$"):
        labelled_table(frame_of(WORDS), "y", "poor<fair")
    slip = r"does not name: good; and it names labels that no row has: god, best\.$"
    with pytest.raises(TableError, match=slip):
        labelled_table(frame_of(WORDS), "y", "poor<fair<god<best")


def test_labels_that_differ_by_spaces_or_case_are_shown_and_explained():
    words = ["poor", "good ", "Poor", "good", "poor", "good"]
    hint = r"name: 'good ', 'Poor'; write 'good ' and 'good' alike if they are the same\.$"
    with pytest.raises(TableError, match=hint):
        labelled_table(frame_of(words), "y", "poor<good")
    with pytest.raises(TableError, match=r"know: POOR; it knows poor, good; write 'POOR' and 'poo"):
        encode_target(["POOR"], ["poor", "good"])


def test_dates_in_other_forms_are_read_and_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "day,y\n" + "".join(f"{i}.1.2024,{i % 2}\n" for i in range(1, 25)) + "1.1.2024,1\n"
    )
    table = read_labelled_table(path)
    assert table.schema.columns[0].kind == "date" and table.X["day"][0] == 19723.0
    assert table.notes == (
        "Column 'day' is read as dates of the form %d.%m.%Y, such as '1.1.2024'.",
        "Column 'day' is an input; if the model is for later rows, give time='day'.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("poor", "at least two labels"),
        ("poor<<good", r"from lowest to highest, such as"),
        ("poor,fair,good", r"highest, with '<' between them and not ',', such as"),
        ("good > poor", r"highest, with '<' between them and not '>', such as"),
        ("poor<good<poor", "names more than once: poor"),
    ],
)
def test_bad_orders(text, message):
    with pytest.raises(TableError, match=message):
        parse_order(text)


def test_the_default_target_of_svmlight_is_the_label(tmp_path):
    path = tmp_path / "rank.svmlight"
    path.write_text("2 qid:1 1:0.5\n1 qid:1 2:1\n0 qid:2 1:-1\n")
    table = read_labelled_table(path)
    assert table.target == "label" and table.classes == [0, 1, 2]
    assert table.schema.names == ["x1", "x2"]
