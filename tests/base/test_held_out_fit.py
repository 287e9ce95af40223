"""Early stopping on whole groups and on later rows."""

import numpy as np
import pytest
from support.data import ordinal_data

from echelon import AdaBoostOR, ORBoost, RankRules
from echelon.base.rounds import StagedMixin

STAGED = (
    AdaBoostOR(n_estimators=30, n_iter_no_change=3, validation_fraction=0.25, random_state=0),
    ORBoost(n_estimators=30, n_iter_no_change=3, validation_fraction=0.25, random_state=0),
    RankRules(n_rules=30, n_iter_no_change=3, validation_fraction=0.25, random_state=0),
)
X, Y = ordinal_data(n=160)
GROUPS, TIMES = np.arange(160) % 20, np.arange(160) // 4


@pytest.mark.parametrize("model", STAGED, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("known", [("groups",), ("time",), ("groups", "time")], ids=" ".join)
def test_what_is_held_out(model, known, monkeypatch):
    held_out, real = [], StagedMixin._hold_out

    def watched(*args):
        held_out.append(real(*args))
        return held_out[-1]

    monkeypatch.setattr(StagedMixin, "_hold_out", watched)
    values = {"groups": GROUPS, "time": TIMES}
    model.fit(X, Y, **{name: values[name] for name in known})
    ((inside, outside),) = held_out
    assert len(outside) and len(model.validation_costs_)
    if "groups" in known:
        assert not set(GROUPS[inside]) & set(GROUPS[outside])
    if "time" in known:
        assert TIMES[inside].max() < TIMES[outside].min()


def test_without_early_stopping_groups_change_nothing():
    plain, grouped = (
        AdaBoostOR(n_estimators=5, random_state=0).fit(X, Y, **known)
        for known in ({}, {"groups": GROUPS})
    )
    np.testing.assert_array_equal(plain.decision_function(X), grouped.decision_function(X))


def test_a_past_with_one_label_is_nothing_to_learn_from():
    labels, times = np.repeat([1, 2], 40), np.repeat([1, 2], 40)
    with pytest.raises(ValueError, match="leaves one class only to learn"):
        STAGED[0].fit(X[:80], labels, time=times)
    with pytest.raises(ValueError, match="groups must have one entry per row, 160; found 3"):
        STAGED[0].fit(X, Y, groups=[1, 2, 3])
