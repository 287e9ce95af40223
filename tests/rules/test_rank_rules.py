"""RankRules: the estimator around the rule engine."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import ordinal_data
from support.interrupts import interrupted

from echelon import RankRules
from echelon.datasets import load_anes96, load_esl, make_nonlinear_ordinal
from echelon.metrics import macro_mean_absolute_error
from echelon.ordinal.thresholds import fit_exponential
from echelon.pairs.exponential import ExponentialPairLoss
from echelon.solvers.rules.bodies import covers
from echelon.trained.model_file import dump_estimators, load_estimators

LOSSES = ("rank", "threshold", "binary", "absolute")
TECHNIQUES = ("simultaneous", "gradient", "gradient_boosting", "constant_step")


@pytest.fixture(scope="module")
def drawn():
    X, y = make_nonlinear_ordinal(800, random_state=3)
    return X[:400], y[:400], X[400:], y[400:]


def fitted(drawn, **parameters):
    X, y, _, _ = drawn
    return RankRules(**{"n_rules": 60, "random_state": 0} | parameters).fit(X, y)


# ---------------------------------------------------------------------------------- what it learns


@pytest.mark.parametrize("loss", LOSSES)
def test_it_beats_the_best_constant(drawn, loss):
    _, _, X, y = drawn
    model = fitted(drawn, loss=loss, n_rules=150)
    constant = min(np.abs(y - label).mean() for label in np.unique(y))
    assert -model.score(X, y) < 0.75 * constant


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("count", ["once", "per_threshold"])
def test_the_pair_loss_falls_with_every_rule(drawn, technique, count):
    model = fitted(
        drawn, technique=technique, pair_weight=count, shrinkage=1.0, subsample=1.0, n_rules=40
    )
    assert (np.diff(model.loss_) < 0).all()
    X, y, _, _ = drawn
    loss = ExponentialPairLoss(y - y.min(), 10, count=count)
    scores = model.predict_latent(X)
    assert model.loss_[-1] == pytest.approx(np.exp(loss.at(scores).log_loss) / loss.total, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_loss_rises_when_rows_are_drawn(drawn, loss):
    model = fitted(drawn, loss=loss, subsample=0.3)
    assert (np.diff(model.loss_) <= 1e-12).all()


def test_thresholds_are_those_of_the_closed_form(drawn):
    X, y, _, _ = drawn
    model = fitted(drawn)
    codes = y - y.min()
    np.testing.assert_allclose(
        model.thresholds_, fit_exponential(model.predict_latent(X), codes, 10), rtol=1e-9
    )
    assert (np.diff(model.thresholds_) >= 0).all()
    for stage in model._ensembles[0].stages:
        assert (np.diff(stage) >= 0).all()


def test_two_classes_are_ordered_by_auc():
    X, y = make_nonlinear_ordinal(2000, random_state=1)
    above = (y > np.median(y)).astype(int)
    model = RankRules(200, random_state=0).fit(X[:1000], above[:1000])
    auc = roc_auc_score(above[1000:], model.predict_latent(X[1000:]))
    assert auc > 0.85
    assert roc_auc_score(above[1000:], model.decision_function(X[1000:])) == auc


def test_both_ways_of_counting_agree_for_two_classes(drawn):
    X, y, _, _ = drawn
    above = (y > 5).astype(int)
    first, second = (
        RankRules(30, pair_weight=count, random_state=0).fit(X, above).predict_latent(X)
        for count in ("once", "per_threshold")
    )
    np.testing.assert_array_equal(first, second)


def test_responses_are_found_on_all_rows(drawn):
    X, y, _, _ = drawn
    model = fitted(drawn, n_rules=1, subsample=0.2, shrinkage=1.0)
    inside = covers(model.rules_[0].body, X)
    assert model.coverages_[0] == pytest.approx(inside.mean())
    right = wrong = 0.0
    for i in range(len(y)):
        steps = np.maximum(y[i] - y, 0)
        right += steps[~inside].sum() * inside[i]
        wrong += steps[inside].sum() * (not inside[i])
    total = sum(np.maximum(y[i] - y, 0).sum() for i in range(len(y)))
    smooth = 1e-4 * total
    expected = 0.5 * np.log((right + smooth) / (wrong + smooth))
    assert model.rules_[0].response == pytest.approx(expected, rel=1e-9)


def test_coverage_follows_the_order_of_the_paper():
    X, y = make_nonlinear_ordinal(1000, random_state=0)
    techniques = [
        {"technique": "gradient"},
        *({"technique": "constant_step", "beta": beta} for beta in (0.1, 0.5)),
        {"technique": "simultaneous"},
    ]
    means = []
    for technique in techniques:
        model = RankRules(300, subsample=0.25, random_state=0, **technique).fit(X, y)
        means.append(np.minimum(model.coverages_, 1.0 - model.coverages_).mean())
    assert means == sorted(means, reverse=True)


# -------------------------------------------------------------------------------------- robustness


def test_ten_thousand_full_steps_on_separable_data_stay_finite():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.0, 0.5])
    model = RankRules(10_000, shrinkage=1.0, subsample=0.5, random_state=0).fit(X, y)
    assert len(model.loss_) == 10_000
    for values in (model.predict_latent(X), model.thresholds_, model.loss_, model.predict_proba(X)):
        assert np.isfinite(values).all()
    assert model.score(X, y) == 0.0
    assert np.ptp(model.predict_latent(X)) > 1000.0


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(LOSSES),
    st.sampled_from([None, "gradient", "gradient_boosting", "constant_step"]),
    st.sampled_from([None, 3, 255]),
)
def test_small_and_odd_data(seed, loss, technique, max_bins):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(2, 15), rng.integers(1, 4), rng.integers(2, 6)
    X = rng.choice([0.0, 1.0, np.nan, 1e-300, 1e49, -7.5], size=(n, d))
    y = rng.integers(0, K, n)
    y[:2] = [0, K - 1]
    weights = rng.choice([0.0, 1.0, 1e-8, 1e8], size=n)
    weights[:2] = 1.0
    model = RankRules(
        5, loss=loss, technique=technique, max_bins=max_bins, random_state=0, classes=range(K)
    ).fit(X, y, sample_weight=weights)
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert not np.isnan(model.decision_function(X)).any()
    assert set(model.predict(X)) <= set(range(K))


def test_an_input_without_information_gives_no_rule():
    model = RankRules(10, random_state=0).fit(np.ones((6, 1)), [0, 0, 1, 1, 1, 2])
    assert model.rules_ == []
    assert model.loss_.size == 0
    assert len(set(model.predict(np.ones((2, 1))))) == 1
    assert list(model.staged_predict(np.ones((2, 1)))) == []
    assert "no rules" in model.to_text().lower()


def test_missing_values_satisfy_no_condition(drawn):
    X, _, _, _ = drawn
    model = fitted(drawn)
    nothing = np.full((1, X.shape[1]), np.nan)
    assert model.predict_latent(nothing)[0] == 0.0
    assert model.explain(nothing)[0].parts == []


# ------------------------------------------------------------------------------------- invariances


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("max_bins", [None, 40])
def test_integer_weights_are_repeats(loss, max_bins):
    X, y = ordinal_data(60, 3, 4, seed=1)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weights[:4] = 1
    parameters = {"loss": loss, "max_bins": max_bins, "subsample": 1.0, "n_rules": 20}
    weighted = RankRules(**parameters).fit(X, y, sample_weight=weights)
    repeated = RankRules(**parameters).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_scaled_weights_and_shifted_inputs_change_nothing(drawn, loss):
    X, y, _, _ = drawn
    plain = fitted(drawn, loss=loss).predict(X)
    scaled = RankRules(60, loss=loss, random_state=0).fit(8.0 * X, y, np.full(len(y), 4.0))
    np.testing.assert_array_equal(scaled.predict(8.0 * X), plain)


def test_exact_search_is_a_bin_for_each_value():
    X, y = ordinal_data(80, 3, 4, seed=2)
    X = X.round(1)
    exact, binned = (
        RankRules(40, max_bins=max_bins, random_state=0).fit(X, y) for max_bins in (None, 255)
    )
    assert [str(rule) for rule in exact.rules_] == [str(rule) for rule in binned.rules_]


@pytest.mark.parametrize("seed", range(20))
def test_threads_change_nothing(monkeypatch, seed):
    monkeypatch.setattr("echelon.solvers.rules.search._WORTH_A_THREAD", 0)
    X, y = make_nonlinear_ordinal(150, random_state=seed)
    if seed % 2:
        # Many ties between cuts and, with copies, between features.
        X = np.hstack([X, X[:, ::-1]]).round(1)
    model = RankRules(
        10,
        loss=LOSSES[seed % 4],
        technique=(None, "gradient", "constant_step", "gradient_boosting")[seed // 4 % 4],
        max_bins=50 if seed % 3 == 0 else None,
        nominal=[1] if seed % 5 == 0 else None,
        random_state=0,
    )
    one, two, three = (
        clone(model).set_params(n_jobs=n_jobs).fit(X, y).decision_function(X)
        for n_jobs in (1, 2, 3)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)


def test_reversed_labels_reverse_the_score(drawn):
    X, y, _, _ = drawn
    up = fitted(drawn, subsample=1.0).predict_latent(X)
    down = RankRules(60, subsample=1.0).fit(X, -y).predict_latent(X)
    np.testing.assert_allclose(up, -down, atol=1e-9)


# ------------------------------------------------------------------------------------------ stages


@pytest.mark.parametrize("loss", LOSSES)
def test_the_last_stage_is_the_model(drawn, loss):
    _, _, X, y = drawn
    model = fitted(drawn, loss=loss, n_rules=15)
    stages = list(model.staged_predict(X))
    assert len(stages) == 15
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    assert list(model.staged_score(X, y))[-1] == pytest.approx(model.score(X, y))
    shorter = fitted(drawn, loss=loss, n_rules=9)
    np.testing.assert_array_equal(stages[8], shorter.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_early_stopping_keeps_the_best_stage(drawn, loss):
    model = fitted(drawn, loss=loss, n_rules=400, n_iter_no_change=10, shrinkage=0.5)
    costs = model.validation_costs_
    assert len(costs) < 400
    assert len(model.loss_) == np.argmin(costs) + 1
    assert len(costs) - 1 - np.argmin(costs) == 10


# ---------------------------------------------------------------------------------------- readable


@pytest.fixture(scope="module")
def wines():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "alcohol": rng.uniform(8.0, 14.0, n).round(1),
            "colour": pd.Categorical(rng.choice(["red", "white", "rosé", "orange"], n)),
            "size": pd.Categorical(
                rng.choice(["small", "medium", "large"], n),
                categories=["small", "medium", "large"],
                ordered=True,
            ),
            "bio": rng.random(n) < 0.4,
        }
    )
    score = (
        0.6 * frame["alcohol"]
        + 2.0 * frame["colour"].isin(["red", "orange"])
        + frame["size"].cat.codes
        + rng.normal(scale=0.5, size=n)
    )
    labels = pd.cut(score, [-np.inf, 7.5, 9.5, np.inf], labels=["poor", "fair", "good"])
    return frame, labels


def test_categories_are_judged_as_sets_and_orders(wines):
    frame, labels = wines
    model = RankRules(60, random_state=0, max_conditions=2).fit(frame, labels)
    assert model.score(frame, labels) > -0.2
    text = " ".join(model.to_text(units={"alcohol": "% vol"}, target="rating").split())
    assert "size is at" in text
    assert "colour is" in text
    assert re.search(r"alcohol is (at most|at least) [\d.]+ % vol", text)
    assert "rating" in text
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[3] < 0.1
    sets = [c for rule in model.rules_ for c in rule.conditions if c.name == "colour"]
    assert any(len(named.condition.members) == 2 for named in sets)


def test_polars_and_unseen_categories(wines):
    frame, labels = wines
    model = RankRules(40, random_state=0).fit(frame, labels)
    other = pl.DataFrame(
        {
            "alcohol": frame["alcohol"].to_numpy(),
            "colour": pl.Series(frame["colour"].tolist(), dtype=pl.Categorical),
            "size": pl.Series(frame["size"].tolist(), dtype=pl.Enum(["small", "medium", "large"])),
            "bio": frame["bio"].to_numpy(),
        }
    )
    np.testing.assert_array_equal(
        RankRules(40, random_state=0).fit(other, labels).predict_latent(other),
        model.predict_latent(frame),
    )
    strange = frame.assign(colour=pd.Categorical(["blue"] * len(frame)))
    for rule in model.rules_:
        for named in rule.conditions:
            if named.name == "colour":
                inside = covers((named.condition,), model._positions(strange))
                assert inside.all() == named.condition.negated


def test_listed_columns_are_nominal():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 400), rng.normal(size=400)]).astype(float)
    y = np.isin(X[:, 0], [1, 4]).astype(int)
    model = RankRules(1, nominal=[0], shrinkage=1.0, subsample=1.0).fit(X, y)
    (rule,) = model.rules_
    assert str(rule).startswith("If x0 is none of 1, 4, the score falls by")
    assert model.score(X, y) == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_explanations_add_up(drawn, loss):
    X, _, _, _ = drawn
    model = fitted(drawn, loss=loss, n_rules=20)
    found = model.explain(X[:5])
    labels = model.predict(X[:5])
    for row, explanation in enumerate(found):
        assert explanation.label == labels[row]
        if loss != "binary":
            total = sum(added for _, added in explanation.parts)
            assert total == pytest.approx(model.predict_latent(X[:5])[row], abs=1e-9)
        assert explanation.to_text()


def test_tables_texts_and_notebooks(drawn):
    model = fitted(drawn, n_rules=20)
    for backend, library in (("pandas", pd), ("polars", pl)):
        frame = model.to_frame(backend)
        assert isinstance(frame, library.DataFrame)
        assert len(frame) == len(model.rules_)
        assert list(frame["importance"]) == sorted(r.importance for r in model.rules_)[::-1]
    assert model.to_text(3).count("\n1.") == 1
    assert "<table" in model._repr_html_()
    assert "<table" in model._repr_mimebundle_()["text/html"]
    assert "sk-estimator" in RankRules()._repr_html_()
    assert "sk-estimator" not in model._repr_html_()


def test_names_come_from_the_pipeline(wines):
    frame, labels = wines
    prepared = make_column_transformer(
        (StandardScaler(), ["alcohol"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    model = make_pipeline(prepared, RankRules(20, random_state=0)).fit(frame, labels)
    assert {"alcohol", "colour", "size", "bio"} >= {
        named.name for rule in model[-1].rules_ for named in rule.conditions
    }
    assert model.score(frame, labels) > -0.3


# ------------------------------------------------------------------------------ parameters, errors


def test_levels_that_do_not_occur_are_never_predicted(drawn):
    X, y, _, _ = drawn
    kept = (y != 3) & (y != 10)
    for loss in LOSSES:
        model = RankRules(20, loss=loss, classes=range(0, 12), random_state=0).fit(X[kept], y[kept])
        assert model.decision_function(X).shape == (len(X), 11)
        assert not {0, 10, 11} & set(model.predict(X)) or loss == "absolute"
        assert model.predict_proba(X)[:, [0, 11]].max() < 1e-9


def test_a_binary_loss_has_no_single_score(drawn):
    model = fitted(drawn, loss="binary", n_rules=3)
    with pytest.raises(AttributeError):
        model.predict_latent(drawn[0])
    assert model.coverages_.shape == (3, 9)
    assert {rule.threshold for rule in model.rules_} == set(range(9))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_rules": 0}, "n_rules must be an integer of at least 1; found 0"),
        ({"loss": "hinge"}, "loss must be 'rank', 'threshold', 'binary' or 'absolute'; found"),
        ({"technique": "newton"}, "technique must be None, 'simultaneous', "),
        ({"pair_weight": "twice"}, "pair_weight must be 'per_threshold' or 'once'"),
        ({"shrinkage": 1.5}, "shrinkage must be at most 1; found 1.5"),
        ({"subsample": 0.0}, "subsample must be a positive number; found 0.0"),
        ({"beta": -1.0}, "beta must be a positive number; found -1.0"),
        ({"max_conditions": 0}, "max_conditions must be an integer of at least 1"),
        ({"max_bins": 300}, "max_bins must be None or an integer from 2 to 255"),
        ({"loss": "absolute", "technique": "simultaneous"}, "whose best response has no closed"),
        ({"nominal": [99]}, "99"),
        ({"nominal": "yes"}, "nominal"),
        ({"validation_fraction": 1.0, "n_iter_no_change": 3}, "validation_fraction must lie"),
    ],
)
def test_bad_parameters_are_named(drawn, parameters, message):
    X, y, _, _ = drawn
    with pytest.raises(ValueError, match=message):
        RankRules(**parameters).fit(X, y)


def test_fitting_can_be_interrupted(drawn):
    X, y, _, _ = drawn
    model = RankRules(10**9, random_state=0)
    with interrupted(), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_verbose_tells_the_loss(drawn, capsys):
    fitted(drawn, n_rules=10, verbose=1)
    assert "RankRules: round 10 of 10, loss 0." in capsys.readouterr().out


def test_class_weights_move_the_rare_classes():
    data = load_anes96()
    plain = RankRules(100, classes=data.target_names, random_state=0).fit(data.data, data.target)
    balanced = clone(plain).set_params(class_weight="balanced").fit(data.data, data.target)
    errors = [
        macro_mean_absolute_error(data.target, model.predict(data.data), classes=data.target_names)
        for model in (plain, balanced)
    ]
    assert errors[1] < errors[0]


def test_text_on_real_data_names_the_inputs():
    data = load_esl(as_frame=True)
    model = RankRules(50, max_conditions=2, random_state=0).fit(data.data, data.target)
    text = model.to_text(5, target="suitability")
    assert all(f"{number}. If " in text for number in range(1, 6))
    assert data.feature_names[0] in model.to_text()


# ---------------------------------------------------------------------------------------- pruning


@pytest.mark.parametrize("loss", LOSSES)
def test_pruned_models_keep_what_matters(drawn, loss):
    X, y, X_test, y_test = drawn
    model = fitted(drawn, loss=loss, n_rules=60)
    pruned = model.prune(15, X, y)
    problems = 9 if loss == "binary" else 1
    assert len(pruned.rules_) <= 15 * problems < len(model.rules_)
    assert {rule.body for rule in pruned.rules_} <= {rule.body for rule in model.rules_}
    assert pruned.pruning_.violation < 1e-6
    assert pruned.pruning_.error_before == -model.score(X, y)
    assert pruned.pruning_.error_after == -pruned.score(X, y)
    assert f"of {len(model.rules_)} rules; mean absolute error" in str(pruned.pruning_)
    constant = min(np.abs(y_test - label).mean() for label in np.unique(y))
    assert -pruned.score(X_test, y_test) < 0.85 * constant
    np.testing.assert_array_equal(list(pruned.staged_predict(X))[-1], pruned.predict(X))
    assert pruned.explain(X[:2])[0].label == pruned.predict(X[:2])[0]
    assert not hasattr(model, "pruning_")
    assert pruned.get_params() == model.get_params()


def test_pruning_to_all_rules_descends_the_loss(drawn):
    X, y, _, _ = drawn
    model = fitted(drawn, n_rules=40)
    assert model.prune(10_000, X, y).loss_[-1] <= model.loss_[-1] * (1.0 + 1e-6)


def test_pruning_needs_every_class(drawn):
    X, y, _, _ = drawn
    model = fitted(drawn, n_rules=5)
    with pytest.raises(ValueError, match="every class that the model was fitted to; it lacks 1"):
        model.prune(3, X[y > 1], y[y > 1])
    with pytest.raises(ValueError, match="n must be an integer of at least 1; found 0"):
        model.prune(0, X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        model.prune(3, X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.prune(3, X[:-1], y)


def test_pruning_with_weights_of_many_orders_says_if_it_fails():
    X, y = ordinal_data(40, 3, 3, seed=5)
    weights = np.where(np.arange(40) % 3 == 0, 1e12, 1e-12)
    model = RankRules(20, loss="threshold", shrinkage=1.0, random_state=0).fit(X, y, weights)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pruned = model.prune(4, X, y, weights)
    assert np.isfinite(pruned.decision_function(X)).all()
    assert (pruned.pruning_.violation > 1e-4) == any("violation" in str(w.message) for w in seen)


def test_pruning_knows_levels_that_were_held_out():
    X, y = ordinal_data(60, 3, 4, seed=2)
    y[7] = 4
    model = RankRules(20, n_iter_no_change=5, classes=range(5), random_state=0)
    lost = None
    for seed in range(200):
        model.set_params(random_state=seed).fit(X, y)
        if 4 not in model._levels.observed:
            lost = model
            break
    assert lost is not None
    for loss in ("rank", "threshold", "binary"):
        pruned = RankRules(
            20, loss=loss, n_iter_no_change=5, classes=range(5), random_state=lost.random_state
        )
        pruned = pruned.fit(X, y).prune(5, X, y)
        assert pruned.decision_function(X).shape == (60, 4)


def test_explain_pair_names_the_rules_that_tell_two_rows_apart():
    X, y = ordinal_data(n=200)
    frame = pd.DataFrame(X, columns=["price", "age", "size"]).assign(
        colour=np.where(X[:, 0] > 0, "red", "blue")
    )
    model = RankRules(20, random_state=0).fit(frame, y)
    a, b = frame.iloc[[0]], frame.iloc[[1]]
    explained = model.explain_pair(a, b)
    scores = model.predict_latent(frame.iloc[:2])
    assert explained.difference == pytest.approx(scores[0] - scores[1])
    assert sum(t.contribution for t in explained.terms) == pytest.approx(explained.difference)
    texts = {rule.text() for rule in model.rules_}
    assert explained.terms and all(term.name in texts for term in explained.terms)
    assert all({term.a, term.b} == {0.0, 1.0} for term in explained.terms)
    assert model.explain_pair(frame.iloc[0], frame.iloc[1]) == explained
    assert model.explain_pair(a, a).terms == ()
    with pytest.raises(AttributeError, match="explain_pair"):
        RankRules(5, loss="binary").fit(X, y).explain_pair(X[0], X[1])


def test_a_saved_model_words_its_rules_itself(drawn):
    X, _, _, _ = drawn
    model = fitted(drawn, n_rules=5)
    text, told = model.to_text(), [str(part) for part in model.explain(X[:3])]
    again = load_estimators("It is refused", *dump_estimators(model))
    assert again.to_text() == text
    assert [str(part) for part in again.explain(X[:3])] == told
