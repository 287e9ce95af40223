"""Sheets: which one, where its header is, and what its cells are."""

import io
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.binary_sheets import write_xlsb
from support.sheets import date, error, formula, time, write_xlsx

from echelon.tables import (
    TableError,
    inspect,
    labelled,
    read_chunks,
    read_labelled_table,
    read_table,
    spreadsheets,
)

ROWS = [
    ["size", "sold", "day", "colour", "grade"],
    [1, True, date(45000), "red", 1],
    [2.5, False, date(45000.5), "blue", 2],
    [None, True, None, "red", 3],
]


def test_cells_keep_their_types(tmp_path):
    frame = read_table(write_xlsx(tmp_path / "t.xlsx", {"one": ROWS}))
    np.testing.assert_array_equal(frame["size"], [1, 2.5, np.nan])
    assert frame["sold"].dtype == "boolean"
    assert frame["sold"].tolist() == [True, False, True]
    days = np.array(["2023-03-15T00", "2023-03-15T12", "NaT"], dtype="datetime64[us]")
    np.testing.assert_array_equal(frame["day"].to_numpy(dtype="datetime64[us]"), days)
    assert frame["colour"].tolist() == ["red", "blue", "red"]
    assert frame["grade"].dtype == np.int64


def test_parts_agree_with_the_whole(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "t.xlsx", {"one": [ROWS[0], *ROWS[1:] * 5]})
    whole = read_table(path)
    monkeypatch.setattr(spreadsheets, "_ROWS", 4)
    parts = list(read_chunks(path, rows=7))
    assert [len(part) for part in parts] == [7, 7, 1]
    pd.testing.assert_frame_equal(pd.concat(parts), whole)
    schema = read_labelled_table(path, "grade").schema
    pd.testing.assert_frame_equal(
        pd.concat(read_chunks(path, schema=schema, rows=7)), read_table(path, schema=schema)
    )


def test_titles_empty_rows_and_empty_columns_are_passed_over(tmp_path):
    titled = [["Report of March"], [], *([None, *row, None] for row in ROWS), [], ["  "]]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": titled, "empty": []})
    frame = read_table(path)
    assert frame.columns.tolist() == ROWS[0]
    assert len(frame) == 3
    notes = inspect(path).notes
    assert f"Sheet 'one' of {path} has its header in row 3; what is above is left out." in notes


def test_a_column_without_a_name_is_called_by_its_place(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"one": [["a", None, 2020], [1, 2, 3], [1, 2, 3]]})
    assert read_table(path).columns.tolist() == ["a", "column 2", "2020"]


def test_numbers_with_marks_and_texts_that_are_numbers(tmp_path):
    rows = [["a", "b", "c"], [1, "12", "1,5"], ["NA", 7, "2,25"], [3, None, "3,5"]]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": rows})
    frame = read_table(path)
    np.testing.assert_array_equal(frame["a"], [1, np.nan, 3])
    np.testing.assert_array_equal(frame["b"], [12, 7, np.nan])
    # A stated mark concerns texts, and not what is a number already.
    rows = [["x", "y"], *([k + 0.5, k] for k in range(30))]
    table = read_labelled_table(write_xlsx(path, {"one": rows}), "y", decimal=",")
    np.testing.assert_array_equal(table.X["x"], np.arange(30) + 0.5)


def test_numbers_and_words_in_one_column_are_text_and_told(tmp_path):
    rows = [["x", "y"], [1, 1], [2.5, 2], ["refused", 1], [1, 2]]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": rows})
    assert read_table(path)["x"].tolist() == ["1", "2.5", "refused", "1"]
    note = (
        "Column 'x' has numbers and others, such as 'refused', and is read as text; if that stands "
        "for a missing value, give missing='x: refused'."
    )
    assert note in inspect(path).notes
    table = read_labelled_table(path, missing="x: refused")
    np.testing.assert_array_equal(table.X["x"], [1, 2.5, np.nan, 1])


def test_times_of_day_are_seconds(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"s": [["t", "y"], [time(0.25), 1], [time(0.5), 2]]})
    assert read_table(path)["t"].tolist() == [21600, 43200]
    assert "Column 't' holds times of day, read as seconds." in inspect(path).notes


def test_errors_and_formulas_without_values_are_missing(tmp_path):
    rows = [["a", "b", "y"], [error("#REF!"), formula("A2*2"), 1], [4, formula("A3*2"), 2]]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": rows})
    np.testing.assert_array_equal(read_table(path)["a"], [np.nan, 4])
    with pytest.raises(TableError) as refused:
        read_labelled_table(path)
    assert str(refused.value) == (
        f"{path} has no value in column 'b', where errors such as #REF! and formulas without a "
        "stored value, which a spreadsheet program computes and saves, count as empty; leave it "
        "out with drop=['b']."
    )


def test_a_sheet_is_named_by_name_or_number(tmp_path):
    other = [["a", "y"], [5, 1], [6, 2]]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": ROWS, "empty": [], "2": other})
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path} has 2 sheets with rows, 'one', '2'; name one with sheet='one'."
    )
    assert read_table(path, sheet="one").shape == (3, 5)
    # A name is stronger than a number.
    assert read_table(path, sheet=2)["a"].tolist() == [5, 6]
    assert read_table(path, sheet=3)["a"].tolist() == [5, 6]
    assert len(next(read_chunks(path, sheet="2"))) == 2
    assert read_labelled_table(path, sheet="2").classes == [1, 2]
    with pytest.raises(TableError, match=r"has no sheet '4'; it has 'one', 'empty', '2'\."):
        read_table(path, sheet=4)
    with pytest.raises(TableError, match=r"Sheet 'empty' of .* is empty\."):
        read_table(path, sheet="empty")


def test_a_hidden_sheet_is_read_only_if_it_is_named(tmp_path):
    lists = [["code", "name"], [1, "a"], [2, "b"]]
    path = write_xlsx(tmp_path / "t.xlsx", {"lists": lists, "rows": ROWS}, hidden=["lists"])
    assert read_table(path).columns.tolist() == ROWS[0]
    assert read_table(path, sheet="lists").columns.tolist() == lists[0]


def test_a_schema_file_names_the_sheet(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"one": ROWS, "two": ROWS})
    schema = tmp_path / "s.toml"
    schema.write_text(inspect(path, sheet="two", drop=["day"]).to_toml())
    assert 'sheet = "two"' in schema.read_text()
    assert labelled.read_labelled_table(path, schema=schema).target == "grade"
    schema.write_text("sheet = 2\n")
    assert labelled.read_labelled_table(path, schema=schema, drop=["day"]).target == "grade"
    schema.write_text("sheet = true\n")
    with pytest.raises(TableError, match="must have a name or a number as sheet; found True"):
        labelled.read_labelled_table(path, schema=schema)


MERGED = {
    "over columns": (["A1:B1"], [["a", None, "y"], [1, 2, 3]]),
    "over two rows of names": (["A1:A2"], [["a", "scores", "y"], [None, "first", 1], [1, 2, 3]]),
}


@pytest.mark.parametrize("case", MERGED)
def test_merged_cells_in_the_header_are_refused(tmp_path, case):
    merged, rows = MERGED[case]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": rows}, merged)
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"Sheet 'one' of {path} has merged cells in its header, {merged[0]}; give every column a "
        "name of its own in one row."
    )


def test_merged_titles_are_passed_over_and_merged_cells_told(tmp_path):
    rows = [["Title"], ["a", "b"], ["x", 1], [None, 2]]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": rows}, ["A1:B1", "A3:A4"])
    assert read_table(path).shape == (2, 2)
    assert any("has merged cells, A3:A4, of which only" in note for note in inspect(path).notes)


BAD = {
    "no rows": ([["a", "y"]], "Sheet 'one' of {name} has a header and no rows."),
    "no sheet with rows": ([], "{name} has no sheet with rows."),
    "repeated names": ([["a", "a"], [1, 2]], "Sheet 'one' of {name} has more than one column 'a'."),
    "no header": (
        [[1.5, 2.25], [1, 2]],
        "Sheet 'one' of {name} begins with numbers, '1.5', '2.25', where names of columns are "
        "expected.",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_sheet_gets_its_sentence(tmp_path, case):
    rows, sentence = BAD[case]
    path = write_xlsx(tmp_path / "t.xlsx", {"one": rows})
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == sentence.replace("{name}", str(path))


def test_files_that_are_no_spreadsheets(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_text("a,y\n1,2\n")
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path} does not begin as a file of format xlsx does; if it is text, give format='csv'."
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(TableError, match=r"t\.xlsx is a zip archive, not a table"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(TableError, match=r"cannot be read as a spreadsheet: .*\.$"):
        read_table(path)
    whole = write_xlsx(tmp_path / "whole.xlsx", {"one": ROWS}).read_bytes()
    for cut in (100, 700, len(whole) - 30):
        path.write_bytes(whole[:cut])
        with pytest.raises(TableError, match=r"t\.xlsx (cannot be read|does not begin)"):
            read_table(path)
    misnamed = tmp_path / "t.csv"
    misnamed.write_bytes(whole)
    with pytest.raises(TableError, match=r"is a binary file of format xlsx, not csv"):
        read_table(misnamed)


def test_a_protected_file_is_told_from_a_damaged_one(tmp_path):
    path = tmp_path / "t.xlsx"
    magic = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    path.write_bytes(magic + bytes(1024) + "EncryptedPackage".encode("utf-16-le") + bytes(512))
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path} is protected by a password; save it without one to read it."
    )
    path.write_bytes(magic + bytes(1024))
    with pytest.raises(TableError, match="cannot be read as a spreadsheet"):
        read_table(path)


def test_options_that_have_no_meaning(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"one": ROWS})
    with pytest.raises(TableError, match="is of format xlsx, which has no encoding"):
        read_table(path, encoding="latin-1")
    with pytest.raises(TableError, match="is of format xlsx, which has no delimiter"):
        read_table(path, delimiter=";")
    text = tmp_path / "t.csv"
    text.write_text("a,y\n1,2\n")
    with pytest.raises(TableError, match=r"t\.csv is of format csv, which has no sheets"):
        read_table(text, sheet="one")


def test_by_standard_input(tmp_path, monkeypatch):
    content = write_xlsx(tmp_path / "t.xlsx", {"one": ROWS}).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert read_table("-").shape == (3, 5)


@pytest.mark.parametrize("name", ["t.xlsb", "t"])
def test_xlsb(tmp_path, name):
    rows = [["size", "colour", "sold", "grade"], [1.5, "red", True, 1], [None, "blå", False, 2]]
    found = read_table(write_xlsb(tmp_path / name, rows))
    assert found.columns.tolist() == rows[0]
    assert found["size"].isna().tolist() == [False, True]
    assert found["colour"].tolist() == ["red", "blå"]
    assert found["sold"].tolist() == [True, False]
    assert found["grade"].tolist() == [1, 2]


def test_ods(tmp_path):
    path = tmp_path / "t.ods"
    cell = '<table:table-cell office:value-type="{}" {}><text:p>{}</text:p></table:table-cell>'
    text = [cell.format("string", "", name) for name in ("a", "y")]
    numbers = [cell.format("float", f'office:value="{value}"', value) for value in (1.5, 2)]
    rows = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in (text, numbers))
    names = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
        for short in ("office", "table", "text")
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content{names}><office:body><office:spreadsheet>"
            f'<table:table table:name="one">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    assert read_table(path).to_dict("list") == {"a": [1.5], "y": [2]}
