"""Boosted ensembles that learn from costs of rows, and may stop early on rows held out."""

from __future__ import annotations

from typing import Self

import numpy.typing as npt

from .._utils.types import KeysLike, LabelsLike, MatrixLike, VectorLike
from ..base.mixins import CostSensitiveMixin
from ..base.rounds import StagedMixin
from ..base.validation import all_or_nothing


class StagedCostMixin(StagedMixin, CostSensitiveMixin):
    """A staged estimator with costs of rows, which are the second argument of ``_learn``.

    Groups and times are the third and fourth.
    """

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        sample_cost: npt.ArrayLike | None = None,
        *,
        groups: KeysLike | None = None,
        time: VectorLike | None = None,
    ) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Sparse, with NaN where missing, or whatever an estimator inside reads, if the class
            takes such inputs.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Accepted where an estimator inside accepts it.
        sample_cost : array-like of shape (n, K), optional
            Cost of every rank for every example, V-shaped around its label; replaces `cost`.
        groups : array-like of shape (n,), optional
            What each row belongs to: early stopping holds out whole groups.
        time : array-like of shape (n,), optional
            When each row was taken, as numbers or dates: early stopping holds out the latest rows.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, sample_cost, groups, time)
