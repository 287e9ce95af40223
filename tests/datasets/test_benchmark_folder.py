"""The benchmark folder itself, where there is one."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from echelon.datasets import fetch_benchmark, fetch_splits, list_benchmarks, list_splits
from echelon.datasets.benchmarks import find_benchmark, find_splits
from echelon.datasets.tables import read_table, write_table

FOLDER = os.environ.get("ECHELON_DATA")
needs_folder = pytest.mark.skipif(
    not FOLDER, reason="ECHELON_DATA is not set to a folder of benchmark sets"
)
# In these tables the archive moved rows between classes: they are not equal cuts of the target.
ADJUSTED = ("diabetes_10bins", "machine_cpu_", "pyrimidines_")


@needs_folder
@pytest.mark.parametrize("name", list_benchmarks())
def test_every_set_is_found_and_has_the_stated_size(name):
    facts = find_benchmark(name)
    bunch = fetch_benchmark(name, download=False)
    inputs = facts.columns - len(facts.aside) - len(facts.nominal)
    inputs += sum(len(levels) for levels in facts.nominal.values())
    assert bunch.data.shape == (facts.rows, inputs)
    assert set(bunch.target.tolist()) == set(bunch.classes.tolist())
    assert set(bunch.aside) == set(facts.aside)
    assert facts.licence in bunch.DESCR
    if facts.rows < 5000:
        framed = fetch_benchmark(name, download=False, as_frame=True)
        assert framed.data.shape == (facts.rows, facts.columns - len(facts.aside))
        assert framed.target.cat.categories.tolist() == bunch.classes.tolist()


@needs_folder
@pytest.mark.parametrize("name", list_splits("gpor"))
def test_gpor_splits_fit_their_set(name):
    facts = find_splits("gpor", name)
    splits = fetch_splits("gpor", name)
    assert splits.train.shape == (facts.splits, facts.rows)
    assert len(set(splits.train.sum(axis=1).tolist())) == 1
    assert splits.data.shape[0] == len(splits.target) == len(splits.rows)
    assert not np.isnan(splits.data).any()
    bunch = fetch_benchmark(facts.benchmark, bins=facts.classes, binning="width", download=False)
    np.testing.assert_array_equal(bunch.data[splits.rows], splits.data)
    if not name.startswith(ADJUSTED):
        np.testing.assert_array_equal(bunch.target[splits.rows], splits.target)


@needs_folder
@pytest.mark.parametrize("name", list_splits("orca"))
def test_orca_splits_are_whole(name):
    facts = find_splits("orca", name)
    splits = fetch_splits("orca", name)
    assert splits.train.shape == (facts.splits, facts.rows)
    assert splits.data.shape == (facts.rows, len(splits.feature_names))
    assert set(splits.target.tolist()) == set(splits.classes.tolist())


@needs_folder
def test_split_ties_reproduce_the_published_equal_frequency_bins():
    published = fetch_splits("orca", "pyrim10")
    bunch = fetch_benchmark("pyrimidines", bins=10, ties="split", download=False)
    varying = bunch.data[:, bunch.data.std(axis=0) > 0]
    scaled = (varying - varying.mean(axis=0)) / varying.std(axis=0, ddof=1)

    def rows(data):
        return sorted(tuple(np.round(row, 2)) for row in data)

    for label in range(1, 11):
        mine = rows(scaled[bunch.target == label])
        np.testing.assert_allclose(mine, rows(published.data[published.target == label]), atol=0.02)


@needs_folder
def test_other_row_order_is_refused_for_splits(tmp_path):
    source = Path(FOLDER)
    facts, splits = find_benchmark("diabetes"), find_splits("gpor", "diabetes_5bins")
    (tmp_path / splits.file).parent.mkdir(parents=True)
    shutil.copy(source / splits.file, tmp_path / splits.file)
    with pytest.raises(FileNotFoundError, match="need the inputs of 'diabetes' beside them"):
        fetch_splits("gpor", "diabetes_5bins", data_home=tmp_path)
    table = read_table(source / facts.file)
    write_table(tmp_path / facts.file, type(table)(table.names, [c[::-1] for c in table.columns]))
    assert fetch_benchmark("diabetes", data_home=tmp_path).data.shape == (43, 2)
    with pytest.raises(ValueError, match="rows in another order than the published splits"):
        fetch_splits("gpor", "diabetes_5bins", data_home=tmp_path)
    altered = read_table(source / splits.file)
    flipped = [altered.columns[0], altered.columns[1][::-1], *altered.columns[2:]]
    write_table(tmp_path / splits.file, type(altered)(altered.names, flipped))
    with pytest.raises(ValueError, match="not the table of the gpor splits of diabetes_5bins"):
        fetch_splits("gpor", "diabetes_5bins", data_home=tmp_path)


def test_missing_splits_say_where_to_put_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot be downloaded") as caught:
        fetch_splits("orca", "car", data_home=tmp_path)
    assert str(tmp_path / "splits" / "orca" / "car.csv.gz") in str(caught.value)


def test_bad_split_names_are_told(tmp_path):
    with pytest.raises(ValueError, match="collection must be 'gpor' or 'orca'; found 'uci'"):
        fetch_splits("uci", "car")
    with pytest.raises(
        ValueError, match=r"name in the collection 'orca' must be .*; found 'abalone'"
    ):
        fetch_splits("orca", "abalone")
