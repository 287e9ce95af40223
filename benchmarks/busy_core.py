"""Every estimator at default settings and with one thread, beside a process that keeps a core busy.

``python -m benchmarks.busy_core`` prints the seconds of both and their ratio, which is asked to be
at most 1.3. Threads of linear algebra that wait for each other in every small product make a fit
many times slower as soon as another process holds one of the cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

LARGEST_RATIO = 1.3
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Rows of the data: about a second of work for each.
ROWS = {"SVOR": 3_000, "SVOR, explicit": 5_000, "RankSVM": 1_500, "GPOR": 300, "RankRules": 1_000}
REPEATS = 3


def estimators() -> dict[str, Callable[[], Any]]:
    """Every public estimator, and a setting of SVOR that suffered most."""
    import echelon as e

    kinds = [getattr(e, name) for name in e.__all__]
    found: dict[str, Callable[[], Any]] = {
        kind.__name__: kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "fit")
    }
    found["SVOR, explicit"] = lambda: e.SVOR(constraints="explicit")
    return dict(sorted(found.items()))


def data(name: str) -> tuple[Any, Any]:
    """Eight inputs; ten classes where there are many rows for them."""
    rng = np.random.default_rng(0)
    n = ROWS.get(name, 2_000)
    K = 10 if n >= 5_000 else 5
    X = rng.normal(size=(n, 8))
    score = X @ rng.normal(size=8) + rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)


def seconds(name: str) -> float:
    """The quickest of some fits in this process."""
    X, y = data(name)
    model, taken = estimators()[name](), []
    arguments = (X,) if name == "LowRankImputer" else (X, y)
    for _ in range(REPEATS):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(*arguments)
        taken.append(time.perf_counter() - start)
    return min(taken)


def ratio(name: str) -> tuple[float, float]:
    """Seconds at default settings, and with one thread, in processes of their own."""
    default = {k: v for k, v in os.environ.items() if k not in ONE_THREAD}
    command = [sys.executable, "-m", "benchmarks.busy_core", "--fit", name]
    both = [
        float(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
        for env in (default, {**default, **ONE_THREAD})
    ]
    return both[0], both[1]


@contextmanager
def busy_core() -> Iterator[None]:
    """Another process that computes without end."""
    # It ends by itself if this process is killed.
    program = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
    other = subprocess.Popen([sys.executable, "-c", program])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def main() -> int:
    """Print a line per estimator; 1 if one of them is above the ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy_core", description=__doc__)
    parser.add_argument("--fit", help="fit one estimator and print its seconds")
    parser.add_argument("--only", nargs="+", help="these estimators alone")
    options = parser.parse_args()
    if options.fit:
        print(seconds(options.fit))
        return 0
    above = 0
    with busy_core():
        for name in options.only or estimators():
            default, one = ratio(name)
            above += default > LARGEST_RATIO * one
            print(f"{name:20} {default:8.3f} s {one:8.3f} s {default / one:6.2f}", flush=True)
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
