"""Rankers that grow by rounds: what they say at each stage, pairs held out, and when to stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.types import KeysLike, LabelsLike, MatrixLike, Vector, VectorLike
from ..base.mixins import RankerMixin
from ..base.rounds import Patience, check_patience
from ..base.validation import RankingData, one_column, validate_inputs
from ..metrics.ranking import pairwise_accuracy
from ..metrics.scorers import as_ranking_scorer
from ..ordinal.relevance import read_relevance
from ..pairs.losses import misranked
from ..pairs.pair_rows import paired_rows
from ..pairs.pair_set import PairSet
from ..pairs.queries import query_codes
from ..solvers.ranking.rank_boost import Round
from .base_rankers import member_answers


class StagedRankerMixin(RankerMixin):
    """Scores after every round, for weighted sums of base rankers.

    The estimator sets ``_rankers`` and ``estimator_weights_``.
    """

    def staged_predict(self, X: MatrixLike) -> Iterator[Vector]:
        """Scores after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = validate_inputs(self, X)
        scores = np.zeros(X.shape[0])
        for member, weight in zip(self._rankers, self.estimator_weights_, strict=True):
            scores = scores + weight * member_answers(member, X)
            yield scores

    def staged_score(
        self,
        X: MatrixLike,
        y: LabelsLike,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Iterator[float]:
        """Share of pairs in the right order after each round, as ``score`` has it.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        qid : sequence of shape (n,), optional
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        score : float
        """
        relevance = read_relevance(one_column(y))
        for scores in self.staged_predict(X):
            yield pairwise_accuracy(relevance, scores, qid=qid, sample_weight=sample_weight)


class HeldOutPairs:
    """Adds up base rankers on the rows held out, and says when they bring nothing any more.

    Parameters
    ----------
    data : RankingData
        All rows.
    pairs : PairSet
        The pairs held out.
    scoring : str, callable or None
        Score of the labels, as `as_ranking_scorer` reads it; None for the share of the pairs in
        order.
    patience : Patience
        Notes the score with the opposite sign.
    """

    def __init__(self, data: RankingData, pairs: PairSet, scoring: Any, patience: Patience) -> None:
        self._pairs = pairs
        self._scoring = None if scoring is None else as_ranking_scorer(scoring)
        self.patience = patience
        if scoring is None:
            rows = paired_rows(pairs)
        elif pairs.implied is None or data.relevance is None:
            raise ValueError("scoring needs labels; pass y, or scoring=None.")
        else:
            rows = np.sort(pairs.implied.rows)
            self._y = data.relevance[rows]
            codes, _ = query_codes(data.qid, data.X.shape[0])
            self._qid = None if data.qid is None else codes[rows]
        self._rows, self._X = rows, data.X[rows]
        self._scores = np.zeros(data.X.shape[0])

    def is_over(self, found: Round) -> bool:
        """Add one more base ranker; whether the last rounds brought nothing."""
        self._scores[self._rows] += found.weight * member_answers(found.ranker, self._X)
        return self.patience.is_over(-self._score())

    def _score(self) -> float:
        if self._scoring is None:
            return misranked(self._pairs, self._scores).accuracy
        scores = self._scores[self._rows]
        return self._scoring.of_scores(self._y, scores, qid=self._qid)


def check_stopping(n_iter_no_change: Any, validation_fraction: Any, scoring: Any) -> None:
    """Refuse parameters of early stopping that make no sense."""
    if n_iter_no_change is None:
        if scoring is not None:
            raise ValueError(
                "scoring decides when to stop and needs n_iter_no_change; found None there."
            )
        return
    check_patience(n_iter_no_change, validation_fraction)
    if scoring is not None:
        as_ranking_scorer(scoring)
