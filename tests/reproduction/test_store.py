"""Results survive whatever ended the process that wrote them."""

import json

import numpy as np
import pytest

from reproduction import ReproductionError, ResultStore
from reproduction.store import Cell, CellKey, default_folder


def cell(split, **errors):
    key = CellKey("tiny", "one", "NEAR", 1, "quick", split)
    return Cell(key, errors, {"C": 10.0}, 0.1, {"numpy": "2"})


def test_round_trip(tmp_path):
    store = ResultStore(tmp_path / "new", "tiny")
    store.append(cell(0, zero_one=0.25))
    store.append(cell(1, zero_one=0.5))
    again = ResultStore(tmp_path / "new", "tiny")
    assert list(again) == [cell(0, zero_one=0.25), cell(1, zero_one=0.5)]
    assert cell(1).key in again and cell(2).key not in again


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_unfinished_last_line_is_dropped(tmp_path, cut):
    store = ResultStore(tmp_path, "tiny")
    for split in range(3):
        store.append(cell(split, zero_one=0.5))
    content = store.path.read_bytes()
    store.path.write_bytes(content[:-cut])
    again = ResultStore(tmp_path, "tiny")
    assert [c.key.split for c in again] == [0, 1]
    again.append(cell(2, zero_one=0.75))
    assert [c.errors["zero_one"] for c in ResultStore(tmp_path, "tiny")] == [0.5, 0.5, 0.75]
    assert all(json.loads(line) for line in store.path.read_text().splitlines())


def test_a_file_with_nothing_but_an_unfinished_line(tmp_path):
    (tmp_path / "tiny.jsonl").write_text('{"key": {"tab')
    store = ResultStore(tmp_path, "tiny")
    assert list(store) == []
    store.append(cell(0, zero_one=0.5))
    assert len(list(ResultStore(tmp_path, "tiny"))) == 1


def test_two_writers_do_not_lose_each_others_cells(tmp_path):
    first, second = ResultStore(tmp_path, "tiny"), ResultStore(tmp_path, "tiny")
    first.append(cell(0))
    second.append(cell(1))
    first.append(cell(2))
    assert [c.key.split for c in ResultStore(tmp_path, "tiny")] == [0, 1, 2]


def test_a_broken_line_inside_is_reported(tmp_path):
    ResultStore(tmp_path, "tiny").append(cell(0))
    path = tmp_path / "tiny.jsonl"
    path.write_text("rubbish\n" + path.read_text())
    with pytest.raises(ReproductionError, match=r"Line 1 of .*tiny\.jsonl is not a result"):
        ResultStore(tmp_path, "tiny")


def test_numpy_parameters_are_kept_and_others_refused(tmp_path):
    store = ResultStore(tmp_path, "tiny")
    key = cell(0).key
    store.append(Cell(key, {}, {"n": np.int64(3), "on": np.bool_(True)}, 0.1))
    assert ResultStore(tmp_path, "tiny")[key].parameters == {"n": 3, "on": True}
    with pytest.raises(TypeError, match="type object cannot be kept"):
        store.append(Cell(key, {}, {"kernel": object()}, 0.1))


def test_the_default_folder_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "reproduction"
