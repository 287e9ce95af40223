"""Does a contest on a large table find a model as good as a tuned LightGBM within its budget?

``python -m benchmarks.large_contest`` draws 300,000 rows of the ten classes of [DK09] section 4.1,
runs the default contest on them for four minutes, and tunes LightGBM by 20 random settings on a
part of the training rows of the contest's first fold. It prints the figures of both on the test
rows of that fold; the winner's is asked to be within 2 % of the other's.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np

from echelon import RoundedRegressor
from echelon.datasets import make_nonlinear_ordinal
from echelon.model_selection.contest import finish, make_experiment
from echelon.model_selection.experiment_run import ExperimentRun

LARGEST_LOSS = 1.02
SETTINGS = {
    "num_leaves": (15, 31, 63, 127),
    "learning_rate": (0.03, 0.05, 0.1),
    "n_estimators": (100, 200, 400),
    "min_child_samples": (20, 100),
    "subsample": (0.7, 1.0),
}


def tuned(X: Any, y: Any, draws: int) -> Any:
    """LightGBM with the best of random settings, each tried on a fifth of the rows."""
    from lightgbm import LGBMRegressor

    rng = np.random.default_rng(0)
    held = rng.random(len(X)) < 0.2
    best: tuple[float, dict[str, Any]] = (np.inf, {})
    for _ in range(draws):
        settings = {name: rng.choice(values).item() for name, values in SETTINGS.items()}
        settings |= {"subsample_freq": 1, "n_jobs": 1, "verbose": -1, "random_state": 0}
        model = RoundedRegressor(LGBMRegressor(**settings)).fit(X[~held], y[~held])
        best = min(best, (np.mean(np.abs(model.predict(X[held]) - y[held])), settings), key=_first)
    return RoundedRegressor(LGBMRegressor(**best[1])).fit(X, y)


def _first(found: tuple[float, Any]) -> float:
    return found[0]


def main() -> int:
    """Print what both reach, and 1 if the contest's winner is worse by more than 2 %."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--budget", type=float, default=240.0)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = make_nonlinear_ordinal(options.rows, 15, bayes_error=0.5, random_state=0)
    contest = ExperimentRun(make_experiment(X, y))
    started = time.perf_counter()
    board = finish(contest, budget=options.budget, n_jobs=-1)
    print(f"{time.perf_counter() - started:.0f} s for a budget of {options.budget:.0f} s")
    print(board)
    for note, models in board.notes.items():
        print(f"{', '.join(models)}: {note}")
    training, test = contest.experiment.splits[0]
    rival = tuned(X[training], y[training], options.draws)
    figure = float(np.mean(np.abs(rival.predict(X[test]) - y[test])))
    own = float(board.best.folds["mae"][0])
    print(f"first fold: {board.best_} {own:.4f}, tuned LightGBM {figure:.4f}, {own / figure:.3f}")
    return int(own > LARGEST_LOSS * figure)


if __name__ == "__main__":
    sys.exit(main())
