"""From the parameters and data of a ranking support vector machine to a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .._utils.choices import require_choice
from .._utils.warnings import warn_caller
from ..base.validation import RankingData
from ..ordinal.arrays import require_count, require_positive
from ..pairs.pair_rows import row_weight, weigh_queries_alike
from ..pairs.pair_set import PairSet
from ..solvers.ranking.pair_newton import PairSolution, Progress


@dataclass(frozen=True)
class RankTask:
    """Validated inputs, weighted pairs, and the weight of their loss in the objective."""

    X: Any
    pairs: PairSet
    C: float


def check_rank_parameters(model: Any) -> None:
    """Refuse parameters that all ranking machines share and that make no sense."""
    for name in ("C", "tol"):
        require_positive(name, getattr(model, name))
    require_count("max_iter", model.max_iter)
    require_choice("loss", model.loss, ("squared_hinge", "hinge"))
    require_choice("query_weighting", model.query_weighting, ("pairs", "queries"))


def read_rank_task(model: Any, data: RankingData) -> RankTask:
    """Weigh the pairs and their loss by the parameters of a ranking machine."""
    pairs = data.pairs
    if model.query_weighting == "queries":
        pairs = weigh_queries_alike(pairs)
    factor = row_weight(data.pairs) / pairs.total_weight if model.normalize else 1.0
    return RankTask(data.X, pairs, float(model.C * factor))


def store_certificate(model: Any, solution: PairSolution) -> None:
    """Set what the solver says of its solution, and warn where it did not converge."""
    model.objective_ = solution.objective
    model.duality_gap_ = solution.duality_gap
    model.n_iter_ = solution.n_iter
    model.converged_ = solution.converged
    if not solution.converged:
        warn_caller(
            f"{type(model).__name__} stopped after {solution.n_iter} steps with a duality gap of "
            f"{solution.duality_gap:.2g}, above tol={model.tol:g} times the objective "
            f"({solution.objective:.6g}); raise max_iter or tol, or lower C.",
            ConvergenceWarning,
        )


def printer(model: Any) -> Progress | None:
    """Progress on standard output if the model is verbose."""
    if model.verbose <= 0:
        return None
    name = type(model).__name__

    def show(step: int, objective: float, gap: float, width: float) -> None:
        print(f"{name} step {step}: objective {objective:.8g}, gap {gap:.2g}, width {width:.2g}")

    return show
