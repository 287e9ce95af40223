"""Rules by masks over raw columns: the scores of prepared inputs, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.ordinal.intervals import covering_interval, probability_nonconformity
from echelon.solvers.rules.bodies import Interval, Membership, tabulate_rules
from echelon.trained.array_model import _chances, _grown_interval
from echelon.trained.rule_masks import RuleMasks, raw_cuts

finite = st.floats(-1e6, 1e6)


@given(
    st.lists(finite, min_size=1, max_size=5),
    finite,
    st.floats(1e-6, 1e6),
)
def test_raw_cuts_part_the_numbers_as_the_prepared_ones_do(edges, centre, scale):
    edges = np.array(edges)
    cuts = raw_cuts(edges, centre, scale)
    assert ((cuts - centre) / scale <= edges).all()
    assert ((np.nextafter(cuts, np.inf) - centre) / scale > edges).all()


def random_rules(rng, n_features, n_rules):
    rules = []
    for _ in range(n_rules):
        body = []
        for feature in rng.choice(n_features, size=rng.integers(1, 4), replace=False):
            ends = np.sort(rng.normal(size=2).round(1))
            kind = rng.integers(3)
            lower, upper = (ends[0], np.inf) if kind == 0 else (-np.inf, ends[1])
            body.append(
                Interval(int(feature), *((ends[0], ends[1]) if kind == 2 else (lower, upper)))
            )
        rules.append(tuple(body))
    return rules


def part(rng, n_rules, widths):
    """A model of three numbers and two categories, whose columns are as many as `widths` says."""
    n_features = 3 + sum(widths)
    table = tabulate_rules(random_rules(rng, n_features, n_rules), rng.normal(size=n_rules))
    stored = dict(vars(table))
    edges = {str(j): cuts for j, cuts in enumerate(stored.pop("edges"))}
    preparation = {
        "numbers": ["x", "y", "z"],
        "fills": rng.normal(size=3),
        "centres": rng.normal(size=3),
        "scales": rng.random(3) + 0.1,
        "categories": ["colour", "shape"],
        "tables": {
            name: {
                "levels": list(levels),
                "rows": rng.integers(0, 2, (len(levels) + 2, width)) * 1.0,
            }
            for name, levels, width in zip(("colour", "shape"), ("abc", "pq"), widths, strict=True)
        },
    }
    return {
        "score": {"kind": "rules", "table": stored, "edges": edges},
        "preparation": preparation,
    }, table


def prepared(preparation, frame):
    X = frame[preparation["numbers"]].to_numpy()
    X = np.where(np.isnan(X), preparation["fills"], X)
    parts = [(X - preparation["centres"]) / preparation["scales"]]
    for name, table in preparation["tables"].items():
        places = {level: place for place, level in enumerate(table["levels"])}
        unseen, missing = len(places), len(places) + 1
        rows = [missing if value is np.nan else places.get(value, unseen) for value in frame[name]]
        parts.append(table["rows"][rows])
    return np.hstack(parts)


@pytest.mark.parametrize("n_rules", [1, 63, 64, 65, 200])
def test_scores_of_two_models_at_once(n_rules):
    rng = np.random.default_rng(n_rules)
    models = [part(rng, n_rules, (3, 2)), part(rng, 70, (2, 4))]
    frame = pd.DataFrame(rng.normal(size=(500, 3)).round(1), columns=list("xyz"))
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    for name, values in (("colour", ["a", "b", "c", "new", np.nan]), ("shape", ["p", "q", np.nan])):
        frame[name] = rng.choice(np.array(values, dtype=object), 500)
    found = RuleMasks.of([arrays for arrays, _ in models])(frame)
    for scores, (arrays, table) in zip(found, models, strict=True):
        X = prepared(arrays["preparation"], frame)
        np.testing.assert_array_equal(scores, table(X))
        assert n_rules == 1 or len(np.unique(scores)) > 1
    np.testing.assert_array_equal(RuleMasks.of([models[0][0]])(frame)[0], found[0])


def test_values_on_a_cut_are_below_it():
    rules = [(Interval(0, upper=0.5),), (Interval(0, lower=0.5),), (Membership(1, (1,)),)]
    stored = dict(vars(tabulate_rules(rules, np.array([1.0, 10.0, 100.0]))))
    edges = {str(j): cuts for j, cuts in enumerate(stored.pop("edges"))}
    preparation = {
        "numbers": ["x", "y"],
        "fills": np.zeros(2),
        "centres": np.zeros(2),
        "scales": np.ones(2),
        "categories": [],
        "tables": {},
    }
    masks = RuleMasks.of([{"score": {"table": stored, "edges": edges}, "preparation": preparation}])
    frame = pd.DataFrame({"x": [0.5, np.nextafter(0.5, 1), np.nan], "y": [0.0, 1.0, 2.0]})
    assert masks(frame).tolist() == [[1.0, 110.0, 1.0]]


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.0, 1.1))
def test_intervals_hold_the_labels_within_reach(seed, n_classes, reach):
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 5, (n_classes, 20)) + 0.01 * rng.integers(0, 2)
    chances = shares / np.maximum(shares.sum(axis=0), 1)
    seeds = rng.integers(0, n_classes, 20)
    inside = probability_nonconformity(chances.T, seeds) <= reach
    expected = covering_interval(inside.astype(float), seeds, 0.5)
    np.testing.assert_array_equal(_grown_interval(chances, seeds, reach), expected)


def test_chances_are_exact_far_out():
    cuts = np.array([-np.inf, -np.inf, -1.0, -1.0, 2.0])
    scores = np.array([-800.0, -40.0, 0.0, 40.0, 800.0])
    found = _chances({"kind": "link", "link": "logit", "slope": 1.0, "cuts": cuts}, scores)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-14)
    assert not found[:2].any() and not found[3].any()
    np.testing.assert_allclose(found[4, 3], np.exp(2.0 - 40.0) - np.exp(-1.0 - 40.0), rtol=1e-9)
