"""Fits of models that hold rows out themselves, and may be told which rows belong together."""

from __future__ import annotations

from typing import Self

from .._utils.types import KeysLike, LabelsLike, MatrixLike, VectorLike
from .mixins import OrdinalClassifierMixin
from .validation import all_or_nothing


class HoldsRowsOutMixin(OrdinalClassifierMixin):
    """An ordinal estimator that holds rows out when it is fitted.

    Groups and times are the second and third argument of ``_learn``.
    """

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        *,
        groups: KeysLike | None = None,
        time: VectorLike | None = None,
    ) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like, or whatever an estimator inside reads, of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Accepted where an estimator inside accepts it.
        groups : array-like of shape (n,), optional
            What each row belongs to, such as a patient: rows of one group are held out together.
        time : array-like of shape (n,), optional
            When each row was taken, as numbers or dates: rows that are held out are later than
            those that are learnt from.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups, time)
