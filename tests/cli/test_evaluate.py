"""``echelon evaluate`` from a model file and a table."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from support.mixed_tables import mixed_frame

from echelon import ProportionalOdds
from echelon.metrics import mean_absolute_rank_error, mean_cost
from echelon.tables import labelled_table
from echelon.trained import load_model, train

WORDS = ["poor", "fair", "good"]


def reviews(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(10, 3, n), 1),
            "colour": rng.choice(["red", "blue"], n),
            "ok": rng.random(n) < 0.5,
        }
    )
    latent = frame["size"] + 3 * (frame["colour"] == "red") + rng.normal(size=n)
    frame["grade"] = np.array(WORDS)[np.searchsorted([9.0, 12.0], latent)]
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    table = labelled_table(reviews(), None, "poor<fair<good")
    train(table, ProportionalOdds(), evaluate=False).save(folder / "odds.echelon")
    reviews(seed=1).to_csv(folder / "new.csv", index=False)
    return folder


def test_figures_with_intervals_confusion_and_errors_by_class(run, folder, capsys):
    out = folder / "figures.json"
    assert run("evaluate", folder / "odds.echelon", folder / "new.csv", "--out", out) == 0
    text = capsys.readouterr().out
    content = json.loads(out.read_text())
    frame, model = reviews(seed=1), load_model(folder / "odds.echelon")
    predicted = model.predict(frame)
    expected = mean_absolute_rank_error(frame["grade"], predicted, classes=WORDS)
    mae = content["figures"]["mae"]
    assert mae["value"] == pytest.approx(expected)
    assert mae["low"] <= expected <= mae["high"]
    measured = {"mae", "zero_one", "within_one", "qwk", "rps", "log_loss"}
    measured |= {"interval_coverage", "interval_width"}
    assert set(content["figures"]) == measured
    assert np.sum(content["confusion"]) == content["rows"] == 120
    assert f"mean absolute error  {' ' * 5}" in text and "95% interval" in text
    assert "true / predicted  poor  fair  good" in text
    assert "signed error" in text


def test_a_cost_of_the_user_s_own(run, folder, capsys):
    cost = folder / "cost.csv"
    cost.write_text("0,1,2\n1,0,1\n50,10,0\n")
    out = folder / "costs.json"
    arguments = ["--cost", cost, "--out", out, "--confidence", 0.8]
    assert run("evaluate", folder / "odds.echelon", folder / "new.csv", *arguments) == 0
    frame, model = reviews(seed=1), load_model(folder / "odds.echelon")
    matrix = [[0, 1, 2], [1, 0, 1], [50, 10, 0]]
    expected = mean_cost(frame["grade"], model.predict(frame), cost=matrix, classes=WORDS)
    content = json.loads(out.read_text())
    assert content["figures"]["cost"]["value"] == pytest.approx(expected)
    assert content["confidence"] == 0.8


def test_the_label_column_may_have_another_name(run, folder, capsys):
    path = folder / "renamed.csv"
    reviews(seed=2).rename(columns={"grade": "opinion"}).to_csv(path, index=False)
    model = folder / "odds.echelon"
    assert run("evaluate", model, path) == 2
    assert "no label column 'grade'; name it with --target" in capsys.readouterr().err
    assert run("evaluate", model, path, "--target", "opinion") == 0


def test_labels_that_are_missing_or_unknown_get_one_sentence(run, folder, capsys):
    frame, path = reviews(seed=3), folder / "labels.csv"
    model = folder / "odds.echelon"
    frame.loc[:4, "grade"] = None
    frame.to_csv(path, index=False)
    assert run("evaluate", model, path) == 2
    said = capsys.readouterr().err
    assert (
        "'grade' of the table has 5 rows without a label; leave such rows out with --drop" in said
    )
    assert run("evaluate", model, path, "--drop-unlabelled") == 0
    assert ": 115 rows" in capsys.readouterr().out
    frame.loc[:4, "grade"] = "superb"
    frame.to_csv(path, index=False)
    out = folder / "unwritten.json"
    assert run("evaluate", model, path, "--out", out) == 2
    error = capsys.readouterr().err
    assert "superb" in error and error.count("\n") == 1
    assert not out.exists()
    frame["grade"] = None
    frame.to_csv(path, index=False)
    assert run("evaluate", model, path, "--drop-unlabelled") == 2
    assert capsys.readouterr().err.startswith("Error: ")


def test_columns_that_do_not_match_are_named(run, folder, capsys):
    path = folder / "lacking.csv"
    reviews(seed=4).rename(columns={"size": "sizes"}).to_csv(path, index=False)
    assert run("evaluate", folder / "odds.echelon", path) == 2
    assert "'size'" in capsys.readouterr().err


def test_files_that_are_no_models_and_places_that_cannot_be_written(run, folder, capsys):
    data = folder / "new.csv"
    assert run("evaluate", data, data) == 3
    arguments = [folder / "odds.echelon", data, "--out", folder / "new.csv" / "m.json"]
    assert run("evaluate", *arguments) == 2
    assert "--out" in capsys.readouterr().err
    arguments = [folder / "odds.echelon", data, "--report", folder / "odds.echelon"]
    assert run("evaluate", *arguments) == 2
    said = capsys.readouterr()
    assert "would replace what is read" in said.err and said.out == ""
    assert run("evaluate", folder / "odds.echelon", data, "--confidence", 1.5) == 2
    assert "--confidence must lie between 0 and 1" in capsys.readouterr().err


def test_columns_without_values_and_a_single_label_are_noted(run, folder, capsys):
    path = folder / "gaps.csv"
    frame = reviews(seed=5).assign(size=None)
    frame.to_csv(path, index=False)
    assert run("evaluate", folder / "odds.echelon", path) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"Note: No row of {path} has a value in column 'size'.\n")
    assert "Intervals hold 0 % of the labels 'poor'" in said
    reviews(seed=5).query("grade == 'fair'").to_csv(path, index=False)
    assert run("evaluate", folder / "odds.echelon", path) == 0
    said = capsys.readouterr()
    assert "Note: All rows have the label 'fair', for which kappa is not defined" in said.err
    assert "column" not in said.err
    assert "quadratic weighted kappa" in said.out


def test_models_of_rankings_are_not_explained(run, folder, capsys):
    from dataclasses import replace

    from echelon import LinearRankSVM
    from echelon.model_selection.preparation import prepare

    model = load_model(folder / "odds.echelon")
    ranking = folder / "ranking.echelon"
    rows = model.inputs(reviews(30))
    ranker = make_pipeline(prepare(model.schema), LinearRankSVM()).fit(rows, range(30))
    parts = {"estimator": ranker, "intervals": None, "classes": []}
    replace(model, task="ranking", **parts).save(ranking)
    assert run("explain", ranking, folder / "new.csv") == 2
    assert "is for models of ordered labels" in capsys.readouterr().err


def test_a_report_of_the_same_rows(run, monkeypatch, folder):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    called = {}
    import echelon.reporting

    def remember(subject, X, y, **options):
        called.update(options, rows=len(X), name=subject.name)

    monkeypatch.setattr(echelon.reporting, "report", remember)
    path = folder / "page.html"
    arguments = [folder / "odds.echelon", folder / "new.csv", "--report", path]
    assert run("evaluate", *arguments) == 0
    called["on_section"]("confusion")
    assert called["path"] == path and called["rows"] == 120 and called["cv"] == "prefit"


def test_columns_keep_the_kinds_that_the_model_knows(run, folder, capsys):
    frame = reviews()
    frame["code"] = np.where(frame["colour"] == "red", "007", "a7")
    frame["word"] = np.where(frame["ok"], "yes", "perhaps")
    table = labelled_table(frame[["size", "code", "word", "grade"]], None, "poor<fair<good")
    model = train(table, ProportionalOdds(), evaluate=False)
    model.save(folder / "codes.echelon")
    # In this file alone the codes look like numbers and the words like truth values.
    rows = frame[(frame["code"] == "007") & frame["ok"]]
    path, out = folder / "agents.csv", folder / "agents.json"
    rows.to_csv(path, index=False)
    assert run("evaluate", folder / "codes.echelon", path, "--out", out) == 0
    expected = mean_absolute_rank_error(rows["grade"], model.predict(rows), classes=WORDS)
    assert json.loads(out.read_text())["figures"]["mae"]["value"] == pytest.approx(expected)
    assert run("explain", folder / "codes.echelon", path, "--row", "1", "--json") == 0
    told = capsys.readouterr().out
    terms = json.loads(told[told.index("{") :])["rows"][0]["terms"]
    values = {term["feature"]: term["value"] for term in terms}
    assert values["code"] == "007" and values["word"] == "yes"


def test_categories_that_the_model_has_not_seen_are_noted(run, model_file, tmp_path, capsys):
    frame = mixed_frame(60, seed=7)
    frame.loc[5, "colour"] = "ultraviolet"
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert run("evaluate", model_file, tmp_path / "new.csv") == 0
    assert "training rows, or of none, such as 'ultraviolet', in 1 row." in capsys.readouterr().err


def test_rows_of_the_training_are_known_and_the_cost_is_shown(run, folder, tmp_path, capsys):
    same = tmp_path / "same.csv"
    reviews().sample(frac=1.0, random_state=0).to_csv(same, index=False)
    for path, known in ((same, True), (folder / "new.csv", False)):
        assert run("evaluate", folder / "odds.echelon", path) == 0
        said = capsys.readouterr()
        assert ("These are rows that the model was fitted to" in said.err) == known
        assert "Trained under the cost: absolute difference of ranks" in said.out
        assert "interval coverage" in said.out


def test_the_cost_of_the_training_is_measured(run, tmp_path, capsys):
    table = labelled_table(reviews(), None, "poor<fair<good")
    cost = [[0, 1, 5], [1, 0, 1], [2, 1, 0]]
    path, rows = tmp_path / "cost.echelon", tmp_path / "rows.csv"
    train(table, ProportionalOdds(), cost=cost, evaluate=False).save(path)
    reviews(seed=1).to_csv(rows, index=False)
    assert run("evaluate", path, rows) == 0
    said = capsys.readouterr().out
    assert "poor: 0, 1, 5; fair: 1, 0, 1; good: 2, 1, 0" in said
    assert "cost" in said
