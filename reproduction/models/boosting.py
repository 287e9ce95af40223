"""The columns of [LL09] tables 1 and 2, and the boosted columns of [DK09] table 3.

None of them is tuned: [LL09] and [DK09] fix the number of rounds, and the machine's C follows from
its training cost. [LL09] has the machine's kernel from Li and Lin (2007) and does not state it; it
is taken to be the perceptron kernel. The Gaussian kernel is there for comparison, as models that
are no column of a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from echelon._utils.types import Matrix
from echelon.ensemble.adaboost_or import AdaBoostOR
from echelon.ensemble.orboost import ORBoost
from echelon.linear.prank import PRank
from echelon.svm.svor import SVOR
from echelon.tree import ORStump

from .registry import Problem, register_model


def perceptron_kernel(X: Matrix, Y: Matrix) -> Matrix:
    """−‖x − x′‖, the kernel of an ensemble of infinitely many perceptrons.

    The full kernel has a constant before it that makes it positive definite; it changes neither
    the latent score's differences nor the thresholds' distances, as the coefficients sum to zero.
    """
    return -np.asarray(cdist(X, Y), dtype=np.float64)


@register_model("ORStump")
def stump(problem: Problem) -> Any:
    """The ordinal stump of least training cost."""
    return ORStump(classes=problem.classes)


@register_model("AB.OR ORStump")
def boosted_stumps(problem: Problem) -> Any:
    """AdaBoost.OR with 1,000 ordinal stumps."""
    return _boosted(ORStump(), 1000, problem)


@register_model("PRank")
def prank(problem: Problem) -> Any:
    """PRank, 2,000 epochs, the best weights seen kept (pocket with ratchet)."""
    return _prank(problem).set_params(classes=problem.classes)


@register_model("AB.OR PRank")
def boosted_prank(problem: Problem) -> Any:
    """AdaBoost.OR with 100 PRank rankers."""
    return _boosted(_prank(problem), 100, problem)


@register_model("SVOR base")
def machine(problem: Problem) -> Any:
    """Reduction-based SVOR with the perceptron kernel and the least C that has ε ≤ 0.3."""
    return _boosted_machines(1, problem, kernel=perceptron_kernel)


@register_model("AB.OR SVOR")
def boosted_machines(problem: Problem) -> Any:
    """AdaBoost.OR with 10 of the machines of SVOR base."""
    return _boosted_machines(10, problem, kernel=perceptron_kernel)


@register_model("SVOR base (Gaussian)")
def gaussian_machine(problem: Problem) -> Any:
    """Reduction-based SVOR with a Gaussian kernel and the least C that has ε ≤ 0.3."""
    return _boosted_machines(1, problem, kernel="rbf", gamma="scale")


@register_model("AB.OR SVOR (Gaussian)")
def boosted_gaussian_machines(problem: Problem) -> Any:
    """AdaBoost.OR with 10 of the machines of SVOR base (Gaussian)."""
    return _boosted_machines(10, problem, kernel="rbf", gamma="scale")


@register_model("ORBoost-All (perceptron)")
def orboost_perceptron(problem: Problem) -> Any:
    """ORBoost on all thresholds, 2,000 perceptrons."""
    return _thresholded_ensemble("all", "perceptron", problem)


@register_model("ORBoost-All (sigmoid)")
def orboost_sigmoid(problem: Problem) -> Any:
    """ORBoost on all thresholds, 2,000 sigmoids."""
    return _thresholded_ensemble("all", "sigmoid", problem)


@register_model("RankBoost-AE (perceptron)")
def rankboost_perceptron(problem: Problem) -> Any:
    """RankBoost of 2,000 perceptrons, thresholds of least absolute error."""
    return _thresholded_ensemble("pairs", "perceptron", problem)


@register_model("RankBoost-AE (sigmoid)")
def rankboost_sigmoid(problem: Problem) -> Any:
    """RankBoost of 2,000 sigmoids, thresholds of least absolute error."""
    return _thresholded_ensemble("pairs", "sigmoid", problem)


def _prank(problem: Problem) -> Any:
    return PRank(n_epochs=2000, averaged=False, pocket=True, random_state=problem.seed)


def _boosted_machines(rounds: int, problem: Problem, **kernel: Any) -> Any:
    machine = SVOR(regularize_thresholds="offset", tol=1e-3, cache_size=300, **kernel)
    capacity = {"C": [2.0**power for power in range(-20, 21, 2)]}
    return _boosted(machine, rounds, problem, capacity=capacity, target_error=0.3)


def _boosted(estimator: Any, rounds: int, problem: Problem, **options: Any) -> Any:
    return AdaBoostOR(
        estimator,
        n_estimators=rounds,
        classes=problem.classes,
        random_state=problem.seed,
        **options,
    )


def _thresholded_ensemble(variant: str, base: str, problem: Problem) -> Any:
    return ORBoost(
        n_estimators=2000,
        variant=variant,
        base=base,
        classes=problem.classes,
        random_state=problem.seed,
    )
