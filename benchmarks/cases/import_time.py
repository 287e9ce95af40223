"""Seconds that an import takes in a fresh interpreter, beside what scikit-learn users pay."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from ..registry import Case, Peer

_PROGRAM = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def seconds_of(statement: str, _: None = None) -> float:
    """Run a statement in a new interpreter and give the seconds that it measured itself."""
    command = [sys.executable, "-c", _PROGRAM.format(statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _case(name: str, statement: str, target: float | None) -> Case:
    peer = "import sklearn.base, scipy.special"
    return Case(
        f"import_time/{name}",
        sizes=(0,),
        quick_sizes=(0,),
        build=lambda size: None,
        ours=partial(seconds_of, statement),
        peers=(Peer(peer, "sklearn.base", partial(seconds_of, peer), target=target),),
        rounds=9,
        self_timed=True,
    )


CASES = (
    _case("package", "import echelon", target=1.2),
    _case("estimator", "from echelon import ProportionalOdds", target=None),
)
