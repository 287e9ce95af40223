"""A few cases of the campaign on commands, with materials of the tests."""

import random
import signal

import pytest

pytest.importorskip("resource")
from echelon.tables import read_table
from fuzz import commands, foreign_files
from fuzz.campaign import ANSWERED, REFUSED


@pytest.fixture
def materials(monkeypatch, tmp_path):
    (tmp_path / "rows.csv").write_text("size,grade\n1,2\n2,1\n")
    (tmp_path / "labels.echelon").write_bytes(b"PK\x03\x04")
    monkeypatch.setattr(commands, "_materials", lambda: tmp_path)
    monkeypatch.setattr(commands, "_info", lambda rng: commands.Run(["info", "labels.echelon"]))
    monkeypatch.setattr(commands, "_COMMANDS", (commands._info,))


@pytest.mark.parametrize("harm", ["_close", "_no_reader", "_nonsense"])
def test_a_command_is_refused_with_a_sentence(materials, monkeypatch, harm):
    monkeypatch.setattr(commands, "_HARMS", (getattr(commands, harm),))
    found = commands.case(1)
    assert found.outcome in (ANSWERED, REFUSED), found.detail


@pytest.mark.parametrize(("may_die", "outcome"), [(True, REFUSED), (False, "crash")])
def test_only_a_damaged_survey_file_may_end_its_process(monkeypatch, tmp_path, may_die, outcome):
    monkeypatch.setattr(commands, "_run", lambda *_: (-signal.SIGSEGV, ""))
    monkeypatch.setattr(commands, "_left_processes", lambda _: [])
    run = commands.Run(["inspect", "survey.sav"], may_die=may_die)
    assert commands._judge(run, tmp_path, set(), 0).outcome == outcome


def test_the_same_reviews_are_in_every_format(tmp_path):
    pytest.importorskip("pyreadstat")
    pytest.importorskip("python_calamine")
    told = commands._reviews_in(tmp_path, random.Random(0))
    for name in ("reviews.csv", *foreign_files.write_all(told, tmp_path)):
        found = read_table(tmp_path / name)
        assert found["review"].tolist() == [row[0] for row in told[1:]]
        assert found["liked"].astype(int).tolist() == [row[2] for row in told[1:]]
