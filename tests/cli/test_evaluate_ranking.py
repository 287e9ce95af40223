import json

import numpy as np
import pandas as pd
import pytest

from echelon.metrics import ndcg_score, pairwise_accuracy
from echelon.trained import load_model


def items(queries, seed, first=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(8 * queries, 2)), columns=["a", "b"])
    latent = frame["a"] - frame["b"] + rng.normal(size=len(frame))
    frame["grade"] = np.digitize(latent, [-1.0, 1.0])
    frame["query"] = np.repeat([f"q{first + k}" for k in range(queries)], 8)
    return frame


@pytest.fixture
def ranker(run, tmp_path, capsys):
    def trained(frame, *options):
        table, path = tmp_path / "items.csv", tmp_path / "m.echelon"
        frame.to_csv(table, index=False)
        out = tmp_path / "ranking.csv"
        given = ("--target", "grade", "--save", path, "--out", out, *options)
        assert run("rank", table, *given) == 0
        capsys.readouterr()
        return path

    return trained


def test_figures_on_new_queries_with_intervals_around_them(run, ranker, tmp_path, capsys):
    path = ranker(items(12, 0), "--qid", "query")
    new, out = items(15, 1, first=50), tmp_path / "figures.json"
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("evaluate", path, tmp_path / "new.csv", "--out", out) == 0
    said = capsys.readouterr().out
    assert "15 queries" in said and "pairwise accuracy  0." in said
    found = json.loads(out.read_text())
    scores = load_model(path).estimator.predict(new[["a", "b"]])
    given = (new["grade"].to_numpy(float), scores)
    right = float(pairwise_accuracy(*given, qid=new["query"]))
    assert found["pairwise_accuracy"]["value"] == pytest.approx(right)
    best = float(ndcg_score(*given, qid=new["query"], k=10))
    assert found["ndcg@10"]["value"] == pytest.approx(best)
    for key in ("pairwise_accuracy", "ndcg@10"):
        assert found[key]["low"] < found[key]["value"] < found[key]["high"]


def test_text_labels_negative_labels_and_one_query(run, ranker, tmp_path, capsys):
    words = items(6, 0).assign(grade=lambda f: f["grade"].map({0: "bad", 1: "ok", 2: "good"}))
    path = ranker(words, "--qid", "query", "--order", "bad<ok<good")
    assert run("evaluate", path, tmp_path / "items.csv") == 0
    assert "NDCG@10" in capsys.readouterr().out
    path = ranker(items(6, 0).assign(grade=lambda f: f["grade"] - 1).drop(columns="query"))
    assert run("evaluate", path, tmp_path / "items.csv") == 0
    said = capsys.readouterr().out
    assert "NDCG@10" not in said
    assert said.splitlines()[-1].endswith("–")


def test_draws_without_a_pair_do_no_harm(run, ranker, tmp_path, capsys):
    path = ranker(items(6, 0), "--qid", "query")
    new = items(2, 1)
    new.loc[new["query"] == "q0", "grade"] = 1
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("evaluate", path, tmp_path / "new.csv") == 0
    assert "nan" not in capsys.readouterr().out


def test_mistakes(run, ranker, tmp_path, capsys):
    path, table = ranker(items(6, 0), "--qid", "query"), tmp_path / "items.csv"
    assert run("evaluate", path, table, "--report", tmp_path / "r.html") == 2
    assert "--report is for models of labels" in capsys.readouterr().err
    items(6, 0).drop(columns="query").to_csv(tmp_path / "new.csv", index=False)
    assert run("evaluate", path, tmp_path / "new.csv") == 2
    assert "has no column 'query'" in capsys.readouterr().err
    items(6, 0).assign(grade="high").to_csv(table, index=False)
    assert run("evaluate", path, table) == 2
    assert "'grade' must hold numbers" in capsys.readouterr().err
