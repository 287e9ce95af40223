"""Rankers beside their peers: what a contest says, and that each one runs on made-up data."""

import dataclasses
import itertools

import numpy as np
import pytest
from sklearn.utils import Bunch

from echelon.ranking.linear_rank_svm import LinearRankSVM
from reproduction import ReproductionError
from reproduction.contests import (
    CONTESTS,
    Contest,
    Entrant,
    Measure,
    bipartite,
    matches,
    peers,
    queries,
)
from reproduction.plots import measure, picture, plot_page, read_plot


def quiet(text):
    pass


def entrant(name, values):
    return Entrant(name, f"about {name}", {"gain": np.array(values)}, 1.5)


@pytest.fixture
def contest():
    base = np.linspace(0.2, 0.4, 20)
    wiggle = 0.01 * np.cos(np.arange(20))
    return Contest(
        "Toys",
        "made up.",
        "query",
        (Measure("gain"),),
        (
            entrant("peer", base),
            entrant("better", base + 0.1 + wiggle),
            entrant("worse", base - 0.1 + wiggle),
            entrant("same", base + wiggle),
        ),
    )


def test_a_contest_tells_better_from_worse(contest):
    finding = contest.finding()
    assert "against peer: better is better (+0.1" in finding
    assert "worse is worse (-0.0" in finding
    assert "same is not significantly different" in finding
    turned = dataclasses.replace(contest, measures=(Measure("gain", greater_is_better=False),))
    assert "better is worse" in turned.finding()


def test_rows_have_means_errors_and_paired_differences(contest):
    peer, better, *_ = contest.rows()
    assert peer == ["peer", "0.3000 ± 0.0139", "", "", "1.5"]
    assert better[2].startswith("+0.1") and better[3] == "<0.001"
    assert len(contest.headings) == len(peer)


def test_overlapping_splits_widen_the_error(contest):
    plain = contest.difference(contest.entrants[3])[1]
    wide = dataclasses.replace(contest, variance_factor=21.0)
    assert wide.difference(wide.entrants[3])[1] > plain


def test_bipartite_contest(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    monkeypatch.setattr(bipartite, "fetch_ranking", lambda name: Bunch(data=X, target=y))
    found = CONTESTS["bipartite"](splits=3, rounds=5, tell=quiet)
    assert [e.name for e in found.entrants][:2] == ["AdaBoost", "RankBoost"]
    for one in found.entrants:
        assert one.values["AUC"].shape == (3,)
        assert (one.values["AUC"] > 0.7).all()
    assert found.variance_factor == 4.0


def test_matches_contest(monkeypatch):
    rng = np.random.default_rng(1)
    n = 400
    strength = rng.normal(size=12)
    standing = 1.0 + np.argsort(np.argsort(-strength))
    a, b = np.array(
        list(itertools.islice(itertools.cycle(itertools.permutations(range(12), 2)), n))
    ).T
    won = rng.random(n) < 1 / (1 + np.exp(2 * (strength[b] - strength[a])))
    columns = {"date": np.repeat([20180101, 20190101, 20200101, 20210101], n // 4), "y": won * 1}
    for side, who in (("a", a), ("b", b)):
        columns |= {
            f"{side}_id": who,
            f"{side}_hand": np.where(who % 3, "R", "L"),
            f"{side}_height": np.where(who == 4, np.nan, 180.0 + who),
            f"{side}_age": 20.0 + who,
            f"{side}_rank": np.where(who == 5, np.nan, standing[who]),
            f"{side}_rank_points": np.exp(strength[who]),
        }
    monkeypatch.setattr(matches, "fetch_ranking", lambda name: Bunch(columns=columns))
    found = CONTESTS["matches"](test_from=2021, tell=quiet)
    assert "300 matches before 2021 train, 100 later ones test; in 100%" in found.setting
    by_name = {one.name: one.values for one in found.entrants}
    assert set(by_name) >= {"Bradley–Terry", "PreferenceRanker, logistic"}
    for values in by_name.values():
        assert values["log loss"].shape == (100,)
        assert values["accuracy"].mean() > 0.6


@pytest.fixture
def judged(monkeypatch):
    rng = np.random.default_rng(2)
    n = 240
    X = rng.normal(size=(n, 3))
    y = np.clip(np.round(X[:, 0] + 0.3 * rng.normal(size=n) + 2), 0, 4).astype(int)
    qid = rng.permutation(np.repeat(np.arange(24), 10))
    bunch = Bunch(data=X, target=y, qid=qid, train=qid < 16)
    monkeypatch.setattr(queries, "fetch_ranking", lambda name: bunch)
    candidates = [
        queries.Candidate("first", "a linear one", LinearRankSVM(), {"C": [0.1, 1.0]}),
        queries.Candidate("second", "a bad one", LinearRankSVM(), {"C": [1e-12]}),
    ]
    monkeypatch.setattr(queries, "_candidates", lambda: candidates)
    return bunch


def test_queries_contest(judged):
    found = CONTESTS["queries"](folds=2, tell=quiet)
    first, _ = found.entrants
    assert "training 16 queries, 160 documents; test 8 queries, 80 documents" in found.setting
    assert first.about.startswith("a linear one; chosen C = ")
    assert {m.name for m in found.measures} == set(first.values)
    assert all(values.shape == (8,) for values in first.values.values())
    assert first.values["NDCG@5"].mean() > 0.8
    assert first.values["misranking"].mean() < 0.2


def test_lambdarank_behind_our_interface(judged):
    pytest.importorskip("lightgbm")
    model = peers.LambdaRank(20, num_leaves=4, min_child_samples=5)
    model.fit(judged.data, judged.target, qid=judged.qid)
    assert model.score(judged.data, judged.target, judged.qid) > 0.8


def test_page_and_picture(judged):
    plot = read_plot("ranking")
    small = dataclasses.replace(plot, effort={"quick": {"contests": {"queries": {"folds": 2}}}})
    exhibit = measure(small, "quick")
    page = plot_page(small, exhibit, "quick")
    assert "| Graded documents | By NDCG@5, against first: second" in page
    assert "- Graded documents, first: a linear one; chosen" in page
    assert picture(small, exhibit).startswith(b"<?xml")


def test_unknown_contest():
    plot = read_plot("ranking")
    wrong = dataclasses.replace(plot, effort={"quick": {"contests": {"chess": {}}}})
    with pytest.raises(ReproductionError, match="There is no contest 'chess'; there are bipartite"):
        measure(wrong, "quick")
