"""Files of Stata and SPSS: what codes mean, what is missing, whole and in parts."""

import datetime
import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from echelon.tables import (
    TableError,
    inspect,
    labelled_table,
    read_chunks,
    read_labelled_table,
    read_table,
    survey_files,
)
from echelon.tables.value_labels import answers_of

FOLDER = os.environ.get("ECHELON_DATA")
real_files = pytest.mark.skipif(
    not FOLDER, reason="ECHELON_DATA is not set to a folder of benchmark sets"
)
OFTEN = {1: "never", 2: "rarely", 3: "sometimes", 4: "often", 5: "always"}
LIKED = {1: "Hated it", 2: "So so", 3: "Loved it"}


def write(path, columns, labels=None, **options):
    frame = pd.DataFrame(columns)
    save = pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav
    save(frame, str(path), variable_value_labels=labels or {}, **options)
    return path


def real(name):
    return Path(FOLDER) / "survey" / "files" / name


@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta"])
def test_labels_name_levels_and_codes_order_them(tmp_path, suffix):
    columns = {
        "often": [1.0, 5, 2, 4, 1, 3],
        "falling": [1.0, 2, 3, 4, 5, 1],
        "city": [1.0, 2, 2, 1, 2, 1],
        "liked": [1.0, 2, 3, 1, 2, 3],
    }
    labels = {
        "often": OFTEN,
        "falling": dict(zip(OFTEN, reversed(OFTEN.values()), strict=True)),
        "city": {1: "Bonn", 2: "Aachen", 3: "Ulm"},
        "liked": LIKED,
    }
    options = {"compress": True} if suffix == ".zsav" else {}
    path = write(tmp_path / f"t{suffix}", columns, labels, **options)
    frame = read_table(path)
    assert frame["often"].cat.ordered
    assert frame["often"].cat.categories.tolist() == list(OFTEN.values())
    assert frame["often"].tolist()[:2] == ["never", "always"]
    assert frame["falling"].cat.categories.tolist() == list(OFTEN.values())[::-1]
    assert not frame["city"].cat.ordered
    table = read_labelled_table(path, "liked")
    assert table.classes == list(LIKED.values())
    assert [str(note) for note in table.notes] == [
        "The labels of the target 'liked' have the order of their codes, Hated it < So so < Loved "
        "it; state another with `order`."
    ]
    assert [c.kind for c in table.schema.columns] == ["ordered", "ordered", "category"]
    # What the user calls ordered has the order of the codes.
    table = read_labelled_table(path, "often", ordered="liked")
    assert table.schema.columns[2].levels == tuple(LIKED.values())


def test_the_measure_ordinal_makes_an_order(tmp_path):
    columns = {"liked": [1.0, 3, 2, 1], "step": [3.0, 1, 2, 3], "y": [1.0, 2, 1, 2]}
    path = write(
        tmp_path / "t.sav",
        columns,
        {"liked": LIKED},
        variable_measure={"liked": "ordinal", "step": "ordinal"},
    )
    table = read_labelled_table(path)
    assert [(c.kind, c.levels) for c in table.schema.columns] == [
        ("ordered", tuple(LIKED.values())),
        ("ordered", ("1", "2", "3")),
    ]
    assert read_labelled_table(path, "liked").notes == ()


def test_a_known_scale_in_another_order_than_its_codes(tmp_path):
    labels = {"size": {1: "high", 2: "low", 3: "medium"}}
    columns = {"size": [1.0, 2, 3, 2], "y": [1.0, 2, 1, 2]}
    path = write(tmp_path / "t.sav", columns, labels, variable_measure={"size": "ordinal"})
    table = read_labelled_table(path)
    assert table.schema.columns[0].levels == ("low", "medium", "high")
    assert [str(note) for note in table.notes] == [
        "The answers of column 'size' are ordered as their words say, low < medium < high, not as "
        "their codes, which would be ordered='size: high<low<medium'."
    ]
    # Without a statement of the file it is a category, and as a target it has the words' order.
    path = write(tmp_path / "u.sav", columns, labels, variable_measure={"size": "nominal"})
    assert read_labelled_table(path).schema.columns[0].kind == "category"
    assert read_labelled_table(path, "size").classes == ["low", "medium", "high"]


def test_labels_on_some_codes_only_keep_numbers(tmp_path):
    columns = {"trust": [0.0, 10, 3, 5], "age": [30.0, -8, 99, 20], "y": [1.0, 2, 1, 2]}
    labels = {"trust": {0: "not at all", 10: "completely"}, "age": {-8: "Don't know"}}
    table = read_labelled_table(write(tmp_path / "t.sav", columns, labels))
    assert [c.kind for c in table.schema.columns] == ["number", "number"]
    np.testing.assert_array_equal(table.X["trust"], [0, 10, 3, 5])
    np.testing.assert_array_equal(table.X["age"], [30, np.nan, 99, 20])


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_codes_of_no_answer_are_missing_and_told(tmp_path, suffix):
    codes = [1.0, 2, 3, -9, -8, -1]
    labels = {"q": {-9: "-9. Refused", -8: "-8. DK", -1: "Inapplicable", **dict(OFTEN)}}
    path = write(tmp_path / f"t{suffix}", {"q": codes, "y": [1.0, 2] * 3}, labels)
    table = read_labelled_table(path)
    assert table.X["q"].tolist() == ["never", "rarely", "sometimes", np.nan, np.nan, np.nan]
    assert table.schema.columns[0].levels == tuple(OFTEN.values())
    assert [str(note) for note in table.notes] == [
        "Codes whose labels say that there is no answer are read as missing values: -9 (Refused), "
        "-8 (DK), -1 (Inapplicable), in column 'q'."
    ]


def test_an_answer_that_may_be_none_is_told_with_what_solves_it(tmp_path):
    labels = {"q": {**LIKED, 8: "DK"}}
    path = write(tmp_path / "t.sav", {"q": [1.0, 8, 3, 2], "y": [1.0, 2, 1, 2]}, labels)
    note = (
        "Column 'q' has 'DK' among the answers; if that stands for a missing value, give "
        "missing='q: DK'."
    )
    assert note in read_labelled_table(path).notes
    table = read_labelled_table(path, missing="q: DK")
    assert table.X["q"].isna().tolist() == [False, True, False, False]
    # An answer that nobody gave is no level.
    path = write(tmp_path / "u.sav", {"q": [1.0, 1, 3, 2], "y": [1.0, 2, 1, 2]}, labels)
    assert read_labelled_table(path, "q").classes == list(LIKED.values())


def test_negative_answers_are_answers(tmp_path):
    labels = {"q": {-1: "worse", 0: "the same", 1: "better"}}
    path = write(tmp_path / "t.sav", {"q": [-1.0, 0, 1, 1], "y": [1.0, 2, 1, 2]}, labels)
    assert read_labelled_table(path, "q").classes == ["worse", "the same", "better"]


def test_user_missing_values_are_missing(tmp_path):
    ranges = {"q": [{"lo": 97, "hi": 99}], "x": [{"lo": -5, "hi": -1}, 1000]}
    columns = {"q": [1.0, 98, 3, 2], "x": [-1.0, 7.5, 1000, 2], "y": [1.0, 2, 1, 2]}
    labels = {"q": {**LIKED, 97: "other", 98: "lost"}}
    path = write(tmp_path / "t.sav", columns, labels, missing_ranges=ranges)
    table = read_labelled_table(path)
    assert table.X["q"].isna().tolist() == [False, True, False, False]
    np.testing.assert_array_equal(table.X["x"], [np.nan, 7.5, np.nan, 2])
    assert read_labelled_table(path, "q", drop_unlabelled=True).classes == list(LIKED.values())


def test_statas_missing_letters_are_missing(tmp_path):
    columns = {"x": [1.0, "a", 3.0, "z"], "y": [1.0, 2, 1, 2]}
    path = write(
        tmp_path / "t.dta", columns, {"x": {"a": "gone"}}, missing_user_values={"x": ["a", "z"]}
    )
    np.testing.assert_array_equal(read_table(path)["x"], [1, np.nan, 3, np.nan])


def test_labels_that_repeat_or_look_missing(tmp_path):
    labels = {"q": {0: "None", 1: "other", 2: "other", 3: "NA"}}
    path = write(tmp_path / "t.sav", {"q": [0.0, 1, 2, 3], "y": [1.0, 2, 1, 2]}, labels)
    table = read_labelled_table(path)
    assert table.X["q"].tolist() == ["None (0)", "other (1)", "other (2)", np.nan]


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_dates_and_times_of_day(tmp_path, suffix):
    columns = {
        "day": [datetime.date(2020, 1, 31), None, datetime.date(1583, 1, 1)],
        "at": pd.Series(pd.to_datetime(["2020-01-31 10:30", "1960-01-01", None], format="ISO8601")),
        "clock": [datetime.time(10, 30), datetime.time(0, 0, 5), None],
        "y": [1.0, 2, 1],
    }
    frame = read_table(write(tmp_path / f"t{suffix}", columns))
    days = np.array(["2020-01-31", "NaT", "1583-01-01"], dtype="datetime64[us]")
    np.testing.assert_array_equal(frame["day"].to_numpy(dtype="datetime64[us]"), days)
    times = np.array(["2020-01-31T10:30", "1960-01-01", "NaT"], dtype="datetime64[us]")
    np.testing.assert_array_equal(frame["at"].to_numpy(dtype="datetime64[us]"), times)
    np.testing.assert_array_equal(frame["clock"], [37800, 5, np.nan])


def test_long_texts_and_texts_with_labels(tmp_path):
    long = ["ä" * 600, "b" * 300, "", "c"]
    columns = {"said": long, "sex": ["m", "f", "m", "m"], "y": [1.0, 2, 1, 2]}
    path = write(tmp_path / "t.sav", columns, {"sex": {"m": "male", "f": "female"}})
    frame = read_table(path)
    assert frame["said"].tolist()[:2] == long[:2]
    assert frame["said"].isna().tolist() == [False, False, True, False]
    assert frame["sex"].tolist() == ["male", "female", "male", "male"]
    assert frame["y"].dtype == np.int64


def test_labels_of_variables_are_shown_and_kept(tmp_path):
    columns = {"q1": [1.0, 2, 3, 1], "y": [1.0, 2, 1, 2]}
    path = write(tmp_path / "t.sav", columns, column_labels=["How often do you read?", "Grade"])
    assert read_labelled_table(path).schema.columns[0].label == "How often do you read?"
    frame = read_table(path)
    assert frame.attrs["labels"] == {"q1": "How often do you read?", "y": "Grade"}
    # What a frame says of itself is written with it.
    frame.to_parquet(tmp_path / "t.parquet")
    assert labelled_table(pd.read_parquet(tmp_path / "t.parquet")).schema.columns[0].label
    shown = inspect(path).lines()
    assert shown[1].split()[-2:] == ["label", "why"]
    assert shown[2].endswith("How often do you read?")
    assert shown[3].endswith("Grade")


def test_columns_without_any_value_are_left_out(tmp_path):
    columns = {"a": [-1.0] * 4, "b": [np.nan] * 4, "x": [1.5, 2, 3, 4], "y": [1.0, 2, 1, 2]}
    path = write(tmp_path / "t.dta", columns, {"a": {-1: "Restricted"}})
    table = read_labelled_table(path)
    assert table.schema.names == ["x"]
    assert "Columns 'a', 'b' left out, because no row has a value there." in table.notes


def varied(n=500, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "q": rng.integers(1, 6, n).astype(float),
        "part": rng.integers(0, 11, n).astype(float),
        "x": rng.standard_normal(n),
        "text": rng.choice(["north", "south", ""], n),
        "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in range(n)],
        "liked": rng.integers(1, 4, n).astype(float),
    }
    columns["q"][::7] = -9
    columns["x"][::5] = np.nan
    labels = {"q": {**OFTEN, -9: "refused"}, "part": {0: "no", 10: "yes"}, "liked": LIKED}
    return columns, labels


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_parts_agree_with_the_whole(tmp_path, monkeypatch, suffix):
    path = write(tmp_path / f"t{suffix}", *varied())
    schema = read_labelled_table(path, "liked").schema
    known = [read_table(path, **o) for o in ({}, {"target": "liked"}, {"schema": schema})]
    monkeypatch.setattr(survey_files, "_ROWS", 64)
    for options, whole in zip(({}, {"target": "liked"}, {"schema": schema}), known, strict=True):
        parts = list(read_chunks(path, rows=90, **options))
        assert [len(part) for part in parts] == [90] * 5 + [50]
        pd.testing.assert_frame_equal(pd.concat(parts), whole)
    some = pd.concat(read_chunks(path, keep=["q", "text"]))
    pd.testing.assert_frame_equal(some, known[0][["q", "text"]])


def test_a_schema_decides_between_names_and_codes(tmp_path):
    columns, labels = varied()
    path = write(tmp_path / "t.sav", columns, labels)
    schema = read_labelled_table(path, "liked", ordered="part").schema
    whole = schema.apply(read_table(path, schema=schema))
    assert whole["part"].cat.categories.tolist() == [str(k) for k in range(11)]
    # A code without a label makes numbers of a column, unless a schema knows its answers.
    columns["q"][0] = 6.0
    other = write(tmp_path / "u.sav", columns, labels)
    assert read_table(other)["q"].dtype == np.float64
    with pytest.raises(TableError, match="'6' in row 1, which is not on its scale never < rarely"):
        schema.apply(read_table(other, schema=schema))


def test_files_of_one_folder(tmp_path):
    for place in range(3):
        write(tmp_path / f"{place}.sav", *varied(seed=place))
    whole = read_table(tmp_path)
    single = [read_table(tmp_path / f"{place}.sav") for place in range(3)]
    pd.testing.assert_frame_equal(whole, pd.concat(single, ignore_index=True))
    pd.testing.assert_frame_equal(pd.concat(read_chunks(tmp_path, rows=400)), whole)
    columns, labels = varied()
    write(tmp_path / "3.sav", columns, {**labels, "liked": {1: "bad", 2: "so so", 3: "good"}})
    with pytest.raises(
        TableError, match=r"3\.sav has other labels .* of column 'liked' than .*0\.sav"
    ):
        read_table(tmp_path)
    write(tmp_path / "3.sav", {name: columns[name] for name in columns if name != "x"}, labels)
    with pytest.raises(TableError, match=r"3\.sav lacks column 'x', which .*0\.sav has"):
        read_table(tmp_path)


def test_gzipped_and_wrongly_named(tmp_path):
    path = write(tmp_path / "t.sav", *varied())
    zipped = tmp_path / "t.sav.gz"
    with open(path, "rb") as plain, gzip.open(zipped, "wb") as packed:
        shutil.copyfileobj(plain, packed)
    pd.testing.assert_frame_equal(read_table(zipped), read_table(path))
    misnamed = tmp_path / "t.dta"
    shutil.copy(path, misnamed)
    with pytest.raises(TableError, match=r"of format sav, not dta; name it \.sav or give format="):
        read_table(misnamed)
    assert len(read_table(misnamed, format="spss")) == 500


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_damaged_files_get_a_sentence(tmp_path, suffix):
    path = write(tmp_path / f"t{suffix}", *varied())
    content = path.read_bytes()
    for cut in (40, 300, len(content) // 2):
        path.write_bytes(content[:cut])
        with pytest.raises(TableError, match=r"cannot be read as .*, it may be damaged: "):
            read_table(path)
    path.write_text("a,y\n1,2\n")
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path} does not begin as a file of format {suffix[1:]} does; if it is text, give "
        "format='csv'."
    )
    portable = tmp_path / "t.por"
    portable.write_text("a,y\n1,2\n" * 100)
    with pytest.raises(TableError, match="cannot be read as por, it may be damaged: "):
        read_table(portable)


def test_encodings(tmp_path):
    path = write(tmp_path / "t.sav", {"text": ["Grüße", "b"], "y": [1.0, 2]})
    assert read_table(path, encoding="utf-8")["text"].tolist() == ["Grüße", "b"]
    assert read_table(path, encoding="latin-1")["text"][0] != "Grüße"
    with pytest.raises(TableError, match="has bytes that are not text in ascii; give encoding"):
        read_table(path, encoding="ascii")
    portable = tmp_path / "t.por"
    portable.write_bytes(b"x")
    with pytest.raises(TableError, match="is of format por, which has no encoding"):
        read_table(portable, encoding="latin-1")


def test_what_labels_say():
    labels = {-9: "Refused", 1: "yes", 2: "no", 9: "NA", "a": "x", 5: "  "}
    found = answers_of(labels, [], False, False)
    assert found.absent == {-9: "Refused", 9: "NA"}
    assert found.names == {1: "yes", 2: "no"}
    assert answers_of({"m": "male"}, [{"lo": "m", "hi": "m"}], False, True).names == {}


@real_files
def test_the_same_survey_as_sav_and_por():
    sav, por = (
        read_labelled_table(real(f"nes1948.{suffix}"), "V480010", drop_unlabelled=True)
        for suffix in ("sav", "por")
    )
    assert sav.classes == por.classes
    assert len(sav.X) == 566
    pd.testing.assert_frame_equal(sav.X, por.X)


@real_files
def test_a_survey_of_stata():
    path = real("anes_2020.dta")
    table = read_labelled_table(path, "V201233", drop_unlabelled=True)
    assert table.classes[0] == "1. Always"
    assert len(table.classes) == 5
    kinds = {c.name: (c.kind, c.label) for c in table.schema.columns}
    assert kinds["V201006"] == ("ordered", "PRE: How interested in following campaigns")
    assert kinds["V201507x"][0] == "number"
    pd.testing.assert_frame_equal(pd.concat(read_chunks(path, rows=1000)), read_table(path))


@real_files
@pytest.mark.parametrize(
    ("name", "target", "sentence"),
    [
        ("ordered_category.sav", "Col1", "has no column besides the target 'Col1'"),
        ("labelled_num_na.sav", "VAR00002", "has 1 row without a label"),
        ("tagged_na_double.dta", "x", "has 3 rows without a label"),
        ("missing_letters.dta", "var9", "has one class only, 1"),
        ("sample_missing.sav", "myord", "has 2 rows without a label"),
    ],
)
def test_files_that_are_too_small(name, target, sentence):
    with pytest.raises(TableError, match=sentence):
        read_labelled_table(real(name), target)
    assert inspect(real(name), target).problems


@real_files
def test_a_sample_of_stata():
    table = read_labelled_table(real("sample.dta"), "myord")
    assert table.classes == ["low", "medium", "high"]
    kinds = {c.name: c.kind for c in table.schema.columns}
    assert kinds["mydate"] == kinds["dtime"] == "date"
    assert kinds["mytime"] == "number"


def test_a_labelled_column_of_many_numbers_stays_one(tmp_path):
    values = np.arange(30_000.0)
    values[-1] = 1e300
    columns = {"income": values, "share": values / 7, "y": 1.0 + np.arange(30_000) % 3}
    labels = {"income": {0: "none at all"}, "share": {0: "nothing"}}
    path = write(tmp_path / "t.sav", columns, labels)
    frame = read_table(path)
    np.testing.assert_array_equal(frame["income"], values)
    np.testing.assert_array_equal(frame["share"], values / 7)
