"""What ranking support vector machines and linear rankers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._utils.messages import require_choice, warn_caller
from .._utils.types import KeysLike, LabelsLike, MatrixLike, RandomStateLike, Vector, VectorLike
from ..base.mixins import RankerMixin
from ..base.pair_explanations import PairTerm, linear_terms
from ..base.validation import RankingData, all_or_nothing, validate_ranking_chunk
from ..ordinal.arrays import LARGEST_SEED, require_count, require_positive
from ..pairs.losses import HINGE_LOSSES
from ..pairs.pair_set import PairSet, row_weight, weigh_queries_alike
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


class StreamedRankerMixin(RankerMixin):
    """A ranker that can go on learning from rows, queries or pairs that arrive.

    A subclass gives ``_learn_chunk(data)`` for data that may have no pair.
    """

    random_state: RandomStateLike

    __metadata_request__partial_fit = {"qid": True}  # noqa: RUF012 - read from the class

    @all_or_nothing
    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike | None = None,
        *,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
        pairs: npt.ArrayLike | None = None,
        pair_weight: VectorLike | None = None,
    ) -> Self:
        """Learn from rows or pairs that arrive, and go on from what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            One row, a query, or any other chunk.
        y : array-like of shape (n,), optional
            Labels, as numbers on one scale for all calls.
        qid : sequence of shape (n,), optional
        sample_weight : array-like of shape (n,), optional
        pairs : array-like of shape (m, 2) or PairSet, optional
            Pairs among the given rows.
        pair_weight : array-like of shape (m,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        given: dict[str, Any] = {"qid": qid, "sample_weight": sample_weight}
        given |= {"pairs": pairs, "pair_weight": pair_weight, "first": not hasattr(self, "coef_")}
        self._learn_chunk(validate_ranking_chunk(self, X, y, **given))
        return self

    def _learn_chunk(self, data: RankingData) -> None:
        raise NotImplementedError

    def _new_generator(self) -> np.random.Generator:
        """Random numbers from ``random_state``, for the draws of pairs."""
        return np.random.default_rng(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)


class LinearRankerMixin(RankerMixin):
    """A ranker whose score is x·coef_, for dense and sparse inputs."""

    coef_: Vector

    def _scores(self, X: Any) -> Vector:
        return np.asarray(X @ self.coef_)

    def _pair_terms(self, a: Vector, b: Vector) -> list[PairTerm]:
        return linear_terms(self._input_names(), self.coef_, a, b)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
