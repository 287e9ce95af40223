"""One evaluation on the whole page, weights and groups in all of it, and coefficients."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reporting.pages import Reader
from support.data import ordinal_data

from echelon import ProportionalOdds
from echelon.base.row_design import RowDesign
from echelon.inspection import Effect, feature_effects, ordinal_importance
from echelon.model_selection import candidates, run_contest
from echelon.model_selection.holdout import Holdout
from echelon.ordinal.labels import read_scale
from echelon.plots import EffectDisplay
from echelon.reporting import report
from echelon.reporting.content import amount, short
from echelon.reporting.rows import Rows, Settings, weighted_quantile
from echelon.reporting.study import HeldOut, Study, jackknife_errors
from echelon.tables import labelled_table
from echelon.trained import train

pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="reports need matplotlib")

FEW = ("ProportionalOdds logit", "median label")


def patients(n_groups=60, seed=0):
    """Visits of patients, who differ, with a weight."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n_groups)
    who = np.repeat(np.arange(n_groups), sizes)
    own, dose = rng.normal(0, 1, n_groups)[who], rng.normal(0, 1, len(who))
    score = dose + own + rng.logistic(0, 0.5, len(who))
    return pd.DataFrame(
        {
            "patient": who,
            "dose": dose,
            "age": rng.integers(20, 80, n_groups)[who],
            "weight": rng.uniform(0.3, 3.0, len(who)).round(2),
            "pain": 3 + np.searchsorted([-1.0, 0.7], score),
        }
    )


def text_of(page, key):
    part = page.html.split(f'<section id="{key}"')[1].split("</section>")[0]
    return Reader(part[part.index("<p") :]).text


@pytest.fixture(scope="module")
def grouped():
    """A contest on groups with weights, the model that it led to, and its page."""
    table = labelled_table(patients(), "pain", group="patient", weight="weight")
    roster = {name: candidates()[name] for name in FEW}
    board = run_contest(table, candidates=roster, folds=3, repeats=2)
    model = train(table, FEW[0], leaderboard=board)
    return table, board, model, report(model, table, leaderboard=board, source="visits.csv")


def test_the_page_has_the_figures_of_the_contest(grouped):
    _, board, model, page = grouped
    assert page.left_out == {}
    mae = f"{board.find(FEW[0]).mean('mae'):.3f}"
    assert mae == f"{model.metrics['mae']:.3f}"
    assert f"with {mae} ranks off on average" in text_of(page, "summary")
    assert f"A prediction is {mae} ranks off" in text_of(page, "summary")
    assert f"{FEW[0]} costs {mae} ranks" in text_of(page, "summary")
    constant = board.find("median label").mean("mae")
    assert f"that of all rows {mae} ranks" in text_of(page, "by-class")
    assert f"would cost {constant:.3f} ranks" in text_of(page, "summary")
    rps = f"{board.find(FEW[0]).mean('rps'):.3f}"
    assert f"Ranked probability score {rps}" in text_of(page, "calibration")
    covered = f"{100 * model.metrics['interval_coverage']:.1f} %"
    assert f"{covered} of the true labels lie" in text_of(page, "intervals")
    assert f"hold {covered} of them" in text_of(page, "summary")


def test_the_page_fits_in_no_folds_of_its_own_after_a_contest(grouped, monkeypatch):
    from echelon.reporting import study

    def none(*_, **__):
        raise AssertionError("a second evaluation")

    monkeypatch.setattr(study, "compare_models", none)
    table, board, model, page = grouped
    again = report(model, table, leaderboard=board, sections=["summary", "by-class", "intervals"])
    assert again.left_out == {}
    assert text_of(again, "summary") == text_of(page, "summary").replace(" of visits.csv", "")


def test_the_page_says_what_groups_and_weights_it_has(grouped):
    *_, page = grouped
    summary = text_of(page, "summary")
    assert "Whole groups of “patient” were held out, 60 groups." in summary
    assert "Every figure of the model is weighted by “weight”." in summary
    assert "from 2 columns of visits.csv" in summary
    assert "Weighted rows" in text_of(page, "by-class")
    assert "Weighted share" in text_of(page, "data")
    errors = text_of(page, "coefficients")
    assert "Standard errors are robust (sandwich)" in errors
    assert "rows of one group of “patient” need not be independent (60 groups)" in errors
    assert "The fit is penalised" in errors
    top = page.html.split('class="about">')[1].split("<")[0]
    assert re.fullmatch(r"visits\.csv, \d+ \w+ \d{4}", top)


def test_scaling_all_weights_changes_nothing():
    frame = patients(60, seed=1)
    pages = []
    for factor in (1.0, 8.0):
        table = labelled_table(
            frame.assign(weight=factor * frame["weight"]), "pain", group="patient", weight="weight"
        )
        model = replace(train(table, FEW[0]), created="then")
        pages.append(report(model, table))
    assert pages[0].left_out == {}
    assert pages[0].html == pages[1].html


def study_of(model, X, y, weights=None, groups=None, cv="prefit", **more):
    scale, codes = read_scale(y)
    design = RowDesign.of(len(codes), weights, groups)
    return Study(model, Rows(X, y, scale, codes, None, design), Settings(cv=cv), **more)


def test_weights_are_repeated_rows_in_every_figure_of_a_model_as_it_is():
    X, y = ordinal_data(n=120, K=4)
    often = np.random.default_rng(0).integers(0, 4, 120)
    model = ProportionalOdds(alpha=1.0).fit(X, y)
    weighted = study_of(model, X, y, often)
    repeated = study_of(model, np.repeat(X, often, axis=0), np.repeat(y, often))
    for one, other in (
        (weighted.held_out.mean(weighted.costs), repeated.held_out.mean(repeated.costs)),
        (weighted.quality.mean_absolute_error, repeated.quality.mean_absolute_error),
        (weighted.quality.recall, repeated.quality.recall),
        (weighted.quality.n * often.mean(), repeated.quality.n),
    ):
        np.testing.assert_allclose(one, other)
    for section in ("by-class", "calibration"):
        pages = (
            report(model, X, y, cv="prefit", sample_weight=often, sections=[section]),
            report(
                model,
                np.repeat(X, often, axis=0),
                np.repeat(y, often),
                cv="prefit",
                sections=[section],
            ),
        )
        shares = [re.findall(r"[\d.]+ %", text_of(page, section)) for page in pages]
        assert shares[0] == shares[1] and len(shares[0]) > 4


def test_all_repeats_count_and_each_row_once():
    X, y = ordinal_data(n=90, K=3)
    board = run_contest(X, y, candidates={FEW[0]: candidates()[FEW[0]]}, folds=4, repeats=3)
    model = ProportionalOdds().fit(X, y)
    study = study_of(model, X, y, cv=5, board=board, name=FEW[0])
    held = study.held_out
    np.testing.assert_allclose(np.bincount(held.rows, held.weights), 1.0)
    assert held.mean(study.costs) == pytest.approx(board.best.mean("mae"), abs=1e-12)


def test_a_repeat_that_was_not_finished_changes_no_row_s_share():
    part = [np.arange(0, 4), np.arange(4, 8), np.arange(0, 4)]
    folds = [(rows, np.zeros(4, np.intp), None) for rows in part]
    truth = np.array([0, 1, 0, 1, 1, 1, 1, 1])
    weights = np.arange(1.0, 9.0)
    held = HeldOut.of(Holdout.of(folds, truth, np.arange(2)), RowDesign(weights))
    np.testing.assert_allclose(np.bincount(held.rows, held.weights), weights)
    assert held.mean(held.truth != held.codes) == pytest.approx((0.6 + 1.0 + 0.6) / 3)


def test_effects_and_importance_count_rows_by_their_weights():
    X, y = ordinal_data(n=80, K=4)
    often = np.random.default_rng(1).integers(0, 3, 80)
    model = ProportionalOdds().fit(X, y)
    (one,) = feature_effects(model, X, features=[0], n_points=3, sample_weight=often)
    for value, rank in zip(one.values, one.expected_rank, strict=True):
        rows = X.copy()
        rows[:, 0] = value
        mean = np.average(model.predict_proba(rows) @ np.arange(4), weights=often)
        assert rank == pytest.approx(mean)
    assert one.histogram[1].sum() == pytest.approx(often.sum())

    found = ordinal_importance(model, X, y, sample_weight=often, n_repeats=1)
    order, codes = np.random.default_rng(0).permutation(80), np.searchsorted(model.classes_, y)
    rises = []
    for j in range(X.shape[1]):
        rows = X.copy()
        rows[:, j] = rows[order, j]
        costs = [
            np.abs(np.searchsorted(model.classes_, model.predict(Z)) - codes) for Z in (rows, X)
        ]
        rises.append(np.average(costs[0] - costs[1], weights=often))
    np.testing.assert_allclose(found.mean, rises, atol=1e-12)


def test_effects_of_the_bulk_leave_outliers_out():
    rng = np.random.default_rng(2)
    X = np.column_stack([np.r_[rng.normal(size=198), 1e6, -1e6], rng.normal(size=200)])
    model = ProportionalOdds(alpha=1.0).fit(X, (X[:, 1] > 0).astype(int))
    whole, bulk = (feature_effects(model, X, features=[0], bulk=b)[0] for b in (1.0, 0.98))
    assert max(whole.values) == 1e6 and max(bulk.values) < 5.0
    assert bulk.histogram[0][-1] <= max(bulk.values) and bulk.linear_width is None
    with pytest.raises(ValueError, match="bulk must be a share above 0 and at most 1; found 2"):
        feature_effects(model, X, bulk=2)


def test_pictures_of_effects_share_one_scale_and_count_labels_as_they_are():
    rank, counts = np.array([0.5, 1.5]), (np.array([0.0, 1.0]), np.array([3]))
    made = Effect("a", "number", [0, 1], rank, None, counts, "ranks", np.array([3, 4, 5]))
    with_error = Effect(**{**vars(made), "error": np.array([0.1, 0.2])})
    displays = [EffectDisplay(e, heights=(0.0, 2.0)).plot() for e in (made, with_error)]
    assert displays[0].line_[0].get_ydata().tolist() == [3.5, 4.5]
    assert displays[0].ax_.get_ylabel() == "expected label"
    assert displays[0].ax_.get_ylim() == displays[1].ax_.get_ylim()
    band = displays[1].ax_.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((3.3, 4.9))
    assert not displays[0].ax_.collections


def test_the_jackknife_gives_the_standard_error_of_a_mean():
    parts = np.random.default_rng(3).normal(size=(5, 40))
    without = np.array([np.delete(parts, i, axis=0).mean() for i in range(5)])
    expected = parts.mean(axis=1).std(ddof=1) / np.sqrt(5)
    assert jackknife_errors(without[:, None])[0] == pytest.approx(expected)


def test_a_fit_without_penalty_shows_its_own_summary_and_odds_ratios():
    X, y = ordinal_data(n=150, K=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ProportionalOdds().fit(frame, y)
    text = text_of(report(model, frame, y, sections=["coefficients"]), "coefficients")
    assert "Standard errors are model-based" in text and "penalised" not in text
    for row in model.summary().itertuples():
        value = f"{abs(row.estimate):.3f}"
        assert re.search(rf"[+−]?{value} ± {row.std_error:.3f} s\.e\.", text), row.term
        if row.term in frame:
            low, high = np.exp([row.ci_low, row.ci_high])
            assert f"{np.exp(row.estimate):.2f} {low:.2f} to {high:.2f}" in text


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_only_the_logit_link_has_odds_ratios(link):
    X, y = ordinal_data(n=80, K=3)
    text = text_of(report(ProportionalOdds(link), X, y, sections=["coefficients"]), "coefficients")
    assert "Odds ratio" not in text and "not logarithms of odds ratios" in text


def test_errors_of_a_penalised_fit_need_the_rows_it_was_fitted_to():
    X, y = ordinal_data(n=200, K=3)
    model = ProportionalOdds(alpha=2.0).fit(X[:150], y[:150])
    known = {"cv": "prefit", "sections": ["coefficients"]}
    own, other = (report(model, X[r], y[r], **known) for r in (slice(150), slice(150, 200)))
    assert "robust" in text_of(own, "coefficients")
    assert "need the rows that it was fitted to" in text_of(other, "coefficients")
    assert "s.e." not in text_of(other, "coefficients")


def test_a_model_that_knows_nothing_is_said_to_know_nothing():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(150, 2)), rng.integers(0, 4, 150)
    summary = text_of(report(ProportionalOdds(), X, y, sections=["summary"]), "summary")
    assert "hardly better than predicting" in summary


def test_few_rows_and_groups_and_repeating_identifiers_are_to_be_watched():
    frame = patients(12).drop(columns="weight")
    grouped = labelled_table(frame, "pain", group="patient")
    summary = text_of(report(ProportionalOdds(), grouped, sections=["summary"]), "summary")
    assert "only 12 groups" in summary and f"only {len(frame)} rows" in summary
    plain = labelled_table(patients(60).drop(columns="weight"), "pain")
    summary = text_of(report(ProportionalOdds(), plain, sections=["summary"]), "summary")
    assert "Values of 'patient' repeat: if the model is for new values" in summary


def test_intervals_of_later_rows_leave_the_first_ones_out():
    rng = np.random.default_rng(6)
    x = rng.normal(size=120)
    y = np.searchsorted([-0.5, 0.5], x + rng.normal(0, 0.5, 120))
    order = np.arange(120)[::-1]
    known = {"time": order, "sections": ["summary", "intervals", "effects"]}
    page = report(ProportionalOdds(), x[:, None], y, **known)
    assert page.left_out == {}
    assert "Later rows were predicted from earlier ones." in text_of(page, "summary")
    assert "by the jackknife" in text_of(page, "effects")


def test_classes_whose_intervals_fall_short_are_marked():
    rng = np.random.default_rng(5)
    x = rng.normal(size=400)
    y = np.where(rng.random(400) < 0.06, 2, (x + 0.3 * rng.normal(size=400) > 0).astype(int))
    page = report(ProportionalOdds(), x[:, None], y, sections=["intervals", "summary"])
    assert "clearly less often than stated where it is “2”" in text_of(page, "summary")
    rows = page.html.split('<section id="intervals"')[1].split("<tr>")
    assert [("falls short" in row) for row in rows if 'scope="row"' in row] == [False, False, True]


def test_numbers_are_written_as_they_are_read():
    assert [short(x) for x in (1968, 12345, -1999.0, 0.5)] == ["1968", "12,345", "−1999", "0.5"]
    assert [amount(x) for x in (1234.0, 2.5, 3.0000000001)] == ["1,234", "2.5", "3"]
    ones = np.ones(4)
    assert weighted_quantile(np.array([3.0, 1, 2, 4]), ones, 0.5) == 2.5
    assert np.isnan(weighted_quantile(np.empty(0), np.empty(0), 0.5))


def test_rows_without_weight_break_no_picture():
    X, y = ordinal_data(n=60, K=3)
    weights = (y != 1).astype(float)
    model = ProportionalOdds(alpha=1.0).fit(X, y)
    page = report(model, X, y, cv="prefit", sample_weight=weights)
    assert page.left_out == {}
