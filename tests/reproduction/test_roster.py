"""The leaderboard over many sets: what is averaged, who is left out, and that it runs."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch
from support.data import ordinal_data

from echelon.model_selection import Leaderboard, LeaderboardRow, candidates, run_contest
from reproduction.plots import picture, plot_page, read_plot, roster
from reproduction.plots.roster import Rosters, SetResult

NAMES = ["median label", "ProportionalOdds logit", "LinearSVOR", "GPOR"]


def board(errors, probabilities=None):
    """A leaderboard whose models have these mean errors, with a little spread."""
    spread = 0.001 * np.cos(np.arange(6.0))
    rows = []
    for name, error in errors.items():
        score = (probabilities or {}).get(name, np.nan)
        folds = {measure: np.full(6, error) + spread for measure in ("mae", "zero_one", "qwk")}
        rows.append(LeaderboardRow(name, {**folds, "rps": np.full(6, score)}, 10.0 * error))
    return Leaderboard.of(rows, sizes=(80, 20))


@pytest.fixture
def exhibit():
    first = board({NAMES[0]: 0.8, NAMES[1]: 0.4, NAMES[2]: 0.5, NAMES[3]: 0.1}, {NAMES[1]: 0.2})
    second = board({NAMES[0]: 0.6, NAMES[1]: 0.2, NAMES[2]: 0.1}, {NAMES[1]: 0.2})
    third = board({NAMES[0]: 0.9, NAMES[1]: 0.3, NAMES[2]: 0.6}, {NAMES[1]: 0.1})
    results = [
        SetResult(name, 100, 3, 4, found)
        for name, found in zip("abc", (first, second, third), strict=True)
    ]
    return Rosters(tuple(results), "made up.")


def test_models_without_figures_on_every_set_have_no_rank(exhibit):
    assert exhibit.models == (NAMES[1], NAMES[2], NAMES[0])
    ranks = dict(zip(exhibit.ranking.names, exhibit.ranking.average_ranks, strict=True))
    assert ranks == pytest.approx({NAMES[1]: 4 / 3, NAMES[2]: 5 / 3, NAMES[0]: 3.0})


def test_the_summary_measures_against_the_least_error_of_each_set(exhibit):
    summary, sets, figures = exhibit.sheets()
    [odds, linear, median] = summary.rows
    # 0.4/0.1, 0.2/0.1 and 0.3/0.3: the median set has twice the least error
    assert odds[:5] == [NAMES[1], "1.3", "1", "100%", "0%"]
    assert linear[:5] == [NAMES[2], "1.7", "1", "100%", "–"]
    assert median[:4] == [NAMES[0], "3.0", "0", "500%"]
    assert [row[4] for row in sets.rows] == ["GPOR", "LinearSVOR", "ProportionalOdds logit"]
    assert figures.rows[0] == [NAMES[1], "0.400", "0.200", "0.300"]


def test_it_runs_keeps_its_folds_and_draws(monkeypatch, tmp_path):
    X, y = ordinal_data(n=90)
    bunch = Bunch(data=pd.DataFrame(X, columns=list("abc")), target=y, classes=[0, 1, 2, 3])
    few = {name: candidates()[name] for name in NAMES[:2]}
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path))
    monkeypatch.setattr(roster, "fetch_benchmark", lambda name, **options: bunch)
    monkeypatch.setattr(roster, "run_contest", partial(run_contest, candidates=few))
    plot = read_plot("ordinal-models")
    exhibit = roster.measure_roster(
        sets=["one", "two"], seconds=60, folds=2, repeats=1, jobs=1, tell=lambda text: None
    )
    page = plot_page(plot, exhibit, "quick")
    assert "| ProportionalOdds logit | 1.0 |" in page
    assert picture(plot, exhibit).startswith(b"<?xml")
    assert sorted(path.name for path in tmp_path.glob("**/*.jsonl")) == ["one.jsonl", "two.jsonl"]
