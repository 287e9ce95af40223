"""Columns as models with a sum or a distance of inputs take them: levels and heavy tails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.messages import require_choice
from .._utils.state import are_indices, is_ascending, require_state
from .._utils.types import Array, LabelArray, LabelsLike, MatrixLike, VectorLike
from ..ordinal.arrays import require_count
from .estimator import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

#: codings of levels, and what may be done to heavy tails; the first of each changes nothing
CODINGS = ("scores", "thermometer")
TAILS = ("kept", "normal scores")
_HEAVY = 10.0
#: cells that are looked at together
_CELLS = 4_000_000


class LevelCodes(TransformerMixin, BaseEstimator):
    """Ranks of ordered levels as they are, or as one column for each boundary between levels.

    Parameters
    ----------
    levels : sequence of sequences of str
        The levels of each column, from lowest to highest.
    coding : {"scores", "thermometer"}, default="scores"
        The rank itself, or for L levels the L−1 columns 1[rank ≥ l], l = 1 … L−1: a model that adds
        up its inputs then has an effect for each step to the next level.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where there are.

    Examples
    --------
    >>> codes = LevelCodes([["no", "maybe", "yes"]], "thermometer").fit([[0.0], [1.0], [2.0]])
    >>> codes.transform([[0.0], [1.0], [2.0]])
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    >>> codes.get_feature_names_out(["answer"]).tolist()
    ['answer ≥ maybe', 'answer ≥ yes']
    """

    def __init__(self, levels: Sequence[Sequence[str]], coding: str = "scores") -> None:
        self.levels = levels
        self.coding = coding

    def fit(self, X: MatrixLike, y: LabelsLike | None = None) -> Self:
        """Check the ranks; nothing is learnt from them.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Ranks from 0.
        y : None
            Not used.

        Returns
        -------
        self
        """
        require_choice("coding", self.coding, CODINGS)
        found = validate_data(self, X, dtype=np.float64)
        if found.shape[1] != len(self.levels):
            raise ValueError(
                f"levels must be given for each of the {found.shape[1]} columns of X; found "
                f"{len(self.levels)}."
            )
        return self

    def transform(self, X: MatrixLike) -> Array:
        """The coded columns.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        codes : ndarray of shape (n, d) or (n, Σ (L−1))
        """
        check_is_fitted(self)
        found = validate_data(self, X, dtype=np.float64, reset=False)
        if self.coding == "scores":
            return np.asarray(found)
        column, level = self.boundaries()
        return np.asarray(found[:, column] >= level, dtype=np.float64)

    def boundaries(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Column and level of each boundary, for the thermometer."""
        counts = [max(len(levels) - 1, 0) for levels in self.levels]
        column = np.repeat(np.arange(len(counts)), counts)
        level = np.concatenate([np.arange(1, n + 1) for n in [0, *counts]])
        return column, level

    def get_feature_names_out(self, input_features: VectorLike | None = None) -> LabelArray:
        """Names of the coded columns, such as ``answer ≥ maybe``.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns, where `fit` has seen none.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        known: Any = getattr(self, "feature_names_in_", None)
        if known is None:
            known = input_features
        names = [f"x{j}" for j in range(self.n_features_in_)] if known is None else list(known)
        if self.coding == "thermometer":
            boundaries = zip(*self.boundaries(), strict=True)
            names = [f"{names[j]} ≥ {self.levels[j][level]}" for j, level in boundaries]
        return np.array(names, dtype=object)

    def check_state(self) -> None:
        """Raise an error where a file holds what no fit leaves."""
        require_state(self.coding in CODINGS, "its coding is none")
        listed = isinstance(self.levels, list | tuple) and all(
            isinstance(levels, list | tuple) and all(isinstance(name, str) for name in levels)
            for levels in self.levels
        )
        require_state(listed, "its levels are no texts")
        fitted = getattr(self, "n_features_in_", len(self.levels))
        require_state(fitted == len(self.levels), "its levels are those of other columns")


def heavy_tails(X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which columns have a kurtosis above 10, which no unit or origin changes.

    It is 1.8 for a uniform distribution, 3 for a normal, 9 for an exponential one, and has no bound
    for log-normal values. A column of two values has no tails: any scale is as good as another.

    Parameters
    ----------
    X : array-like of shape (n, d)
        NaN where missing.

    Returns
    -------
    heavy : ndarray of bool of shape (d,)

    Examples
    --------
    >>> normal = np.random.default_rng(0).normal(size=1000)
    >>> heavy_tails(np.column_stack([normal, np.exp(2 * normal), normal > 3])).tolist()
    [False, True, False]
    """
    found = np.asarray(X, dtype=np.float64)
    heavy = np.zeros(found.shape[1], dtype=bool)
    step = max(1, _CELLS // max(len(found), 1))
    for first in range(0, len(heavy), step):
        heavy[first : first + step] = _kurtosis(found[:, first : first + step]) > _HEAVY
    return heavy


def _kurtosis(X: Array) -> Array:
    """Kurtosis of each column; 0 where it has two values at most."""
    held = np.isfinite(X)
    count = held.sum(axis=0).clip(min=1)
    low = np.where(held, X, np.inf).min(axis=0, initial=np.inf)
    high = np.where(held, X, -np.inf).max(axis=0, initial=-np.inf)
    between = (held & (low < X) & (high > X)).any(axis=0)
    # Divided first, so that no power is too large for a number.
    reach = np.maximum(np.abs(low), np.abs(high))
    values = np.where(held, X, 0.0)[:, between] / reach[between]
    count, held = count[between], held[:, between]
    squares = np.where(held, values - values.sum(axis=0) / count, 0.0) ** 2
    found = np.zeros(X.shape[1])
    found[between] = count * (squares**2).sum(axis=0) / squares.sum(axis=0) ** 2
    return found


class TailScores(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns with heavy tails as normal scores of their ranks, all others as they are.

    Parameters
    ----------
    tails : {"kept", "normal scores"}, default="kept"
        Whether anything is changed at all.
    n_knots : int, default=200
        Most values of a column that are kept with their scores.

    Attributes
    ----------
    columns_ : ndarray of int
        Positions of the columns that are changed.
    knots_, scores_ : list of ndarray
        Ascending values of each of these columns, and their scores.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where there are.

    Notes
    -----
    A value that c of n rows share, with b rows below it, has the score Φ⁻¹((b + c/2) / n): ties,
    such as many zeros, are put into the middle of their ranks, where QuantileTransformer puts the
    least value at −5.2 however many rows have it. Values between two knots are interpolated, and
    values beyond the last take its score. `heavy_tails` of the rows of the fit says which columns.

    Examples
    --------
    >>> paid = np.array([[0.0]] * 60 + [[10.0**k] for k in range(40)])
    >>> TailScores("normal scores").fit_transform(paid)[[0, 60, 99]].round(2).ravel().tolist()
    [-0.52, 0.27, 2.58]
    """

    def __init__(self, tails: str = "kept", *, n_knots: int = 200) -> None:
        self.tails = tails
        self.n_knots = n_knots

    def fit(self, X: MatrixLike, y: LabelsLike | None = None) -> Self:
        """Find the scores of columns with heavy tails.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self
        """
        require_choice("tails", self.tails, TAILS)
        require_count("n_knots", self.n_knots, 2)
        found = validate_data(self, X, dtype=np.float64)
        heavy = [] if self.tails == TAILS[0] else np.flatnonzero(heavy_tails(found)).tolist()
        self.columns_ = np.array(heavy, dtype=np.intp)
        curves = [_normal_scores(found[:, j], self.n_knots) for j in heavy]
        self.knots_ = [knots for knots, _ in curves]
        self.scores_ = [scores for _, scores in curves]
        return self

    def transform(self, X: MatrixLike) -> Array:
        """The columns, those with heavy tails as scores.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        X : ndarray of shape (n, d)
        """
        check_is_fitted(self)
        found = validate_data(self, X, dtype=np.float64, reset=False, copy=len(self.columns_) > 0)
        for j, knots, scores in zip(self.columns_, self.knots_, self.scores_, strict=True):
            found[:, j] = np.interp(found[:, j], knots, scores)
        return np.asarray(found)

    def check_state(self) -> None:
        """Raise an error where a file holds what no fit leaves."""
        if not hasattr(self, "columns_"):
            return
        known = are_indices(self.columns_, self.n_features_in_)
        parts = self.knots_, self.scores_
        fits = all(isinstance(part, list) and len(part) == len(self.columns_) for part in parts)
        require_state(known and fits, "its columns are others")
        for knots, scores in zip(*parts, strict=True):
            ascends = is_ascending(knots) and is_ascending(scores, len(knots)) and len(knots) > 0
            require_state(ascends and (np.diff(knots) > 0).all(), "its scores are in no order")
            require_state(np.isfinite(knots) & np.isfinite(scores), "its scores are not finite")


def _normal_scores(column: Array, n_knots: int) -> tuple[Array, Array]:
    """Values and their scores, in even steps of the score where there are too many."""
    values, counts = np.unique(column, return_counts=True)
    scores = norm.ppf((np.cumsum(counts) - 0.5 * counts) / len(column))
    if len(values) > n_knots:
        steps = np.linspace(scores[0], scores[-1], n_knots)
        kept = np.unique(np.searchsorted(scores, steps).clip(max=len(values) - 1))
        values, scores = values[kept], scores[kept]
    return values, np.asarray(scores, dtype=np.float64)
