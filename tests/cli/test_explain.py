"""``echelon explain`` from a model file and a table."""

import json

import numpy as np
import pandas as pd
import pytest

from echelon import ProportionalOdds, RankRules
from echelon.tables import labelled_table
from echelon.trained import train

WORDS = ["poor", "fair", "good"]


def reviews(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(10, 3, n), 1),
            "colour": rng.choice(["red", "blue"], n),
            "ok": rng.random(n) < 0.5,
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    latent = frame["size"] + 3 * (frame["colour"] == "red") + 2 * frame["ok"]
    frame["grade"] = np.array(WORDS)[np.searchsorted([10.0, 13.0], latent)]
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    table = labelled_table(reviews(), None, "poor<fair<good")
    rules = RankRules(15, max_conditions=2, random_state=0)
    for name, model in (("odds", ProportionalOdds(alpha=0.1)), ("rules", rules)):
        train(table, model, evaluate=False).save(folder / f"{name}.echelon")
    reviews(seed=1).to_csv(folder / "new.csv", index=False)
    return folder


def test_by_default_importance_effects_and_rules(run, folder, capsys):
    assert run("explain", folder / "rules.echelon", folder / "new.csv") == 0
    text = capsys.readouterr().out
    assert text.index("Rules") < text.index("Importance") < text.index("Effects")
    assert "size: " in text and "ranks higher at red than at blue" in text
    assert "ok: " in text and "at yes than at no" in text
    assert "If size is" in text and "x0" not in text
    assert run("explain", folder / "odds.echelon", folder / "new.csv") == 0
    assert "Rules" not in capsys.readouterr().out


def test_a_table_without_labels_has_effects_only(run, folder, capsys):
    path = folder / "unlabelled.csv"
    reviews(seed=2).drop(columns="grade").to_csv(path, index=False)
    assert run("explain", folder / "odds.echelon", path, "--global") == 0
    text = capsys.readouterr().out
    assert "No column 'grade' with labels" in text and "Effects" in text


def test_rules_need_no_table(run, folder, capsys):
    assert run("explain", folder / "rules.echelon", "--rules", "--json") == 0
    sentences = json.loads(capsys.readouterr().out)["rules"]
    assert all(sentence.startswith("If ") for sentence in sentences)
    assert all(any(word in sentence for word in WORDS) for sentence in sentences)
    assert run("explain", folder / "rules.echelon") == 0


def test_rows_are_explained(run, folder, capsys):
    arguments = [folder / "rules.echelon", folder / "new.csv", "--rows", "1, 5,7-8", "--row", 20]
    assert run("explain", *arguments) == 0
    text = capsys.readouterr().out
    rows = [line.split(":")[0] for line in text.splitlines() if line.startswith("Row")]
    assert rows == ["Row 20", "Row 1", "Row 5", "Row 7", "Row 8"]
    assert "Predicted" in text and "ranks" in text and "to the score" in text
    assert "Importance" not in text


def test_json_adds_up(run, folder, capsys):
    arguments = [folder / "odds.echelon", folder / "new.csv", "--row", 3, "--global", "--json"]
    assert run("explain", *arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert set(content) == {"importance", "effects", "rows"}
    (row,) = content["rows"]
    added = sum(term["contribution"] for term in row["terms"])
    assert added == pytest.approx(row["total"] - row["base"])
    assert row["row"] == 3
    frame = reviews(seed=1)
    values = {term["feature"]: term["value"] for term in row["terms"]}
    assert values["size"] == frame.loc[2, "size"] and values["ok"] == bool(frame.loc[2, "ok"])
    assert values["sold"] == str(frame.loc[2, "sold"].date())
    assert content["importance"]["columns"][0]["feature"] == "size"
    assert {effect["kind"] for effect in content["effects"]} == {"number", "category", "date"}


WRONG = {
    "rows without a table": (["odds", None, "--row", 1], "name a table after the model"),
    "nothing to tell": (["odds", None], "rows are needed to explain it"),
    "no rules": (["odds", None, "--rules"], "is not a model of rules"),
    "beyond the table": (["odds", "new", "--row", 121], "120 rows, so there is no row 121"),
    "row zero": (["odds", "new", "--row", 0], "counted from 1; found 0"),
    "not a number": (["odds", "new", "--rows", "1,b"], "numbers of rows such as 1,5,20-25"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_told_gets_one_sentence(run, folder, capsys, case):
    (model, table, *options), message = WRONG[case]
    data = [] if table is None else [folder / f"{table}.csv"]
    assert run("explain", folder / f"{model}.echelon", *data, *options) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
