"""How often do the verdicts of a leaderboard err?

``python -m benchmarks.null_contests`` makes many contests whose true differences are known, and
counts how many leaderboards have a wrong verdict or a wrong interval: losses that are drawn, and
fits of models to fresh draws of rows. Finished lots are kept in a file and not drawn again;
``--write docs/choosing.md`` puts the table into the page.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from echelon.metrics import corrected_resampled_t_test
from echelon.metrics.best_comparison import MARGIN, Comparison, row_differences

from .pages import Pieces, markdown_table, publish, study_parser

FOLDS, REPEATS = 5, 2
LOT = 20
HEAD = (
    "contests", "leaderboards", "a best model is called worse", "so with the earlier marks",
    "a wrong *equivalent*", "all intervals hold", "models with a verdict",
)  # fmt: skip
# Mean of the rounded distance |e| for an error e with the standard deviation of `Drawn`.
MEAN = 0.493
# Shares of the best figure by which twenty models are worse.
EQUAL = (0.0,) * 20
AROUND = tuple(np.repeat((0.0, 0.01, 0.025, 0.05), 5).tolist())


@dataclass(frozen=True)
class Drawn:
    """Losses of twenty models of four kinds, which are drawn.

    A loss is a rounded distance whose error has a part of the row, of the kind of model, of the
    model, and of the repeat; of a group too, if there are groups of ten rows. With probability
    `worse` times the mean loss it is one more. With `training` every row that is learnt from moves
    the losses of a model by as much as it moves them when it is tested.
    """

    rows: int
    worse: tuple[float, ...]
    groups: bool = False
    training: bool = False

    def __call__(self, seed: int) -> dict[str, int]:
        rng = np.random.default_rng(seed)
        counts: dict[str, int] = {}
        for _ in range(LOT):
            _add(counts, self._contest(rng))
        return counts

    def _contest(self, rng: np.random.Generator) -> dict[str, int]:
        n, M = self.rows, len(self.worse)
        groups = np.arange(n) // 10 if self.groups else None
        tests = _folds(n, groups, rng)
        errors = 0.55 * self._noise(rng, n, groups) + np.repeat(
            [0.25 * self._noise(rng, n, groups) for _ in range(4)], M // 4, axis=0
        )
        errors = errors + np.array([0.25 * self._noise(rng, n, groups) for _ in range(M)])
        moves = self._training_moves(rng, np.rint(np.abs(errors[:2])), groups, M)
        losses: list[list[Any]] = [[] for _ in range(M)]
        for fold, rows in enumerate(tests):
            if fold % FOLDS == 0:
                shown = np.rint(np.abs(errors + 0.2 * rng.normal(size=(M, n))))
            learnt = np.ones(n, dtype=bool)
            learnt[rows] = False
            units = np.unique(np.arange(n)[learnt] if groups is None else groups[learnt])
            shift = moves[:, units].mean(axis=1)
            for m, share in enumerate(self.worse):
                more = rng.random(len(rows)) < MEAN * share
                losses[m].append(shown[m, rows] + more + shift[m])
        truth = MEAN * np.asarray(self.worse)
        pairs = row_differences(losses, tests, n * (1 - 1 / FOLDS), groups=groups)
        means = np.array([[part.mean() for part in of_model] for of_model in losses])
        best = int(means.mean(axis=1).argmin())
        margin = MARGIN * float(means[best].mean())
        return judged(pairs.to_best(best, margin), truth, MARGIN * MEAN, means, n)

    def _training_moves(self, rng: np.random.Generator, two: Any, groups: Any, M: int) -> Any:
        """What each row or group does to models that learn from it: as much as to two models."""
        apart = two[0] - two[1]
        if groups is not None:
            apart = np.bincount(groups, apart) / 10
        sd = apart.std() / np.sqrt(2) if self.training else 0.0
        return sd * rng.normal(size=(M, len(apart)))

    @staticmethod
    def _noise(rng: np.random.Generator, n: int, groups: Any) -> Any:
        own = rng.normal(size=n)
        if groups is None:
            return own
        return np.sqrt(0.5) * own + np.sqrt(0.5) * rng.normal(size=n // 10)[groups]


def _folds(n: int, groups: Any, rng: np.random.Generator) -> list[Any]:
    """Test rows of repeated folds, of whole groups if there are any."""
    tests = []
    for _ in range(REPEATS):
        units = rng.permutation(n if groups is None else n // 10)
        parts = np.array_split(units, FOLDS)
        tests += [p if groups is None else np.flatnonzero(np.isin(groups, p)) for p in parts]
    return tests


@dataclass(frozen=True)
class Fitted:
    """Models that are fitted to fresh draws of rows, with more inputs than matter."""

    rows: int
    inputs: int

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows and labels of five classes."""
        X = rng.normal(size=(n, self.inputs))
        score = X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.5 * X[:, 1] * X[:, 2]
        return X, np.digitize(score + 0.8 * rng.normal(size=n), [-1.2, -0.4, 0.4, 1.2])

    def models(self) -> dict[str, Any]:
        """Cheap models, several of them alike."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import Ridge
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.svm import SVR
        from sklearn.tree import DecisionTreeRegressor

        from echelon import ProportionalOdds, RoundedRegressor

        rounded = {
            "ridge 1": Ridge(1.0),
            "ridge 50": Ridge(50.0),
            "neighbours 10": KNeighborsRegressor(10),
            "neighbours 20": KNeighborsRegressor(20),
            "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
            "SVR 1": SVR(),
            "SVR 3": SVR(C=3.0),
        }
        return {
            "logit": ProportionalOdds(alpha=1.0),
            "discriminant": LinearDiscriminantAnalysis(),
            **{name: RoundedRegressor(model) for name, model in rounded.items()},
        }

    def true_risks(self, draws: int = 150) -> Any:
        """Expected error of each model that learns from as many rows as a fold does."""
        rng = np.random.default_rng(10**6)
        X_new, y_new = self.draw(20_000, rng)
        found = np.zeros(len(self.models()))
        for _ in range(draws):
            X, y = self.draw(round(self.rows * (1 - 1 / FOLDS)), rng)
            for m, model in enumerate(self.models().values()):
                part = slice(*(rng.integers(0, 18_000) + np.array([0, 2_000])))
                found[m] += np.abs(model.fit(X, y).predict(X_new[part]) - y_new[part]).mean()
        return found / draws

    def __call__(self, seed: int) -> dict[str, int]:
        from echelon.model_selection import compare_models

        rng, counts = np.random.default_rng(seed), {}
        risks = dict(zip(self.models(), self._known_risks(), strict=True))
        for number in range(LOT):
            X, y = self.draw(self.rows, rng)
            board = compare_models(
                self.models(), X, y, classes=range(5), random_state=LOT * seed + number
            )
            truth = np.array([risks[row.model] for row in board.rows])
            means = np.array([row.folds["mae"] for row in board.rows])
            found = judged(
                list(board.comparisons.values()), truth, MARGIN * truth.min(), means, self.rows
            )
            _add(counts, found)
        return counts

    def _known_risks(self) -> Any:
        path = Path("build") / f"true_risks_{self.rows}_{self.inputs}.json"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(self.true_risks().tolist()))
        return json.loads(path.read_text())


#: What is counted: contests of one kind, `LOT` from a seed.
SETTINGS: dict[str, Callable[[int], dict[str, int]]] = {
    "20 equal models, 600 rows": Drawn(600, EQUAL),
    "the same, training rows count as much as test rows": Drawn(600, EQUAL, training=True),
    "20 equal models, 600 rows in 60 groups": Drawn(600, EQUAL, True),
    "the same, training groups count as much": Drawn(600, EQUAL, True, True),
    "0, 1, 2.5 and 5 % worse, 20,000 rows": Drawn(20_000, AROUND),
    "the same, training rows count as much": Drawn(20_000, AROUND, training=True),
    "0, 1, 2.5 and 5 % worse, 20,000 rows in 2,000 groups": Drawn(20_000, AROUND, True),
    "9 models fitted to 150 rows of 5 inputs": Fitted(150, 5),
    "9 models fitted to 100 rows of 20 inputs": Fitted(100, 20),
}


def judged(
    found: Sequence[Comparison], truth: Any, margin: float, folds: Any, n: int
) -> dict[str, int]:
    """What is wrong with the verdicts of a contest."""
    others = [np.delete(truth, m).min() for m in range(len(truth))]
    away = truth - np.array(others)
    held = [c.low <= d <= c.high for c, d in zip(found, away, strict=True)]
    verdicts = np.array([c.verdict for c in found])
    equal = truth <= truth.min()
    return {
        "contests": 1,
        "worse": int((equal & (verdicts == "worse")).any()),
        "marked": int(equal[earlier_marks(folds, n)].any()),
        "equivalent": int(((away > margin) & (verdicts == "equivalent")).any()),
        "held": int(all(held)),
        "models": len(truth),
        "decided": int((verdicts != "undecided").sum()),
    }


def earlier_marks(folds: Any, n: int) -> list[int]:
    """Models worse than the best by the corrected resampled t-test with Holm's procedure."""
    best = int(folds.mean(axis=1).argmin())
    sizes = {"training": round(n * (1 - 1 / FOLDS)), "test": round(n / FOLDS)}
    p = {
        m: corrected_resampled_t_test(folds[best], folds[m], **sizes)[1]
        for m in range(len(folds))
        if m != best
    }
    worse: list[int] = []
    for m in sorted(p, key=lambda m: p[m]):
        if p[m] > 0.05 / (len(p) - len(worse)):
            break
        worse.append(m)
    return worse


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for key, value in more.items():
        counts[key] = counts.get(key, 0) + value


def row(name: str, counts: dict[str, int]) -> list[str]:
    """A line of the table: shares of leaderboards, and of models."""
    n = counts["contests"]
    shares = [100 * counts[key] / n for key in ("worse", "marked", "equivalent", "held")]
    decided = 100 * counts["decided"] / counts["models"]
    return [name, f"{n:,}", *(f"{share:.1f} %" for share in shares), f"{decided:.0f} %"]


def main() -> None:
    """Draw what is not in the file yet, and print or write the table."""
    parser = study_parser("null_contests", __doc__)
    parser.add_argument("--contests", type=int, default=200, help="of a setting; half with fits")
    options = parser.parse_args()
    pieces = Pieces(options.store)
    totals: dict[str, dict[str, int]] = {name: {} for name in SETTINGS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, contests in SETTINGS.items():
            wanted = options.contests // (2 if isinstance(contests, Fitted) else 1)
            for seed in range(wanted // LOT):
                _add(totals[name], pieces.get(f"{name} | {seed}", partial(contests, seed)))
    text = markdown_table(HEAD, [row(name, counts) for name, counts in totals.items()])
    publish(text, options.write, "null contests")


if __name__ == "__main__":
    main()
