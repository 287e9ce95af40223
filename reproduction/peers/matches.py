"""Who beats whom: preference functions beside Bradley and Terry's model on later matches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon._utils.types import Array
from echelon.datasets import fetch_ranking
from echelon.ranking import PreferenceRanker

from .comparison import Entry, Measure, PeerComparison, Tell, register_comparison

MEASURES = (
    Measure("log loss", greater_is_better=False),
    Measure("Brier score", greater_is_better=False),
    Measure("accuracy"),
)
#: inputs of a player before a match
INPUTS = ("log rank", "log points", "age", "age squared", "height", "left-handed")
#: rank of a player who has none
_UNRANKED = 2000.0


@dataclass(frozen=True)
class Matches:
    """Two rows of inputs for every match, those of players a and b, and whether a won."""

    a: Array
    b: Array
    players: npt.NDArray[np.intp]
    won: npt.NDArray[np.bool_]
    year: npt.NDArray[np.intp]

    def __getitem__(self, rows: Any) -> Matches:
        return Matches(
            self.a[rows], self.b[rows], self.players[rows], self.won[rows], self.year[rows]
        )


@register_comparison("matches")
def measure_matches(*, test_from: int, tell: Tell) -> PeerComparison:
    """Tennis: learn from the matches before a year, predict those from it on."""
    matches = _load()
    train, test = matches[matches.year < test_from], matches[matches.year >= test_from]
    entries = []
    for name, about, learn in _models():
        tell(f"Matches: {name}")
        start = time.perf_counter()
        probability, chosen = learn(train, test)
        seconds = time.perf_counter() - start
        values = _values(probability, test.won)
        entries.append(Entry(name, f"{about}{chosen}", values, seconds))
    known = np.isin(test.players, train.players).all(axis=1).mean()
    setting = (
        f"tennis_atp_2018_2024 (Jeff Sackmann, Tennis Abstract, CC BY-NC-SA 4.0); "
        f"{len(train.won)} matches before {test_from} train, {len(test.won)} later ones test; in "
        f"{known:.0%} of these both players were seen in training. Inputs of a player before the "
        f"match: {', '.join(INPUTS)}."
    )
    return PeerComparison("Tennis matches", setting, "match", MEASURES, tuple(entries))


def _load() -> Matches:
    table = fetch_ranking("tennis_atp_2018_2024").columns
    ids = np.column_stack([np.asarray(table[f"{side}_id"]) for side in "ab"])
    players = np.unique(ids, return_inverse=True)[1].reshape(ids.shape)
    date = np.asarray(table["date"], dtype=np.intp)
    won = np.asarray(table["y"]) == 1
    return Matches(_inputs(table, "a"), _inputs(table, "b"), players, won, date // 10_000)


def _inputs(table: Any, side: str) -> Array:
    def column(name: str, missing: float | None = None) -> Array:
        values = np.array(table[f"{side}_{name}"], dtype=np.float64)
        fill = float(np.nanmedian(values)) if missing is None else missing
        return np.where(np.isnan(values), fill, values)

    age = column("age")
    return np.column_stack(
        [
            np.log(column("rank", _UNRANKED)),
            np.log1p(column("rank_points", 0.0)),
            age,
            (age - 26.0) ** 2,
            column("height"),
            np.asarray(table[f"{side}_hand"]) == "L",
        ]
    )


Learner = Callable[[Matches, Matches], tuple[Array, str]]


def _models() -> list[tuple[str, str, Learner]]:
    linear = make_pipeline(StandardScaler(), LogisticRegression(fit_intercept=False))
    trees = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, max_leaf_nodes=8, random_state=0
    )
    return [
        (
            "Bradley–Terry",
            "a strength for every player by penalised logistic regression, penalty chosen on the "
            "last year of training; no other inputs",
            _bradley_terry,
        ),
        (
            "PreferenceRanker, logistic",
            "logistic regression on differences of inputs",
            _preference(PreferenceRanker(linear, random_state=0)),
        ),
        (
            "PreferenceRanker, trees",
            "boosted trees on both players' inputs, symmetrised",
            _preference(PreferenceRanker(trees, features="concatenation", random_state=0)),
        ),
        (
            "PreferenceRanker, players too",
            "logistic regression on differences of inputs and of players, penalty chosen likewise",
            _players_and_inputs,
        ),
        (
            "Points alone",
            "logistic regression on the difference of log points",
            _preference(PreferenceRanker(linear, random_state=0), columns=[1]),
        ),
    ]


def _preference(ranker: PreferenceRanker, columns: list[int] | None = None) -> Learner:
    chosen = slice(None) if columns is None else columns

    def learn(train: Matches, test: Matches) -> tuple[Array, str]:
        X = np.vstack([train.a[:, chosen], train.b[:, chosen]])
        ranker.fit(X, pairs=_outcomes(train))
        return ranker.preference(test.a[:, chosen], test.b[:, chosen]), ""

    return learn


def _outcomes(matches: Matches) -> npt.NDArray[np.intp]:
    """Rows of winner and loser where the inputs of all players a stand above those of players b."""
    n = len(matches.won)
    a, b = np.arange(n), np.arange(n, 2 * n)
    won = matches.won
    return np.column_stack([np.where(won, a, b), np.where(won, b, a)])


def _players_and_inputs(train: Matches, test: Matches) -> tuple[Array, str]:
    n_players = int(max(train.players.max(), test.players.max())) + 1
    scale = np.vstack([train.a, train.b]).std(axis=0)

    def rows(matches: Matches, side: int) -> Any:
        inputs = (matches.a, matches.b)[side] / scale
        cells = (np.arange(len(inputs)), matches.players[:, side])
        ones = np.ones(len(inputs))
        who = sparse.csr_matrix((ones, cells), shape=(len(inputs), n_players))
        return sparse.hstack([inputs, who], format="csr")

    def predict(early: Matches, late: Matches, C: float) -> Array:
        classifier = LogisticRegression(C=C, fit_intercept=False, max_iter=1000)
        ranker = PreferenceRanker(classifier, random_state=0)
        X = sparse.vstack([rows(early, 0), rows(early, 1)], format="csr")
        ranker.fit(X, pairs=_outcomes(early))
        return ranker.preference(rows(late, 0), rows(late, 1))

    return _by_last_year(predict, train, test)


def _bradley_terry(train: Matches, test: Matches) -> tuple[Array, str]:
    """P(a wins) = 1/(1 + exp(s_b − s_a)); players never seen have strength zero."""
    return _by_last_year(_strengths, train, test)


def _by_last_year(
    predict: Callable[[Matches, Matches, float], Array], train: Matches, test: Matches
) -> tuple[Array, str]:
    """Predictions with the penalty that does best on the last year of training."""
    last = train.year.max()
    early, late = train[train.year < last], train[train.year == last]
    penalties = np.logspace(-2, 2, 9)
    losses = [_values(predict(early, late, C), late.won)["log loss"].mean() for C in penalties]
    best = float(penalties[int(np.argmin(losses))])
    return predict(train, test, best), f"; chosen C = {best:g}"


def _strengths(train: Matches, test: Matches, C: float) -> Array:
    n_players = int(max(train.players.max(), test.players.max())) + 1
    model = LogisticRegression(C=C, fit_intercept=False, max_iter=1000)
    model.fit(_signed_players(train, n_players), train.won)
    return np.asarray(model.predict_proba(_signed_players(test, n_players))[:, 1])


def _signed_players(matches: Matches, n_players: int) -> Any:
    """+1 for player a and −1 for player b, in a row for every match."""
    n = len(matches.won)
    signs = np.tile([1.0, -1.0], n)
    cells = (np.repeat(np.arange(n), 2), matches.players.ravel())
    return sparse.csr_matrix((signs, cells), shape=(n, n_players))


def _values(probability: Array, won: npt.NDArray[np.bool_]) -> dict[str, Array]:
    right = np.where(won, probability, 1.0 - probability)
    return {
        "log loss": -np.log(np.clip(right, 1e-12, None)),
        "Brier score": (1.0 - right) ** 2,
        "accuracy": (right > 0.5) + 0.5 * (right == 0.5),
    }
