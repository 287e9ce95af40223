"""A folder or a pattern of files as one table, whole and in parts."""

import pandas as pd
import pyarrow as pa
import pytest
from support.sheets import write_xlsx

from echelon.tables import TableError, TableWriter, read_chunks, read_labelled_table, read_table
from echelon.tables.sources import files_of


def frame(start, n=10):
    numbers = range(start, start + n)
    return pd.DataFrame(
        {
            "x": [k / 4 for k in numbers],
            "colour": [["red", "blue", "green"][k % 3] for k in numbers],
            "y": [1 + k % 3 for k in numbers],
        }
    )


def write(folder, suffix, count=3):
    for place in range(count):
        with TableWriter(folder / f"part-{place}.{suffix}") as writer:
            writer.write(frame(10 * place))
    return pd.concat([frame(10 * place) for place in range(count)], ignore_index=True)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl"])
def test_a_folder_and_a_pattern_are_one_table(tmp_path, suffix):
    expected = write(tmp_path, suffix)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.csv.crc").write_text("?")
    for source in (tmp_path, str(tmp_path / "part-*"), tmp_path / f"*.{suffix}"):
        whole = read_table(source)
        pd.testing.assert_frame_equal(whole, expected, check_dtype=False)
        parts = list(read_chunks(source, rows=7))
        assert [len(part) for part in parts] == [7, 7, 7, 7, 2]
        pd.testing.assert_frame_equal(pd.concat(parts), whole)
    schema = read_labelled_table(tmp_path, "y").schema
    some = pd.concat(read_chunks(tmp_path, schema=schema, keep=["y"], rows=11))
    assert len(schema.apply(some)) == 30


def test_sheets_of_several_files(tmp_path):
    for place in range(2):
        write_xlsx(tmp_path / f"{place}.xlsx", {"one": [["a", "y"], [place, 1], [2.5, 2]]})
    assert read_table(tmp_path).to_dict("list") == {"a": [0, 2.5, 1, 2.5], "y": [1, 2, 1, 2]}
    write_xlsx(tmp_path / "2.xlsx", {"one": [["a", "y"], ["odd", 1]]})
    assert read_table(tmp_path)["a"].tolist() == ["0", "2.5", "1", "2.5", "odd"]


def test_columns_may_stand_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n4,3.5\n")
    assert read_table(tmp_path).to_dict("list") == {"x": [1, 3.5], "y": [2, 4]}


def test_kinds_are_those_of_all_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\nblue,4\n")
    assert read_table(tmp_path)["x"].tolist() == ["1", "blue"]
    for name, values in (("a", [1, 2]), ("b", [None, None]), ("c", [0.5, None])):
        pd.DataFrame({"x": values, "y": [1, 2]}).to_parquet(tmp_path / f"{name}.parquet")
    whole = read_table(tmp_path / "*.parquet")
    assert whole["x"].isna().tolist() == [False, False, True, True, False, True]


def test_features_that_a_file_lacks_are_zero(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n")
    (tmp_path / "b.svm").write_text("2 3:4\n")
    whole = read_table(tmp_path)
    assert whole["x1"].tolist() == [2, 0]
    assert whole["x3"].tolist() == [0, 4]
    assert read_labelled_table(tmp_path / "*.svm").target == "label"
    assert read_labelled_table(tmp_path).target == "label"


def test_other_columns_are_refused(tmp_path):
    first = tmp_path / "a.csv"
    other = tmp_path / "b.csv"
    first.write_text("x,y\n1,2\n")
    for text, sentence in (
        ("x,z\n1,2\n", f"{other} lacks column 'y', which {first} has."),
        ("x,y,z\n1,2,3\n", f"{other} has column 'z', which {first} does not have."),
    ):
        other.write_text(text)
        for read in (read_table, lambda source: list(read_chunks(source))):
            with pytest.raises(TableError) as refused:
                read(tmp_path)
            assert str(refused.value) == sentence


def test_other_types_and_levels_are_refused(tmp_path):
    pd.DataFrame({"x": [1.5], "y": [1]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"x": ["blue"], "y": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError) as refused:
        read_table(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path / 'b.parquet'} has values of type string in column 'x', where "
        f"{tmp_path / 'a.parquet'} has double."
    )
    for name, levels in (("a", ["low", "high"]), ("b", ["high", "low"])):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1]), levels, ordered=True)
        with pa.OSFile(str(tmp_path / f"{name}.arrow"), "wb") as file:
            table = pa.table({"y": column})
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    with pytest.raises(TableError, match=r"b\.arrow has other levels of the ordered column 'y'"):
        read_table(tmp_path / "*.arrow")


def test_what_matches_nothing_or_too_much(tmp_path):
    pattern = str(tmp_path / "part-*.csv")
    with pytest.raises(TableError) as refused:
        read_table(pattern)
    assert str(refused.value) == f"No file matches {pattern!r}."
    with pytest.raises(TableError, match="is a folder without files"):
        read_table(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.tsv").write_text("x\ty\n1\t2\n")
    with pytest.raises(TableError, match=r"files of several formats: .*a\.csv is csv, .*b\.tsv"):
        read_table(tmp_path)
    assert len(read_table(tmp_path / "*.csv")) == 1


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    path = tmp_path / "wave[1].csv"
    path.write_text("x,y\n1,2\n")
    assert files_of(path) is None
    assert len(read_table(path)) == 1
