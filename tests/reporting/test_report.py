"""What reports hold, for every kind of subject, and what they refuse."""

import re
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reporting.pages import LABELS, Reader, board, full_page, hotels, table
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from echelon import AdaBoostOR, ProportionalOdds, RankRules, RankSVM
from echelon.datasets import load_esl
from echelon.meta.conformal import ConformalOrdinal
from echelon.metrics import mean_absolute_rank_error
from echelon.model_selection.leaderboard import Leaderboard, LeaderboardRow
from echelon.ordinal.labels import read_scale
from echelon.reporting import report
from echelon.reporting.content import Section
from echelon.reporting.html import to_html
from echelon.reporting.rows import Rows, Settings
from echelon.reporting.sections.comparison import compared, verdict
from echelon.reporting.study import Study
from echelon.trained import train

pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="reports need matplotlib")


@pytest.fixture(scope="module")
def page():
    return full_page()


def test_the_leaderboard_tells_folds_settings_and_models_close_to_the_best(page):
    part = page.html.split('id="leaderboard"')[1].split("</section>")[0]
    rows = [row.split("</tr>")[0] for row in part.split("<tbody>")[1].split("<tr>")[1:]]
    assert [">delta" in rows[0], ">alpha" in rows[1]] == [True, True]
    verdicts = [board().comparisons[row.model].verdict for row in board().rows]
    assert verdicts == ["undecided", "undecided", "worse", "worse"]
    assert ">best<" in rows[0]
    assert all(f">{word}<" in row for word, row in zip(verdicts, rows, strict=True))
    found = board().comparisons["alpha"]
    ends = " to ".join(f"{end:.3f}".replace("-", "−") for end in (found.low, found.high))
    assert f">{found.difference:.3f}" in rows[1] and f">{ends}<" in rows[1]
    assert "7 of 10" in rows[2]
    assert "C = 0.1" in rows[1]
    text = Reader(part[part.index("<p") :]).text
    assert f"{board().best.mean('mae'):.3f} ±" in text


def test_figures_of_the_summary_are_those_of_the_held_out_predictions():
    X, y = load_esl(return_X_y=True, as_frame=True)
    half = np.arange(len(y)) % 2 == 0
    model = ProportionalOdds(alpha=1.0).fit(X[half], y[half])
    page = report(model, X[~half], y[~half], cv="prefit", sections=["summary", "confusion"])
    error = mean_absolute_rank_error(y[~half], model.predict(X[~half]))
    right = np.mean(model.predict(X[~half]) == y[~half])
    text = Reader(page.html).text
    assert f"{error:.3f} ranks" in text
    assert f"{100 * right:.1f} %" in text
    counts = [
        int(cell.replace(",", ""))
        for cell in re.findall(r'style="--heat:[\d.]+">([\d,]+)<', page.html)
    ]
    table_of_counts = np.array(counts).reshape(len(model.classes_), -1)
    assert table_of_counts.sum() == (~half).sum()
    assert table_of_counts.trace() == np.sum(model.predict(X[~half]) == y[~half])


def test_new_rows_are_judged_without_fitting_again():
    X, y = load_esl(return_X_y=True, as_frame=True)
    model = ProportionalOdds(alpha=1.0).fit(X[:300], y[:300])
    page = report(model, X[300:], y[300:], cv="prefit")
    assert page.left_out == {}
    assert "learning" not in page.sections
    assert "latent" in page.sections
    assert "out-of-fold" not in page.html


def test_a_leaderboard_alone_has_no_sections_about_rows():
    page = report(board())
    assert list(page.sections) == ["summary", "leaderboard", "critical-difference", "appendix"]
    assert page.left_out == {}


def test_a_leaderboard_with_rows_describes_its_best_model():
    X, y = load_esl(return_X_y=True, as_frame=True)
    found = board()
    rows = [
        type(row)(
            "LinearSVOR" if i == 0 else row.model, row.folds, row.fit_seconds, ({"model__C": 0.01},)
        )
        for i, row in enumerate(found.rows)
    ]
    page = report(
        type(found).of(rows, sizes=(144, 16), planned=10),
        X,
        y,
        sections=["summary", "leaderboard", "confusion"],
    )
    assert list(page.sections) == ["summary", "leaderboard", "confusion", "appendix"]
    text = Reader(page.html).text
    assert "LinearSVOR predicts “y” with" in text
    assert "LinearSVOR: C 0.01" in text


def test_a_leaderboard_of_unknown_models_with_rows_describes_the_rows():
    page = report(board(), *load_esl(return_X_y=True, as_frame=True))
    assert page.left_out == {}
    assert list(page.sections) == [
        "summary",
        "data",
        "leaderboard",
        "critical-difference",
        "appendix",
    ]


def test_more_classes_than_a_table_can_hold_become_a_picture():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.clip(np.round(15 + 6 * X[:, 0]), 0, 29).astype(int)
    page = report(ProportionalOdds(alpha=1.0), X, y, classes=range(30), sections=["confusion"])
    assert page.left_out == {}
    assert "figure-confusion" in page.html
    assert 'class="heat"' not in page.html


def test_models_without_probabilities_have_no_calibration():
    X, y = load_esl(return_X_y=True, as_frame=True)
    from sklearn.linear_model import Ridge

    from echelon import RoundedRegressor

    page = report(RoundedRegressor(Ridge()), X[:150], y[:150])
    assert page.left_out == {}
    assert "calibration" not in page.sections
    assert "intervals" not in page.sections
    assert "rows" in page.sections


def test_rules_are_sentences():
    X, y = load_esl(return_X_y=True, as_frame=True)
    page = report(RankRules(20, random_state=0), X[:200], y[:200], sections=["rules"])
    assert page.left_out == {}
    rules = page.html.split('class="sentences"')[1].split("</ol>")[0]
    assert len(re.findall(r"<li>If .+?, the score (?:rises|falls) by ", rules)) == 12


def text_of(page, key):
    """Text of one section."""
    part = page.html.split(f'<section id="{key}"')[1].split("</section>")[0]
    return Reader(part[part.index("<h2") :]).text


def test_columns_of_a_labelled_table_are_what_they_were():
    rows = hotels()
    row = LeaderboardRow("RankRules", {"mae": [0.4, 0.5]}, 0.1, ({"model__n_rules": 20},))
    page = report(Leaderboard.of([row]), rows, sections=["data", "effects", "rules", "rows"])
    assert page.left_out == {}
    assert page.title == "Comparison of models for verdict"
    data, effects, rules, cards = map(text_of, [page] * 4, ("data", "effects", "rules", "rows"))
    assert re.search(r"wifi boolean 0 2 (yes|no) \(\d+\), (yes|no) \(\d+\)", data)
    assert re.search(r"opened date 0 \d+ 20\d\d-\d\d-\d\d to 20\d\d", data)
    ranks = r"Expected rank \(from 1\)"
    assert re.search(rf"{ranks} by wifi wifi {ranks} s\.e\. no \d\.\d+", effects)
    assert re.search(rf"by opened opened {ranks} s\.e\. 2010-\d\d-\d\d \d\.\d+", effects)
    assert re.search(r"wifi (yes|no) [+−]", cards) and re.search(r"opened 20\d\d-", cards)
    # Prepared columns are scaled and encoded; sentences are of the table's own values.
    assert re.search(r"opened is at (most|least) 20\d\d-\d\d-\d\d", rules)
    assert set(re.findall(r"stars is at (?:most|least) (\S+?)[ ,]", rules)) <= set("12345")
    assert re.search(r"town is (not )?(Oslo|Rio)", rules)
    assert "town_" not in rules
    pictures = page.html.split('id="effects"')[1].split("</section>")[0]
    assert re.search(r"<text[^>]*>no</text>", pictures) and "True" not in pictures


def test_a_labelled_table_gives_way_to_what_is_stated():
    rows = hotels(60)
    page = report(
        ProportionalOdds(alpha=1.0),
        type(rows)(rows.X[["stars"]], rows.y, rows.classes, rows.target, rows.schema),
        target="grade",
        sections=["confusion"],
    )
    assert page.title == "ProportionalOdds for grade"
    assert re.findall(r'<th scope="row" class="">(\w+)', page.html) == ["poor", "fair", "good"]


def test_a_learning_curve_has_folds_of_its_own_and_is_made_when_asked_for():
    X, y = load_esl(return_X_y=True, as_frame=True)
    rows = X[:80], y[:80]
    everything = report(ProportionalOdds(alpha=1.0), *rows)
    assert everything.left_out == {} and "learning" not in everything.sections
    asked = report(ProportionalOdds(alpha=1.0), *rows, sections=["learning"])
    assert asked.left_out == {} and "for the curve alone" in text_of(asked, "learning")


@pytest.mark.parametrize(
    ("folds", "planned", "words"),
    [
        ([3, 3], 3, "2 models on the same 3 folds"),
        ([3], 0, "1 model on the same 3 folds"),
        ([1, 5, 2], 10, "3 models on 1 to 5 of 10 planned folds, the same ones as"),
        ([2, 2], 10, "2 models on 2 of 10 planned folds"),
    ],
)
def test_the_number_of_folds_is_told_as_it_is(folds, planned, words):
    rows = [
        LeaderboardRow(f"m{i}", {"mae": [0.5] * n + [np.nan] * (10 - n)}, 0.1)
        for i, n in enumerate(folds)
    ]
    page = report(Leaderboard.of(rows, planned=planned))
    assert words in text_of(page, "summary")
    assert words in text_of(page, "leaderboard")


def test_a_note_on_several_models_is_told_once():
    rows = [
        LeaderboardRow(name, {"mae": [0.5, 0.6]}, 0.1, note=note)
        for name, note in (("a", "No time."), ("b", ""), ("c", "No time."), ("<i>", "Odd."))
    ]
    page = report(Leaderboard.of(rows, planned=2))
    text = text_of(page, "leaderboard")
    assert text.count("No time.") == 1
    assert "a and c: No time." in text and "<i>: Odd." in text


def test_one_fold_tells_nothing_apart():
    rows = [LeaderboardRow(name, {"mae": [mae]}, 0.1) for name, mae in (("a", 0.1), ("b", 0.9))]
    text = text_of(report(Leaderboard.of(rows, sizes=(8, 2), planned=5)), "summary")
    assert "too few folds or rows to compare the other models with it" in text


def test_names_of_models_with_dollars_are_no_formulas(page):
    diagram = page.html.split('id="critical-difference"')[1].split("</section>")[0]
    assert re.search(r"<text[^>]*>\s*beta \$x_\{\$", diagram)
    assert "\\$" not in page.html


def test_ensembles_show_their_rounds():
    X, y = load_esl(return_X_y=True, as_frame=True)
    model = AdaBoostOR(n_estimators=20, random_state=0)
    page = report(model, X[:200], y[:200], sections=["rounds"])
    assert page.left_out == {}
    assert "figure-boosting" in page.html and "figure-margins" in page.html


def test_intervals_show_coverage_and_width():
    X, y = load_esl(return_X_y=True, as_frame=True)
    half = np.arange(len(y)) % 2 == 0
    model = ConformalOrdinal(ProportionalOdds(alpha=1.0), 0.8, random_state=0)
    model.fit(X[half], y[half])
    page = report(model, X[~half], y[~half], cv="prefit", sections=["intervals"])
    assert page.left_out == {}
    low, high = model.predict_interval_codes(X[~half])
    truth = np.searchsorted(model.classes_, y[~half])
    covered = np.mean((low <= truth) & (truth <= high))
    text = Reader(page.html).text
    assert f"{100 * covered:.1f} % of the true labels lie in their interval" in text
    assert "nominal: 80 %" in text
    assert f"{np.mean(high - low + 1):.2f} labels" in text


def test_a_trained_model_is_described_with_and_without_rows():
    trained = pytest.importorskip("echelon.trained")
    from echelon.tables import labelled_table

    X, y = load_esl(return_X_y=True, as_frame=True)
    rows = labelled_table(X.assign(grade=y), "grade", None)
    model = trained.train(rows, "ProportionalOdds logit", evaluate=False)
    model.metrics = {"mae": 0.345, "mae_se": 0.01}
    alone = report(model)
    assert list(alone.sections) == ["summary", "appendix"]
    assert "0.345" in Reader(alone.html).text
    page = report(model, rows.X, rows.y, sections=["summary", "intervals", "importance"])
    assert page.left_out == {}
    assert list(page.sections) == ["summary", "intervals", "importance", "appendix"]
    assert "grade" in page.title


def test_two_classes_and_arrays_and_a_cost_matrix_will_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    page = report(ProportionalOdds(alpha=1.0), X, y, cost=[[0, 5], [1, 0]])
    assert page.left_out == {}
    assert "the given cost matrix" in page.html
    assert "x0" in page.html


def test_dates_missing_values_and_a_rare_class_will_do():
    X, y = table(90, seed=2)
    codes = y.cat.codes.to_numpy().copy()
    codes[:2], codes[2:][codes[2:] == 3] = 3, 2
    X["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(90), unit="D")
    X.iloc[::7, 0] = np.nan
    X.iloc[::9, 3] = None
    row = LeaderboardRow("ProportionalOdds logit", {"mae": [0.4, 0.5]}, 0.1)
    labels = np.asarray(LABELS, dtype=object)[codes]
    page = report(Leaderboard.of([row]), X, labels, classes=LABELS)
    assert page.left_out == {}
    assert "2024-01-01 to 2024-03-30" in page.html
    assert "missing" in page.html


def test_a_section_that_fails_is_named_and_the_others_stand(monkeypatch):
    from echelon.reporting import sections

    def broken(facts):
        raise RuntimeError("no <b>ink</b>")

    monkeypatch.setitem(sections.SECTIONS, "latent", broken)
    page = report(ProportionalOdds(), *load_esl(return_X_y=True), sections=["latent", "confusion"])
    assert page.left_out == {"latent": "RuntimeError: no <b>ink</b>"}
    assert list(page.sections) == ["confusion", "appendix"]
    assert "no <b>ink</b>" in Reader(page.html).text


def test_pages_are_written_whole(tmp_path):
    page = report(board(), path=tmp_path / "new" / "page.html")
    written = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert written == page.html
    assert written.startswith("<!doctype html>")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["page.html"]


def test_notebooks_get_a_frame_that_holds_the_page():
    page = report(board())
    frame = Reader(page._repr_html_())
    ((tag, attributes, _),) = frame.elements
    assert tag == "iframe"
    assert attributes["srcdoc"] == page.html
    assert "allow-same-origin" not in attributes["sandbox"]
    assert "leaderboard" in repr(page)


def test_progress_is_told_section_by_section():
    told = []
    report(board(), on_section=told.append, sections=["leaderboard", "summary"])
    assert told == ["summary", "leaderboard"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2],), {}, "subject must be"),
        ((ProportionalOdds(),), {}, "X and y must be given with an estimator"),
        ((ProportionalOdds(), [[1.0]]), {}, "X and y must be given together"),
        ((ProportionalOdds(), [[0.0], [1.0]], [1, 2]), {"cv": 1}, "cv must be"),
        ((ProportionalOdds(), [[0.0], [1.0]], [1, 2]), {"cv": "prefit"}, "cv must be"),
        ((ProportionalOdds(), [[0.0], [1.0]], [1, 2, 2]), {}, "as many rows"),
        ((ProportionalOdds(), [[0.0], [1.0]], [1, 2]), {"cost": "odd"}, "cost must be"),
        ((ProportionalOdds(), [[0.0], [1.0]], [1, 2]), {"sections": ["x"]}, "sections must be"),
        ((RankSVM(), [[0.0], [1.0]], [1, 2]), {}, "is a ranker"),
        ((board(),), {"cv": "prefit"}, "cv must be"),
    ],
)
def test_what_cannot_be_described_is_refused_in_a_sentence(arguments, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        report(*arguments, **options)


def test_leads_hold_for_a_model_without_errors_and_for_one_that_uses_nothing():
    y = np.repeat([1, 2, 3], 20)
    X = pd.DataFrame({"a": y.astype(float), "b": np.zeros(60)})
    right = report(DecisionTreeClassifier(), X, y, sections=["by-class"])
    assert "Every row has the right label." in text_of(right, "by-class")
    blind = report(DummyClassifier(strategy="prior"), X, y, sections=["importance", "calibration"])
    assert "Shuffling no column raises the mean cost" in text_of(blind, "importance")
    assert "is 0 % lower than that of class shares alone" in text_of(blind, "calibration")
    assert blind.left_out == {}


def test_a_leaderboard_is_known_by_its_type():
    alike = SimpleNamespace(rows=board().rows, comparisons={})
    with pytest.raises(TypeError, match=r"subject must be a leaderboard.*found SimpleNamespace"):
        report(alike)


def test_facts_cannot_be_changed_and_are_computed_once():
    X, y = load_esl(return_X_y=True, as_frame=True)
    scale, codes = read_scale(y)
    study = Study(ProportionalOdds().fit(X, y), Rows(X, y, scale, codes), Settings(cv=3))
    assert study.held_out is study.held_out and study.trial is study.trial
    for part, name in ((study, "model"), (study.rows, "y"), (study.settings, "cv")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, None)


def test_a_page_says_which_rows_the_model_was_fitted_to():
    X, y = load_esl(return_X_y=True, as_frame=True)
    X = X + np.random.default_rng(0).uniform(0.0, 0.1, X.shape)
    trained = train(X[:400], y[:400], evaluate=False)
    said = [
        (slice(0, 400), "the rows that the model was fitted to, on which figures tend to be too"),
        (slice(400, None), "rows that the model was not fitted to"),
        (slice(300, None), "100 of them equal rows that it was fitted to"),
    ]
    for rows, words in said:
        page = report(trained, X[rows], y[rows], cv="prefit", sections=["summary", "by-class"])
        assert words in Reader(page.html).text, rows


def test_names_turn_nothing_on_the_page():
    page = to_html("title\u202e", [Section("key", "name\u202e", "lead\x1b")])
    assert not set(page) & set("\u202e\x1b")
    assert "title\\u202e" in page
    assert "lead\\u001b" in page


def test_folds_that_were_not_run_are_not_claimed():
    one = LeaderboardRow("RankRules", {"mae": [0.4]}, 0.1, ())
    two = LeaderboardRow("PRank", {"mae": [0.5, 0.7]}, 0.1, ())
    alone = replace(Leaderboard.of([one]), planned=10, how="5 folds × 2")
    assert alone.how_of(one) == "5 folds × 2, of which 1 of 10 were run"
    assert replace(alone, planned=1).how_of(one) == "5 folds × 2"
    assert compared(alone) == "1 model on 1 of 10 planned folds"
    assert verdict(alone).endswith("absolute error, 0.400 ranks (on one fold).")
    both = replace(Leaderboard.of([one, two]), planned=10)
    assert compared(both) == (
        "2 models on 1 to 2 of 10 planned folds, the same ones as far as they go"
    )
