"""One figure of a model, wherever a user meets it."""

import csv
import html
import re

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="reports need matplotlib")


def visits(n_groups, seed):
    """Visits of patients who differ, each with a weight."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_groups), rng.integers(2, 6, n_groups))
    dose = rng.normal(0, 1, len(who)).round(3)
    score = 1.5 * dose + rng.normal(0, 1, n_groups)[who] + rng.logistic(0, 0.5, len(who))
    return pd.DataFrame(
        {
            "patient": [f"p{seed}-{i}" for i in who],
            "dose": dose,
            "room": rng.choice(["north", "south"], len(who)),
            "share": rng.uniform(0.3, 3.0, len(who)).round(2),
            "pain": np.searchsorted([-1.0, 0.7], score),
        }
    )


def words_of(path):
    """The text of a page."""
    page = path.read_text(encoding="utf-8").split("<body>")[1].split("<script>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    visits(60, 0).to_csv(folder / "old.csv", index=False)
    visits(30, 1).to_csv(folder / "new.csv", index=False)
    return folder


def test_it_is_the_same_from_the_leaderboard_to_the_report(run, folder, capsys):
    model, page = folder / "m.echelon", folder / "page.html"
    wanted = ["--target", "pain", "--group", "patient", "--weight", "share", "--folds", "3"]
    wanted += ["--models", "ProportionalOdds logit,median label", "--repeats", "2", "--jobs", "1"]
    files = ["--out", folder / "l.csv", "--save", model, "--report", page]
    assert run("compare", folder / "old.csv", *wanted, *files) == 0
    said = capsys.readouterr().out
    with open(folder / "l.csv", encoding="utf-8") as lines:
        row = next(csv.DictReader(lines))
    assert row["model"] == "ProportionalOdds logit"
    mae = f"{float(row['mae']):.3f}"
    assert re.search(rf"ProportionalOdds logit +{mae} ", said)
    assert re.search(rf"mean absolute error +{mae} ", said)
    assert run("info", model) == 0
    assert re.search(rf"mean absolute error +{mae} ", capsys.readouterr().out)
    told = words_of(page)
    assert f"with {mae} ranks off on average" in told
    assert f"Mean absolute error {mae} ranks" in told
    assert f"that of all rows {mae} ranks" in told
    assert "old.csv" in told and "60 groups" in told and "weighted by “share”" in told
    assert run("evaluate", model, folder / "old.csv") == 0
    note = capsys.readouterr().err
    assert f"cross-validated, the mean absolute error is {mae}" in note


def test_new_rows_are_weighted_on_the_page_as_on_the_screen(run, folder, capsys):
    model, page = folder / "fit.echelon", folder / "new.html"
    wanted = ["--target", "pain", "--group", "patient", "--weight", "share", "--save", model]
    named = ["--model", "ProportionalOdds logit", "--jobs", "1"]
    assert run("fit", folder / "old.csv", *wanted, *named) == 0
    capsys.readouterr()
    assert run("evaluate", model, folder / "new.csv", "--report", page) == 0
    said = capsys.readouterr().out
    mae = re.search(r"mean absolute error +(\d\.\d{4})", said)[1]
    told = words_of(page)
    assert f"with {float(mae):.3f} ranks off on average" in told
    assert "rows that the model was not fitted to" in told
    assert "Every figure of the model is weighted by “share”." in told
    covered = re.search(r"interval coverage +(\d\.\d{4})", said)[1]
    assert f"{100 * float(covered):.1f} % of the true labels lie in their interval" in told
    assert run("explain", model, folder / "new.csv", "--global") == 0
    effects = capsys.readouterr().out
    assert "Effects over the central 98% of values" in effects
    assert "weighted by 'share'" in effects
