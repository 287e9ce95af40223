import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from echelon.metrics import pairwise_accuracy
from echelon.trained import load_model

WORDS = np.array(["bad", "fair", "good"])


def ranking_frame(n_queries=12, rows=8, seed=0):
    """Queries with rows of noisy labels, a nominal column and a missing number."""
    rng = np.random.default_rng(seed)
    n = n_queries * rows
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(6), columns=["a", "b"])
    frame["colour"] = np.where(rng.random(n) < 0.5, "red", "blue")
    latent = frame["a"] - 0.5 * frame["b"] + (frame["colour"] == "red")
    frame["grade"] = np.digitize(latent + 0.3 * rng.normal(size=n), [-0.5, 1.0])
    frame.loc[2, "a"] = None
    frame.insert(0, "query", np.repeat([f"q{k}" for k in range(n_queries)], rows))
    frame.insert(0, "item", [f"i{k}" for k in range(n)])
    return frame


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "items.csv"
    ranking_frame().to_csv(path, index=False)
    return path


def ranking(path, **kinds):
    return pd.read_csv(path, **kinds)


def test_labels_within_queries(run, table, tmp_path, capsys):
    out, model = tmp_path / "ranking.csv", tmp_path / "m.echelon"
    options = ["--target", "grade", "--qid", "query", "--id", "item", "--save", model]
    assert run("rank", table, *options, "--out", out) == 0
    said = capsys.readouterr().out
    assert "96 rows, 3 inputs, 12 queries" in said
    assert "Cross-validated over 5 folds of queries:" in said
    assert "NDCG@10 0." in " ".join(said.split())
    ranked = ranking(out)
    assert list(ranked.columns) == ["query", "item", "score", "position"]
    assert len(ranked) == 96
    assert ranked["query"].drop_duplicates().tolist() == [f"q{k}" for k in range(12)]
    for _, part in ranked.groupby("query"):
        assert part["position"].tolist() == list(range(1, 9))
        assert part["score"].is_monotonic_decreasing
    merged = ranking_frame().merge(ranked, on=["item", "query"])
    assert pairwise_accuracy(merged["grade"], merged["score"], qid=merged["query"]) > 0.85

    # The saved model ranks the rows in the same way, and others it has not seen.
    again = tmp_path / "again.csv"
    assert run("rank", table, "--model-file", model, "--out", again) == 0
    pd.testing.assert_frame_equal(ranking(again), ranked)
    new = tmp_path / "new.csv"
    ranking_frame(seed=1).drop(columns=["grade", "item"]).to_csv(new, index=False)
    assert run("rank", new, "--model-file", model, "--out", again, "--top", 2) == 0
    best = ranking(again)
    assert list(best.columns) == ["query", "row", "score", "position"]
    assert best["position"].tolist() == [1, 2] * 12

    capsys.readouterr()
    assert run("info", model) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "pairwise accuracy 0." in said and "NDCG@10 0." in said


@pytest.mark.parametrize("name", ["RankSVM", "rank-boost", "PreferenceRanker", "RankPerceptron"])
def test_every_ranker_learns_and_is_saved(run, table, tmp_path, name, capsys):
    out, model = tmp_path / "ranking.csv", tmp_path / "m.echelon"
    options = ["--target", "grade", "--qid", "query", "--model", name, "--folds", 2]
    assert run("rank", table, *options, "--save", model, "--out", out) == 0
    scores = ranking(out)["score"]
    assert run("rank", table, "--model-file", model, "--out", out) == 0
    np.testing.assert_allclose(ranking(out)["score"], scores)
    assert run("info", model) == 0
    assert name.replace("-", "").lower() in capsys.readouterr().out.lower()


def test_judgements_on_pairs(run, tmp_path, capsys):
    frame = ranking_frame(4)
    frame["item"] = np.arange(len(frame)) + 100
    rng = np.random.default_rng(0)
    drawn = np.array([rng.choice(len(frame), 2, replace=False) for _ in range(120)])
    grades = frame["grade"].to_numpy()[drawn]
    drawn = drawn[grades[:, 0] != grades[:, 1]]
    better = frame["grade"].to_numpy()[drawn].argmax(axis=1)
    winners = drawn[np.arange(len(drawn)), better]
    losers = drawn[np.arange(len(drawn)), 1 - better]
    pairs = pd.DataFrame({"winner": winners + 100.0, "loser": losers + 100.0, "weight": 2.0})
    table, judged = tmp_path / "items.csv", tmp_path / "pairs.csv"
    frame.drop(columns="grade").to_csv(table, index=False)
    pairs.to_csv(judged, index=False)
    options = ["--pairs", judged, "--id", "item", "--drop", "query"]
    assert run("rank", table, *options, "--out", tmp_path / "r.csv") == 0
    said = capsys.readouterr().out
    assert f"{len(pairs)} judged pairs" in said
    assert "folds of pairs" in said
    ranked = ranking(tmp_path / "r.csv")
    assert list(ranked.columns) == ["item", "score", "position"]
    assert ranked["position"].tolist() == list(range(1, len(frame) + 1))
    merged = frame.merge(ranked, on="item")
    assert pairwise_accuracy(merged["grade"], merged["score"]) > 0.8
    # Labels and judgements together.
    frame.to_csv(table, index=False)
    both = ["--pairs", judged, "--id", "item", "--target", "grade", "--qid", "query"]
    assert run("rank", table, *both, "--out", tmp_path / "r.csv") == 0
    assert "query" in ranking(tmp_path / "r.csv").columns


def test_text_labels_with_an_order_and_the_ranking_on_standard_output(run, tmp_path, capsys):
    frame = ranking_frame(6)
    frame["grade"] = WORDS[frame["grade"]]
    table = tmp_path / "items.csv"
    frame.to_csv(table, index=False)
    options = ["--target", "grade", "--qid", "query", "--out", "-", "--top", 1, "--drop", "item"]
    assert run("rank", table, *options) == 2
    assert "has text labels: bad, fair, good; give their order" in capsys.readouterr().err
    assert run("rank", table, *options, "--order", "bad<fair<good") == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == "query,row,score,position"
    assert len(lines) == 7
    assert "pairwise accuracy" in said.err
    assert "Note" not in said.err
    assert run("rank", table, *options, "--order", "bad<fair<good<best") == 0
    assert "Note: No row has the label 'best' that the order names." in capsys.readouterr().err
    # The opposite order turns the ranking around.
    assert run("rank", table, *options, "--order", "good<fair<bad") == 0
    assert capsys.readouterr().out.splitlines()[1] != lines[1]


def test_svmlight_files_have_their_own_names(run, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=60), [-0.5, 0.5])
    path = tmp_path / "letor.svm"
    dump_svmlight_file(X, y, str(path), query_id=qid, zero_based=False)
    out, model = tmp_path / "r.jsonl", tmp_path / "m.echelon"
    assert run("rank", path, "--out", out, "--save", model) == 0
    assert "60 rows, 3 inputs, 6 queries" in capsys.readouterr().out
    first = pd.read_json(out, lines=True)
    assert list(first.columns) == ["qid", "row", "score", "position"]
    assert run("rank", path, "--model-file", model, "--out", out) == 0
    pd.testing.assert_frame_equal(pd.read_json(out, lines=True), first)


def test_negative_labels_have_no_ndcg(run, tmp_path, capsys):
    table, model = tmp_path / "items.csv", tmp_path / "m.echelon"
    ranking_frame().assign(grade=lambda frame: frame["grade"] - 2).to_csv(table, index=False)
    options = ["--target", "grade", "--qid", "query", "--out", tmp_path / "r.csv"]
    assert run("rank", table, *options, "--save", model) == 0
    said = capsys.readouterr()
    assert "pairwise accuracy 0." in " ".join(said.out.split()) and "NDCG" not in said.out
    assert "NDCG@10 is left out: it needs labels of 0 or more, and there is -2." in said.err
    assert set(load_model(model).metrics) == {"pairwise_accuracy", "pairwise_accuracy_se"}


def test_one_query(run, table, tmp_path, capsys):
    out, model = tmp_path / "r.csv", tmp_path / "m.echelon"
    assert run("rank", table, "--target", "grade", "--drop", "query", "--out", out) == 0
    assert "folds of rows" in capsys.readouterr().out
    assert ranking(out)["position"].tolist() == list(range(1, 97))
    options = ["--target", "grade", "--qid", "query", "--save", model, "--out", out]
    assert run("rank", table, *options) == 0
    few = tmp_path / "few.csv"
    ranking_frame(2).drop(columns="query").to_csv(few, index=False)
    assert run("rank", few, "--model-file", model, "--out", out) == 2
    assert "has no column 'query', which holds the queries" in capsys.readouterr().err
    assert run("rank", few, "--model-file", model, "--one-query", "--out", out) == 0
    assert ranking(out)["position"].tolist() == list(range(1, 17))


def test_a_single_query_is_not_cross_validated(run, tmp_path, capsys):
    table = tmp_path / "items.csv"
    ranking_frame(1, rows=20).to_csv(table, index=False)
    options = ["--target", "grade", "--qid", "query", "--out", tmp_path / "r.csv"]
    assert run("rank", table, *options) == 0
    assert "no cross-validation, which needs two queries" in capsys.readouterr().err


def test_rows_without_a_label(run, tmp_path, capsys):
    frame = ranking_frame(6)
    frame["grade"] = frame["grade"].astype(float)
    frame.loc[[0, 5], "grade"] = None
    table, out = tmp_path / "items.csv", tmp_path / "r.csv"
    frame.to_csv(table, index=False)
    options = ["--target", "grade", "--qid", "query", "--out", out]
    assert run("rank", table, *options) == 2
    assert "2 rows without a label" in capsys.readouterr().err
    assert run("rank", table, *options, "--drop-unlabelled") == 0
    assert len(ranking(out)) == 46


MISTAKES = {
    "nothing to learn from": ([], "Say what to learn from: labels with --target"),
    "no such query column": (["--target", "grade", "--qid", "Query"], "did you mean 'query'?"),
    "no such target": (["--target", "stars"], "has no column 'stars'; it has item, query"),
    "unknown ranker": (
        ["--target", "grade", "--model", "Elo"],
        "--model must be 'LinearRankSVM', 'RankSVM'",
    ),
    "pairs without ids": (["--pairs", "pairs.csv"], "--pairs needs --id"),
    "one column twice": (["--target", "grade", "--qid", "grade"], "name the same column"),
    "unknown id": (["--pairs", "pairs.csv", "--id", "item"], "the id 'i999' as loser in row 2"),
    "repeated ids": (["--pairs", "pairs.csv", "--id", "query"], "distinct ids; found 'q0' twice"),
    "equal ids": (["--pairs", "same.csv", "--id", "item"], "winner and loser are the same"),
    "weights": (["--pairs", "weights.csv", "--id", "item"], "numbers that are not negative"),
    "no weight": (["--pairs", "zero.csv", "--id", "item"], "no judgement has a positive weight"),
    "not judgements": (["--pairs", "items.csv", "--id", "item"], "has no column 'winner'"),
    "no pair": (["--target", "same", "--qid", "query"], "There is no pair to learn from in"),
    "one query flag": (["--target", "grade", "--one-query"], "--one-query is for --model-file"),
    "no such folder": (["--target", "grade", "--save", "no/m.echelon"], "folder that does not"),
    "a folder": (["--target", "grade", "--save", "."], "is a folder; name a file"),
    "output name": (["--target", "grade", "--out", "r.xlsx"], "must end in"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_get_one_sentence(run, tmp_path, capsys, mistake, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ranking_frame().assign(same=1).to_csv("items.csv", index=False)
    pair = pd.DataFrame({"winner": ["i1", "i2"], "loser": ["i3", "i4"]})
    pair.assign(loser=["i3", "i999"]).to_csv("pairs.csv", index=False)
    pair.assign(loser=["i3", "i2"]).to_csv("same.csv", index=False)
    pair.assign(weight=[1, -1]).to_csv("weights.csv", index=False)
    pair.assign(weight=0).to_csv("zero.csv", index=False)
    options, sentence = MISTAKES[mistake]
    assert run("rank", "items.csv", *options) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert sum(line.startswith("Error: ") for line in said.splitlines()) == 1
    assert "Traceback" not in said
    assert not (tmp_path / "ranking.csv").exists()


def test_model_files_that_do_not_rank(run, table, tmp_path, model_file, capsys):
    assert run("rank", table, "--model-file", model_file) == 2
    assert "holds a model of labels, not of rankings" in capsys.readouterr().err
    assert run("rank", table, "--model-file", model_file, "--target", "grade") == 2
    assert "--target is for training a model" in capsys.readouterr().err
    assert run("rank", table, "--model-file", tmp_path / "none.echelon") == 3


def test_new_rows_are_read_by_the_kinds_of_the_model(run, table, tmp_path, capsys):
    frame = ranking_frame()
    frame["code"] = [f"0{i % 3}" if i % 3 else "none" for i in range(len(frame))]
    frame.to_csv(table, index=False)
    model, out = tmp_path / "m.echelon", tmp_path / "r.csv"
    options = ["--target", "grade", "--qid", "query", "--id", "item", "--save", model]
    assert run("rank", table, *options, "--out", out) == 0
    # All codes of these rows are digits, which a category stays anyway.
    frame[frame["code"] != "none"].to_csv(table, index=False)
    assert run("rank", table, "--model-file", model, "--out", tmp_path / "again.csv") == 0
    first, again = ranking(out).set_index("item"), ranking(tmp_path / "again.csv").set_index("item")
    pd.testing.assert_series_equal(again["score"], first["score"].loc[again.index])
    frame.rename(columns={"code": "coed"}).to_csv(table, index=False)
    assert run("rank", table, "--model-file", model, "--out", out) == 2
    assert "is it 'coed' for 'code'?" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["LinearRankSVM", "RankBoost"])
def test_texts_of_items_are_read_by_their_words(run, tmp_path, model):
    frame = ranking_frame(n_queries=10)
    words = np.array(["useless trash", "middling stuff", "superb gem"])
    fill = np.array(["with", "some", "more", "words"])
    frame["title"] = [
        f"{words[g]} {fill[i % 4]} {fill[(i * 3) % 4]} number{i}"
        for i, g in enumerate(frame["grade"])
    ]
    path, saved = tmp_path / "items.csv", tmp_path / "m.echelon"
    frame[["query", "item", "title", "a", "grade"]].to_csv(path, index=False)
    options = ["--id", "item", "--qid", "query", "--target", "grade", "--text", "title"]
    told = ["--model", model, "--save", saved, "--out", tmp_path / "r.csv"]
    assert run("rank", path, *options, *told) == 0
    assert b"number7" not in saved.read_bytes()
    ranked = pd.read_csv(tmp_path / "r.csv")
    first = ranked[ranked["position"] == 1].merge(frame, on="item")
    assert first["title"].str.contains("superb").mean() > 0.5
