"""Partial dependence of expected rank and cumulative probabilities."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.data import ordinal_data

from echelon import LinearSVOR, ProportionalOdds
from echelon.inspection import Effect, feature_effects
from echelon.inspection.table import shown_value


def test_it_agrees_with_scikit_learn_on_class_probabilities():
    X, y = ordinal_data(n=120, K=4)
    X[:, 1] = np.round(X[:, 1])  # few values, so that both take them all
    model = LogisticRegression().fit(X, y)
    (effect,) = feature_effects(model, X, features=[1])
    theirs = partial_dependence(
        model, X, features=[1], response_method="predict_proba", kind="average"
    )
    assert effect.values == theirs["grid_values"][0].tolist()
    p = theirs["average"].T
    np.testing.assert_allclose(effect.expected_rank, p @ np.arange(4), atol=1e-12)
    np.testing.assert_allclose(effect.cumulative, np.cumsum(p, axis=1)[:, :-1], atol=1e-12)
    assert effect.histogram[1].sum() == 120


def test_a_latent_score_stands_in_for_probabilities():
    X, y = ordinal_data(n=100)
    model = LinearSVOR().fit(X, y)
    (effect,) = feature_effects(model, X, features=[0], n_points=5)
    assert effect.unit == "score" and effect.cumulative is None
    slopes = np.diff(effect.expected_rank) / np.diff(effect.values)
    np.testing.assert_allclose(slopes, model.coef_[0])
    rest = X[:, 1:] @ model.coef_[1:]
    np.testing.assert_allclose(
        effect.expected_rank, np.array(effect.values) * model.coef_[0] + rest.mean()
    )


class Reader:
    """Ranks from a frame of all kinds of columns, without probabilities or a score."""

    classes_ = np.array([0, 1, 2, 3, 4])

    def predict(self, X):
        late = X["when"] > pd.Timestamp("2021-01-01")
        return ((X["colour"] == "red") + 2 * X["ok"].astype(int) + late).to_numpy().astype(int)


def frame_of_all_kinds(n=90):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "blue"], n), categories=["red", "blue"]),
            "ok": rng.random(n) < 0.5,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "same": 1.0,
        }
    )
    frame.loc[3, "colour"] = None
    return frame


def test_all_kinds_of_columns_keep_their_types():
    frame = frame_of_all_kinds()
    colour, ok, when = feature_effects(Reader(), frame)  # a constant column has no effect
    assert (colour.kind, ok.kind, when.kind) == ("category", "category", "date")
    assert colour.values == ["red", "blue"]  # missing values are left out
    assert colour.histogram[1].tolist() == frame["colour"].value_counts()[colour.values].tolist()
    np.testing.assert_allclose(np.diff(colour.expected_rank), -1.0)
    assert ok.values == [False, True] and ok.span == pytest.approx(2.0)
    assert when.values == sorted(when.values) and when.span == pytest.approx(1.0)
    assert colour.sentence() == "colour: 1.00 ranks higher at red than at blue"
    assert ok.sentence() == "ok: 2.00 ranks higher at yes than at no"


def test_polars_and_arrow_frames_give_the_same():
    polars = pytest.importorskip("polars")
    X, y = ordinal_data(n=80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ProportionalOdds().fit(frame, y)
    expected = feature_effects(model, frame, n_points=4)
    for other in (polars.from_pandas(frame), polars.from_pandas(frame).to_arrow()):
        for ours, theirs in zip(expected, feature_effects(model, other, n_points=4), strict=True):
            assert ours.feature == theirs.feature and ours.values == theirs.values
            np.testing.assert_allclose(ours.expected_rank, theirs.expected_rank)


def test_values_are_observed_ones_at_even_quantiles():
    X = np.arange(101.0)[:, None]
    model = ProportionalOdds(alpha=1.0).fit(X, (X[:, 0] > 50).astype(int))
    (effect,) = feature_effects(model, X, n_points=5)
    assert set(effect.values) <= set(X[:, 0])
    assert effect.values[0] == 0 and effect.values[-1] == 100
    np.testing.assert_allclose(effect.values, [0, 25, 50, 75, 100], atol=1)


def test_unknown_columns_are_named():
    X, y = ordinal_data(n=40)
    model = ProportionalOdds().fit(X, y)
    with pytest.raises(ValueError, match="columns of X, x0, x1, x2; found 'y'"):
        feature_effects(model, X, features=["y"])
    with pytest.raises(ValueError, match="found 3"):
        feature_effects(model, X, features=[3])


class Product:
    """The score is the product of two columns."""

    classes_ = np.array([0, 1])

    def predict_latent(self, X):
        return np.asarray(X)[:, 0] * np.asarray(X)[:, 1]

    def predict(self, X):
        return (self.predict_latent(X) > 1).astype(int)


def test_accumulated_effects_keep_to_rows_that_occur():
    x = np.linspace(-1, 1, 2001)
    X = np.column_stack([x, x])
    (partial,) = feature_effects(Product(), X, features=[0], max_rows=None)
    (local,) = feature_effects(Product(), X, features=[0], method="accumulated", max_rows=None)
    # The other column is zero on average, but equal to the first in every row: ∫ x dx = x²/2.
    np.testing.assert_allclose(partial.expected_rank, 0, atol=1e-12)
    z = np.array(local.values)
    shape = local.expected_rank - z**2 / 2
    np.testing.assert_allclose(shape, shape.mean(), atol=2e-3)


def test_accumulated_effects_of_a_linear_score_have_its_slope():
    X, y = ordinal_data(n=100)
    X[3, 0] = X[50, 0]
    model = LinearSVOR().fit(X, y)
    (effect,) = feature_effects(model, X, features=[1], method="accumulated", n_points=6)
    slopes = np.diff(effect.expected_rank) / np.diff(effect.values)
    np.testing.assert_allclose(slopes, model.coef_[1])
    (proba,) = feature_effects(
        ProportionalOdds().fit(X, y), X, features=[1], method="accumulated", n_points=6
    )
    # Σ_k P(y > k) is the expected rank, so the curves agree with each other.
    np.testing.assert_allclose(proba.expected_rank, (1 - proba.cumulative).sum(axis=1))
    with pytest.raises(ValueError, match="method must be 'partial' or 'accumulated'"):
        feature_effects(model, X, method="ale")


def test_whole_numbers_with_gaps_and_infinite_numbers():
    X, y = ordinal_data(n=60, d=2)
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.array(np.arange(60) % 4, dtype="Int64")})
    frame.loc[3, "b"] = pd.NA
    frame.loc[5, "a"] = np.inf
    reader = FunctionTransformer(lambda rows: np.clip(np.nan_to_num(rows.astype(float)), -3, 3))
    model = make_pipeline(reader, ProportionalOdds(alpha=0.1)).fit(frame, y)
    first, second = feature_effects(model, frame)
    assert second.values == [0, 1, 2, 3] and second.histogram[1].sum() == 59
    assert first.values[-1] == np.inf and first.histogram[1].sum() == 59
    assert np.isfinite(first.histogram[0]).all() and np.isfinite(first.expected_rank).all()


def test_no_rows_are_refused():
    X, y = ordinal_data(n=60)
    model = ProportionalOdds().fit(X, y)
    with pytest.raises(ValueError, match="X must have at least one row; found none"):
        feature_effects(model, X[:0])
    with pytest.raises(ValueError, match="max_rows must be an integer of at least 1; found 0"):
        feature_effects(model, X, max_rows=0)


def test_an_input_without_effect_is_told_so():
    counts = (np.array([0.0, 1.0, 2.0]), np.array([3, 4]))
    flat = Effect("size", "number", [1, 9], np.array([1.0, 1.001]), None, counts, "ranks", None)
    assert flat.sentence() == "size: no effect"


@pytest.mark.parametrize(
    ("value", "text"),
    [(25690.4, "25690"), (1234.56, "1235"), (0.001234, "0.001234"), (2e12, "2e+12")],
)
def test_large_numbers_are_shown_in_digits(value, text):
    assert shown_value(value) == text


def test_the_axis_of_heavy_tails_is_not_squeezed():
    rng = np.random.default_rng(0)
    paid = np.exp(3 * rng.normal(size=300)) * (rng.random(300) < 0.7)
    X = pd.DataFrame({"paid": paid, "size": rng.normal(size=300)})
    y = np.digitize(np.log1p(paid) + X["size"], [0.5, 2.0])
    found = feature_effects(ProportionalOdds(alpha=1.0).fit(np.log1p(abs(X)), y), X)
    heavy, plain = found
    assert plain.linear_width is None and heavy.linear_width == np.quantile(paid[paid > 0], 0.05)
    edges, counts = heavy.histogram
    assert counts.sum() == 300 and np.isclose(edges[-1], paid.max())
    np.testing.assert_allclose(np.diff(np.arcsinh(edges / heavy.linear_width), 2), 0, atol=1e-9)
    pytest.importorskip("matplotlib")
    from echelon.plots import EffectDisplay

    ax = EffectDisplay(heavy).plot().ax_
    places = ax.transAxes.inverted().transform(ax.transData.transform([(np.median(paid), 0.0)]))
    assert places[0, 0] > 0.05
