"""Finished work is on disk line by line, and a broken end does not spoil the rest."""

import json

import numpy as np
import pytest

from echelon._utils.files import AppendLog


def test_lines_come_back_in_order_and_survive_a_new_log(tmp_path):
    path = tmp_path / "deep" / "log.jsonl"
    for fold in range(3):
        AppendLog(path).append({"fold": fold, "score": np.float64(0.5)})
    assert [json.loads(line) for line in AppendLog(path).lines()] == [
        {"fold": fold, "score": 0.5} for fold in range(3)
    ]


def test_a_log_that_is_not_there_is_empty(tmp_path):
    log = AppendLog(tmp_path / "none.jsonl")
    assert log.lines() == []
    log.clear()


def test_an_unfinished_line_is_not_read_and_is_dropped(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2')
    log = AppendLog(path)
    assert log.lines() == [b'{"a": 1}']
    log.append({"a": 3})
    assert path.read_bytes() == b'{"a": 1}\n{"a": 3}\n'


def test_a_file_without_a_whole_line_starts_anew(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a"')
    AppendLog(path).append({"a": 3})
    assert path.read_bytes() == b'{"a": 3}\n'


def test_clear_forgets_everything(tmp_path):
    log = AppendLog(tmp_path / "log.jsonl")
    log.append({"a": 1})
    log.clear()
    assert log.lines() == []


def test_what_json_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    log = AppendLog(tmp_path / "log.jsonl")
    with pytest.raises(TypeError, match="A value of type set cannot be kept as JSON"):
        log.append({"a": {1, 2}})
    with pytest.raises(ValueError, match="JSON compliant"):
        log.append({"a": float("nan")}, allow_nan=False)
    assert not log.path.exists()
