"""Each bad file gets a sentence of its own, plain, gzipped and through standard input."""

import gzip
import io
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from echelon.tables import (
    Column,
    Schema,
    TableError,
    blocks,
    delimited,
    encode_target,
    read_chunks,
    read_labelled_table,
    read_table,
)

LABELS = "a,y\n" + "".join(f"1,{place}\n" for place in range(10_000))
NAME = "{name}"
TEXTS = {
    "empty": (b"", "{name} is empty."),
    "blank lines": (b"\n\r\n\n", "{name} is empty."),
    "a mark and nothing else": (b"\xef\xbb\xbf", "{name} is empty."),
    "header only": (b"a,y\n", "{name} has a header and no rows."),
    "wrong delimiter": (
        b"a;y\n1;2\n",
        "{name} has one column only, 'a;y'; it looks separated by ';', so give delimiter=';'.",
    ),
    "tabs": (
        b"a\ty\n1\t2\n",
        "{name} has one column only, 'a\\ty'; it looks separated by tab, so give delimiter='tab'.",
    ),
    "not UTF-8": (
        "a,y\n1,2\nGrüße,3\n".encode("latin-1"),
        "{name} has a byte in line 3 that is not UTF-8; if it was written by an older program, "
        "give encoding='cp1252' or the encoding that it has.",
    ),
    "repeated columns": (b"a,b,a,y\n1,2,3,4\n", "{name} has more than one column 'a'."),
    "no value": (
        b"a,b,y\n1,,1\n2,?,2\n",
        "{name} has no value in column 'b'; leave it out with drop=['b'].",
    ),
    "no values": (
        b"a,b,long name,y\n1,,NA,1\n2,?,,2\n",
        "{name} has no value in columns 'b', 'long name'; leave them out with "
        "drop=['b', 'long name'].",
    ),
    "missing label": (
        b"a,y\n1,1\n2,\n3,2\n",
        "The target 'y' of {name} has 1 row without a label; leave such rows out with "
        "drop_unlabelled=True.",
    ),
    "no label": (b"a,y\n1,\n2,\n", "The target 'y' of {name} has no labels at all."),
    "one class": (
        b"a,y\n1,3\n2,3\n",
        "The target 'y' has one class only, 3; at least two are needed.",
    ),
    "many classes": (
        LABELS.encode(),
        "The target 'y' has 10,000 classes; at most 1,000 are accepted: is it the right column, "
        "or should it be cut into fewer ordered classes?",
    ),
    "continuous": (
        ("a,y\n" + "".join(f"1,{place / 7}\n" for place in range(1, 60))).encode(),
        "The target 'y' looks continuous: 59 distinct fractional values in 59 rows; cut it into "
        "ordered classes, or list them with `order`.",
    ),
    "text": (
        b"a,y\n1,low\n2,high\n",
        "The target 'y' has text labels: high, low; give their order from lowest to highest with "
        "order='lowest<…<highest'.",
    ),
    "only a target": (b"y\n1\n2\n", "{name} has no column besides the target 'y'."),
    "binary": (b"\x7fELF\0\0\x01\x02,\n", "{name} is a binary file, not a table of text."),
    "zip archive": (
        b"PK\x03\x04" + bytes(20),
        "{name} is a zip archive, not a table; the formats that are read are csv, tsv, parquet, "
        "arrow, jsonl, svmlight, xlsx, xls, xlsb, ods, dta, sav, por, and text also as .gz.",
    ),
    "short row": (
        b'a,b,y\n1,"two\nlines",3\n\n4,5\n',
        "{name} has 2 cells in line 5, where the header has 3.",
    ),
    "long row": (b"a,y\n1,2\n3,4,5\n", "{name} has 3 cells in line 3, where the header has 2."),
    "svmlight": (
        b"3 qid:1 1:0.5 2:1\n2 qid:1 1:1\n",
        "{name} looks like an svmlight file; give format='svmlight'.",
    ),
    "a JSON array": (
        b'[{"a": 1},\n{"a": 2}]',
        "{name} is one JSON array; JSON is read with an object on every line.",
    ),
    "values in the header": (
        b"7.4,0.7,5\n7.8,0.88,6\n",
        "{name} begins with numbers, '7.4', '0.7', '5', where names of columns are expected.",
    ),
}


def fed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    return "-"


@pytest.mark.parametrize("way", ["plain", "gz", "standard input", "gz by standard input"])
@pytest.mark.parametrize("case", TEXTS)
def test_a_bad_text_file_gets_its_sentence(tmp_path, monkeypatch, case, way):
    content, sentence = TEXTS[case]
    content = gzip.compress(content) if "gz" in way else content
    if "input" in way:
        source, name = fed(monkeypatch, content), "Standard input"
    else:
        source = tmp_path / ("bad.csv.gz" if way == "gz" else "bad.csv")
        source.write_bytes(content)
        name = str(source)
    with pytest.raises(TableError) as error:
        read_labelled_table(source)
    name = name.lower() if "of {name}" in sentence and "input" in way else name
    assert str(error.value) == sentence.replace(NAME, name)


@pytest.mark.parametrize("stdin", [False, True])
@pytest.mark.parametrize("size", [5, 40, 2_000])
def test_a_truncated_gz(tmp_path, monkeypatch, size, stdin):
    text = "a,y\n" + "".join(f"{place**3 % 9973},{place % 3}\n" for place in range(5_000))
    content = gzip.compress(text.encode())[:size]
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(content)
    source = fed(monkeypatch, content) if stdin else path
    with pytest.raises(TableError, match=r"ends in the middle of its compressed data"):
        read_labelled_table(source)


def test_damaged_gz(tmp_path):
    content = bytearray(gzip.compress(b"a,y\n" + b"1,2\n" * 50_000 + b"2,1\n"))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "damaged.csv.gz"
    path.write_bytes(content)
    with pytest.raises(TableError, match="has damaged compressed data"):
        read_table(path)


def test_folders_and_absent_files(tmp_path):
    with pytest.raises(TableError, match="is a folder without files"):
        read_table(tmp_path)
    with pytest.raises(TableError, match=r"nowhere\.csv is not a file"):
        read_table(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_bad_binary_tables(tmp_path, suffix):
    title = "Parquet" if suffix == "parquet" else "Arrow"
    whole = tmp_path / f"whole.{suffix}"
    frame = pd.DataFrame({"a": range(100), "y": [1, 2] * 50})
    getattr(frame, "to_parquet" if suffix == "parquet" else "to_feather")(whole)
    cut = tmp_path / f"cut.{suffix}"
    cut.write_bytes(whole.read_bytes()[:-20])
    text = tmp_path / f"text.{suffix}"
    text.write_text("a,y\n1,2\n")
    for path in (cut, text):
        with pytest.raises(TableError, match=f"cannot be read as {title}: .*\\.$") as error:
            read_table(path)
        assert "\n" not in str(error.value)
    misnamed = tmp_path / "table.csv"
    misnamed.write_bytes(whole.read_bytes())
    with pytest.raises(TableError, match=r"is a binary file of format .* not csv"):
        read_table(misnamed)


def test_types_that_no_table_has(tmp_path):
    path = tmp_path / "lists.parquet"
    pd.DataFrame({"tags": [["a"], ["b", "c"]]}).to_parquet(path)
    with pytest.raises(TableError, match=r"Column 'tags' of .* holds values of type list"):
        read_table(path)


JSON = {
    "no object": (b'{"a": 1}\n[1, 2]\n', "has no JSON object in line 2"),
    "broken": (b'{"a": 1}\n\n{"a": \n', "has no JSON object in line 3"),
    "nested": (b'{"a": 1}\n{"a": [1]}\n', "has a nested value of 'a' in line 2"),
    "blank": (b" \n", "is empty"),
}


@pytest.mark.parametrize("case", JSON)
def test_bad_json_lines(tmp_path, case):
    content, message = JSON[case]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(path)


SVMLIGHT = {
    "words": (b"1 1:2\nhello world\n", "has no label and features in line 2"),
    "no rows": (b"# a comment\n", "has no rows"),
    "far features": (b"1 1:2\n2 9999999:1\n", "has features up to number 9,999,999"),
}


@pytest.mark.parametrize("case", SVMLIGHT)
def test_bad_svmlight(tmp_path, case):
    content, message = SVMLIGHT[case]
    path = tmp_path / "bad.svmlight"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(path)


SIZES = Schema((Column("size", "number"), Column("sold", "boolean"), Column("day", "date")))
CELLS = {
    "number": ("3,huge,yes,2020-01-01", "'size' of {name} holds 'huge' in row 3, where a number"),
    "boolean": ("3,1,maybe,2020-01-01", "'sold' of {name} holds 'maybe' in row 3, where one of"),
    "date": ("3,1,no,2020-13-01", "'day' of {name} holds '2020-13-01' in row 3, where a date"),
    "infinite": ("3,inf,no,2020-12-01", "'size' of the table holds an infinite number in row 3."),
}


@pytest.mark.parametrize("case", CELLS)
def test_a_cell_of_another_kind_is_named(tmp_path, case):
    row, message = CELLS[case]
    path = tmp_path / "new.csv"
    good = "1,2.5,yes,2020-01-01\n2,?, no ,\n"
    path.write_text(f"n,size,sold,day\n{good}{row}\n")
    with pytest.raises(TableError) as error:
        list(map(SIZES.apply, read_chunks(path, schema=SIZES)))
    assert message.replace(NAME, str(path)) in str(error.value)


def test_missing_columns_are_named_with_what_may_be_meant(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("Size,when\n1,2\n")
    with pytest.raises(TableError) as error:
        next(read_chunks(path, schema=SIZES))
    assert str(error.value) == (
        f"{path} lacks columns 'size', 'sold', 'day'; is it 'Size' for 'size'?"
    )


def test_an_unseen_label_is_named():
    with pytest.raises(TableError) as error:
        encode_target(["fair", "awful"], ["poor", "fair"], "rating")
    assert str(error.value) == (
        "Column 'rating' has labels that the model does not know: awful; it knows poor, fair."
    )
    with pytest.raises(TableError, match="1 row without a label"):
        encode_target(["fair", None], ["poor", "fair"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "docx"}, "The format must be one of csv, tsv, .*; found 'docx'"),
        ({"delimiter": "::"}, "The delimiter must be one character, or tab; found '::'"),
        ({"format": "jsonl", "delimiter": ";"}, "which has no delimiter"),
    ],
)
def test_bad_options(tmp_path, options, message):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,2\n")
    with pytest.raises(TableError, match=message):
        read_table(path, **options)


@pytest.mark.parametrize(
    "text",
    [
        'a,word\n1,x\n2,"y\n3,z\n',
        'a,word\n1,x\n2,"y""\n3,z\n',
        # Another mark stands inside a field, so that they do not open and close in turn.
        'a,word\n1,5" wide\n2,"y\n3,z\n',
    ],
)
def test_an_open_quotation_does_not_swallow_rows(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=r"quotation mark .* row that begins in line 3\.$"):
        read_table(path)
    with pytest.raises(TableError, match="line 3"):
        list(read_chunks(path, schema=Schema((Column("a", "number"),)), keep=()))


def test_a_row_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    monkeypatch.setattr(delimited, "LONGEST_ROW", 1024)
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"' + 5000 * "x")
    with pytest.raises(TableError, match=r"from line 2 on; is a quotation mark not closed\?$"):
        read_table(path)


def test_numbers_with_decimal_commas_are_numbers(tmp_path):
    rows = "".join(f"{i},{i % 7};{i % 2}\n" for i in range(30))
    path = tmp_path / "t.csv"
    path.write_text("size;grade\n" + rows)
    table = read_labelled_table(path, delimiter=";")
    assert table.X["size"].tolist()[:3] == [0.0, 1.1, 2.2]
    assert table.notes == ("Column 'size' is read as numbers with decimal commas, such as '0,0'.",)
    few = "".join(f"{i % 3},{i % 2};{i % 2}\n" for i in range(30))
    path.write_text("ticked;grade\n" + few)
    assert read_labelled_table(path, delimiter=";").schema.columns[0].kind == "category"


def test_a_header_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,grade\n1,2\n".encode("latin-1"))
    with pytest.raises(TableError, match="byte in its header that is not UTF-8"):
        read_table(path)


def test_a_closed_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TableError, match="Standard input is closed"):
        read_table("-")


def test_a_row_of_odd_bytes_and_length_is_refused_without_noise(tmp_path, capfd):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n3,\xbd,4\n")
    with pytest.raises(TableError, match="byte in line 3 that is not UTF-8"):
        read_table(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_texts_of_arrow_that_are_not_utf8(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    frame = pd.DataFrame({"word": ["abcdefgh" * 3], "n": [1]})
    if suffix == "parquet":
        frame.to_parquet(path, compression=None)
    else:
        frame.to_feather(path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"abc\xffefgh"))
    with pytest.raises(TableError, match="cannot be read as"):
        read_table(path)
