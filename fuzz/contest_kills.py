"""Contests that are killed at random moments and resumed, beside one that nothing disturbs.

``python -m fuzz.contest_kills --kills 100`` kills the process of a contest again and again, each
time at a moment drawn at random, lets a last one finish, and compares the two leaderboards.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

from echelon.datasets import load_dataset
from echelon.model_selection import Leaderboard, candidates, run_contest
from echelon.tables import labelled_table

_MODELS = (
    "median label", "RoundedRegressor ridge", "ProportionalOdds logit", "LinearSVOR", "PRank",
    "OrdinalReduction logistic", "AdaBoostOR stumps", "RankRules",
)  # fmt: skip


def contest(store: Path | None, jobs: int) -> Leaderboard:
    """A contest of a few models on an embedded set."""
    table = labelled_table(load_dataset("esl", as_frame=True).frame)
    few = {name: candidate for name, candidate in candidates().items() if name in _MODELS}
    return run_contest(table, candidates=few, store=store, n_jobs=jobs)


def table_of(board: Leaderboard) -> list[tuple[object, ...]]:
    """All that does not depend on how quick the machine was."""
    records = [{**record, "fit_seconds": 0.0} for record in board.records()]
    return [tuple(map(repr, record.values())) for record in records]


def killed(store: Path, jobs: int, after: float) -> bool:
    """Whether a contest of another process was still running when it was killed."""
    child = os.fork()
    if not child:
        warnings.simplefilter("ignore")
        contest(store, jobs)
        os._exit(0)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main() -> int:
    """Print how often a contest was killed, and 1 if the leaderboards differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    whole = table_of(contest(None, 1))
    took = time.perf_counter() - started
    kills = different = rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        while kills < options.kills:
            store, rounds = Path(folder) / f"{rounds}.jsonl", rounds + 1
            # So long that about ten kills end a contest.
            while kills < options.kills and killed(
                store, draw.choice((1, 1, 1, 2)), draw.uniform(0.0, took / 5)
            ):
                kills += 1
            different += table_of(contest(store, 1)) != whole
    print(f"{kills} kills in {rounds} contests, {different} leaderboards differ")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
