"""A slice of the campaign of model files; `python -m fuzz --only model_files` runs more of it."""

import pytest

pytest.importorskip("cryptography")

from fuzz.campaign import ANSWERED, REFUSED
from fuzz.model_files import BLOCK, case
from fuzz.model_zoo import factories


@pytest.mark.parametrize("name", ["ORTree", "RankRules", "ExtraTrees calibrated"])
def test_spoilt_files_are_refused_or_answer(name):
    first = BLOCK * list(factories()).index(name)
    found = [case(seed) for seed in range(first, first + BLOCK)]
    assert [c for c in found if c.outcome not in (ANSWERED, REFUSED)] == []
    assert all(name in c.detail for c in found)
    assert sum(c.outcome == REFUSED for c in found) > BLOCK // 4
