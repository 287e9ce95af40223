"""A few cases of the campaign on tables."""

import pytest

from fuzz import awkward_tables
from fuzz.campaign import ANSWERED, REFUSED


@pytest.mark.parametrize("seed", [0, 8, 1, 9, 17, 6])
def test_tables_are_read_again_or_refused_with_a_sentence(seed, monkeypatch):
    monkeypatch.setattr(awkward_tables, "EXAMPLES", 8)
    found = awkward_tables.case(seed)
    assert found.outcome in (ANSWERED, REFUSED), found.detail
    assert 4 <= found.count <= 8


def test_without_atheris_its_cases_are_left_out_in_one_sentence(monkeypatch):
    monkeypatch.setattr(awkward_tables, "_WITH_ATHERIS", False)
    found = awkward_tables.case(3)
    assert (found.outcome, found.count) == (REFUSED, 0)
    assert found.detail.startswith("atheris is not installed")
