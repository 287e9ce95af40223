"""How a table would be read, as a screen and as a file that a person edits."""

import pandas as pd
import pytest

from echelon.tables import TableError, inspect, labelled_table
from echelon.tables.schema_file import read_schema_file, schema_text

N = 30


def frame_of():
    return pd.DataFrame(
        {
            "patient": [i % 24 for i in range(N)],
            "pw": [0.5 + 0.1 * (i % 7) for i in range(N)],
            "seen": [f"{1 + i % 28}.2.2022" for i in range(N)],
            "q1": [["never", "sometimes", "always", None][i % 4] for i in range(N)],
            "colour": [["red", "green", "blue", "grey", "pink"][i % 5] for i in range(N)],
            "q2": [[1, 2, 3, 99][i % 4] for i in range(N)],
            "grade": [["low", "high"][i % 2] for i in range(N)],
        }
    )


def test_a_line_for_every_column():
    found = inspect(frame_of(), "grade", "low<high", missing="q2: 99")
    assert [(c.name, c.role, c.kind) for c in found.columns] == [
        ("patient", "left out", ""),
        ("pw", "left out", ""),
        ("seen", "input", "date"),
        ("q1", "input", "ordered"),
        ("colour", "input", "category"),
        ("q2", "input", "number"),
        ("grade", "target", "ordered"),
    ]
    by_name = {c.name: c for c in found.columns}
    assert by_name["patient"].why == "it repeats, 24 values in 30 rows"
    assert by_name["pw"].why == "its name is that of a survey weight"
    assert by_name["seen"].values == "2022-02-01 to 2022-02-28"
    assert by_name["q1"].values == "never < sometimes < always" and by_name["q1"].missing == 7
    assert by_name["colour"].values == "blue, green, grey, pink … (5)"
    assert by_name["q2"].values == "1 to 3" and by_name["q2"].missing == 7
    assert not found.problems
    said = str(found).split("\n")
    assert said[0] == "the table: 30 rows, 7 columns"
    assert said[1].split() == ["Column", "role", "kind", "values", "missing", "why"]


def test_problems_are_shown_and_nothing_is_raised():
    found = inspect(frame_of(), time="colour")
    assert [str(p).split(";")[0] for p in found.problems] == [
        "The target 'grade' has text labels: high, low",
        "The times 'colour' must be dates or numbers",
    ]
    assert "Problems:\n- The target 'grade'" in str(found)


def test_a_written_file_reads_the_table_alike(tmp_path):
    path = tmp_path / "study.toml"
    stated = {"missing": ["q2: 99"], "group": "patient"}
    path.write_text(inspect(frame_of(), "grade", "low<high", **stated).to_toml(), encoding="utf-8")
    one = labelled_table(frame_of(), "grade", "low<high", **stated)
    other = labelled_table(frame_of(), schema=path)
    pd.testing.assert_frame_equal(one.X, other.X)
    assert one.schema == other.schema and one.classes == other.classes
    assert (one.groups == other.groups).all()
    kept = labelled_table(frame_of(), schema=path, group="colour", keep=["patient"])
    assert kept.schema.roles == {"group": "colour"} and "patient" in kept.schema.names


def test_an_edited_file_overrules_guesses(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        'target = "grade"\norder = "low<high"\n[columns]\n'
        'colour = { levels = ["pink", "blue", "green", "grey", "red"] }\n'
        'q2 = { kind = "category" }\nq1 = { role = "left out" }\npw = { role = "weight" }\n'
    )
    table = labelled_table(frame_of(), schema=path)
    kinds = {column.name: column.kind for column in table.schema.columns}
    assert kinds == {"seen": "date", "colour": "ordered", "q2": "category"}
    assert table.weights[0] == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target = [", "is no schema file in TOML"),
        ("goal = 'y'", "states 'goal', which no schema has; it has target, order"),
        ("target = 3", "must have a text as target; found 3"),
        ("drop_unlabelled = 'yes'", "must have true or false as drop_unlabelled"),
        ("stop_words = 'the'", "must list texts as stop_words; found 'the'"),
        ("columns = 3", "must have a table of columns; found 3"),
        ("columns = {a = 3}", "Column 'a' of the schema file may state role, kind"),
        ("columns = {x = {role = 'id'}}", "The table lacks column 'x' of the schema file"),
        ("columns = {q1 = {kind = 'number'}}", "stated to be of kind number and holds 'always'"),
    ],
)
def test_files_that_do_not_fit(tmp_path, text, message):
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        labelled_table(frame_of(), order="low<high", schema=path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match="cannot be read: No such file"):
        read_schema_file(tmp_path / "none.toml")


def test_names_of_any_kind_are_written(tmp_path):
    path = tmp_path / "study.toml"
    names = ['a "b" = c', "tab\there", "delete\x7f", "größe\\", "line\nbreak"]
    entries = {name: {"kind": "number"} for name in names}
    path.write_text(schema_text({"encoding": "cp1252"}, entries), encoding="utf-8")
    options, file = read_schema_file(path)
    assert list(options.columns) == names and file.encoding == "cp1252"


def test_texts_and_left_out_words_are_kept(tmp_path):
    frame = frame_of().assign(note=[f"the {i}th of my own notes" for i in range(len(frame_of()))])
    shown = inspect(frame, "grade", "low<high", text="note", stop_words=["the", "of my"])
    view = next(column for column in shown.columns if column.name == "note")
    assert view.kind == "text" and "median 6 words" in view.values and "notes" not in view.values
    path = tmp_path / "study.toml"
    path.write_text(shown.to_toml(), encoding="utf-8")
    column = next(c for c in labelled_table(frame, schema=path).schema.columns if c.name == "note")
    assert column.kind == "text" and column.stop_words == ("the", "of", "my")


def test_cells_that_are_marked_as_missing_are_counted():
    frame = frame_of().assign(
        price=["£1,200.50", "n/a", "£3,000.00"] * 10,
        note=["NA", *(f"the {i}th of my own long notes" for i in range(N - 1))],
        size=pd.array([1, None, 3] * 10, dtype="Int64"),
    )
    shown = inspect(frame, "grade", "low<high", text="note", missing="size: 3")
    missing = {column.name: column.missing for column in shown.columns}
    found = {name: missing[name] for name in ("price", "note", "size", "q1", "colour")}
    assert found == {"price": 10, "note": 1, "size": 20, "q1": 7, "colour": 0}
