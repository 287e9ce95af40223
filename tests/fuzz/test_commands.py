"""A few cases of the campaign on commands, with materials of the tests."""

import pytest

pytest.importorskip("resource")
from fuzz import commands
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
