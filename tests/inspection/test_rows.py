"""Contributions of columns to the predictions of single rows."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.data import ordinal_data

from echelon import AdaBoostOR, LinearSVOR, ORTree, ProportionalOdds, RankRules
from echelon.inspection import explain_rows


def expected_rank(model, X):
    return model.predict_proba(X) @ np.arange(len(model.classes_))


def by_definition(value, x, background):
    """Shapley values straight from their definition."""
    d = len(x)

    def mean_value(columns):
        mixed = background.copy()
        mixed[:, list(columns)] = x[list(columns)]
        return value(mixed).mean()

    shares = np.zeros(d)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            for subset in combinations(others, size):
                gain = mean_value((*subset, j)) - mean_value(subset)
                shares[j] += gain / (d * comb(d - 1, size))
    return shares


def in_order(explanation, names):
    found = {term.feature: term.contribution for term in explanation.terms}
    return np.array([found[name] for name in names])


@pytest.mark.parametrize(
    "estimator", [ProportionalOdds(), ORTree(max_depth=3), AdaBoostOR(None, 5)]
)
def test_few_columns_are_enumerated_by_the_definition(estimator):
    X, y = ordinal_data(n=60, d=4)
    model = estimator.fit(X, y)
    if hasattr(model, "predict_proba"):
        value = lambda rows: expected_rank(model, rows)  # noqa: E731
    else:
        value = lambda rows: np.searchsorted(model.classes_, model.predict(rows))  # noqa: E731
    background = X[10:30]
    for why, x in zip(explain_rows(model, X[:2], background), X, strict=False):
        assert why.method == "exact" and why.standard_errors is None
        contributions = in_order(why, ["x0", "x1", "x2", "x3"])
        np.testing.assert_allclose(contributions, by_definition(value, x, background), atol=1e-12)
        assert why.total == pytest.approx(float(value(x[None])[0]))
        assert why.base == pytest.approx(float(value(background).mean()))
        assert contributions.sum() == pytest.approx(why.total - why.base, abs=1e-12)
        sizes = [abs(term.contribution) for term in why.terms]
        assert sizes == sorted(sizes, reverse=True)


def test_many_columns_are_drawn_with_an_honest_standard_error():
    X, y = ordinal_data(n=60, d=9)
    model = ProportionalOdds(alpha=0.1).fit(X, y)
    names = [f"x{j}" for j in range(9)]
    background = X[10:22]
    exact = by_definition(lambda rows: expected_rank(model, rows), X[0], background)
    runs, squares = [], []
    for seed in range(60):
        (why,) = explain_rows(model, X[0], background, n_draws=96, random_state=seed)
        assert why.method == "drawn"
        contributions = in_order(why, names)
        assert contributions.sum() == pytest.approx(why.total - why.base, abs=1e-12)
        errors = dict(zip([term.feature for term in why.terms], why.standard_errors, strict=True))
        runs.append(contributions)
        squares.append([errors[name] ** 2 for name in names])
    # Over runs the mean is right, and the stated variance is the observed one.
    stated = np.mean(squares, axis=0)
    assert (np.abs(np.mean(runs, axis=0) - exact) < 4.5 * np.sqrt(stated / 60)).all()
    observed = np.mean((np.array(runs) - exact) ** 2, axis=0)
    assert 0.75 < observed.sum() / stated.sum() < 1.33


def test_more_draws_have_smaller_errors():
    X, y = ordinal_data(n=60, d=9)
    model = ProportionalOdds(alpha=0.1).fit(X, y)
    few, many = (explain_rows(model, X[0], X[10:22], n_draws=n)[0] for n in (48, 4800))
    assert many.standard_errors.mean() < few.standard_errors.mean() / 5


@pytest.mark.parametrize("estimator", [LinearSVOR(), ProportionalOdds()])
def test_a_linear_score_on_raw_columns_is_taken_apart_exactly(estimator):
    X, y = ordinal_data(n=80, d=12)
    X = X * np.arange(1, 13) + 5
    model = estimator.fit(X, y)
    background = X[20:50]
    (why,) = explain_rows(model, X[0], background, value="score")
    assert why.method == "linear" and why.unit == "score"
    expected = model.coef_ * (X[0] - background.mean(axis=0))
    np.testing.assert_allclose(in_order(why, [f"x{j}" for j in range(12)]), expected, atol=1e-9)
    assert why.total == pytest.approx(model.predict_latent(X[:1])[0])


def test_a_linear_score_after_preparation_is_told_by_raw_columns():
    rng = np.random.default_rng(0)
    X, y = ordinal_data(n=100, d=9)
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    frame["colour"] = rng.choice(["red", "blue", "green"], len(frame))
    prepare = make_column_transformer(
        (StandardScaler(), list("abcdefghi")), (OneHotEncoder(), ["colour"])
    )
    model = make_pipeline(prepare, LinearSVOR()).fit(frame, y)
    (why,) = explain_rows(model, frame.iloc[[0]], frame, max_background=100)
    assert why.method == "linear" and why.unit == "score" and why.probabilities is None
    weights = model[-1].coef_[:9] / prepare.fit(frame).named_transformers_["standardscaler"].scale_
    np.testing.assert_allclose(
        in_order(why, list("abcdefghi")), weights * (X[0] - X.mean(axis=0)), atol=1e-9
    )
    assert sum(term.contribution for term in why.terms) == pytest.approx(why.total - why.base)


def test_a_preparation_that_mixes_columns_is_still_additive_and_one_that_bends_them_is_not():
    X, y = ordinal_data(n=80, d=3)
    rotated = make_pipeline(PCA(), LinearSVOR()).fit(X, y)
    assert explain_rows(rotated, X[0], X)[0].method == "linear"
    from sklearn.preprocessing import PolynomialFeatures

    bent = make_pipeline(PolynomialFeatures(2), LinearSVOR()).fit(X, y)
    (why,) = explain_rows(bent, X[0], X[:20])
    assert why.method == "exact"
    value = lambda rows: bent[-1].predict_latent(bent[0].transform(rows))  # noqa: E731
    np.testing.assert_allclose(
        in_order(why, ["x0", "x1", "x2"]), by_definition(value, X[0], X[:20]), atol=1e-10
    )


def test_the_sentence_says_label_sureness_and_what_pushed():
    X, y = ordinal_data(n=200, d=3, K=4, noise=0.2)
    frame = pd.DataFrame(X, columns=["alcohol", "noise", "acid"])
    words = np.array(["poor", "fair", "good", "great"])
    model = ProportionalOdds(classes=words).fit(frame, words[y])
    row = pd.DataFrame({"alcohol": [2.0], "noise": [0.0], "acid": [1.5]})
    (why,) = explain_rows(model, row, frame)
    text = why.sentence()
    assert text.startswith(f"Predicted {why.prediction} with probability ")
    assert "within one)" in text
    assert "alcohol 2 raises it by" in text and "acid 1.5 lowers it by" in text
    assert f"{why.total - why.base:.2f} ranks above the mean" in text
    alcohol = why.terms[0]
    assert alcohol.feature == "alcohol" and f"by {alcohol.contribution:.2f} ranks" in text
    assert str(why) == text
    assert why.to_dict()["terms"][0]["contribution"] == alcohol.contribution


def rules_on_mixed_columns():
    rng = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(10, 3, n), 1),
            "colour": rng.choice(["red", "blue", "green"], n),
        }
    )
    y = np.searchsorted([9.0, 12.0], frame["size"] + 3 * (frame["colour"] == "red"))
    prepare = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["colour"]))
    rules = RankRules(15, max_conditions=2, random_state=0, subsample=1.0)
    return make_pipeline(prepare, rules).fit(frame, y), frame


def test_rules_at_the_end_of_a_pipeline_are_told_in_the_table_s_own_values():
    from echelon.inspection import rule_sentences
    from echelon.inspection.raw_rules import raw_rules
    from echelon.inspection.table import Table

    model, frame = rules_on_mixed_columns()
    words = raw_rules(model, model.classes_, Table(frame))
    prepared = np.asarray(model[0].transform(frame))
    kinds = set()
    for rule in model[-1].rules_:
        satisfied = np.ones(len(frame), dtype=bool)
        for condition in words.retold(rule).conditions:
            kinds.add(condition.name)
            values = frame[condition.name]
            if condition.members_shown:
                satisfied &= values.isin(condition.members_shown) != condition.excludes
            if condition.lower_shown:
                satisfied &= values >= float(condition.lower_shown)
            if condition.upper_shown:
                satisfied &= values <= float(condition.upper_shown)
        assert (satisfied == rule.covers(prepared)).all(), str(words.retold(rule))
    assert kinds == {"size", "colour"}
    sentences = rule_sentences(model, frame)
    assert len(sentences) == len(model[-1].rules_)
    assert all(sentence.startswith("If ") for sentence in sentences)
    assert rule_sentences(LinearSVOR().fit(prepared, model.predict(frame))) is None


def test_the_rules_that_a_row_satisfies_come_with_its_explanation():
    model, frame = rules_on_mixed_columns()
    (why,) = explain_rows(model, frame.iloc[0], frame)
    told = model[-1].explain(model[0].transform(frame.iloc[[0]]))[0]
    assert len(why.rules) == min(len(told.parts), 12) > 0
    assert why.rules[0].endswith("to the score")
    assert "size" in " ".join(why.rules) and "x0" not in " ".join(why.rules)
    assert why.rules[0] in str(why)


def test_missing_values_and_categories_pass_through():
    rng = np.random.default_rng(0)
    X, y = ordinal_data(n=100)
    frame = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(rng.choice(["u", "v"], 100))})
    frame.loc[0, "a"] = np.nan
    model = RankRules(20, random_state=0).fit(frame, y)
    (why,) = explain_rows(model, frame.iloc[[0]], frame)
    assert sum(term.contribution for term in why.terms) == pytest.approx(why.total - why.base)
    terms = {term.feature: term for term in why.terms}
    assert terms["kind"].value in ("u", "v")
    assert abs(terms["a"].contribution) > 0.1 and "a missing" in why.sentence()
    assert {term["feature"]: term["value"] for term in why.to_dict()["terms"]}["a"] is None


def test_wrappers_are_looked_through():
    from sklearn.model_selection import GridSearchCV

    from echelon.inspection import rule_sentences
    from echelon.meta.calibration import OrdinalCalibrator

    X, codes = ordinal_data(n=120, K=3)
    words = np.array(["poor", "fair", "good"])
    search = GridSearchCV(LinearSVOR(), {"C": [1.0]}, cv=2)
    inner = make_pipeline(StandardScaler(), search)
    model = OrdinalCalibrator(inner, classes=words, cv=2).fit(X, words[codes])
    (why,) = explain_rows(model, X[0], X)
    assert why.unit == "ranks" and why.method == "exact" and why.prediction in words
    (score,) = explain_rows(model, X[0], X[:40], value="score")
    assert score.method == "linear"
    weights = model.estimator_[-1].best_estimator_.coef_ / model.estimator_[0].scale_
    expected = weights * (X[0] - X[:40].mean(axis=0))
    np.testing.assert_allclose(in_order(score, ["x0", "x1", "x2"]), expected, atol=1e-9)
    rules = OrdinalCalibrator(RankRules(5, random_state=0), classes=words, cv=2)
    sentences = rule_sentences(rules.fit(X, words[codes]))
    assert all(any(word in text for word in words) for text in sentences)


def test_a_row_with_a_level_that_no_other_row_has_keeps_it():
    X, y = ordinal_data(n=60)
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v")})
    frame = frame.astype({"kind": "category"})
    row = pd.Series({"a": 1.0, "kind": "w"})
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["a"]), (OneHotEncoder(handle_unknown="ignore"), ["kind"])
        ),
        ProportionalOdds(),
    ).fit(frame, y)
    (why,) = explain_rows(model, row, frame)
    assert {term.feature: term.value for term in why.terms} == {"a": 1.0, "kind": "w"}


def test_arguments_that_cannot_be_are_named():
    X, y = ordinal_data(n=40)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ORTree(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="without a latent score"):
        explain_rows(model, X[0], X, value="score")
    with pytest.raises(ValueError, match="value must be 'auto', 'rank' or 'score'"):
        explain_rows(model, X[0], X, value="margin")
    with pytest.raises(ValueError, match="the same kind with the same columns"):
        explain_rows(model, X[:1], frame)


def test_no_rows_and_no_background():
    X, y = ordinal_data(n=60)
    model = ProportionalOdds().fit(X, y)
    assert explain_rows(model, X[:0], X) == []
    with pytest.raises(ValueError, match="background must have at least one row; found none"):
        explain_rows(model, X[:1], X[:0])
