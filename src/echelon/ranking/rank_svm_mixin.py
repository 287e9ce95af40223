"""What ranking support vector machines share: parameters, their problem, its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .._utils.choices import require_choice
from .._utils.warnings import warn_caller
from ..base.mixins import RankerMixin
from ..base.validation import RankingData
from ..ordinal.arrays import require_count, require_positive
from ..pairs.losses import HINGE_LOSSES
from ..pairs.pair_rows import row_weight, weigh_queries_alike
from ..pairs.pair_set import PairSet
from ..solvers.ranking.pair_newton import PairSolution, SolverSettings


@dataclass(frozen=True)
class RankProblem:
    """Validated inputs, weighted pairs, and the weight of their loss in the objective."""

    X: Any
    pairs: PairSet
    C: float


class RankSVMMixin(RankerMixin):
    """A ranker that minimises ½‖f‖² and a hinge loss over pairs."""

    C: float
    loss: str
    normalize: bool
    query_weighting: str
    tol: float
    max_iter: int
    verbose: int

    def _check_parameters(self) -> None:
        for name in ("C", "tol"):
            require_positive(name, getattr(self, name))
        require_count("max_iter", self.max_iter)
        require_choice("loss", self.loss, HINGE_LOSSES)
        require_choice("query_weighting", self.query_weighting, ("pairs", "queries"))

    def _problem(self, data: RankingData) -> RankProblem:
        """Weigh the pairs and their loss."""
        pairs = data.pairs
        if self.query_weighting == "queries":
            pairs = weigh_queries_alike(pairs)
        factor = row_weight(data.pairs) / pairs.total_weight if self.normalize else 1.0
        return RankProblem(data.X, pairs, float(self.C * factor))

    def _settings(self) -> SolverSettings:
        return {
            "squared": self.loss == "squared_hinge",
            "tol": self.tol,
            "max_iter": self.max_iter,
            "progress": self._print_step if self.verbose > 0 else None,
        }

    def _print_step(self, step: int, objective: float, gap: float, width: float) -> None:
        name = type(self).__name__
        print(f"{name} step {step}: objective {objective:.8g}, gap {gap:.2g}, width {width:.2g}")

    def _store_certificate(self, solution: PairSolution) -> None:
        """Set what the solver says of its solution, and warn where it did not converge."""
        self.objective_ = solution.objective
        self.duality_gap_ = solution.duality_gap
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        if not solution.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {solution.n_iter} steps with a duality gap "
                f"of {solution.duality_gap:.2g}, above tol={self.tol:g} times the objective "
                f"({solution.objective:.6g}); raise max_iter or tol, or lower C.",
                ConvergenceWarning,
            )
