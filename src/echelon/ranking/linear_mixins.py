"""What linear rankers share: scores and explanations, and learning from a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from .._utils.types import KeysLike, LabelsLike, MatrixLike, RandomStateLike, Vector, VectorLike
from ..base.mixins import RankerMixin
from ..base.pair_explanations import PairTerm, linear_terms
from ..base.validation import RankingData, all_or_nothing, validate_ranking_chunk
from ..ordinal.arrays import LARGEST_SEED


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
        data = validate_ranking_chunk(
            self,
            X,
            y,
            qid=qid,
            sample_weight=sample_weight,
            pairs=pairs,
            pair_weight=pair_weight,
            first=not hasattr(self, "coef_"),
        )
        self._learn_chunk(data)
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
