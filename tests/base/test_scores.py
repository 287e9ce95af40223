import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kurtosis, norm, rankdata
from sklearn.utils.estimator_checks import check_get_feature_names_out_error

from echelon.base.scores import LevelCodes, TailScores, heavy_tails
from echelon.trained.model_file import ModelFileError, dump_estimators, load_estimators

LEVELS = [["no", "maybe", "yes"], ["one"], ["a", "b", "c", "d"]]
NAMES = ["first", "second", "third"]


def slow_thermometer(ranks, levels):
    rows = []
    for row in ranks:
        found = []
        for rank, names in zip(row, levels, strict=True):
            for level in range(1, len(names)):
                found.append(1.0 if rank >= level else 0.0)
        rows.append(found)
    return np.array(rows)


def drawn_ranks(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, len(names), n) for names in LEVELS]).astype(float)


def test_a_thermometer_is_a_double_loop():
    ranks = drawn_ranks()
    found = LevelCodes(LEVELS, "thermometer").fit(ranks).transform(ranks)
    np.testing.assert_array_equal(found, slow_thermometer(ranks, LEVELS))


@given(st.permutations(range(4)), st.integers(0, 99))
def test_the_order_is_that_of_the_levels_however_they_are_called(order, seed):
    names = ["zeta", "alpha", "Mid", "0"]
    levels = [[names[j] for j in order]]
    rank = np.random.default_rng(seed).integers(0, 4, (9, 1)).astype(float)
    codes = LevelCodes(levels, "thermometer").fit(rank)
    # As many boundaries are passed as there are levels below.
    np.testing.assert_array_equal(codes.transform(rank).sum(axis=1), rank[:, 0])
    expected = [f"q ≥ {name}" for name in levels[0][1:]]
    assert codes.get_feature_names_out(["q"]).tolist() == expected


def test_a_median_between_two_levels_counts_as_the_lower():
    codes = LevelCodes([["a", "b", "c", "d"]], "thermometer").fit([[1.5]])
    assert codes.transform([[1.5]]).tolist() == [[1.0, 0.0, 0.0]]


def test_scores_stay_as_they_are():
    ranks = drawn_ranks()
    codes = LevelCodes(LEVELS).fit(ranks)
    np.testing.assert_array_equal(codes.transform(ranks), ranks)
    assert codes.get_feature_names_out(NAMES).tolist() == NAMES


def test_bad_codings():
    with pytest.raises(ValueError, match="coding must be 'scores' or 'thermometer'; found 'x'"):
        LevelCodes(LEVELS, "x").fit(drawn_ranks())
    with pytest.raises(ValueError, match="for each of the 2 columns of X; found 3"):
        LevelCodes(LEVELS).fit(drawn_ranks()[:, :2])
    with pytest.raises(ValueError, match="tails must be 'kept' or 'normal scores'; found 'cut'"):
        TailScores("cut").fit(drawn_ranks())
    check_get_feature_names_out_error("TailScores", TailScores())


NUMBERS = arrays(
    float, st.integers(1, 60), elements=st.integers(-1000, 1000).map(lambda k: k / 8.0)
)


@given(NUMBERS, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_heavy_tails_know_no_unit(values, scale, shift):
    excess = kurtosis(values, fisher=False) if np.ptp(values) else 0.0
    if abs(excess - 10.0) < 1e-6 or 0 < np.ptp(values) < 1e-3:
        return
    several = len(np.unique(values)) > 2
    expected = bool(several and excess > 10.0)
    assert heavy_tails(values[:, None]).tolist() == [expected]
    for other in (values * scale + shift, -values, np.append(values, np.nan)):
        assert heavy_tails(other[:, None]).tolist() == [expected]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_heavy_tails_of_extreme_numbers(scale):
    steady = np.linspace(-1, 1, 101)
    X = np.column_stack([steady, steady**51, np.zeros(101), steady > 0.97, [np.nan] * 101]) * scale
    assert heavy_tails(X).tolist() == [False, True, False, False, False]


def slow_scores(column):
    """Mid-ranks by sorting, without knots."""
    return norm.ppf((rankdata(column) - 0.5) / len(column))


@given(st.integers(0, 2**32 - 1), st.integers(12, 150), st.floats(0.0, 0.9))
def test_normal_scores_are_mid_ranks(seed, n, zeros):
    rng = np.random.default_rng(seed)
    column = np.exp(3 * rng.normal(size=n)) * (rng.random(n) >= zeros)
    scores = TailScores("normal scores").fit(column[:, None])
    found = scores.transform(column[:, None])[:, 0]
    heavy = bool(heavy_tails(column[:, None])[0])
    np.testing.assert_allclose(found, slow_scores(column) if heavy else column, atol=1e-12)


def test_few_knots_are_close_and_in_order():
    column = np.exp(3 * np.random.default_rng(0).normal(size=5000))
    scores = TailScores("normal scores").fit(column[:, None])
    assert len(scores.knots_[0]) <= 200
    found = scores.transform(np.sort(column)[:, None])[:, 0]
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found, slow_scores(np.sort(column)), atol=0.03)
    beyond = scores.transform([[-1e9], [1e9]])[:, 0]
    assert beyond.tolist() == [found[0], found[-1]]


def test_the_unit_of_a_column_does_not_move_its_scores():
    column = np.exp(2 * np.random.default_rng(1).normal(size=(80, 1)))
    found = [TailScores("normal scores").fit_transform(c) for c in (column, 1024.0 * column)]
    np.testing.assert_allclose(*found, atol=1e-12)


def through_file(model):
    return load_estimators("It is refused", *dump_estimators(model))


def fitted():
    X = np.column_stack([drawn_ranks()[:, 0], np.exp(3 * np.random.default_rng(0).normal(size=40))])
    return TailScores("normal scores").fit(X), X


def test_through_a_model_file():
    ranks = drawn_ranks()
    codes = LevelCodes(LEVELS, "thermometer").fit(ranks)
    np.testing.assert_array_equal(through_file(codes).transform(ranks), codes.transform(ranks))
    scores, X = fitted()
    np.testing.assert_array_equal(through_file(scores).transform(X), scores.transform(X))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.knots_[0].__setitem__(0, 1e9), "in no order"),
        (lambda s: s.scores_[0].__setitem__(0, 9.0), "in no order"),
        (lambda s: s.scores_[0].__setitem__(-1, np.inf), "not finite"),
        (lambda s: s.knots_.append(s.knots_[0]), "its columns are others"),
        (lambda s: s.columns_.__setitem__(0, 7), "its columns are others"),
        (lambda s: s.knots_.__setitem__(0, np.zeros(0)), "in no order"),
    ],
)
def test_forged_scores_are_refused(change, said):
    scores, _ = fitted()
    change(scores)
    with pytest.raises(ModelFileError, match=f"TailScores is not whole: .*{said}"):
        through_file(scores)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("coding", "other", "its coding is none"),
        ("levels", [["a", 1]], "its levels are no texts"),
        ("levels", [["a", "b"]], "those of other columns"),
    ],
)
def test_forged_codes_are_refused(name, value, said):
    codes = LevelCodes(LEVELS, "thermometer").fit(drawn_ranks())
    setattr(codes, name, value)
    tree, numbers = dump_estimators(codes)
    assert json.loads(tree)["type"] == "echelon.preparation.LevelCodes"
    with pytest.raises(ModelFileError, match=f"LevelCodes is not whole: .*{said}"):
        load_estimators("It is refused", tree, numbers)
