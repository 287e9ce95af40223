import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.named_rules import (
    LABELS,
    class_shares,
    name_rules,
    named_wine_rules,
    rules_of,
    wine_data,
)

from echelon.datasets import load_esl
from echelon.ordinal.thresholds import midpoints
from echelon.rules.columns import InputColumns, learn_columns
from echelon.rules.explanations import RuleTexts, by_importance
from echelon.rules.rule import Naming, feature_importances, merge_rounds
from echelon.solvers.rules.bodies import Interval, Membership, covers

# Words


def test_numeric_words():
    X = np.array([[34.0], [35.0], [36.0]])
    bodies = [(Interval(0, 34.5),), (Interval(0, upper=34.5),), (Interval(0, 34.5, 35.5),)]
    bodies += [(Interval(0, 33, 35.5),), (Interval(0),)]
    rules, _ = rules_of(bodies, [1.0] * 5, X, np.array([0, 1, 2]), features=["age"])
    assert [rule.text({"age": "years", "x": "kg"}) for rule in rules] == [
        "age is at least 35 years",
        "age is at most 34 years",
        "age is 35 years",
        "age is between 34 and 35 years",
        "age is known",
    ]


def test_interval_without_training_values_keeps_its_limits_in_order():
    X = np.array([[0.0], [10.0]])
    body = (Interval(0, 2.25, 2.5),)
    rules, _ = rules_of([body], [1.0], X, np.array([0, 1]))
    low, _, high = rules[0].text().removeprefix("x0 is between ").partition(" and ")
    assert 2.25 < float(low) <= float(high) <= 2.5


@pytest.mark.parametrize(
    ("members", "negated", "words"),
    [
        ((0,), False, "is red"),
        ((0,), True, "is not red"),
        ((0, 2), False, 'is one of red, "one, two"'),
        ((0, 2), True, 'is none of red, "one, two"'),
        ((3,), False, "is 2.5"),
    ],
)
def test_nominal_words(members, negated, words):
    columns = InputColumns((("red", "blue", "one, two", 2.5),), (False,))
    naming = Naming(("colour",), tuple(LABELS), columns)
    assert str(naming.condition(Membership(0, members, negated))) == f"colour {words}"


def test_long_lists_of_categories_are_cut_short_but_not_lost():
    columns = InputColumns((tuple(f"c{j}" for j in range(12)),), (False,))
    naming = Naming(("code",), tuple(LABELS), columns)
    named = naming.condition(Membership(0, tuple(range(10))))
    assert str(named) == "code is one of c0, c1, c2, c3, c4, c5, c6, c7, … (10 in all)"
    assert named.text(most=None).endswith("c7, c8, c9")


@pytest.mark.parametrize(
    ("members", "negated", "words"),
    [((1,), False, "true"), ((0,), False, "false"), ((1,), True, "false"), ((0,), True, "true")],
)
def test_booleans_are_true_or_false(members, negated, words):
    naming = Naming(("bio",), tuple(LABELS), InputColumns(((False, True),), (False,)))
    condition = Membership(0, members, negated)
    named = naming.condition(condition)
    assert str(named) == f"bio is {words}"
    assert named.condition == condition


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (lower, upper)
        for lower in (-np.inf, 0.0, 0.5, 1.0, 1.5, 2.5)
        for upper in (0.5, 1.0, 1.5, 2.0, 2.5, np.inf)
        if Interval(0, lower, upper).covers(np.arange(4.0)[:, None]).any()
    ],
)
def test_words_of_orders_hold_for_every_category(lower, upper):
    sizes = ("tiny", "small", "large", "huge")
    X = np.arange(4.0)[:, None]
    condition = Interval(0, lower, upper)
    inside = condition.covers(X)
    naming = Naming(("size",), tuple(LABELS), InputColumns((sizes,), (True,)))
    first, last = sizes[np.argmax(inside)], sizes[3 - np.argmax(inside[::-1])]
    expected = {
        (True, True): "is known",
        (True, False): f"is at most {last}",
        (False, True): f"is at least {first}",
        (False, False): f"is between {first} and {last}",
    }[bool(inside[0]), bool(inside[3])]
    if inside.sum() == 1:
        expected = f"is {first}"
    assert str(naming.condition(condition)) == f"size {expected}"


# Merging


@given(st.data())
def test_merged_rules_are_the_same_model(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = rng.integers(0, 4, (30, 2)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(0, 3, 30)
    weights = rng.choice([0.0, 1.0, 2.5], 30)
    weights[0] = 1.0
    pool = [
        (Interval(0, lower=1.5),),
        (Interval(0, 0.5, 2.5), Interval(1, upper=1.5)),
        (Interval(1, lower=2.5),),
        (Interval(0, lower=9.0),),
    ]
    chosen = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=12))
    bodies, responses = [pool[j] for j in chosen], rng.normal(size=len(chosen))
    rules, _ = rules_of(bodies, responses, X, codes, weights)
    assert [rule.body for rule in rules] == list(dict.fromkeys(bodies))
    assert sorted(m for rule in rules for m in rule.rounds) == list(range(len(bodies)))
    for rule in rules:
        inside = covers(rule.body, X)
        share = np.average(inside, weights=weights)
        np.testing.assert_allclose(rule.coverage, share)
        of_score = np.sqrt(np.average((inside - share) ** 2, weights=weights))
        np.testing.assert_allclose(rule.importance, abs(rule.response) * of_score, atol=1e-7)
        if share:
            expected = [np.average(codes[inside] == k, weights=weights[inside]) for k in range(3)]
            np.testing.assert_allclose(rule.class_histogram, expected)
        else:
            assert not rule.class_histogram.any()
        assert str(rule).endswith(").")
    score = sum(r * covers(body, X) for r, body in zip(responses, bodies, strict=True))
    np.testing.assert_allclose(sum(r.response * r.covers(X) for r in rules), score, atol=1e-12)


def test_bodies_are_merged_for_each_threshold_by_itself():
    X, codes, columns, features = wine_data()
    body, other = (Interval(0, lower=10.8),), (Interval(1, upper=8.0),)
    rules, _ = rules_of(
        [body, other, body, body], [1.0] * 4, X, codes, None, columns, features,
        thresholds=[0, 0, 1, 0],
    )  # fmt: skip
    assert [(rule.threshold, rule.rounds, rule.response) for rule in rules] == [
        (0, (0, 2), 2.0),
        (0, (1,), 1.0),
        (1, (0,), 1.0),
    ]


def test_importances_of_inputs_share_those_of_rules():
    rules, _ = named_wine_rules()
    shares = feature_importances(rules, 5)
    first, second, third = (rule.importance for rule in rules)
    total = first + second + third
    expected = np.array([first / 2, first / 2, second, third / 2, third / 2]) / total
    np.testing.assert_allclose(shares, expected)
    assert feature_importances([], 3).tolist() == [0.0, 0.0, 0.0]


def test_rules_are_sorted_by_importance_and_can_be_pickled():
    rules, naming = named_wine_rules()
    order = [rule.importance for rule in by_importance(rules)]
    assert order == sorted(order, reverse=True)
    again, names = pickle.loads(pickle.dumps((rules, naming)))
    assert RuleTexts(again, names).to_text() == RuleTexts(rules, naming).to_text()


# Real data


def test_rules_on_real_data():
    data = load_esl()
    X = np.asarray(data.data, dtype=np.float64)
    classes, codes = np.unique(np.asarray(data.target), return_inverse=True)
    columns = learn_columns(data.data)
    bodies = [(Interval(j, lower=cut),) for j in range(4) for cut in midpoints(np.unique(X[:, j]))]
    features = list(data.feature_names)
    naming = name_rules(bodies, X, codes, np.ones(len(X)), classes, columns, features)
    shares = class_shares(bodies, X, codes, len(classes), np.ones(len(X)))
    rules = merge_rounds(bodies, np.full(len(bodies), 0.1), shares, naming)
    assert len(rules) == len(bodies)
    for rule in rules:
        name, _, least = rule.text().partition(" is at least ")
        np.testing.assert_array_equal(X[:, features.index(name)] >= int(least), rule.covers(X))
    # Higher marks in tests go with a higher final mark.
    means = [rule.class_histogram @ np.arange(len(classes)) for rule in rules]
    assert min(means) > np.mean(codes)
    assert math.isclose(feature_importances(rules, 4).sum(), 1.0)
    assert RuleTexts(rules, naming).to_text(n=3).count("; typical label") == 3
