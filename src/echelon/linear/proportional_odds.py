"""Linear models of ordered labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import input_names, make_frame
from .._utils.messages import warn_caller
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    KeysLike,
    LabelArray,
    LabelsLike,
    Matrix,
    MatrixLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin, squeeze_margins
from ..base.validation import all_or_nothing, one_column, validate_inputs
from ..ordinal.arrays import check_weights, finite_vector
from ..ordinal.costs import cost_matrix, minimum_cost_codes
from ..ordinal.data import OrdinalData, class_factors
from ..ordinal.likelihoods import class_probabilities, get_link
from ..ordinal.thresholds import all_levels, level_of_threshold, margins
from ..pairs.queries import query_codes
from ..solvers.linear.cumulative_link import (
    CumulativeLinkProblem,
    CumulativeLinkResult,
    parameter_covariance,
    separating_columns,
    solve_cumulative_link,
)
from ..solvers.linear.design import StandardizedDesign
from ..solvers.linear.robust import row_scores, sandwich

# The ridge of columns that vary by less would overflow, and leaves them no slope anyway.
_LEAST_SCALE = 1e-120
# A gradient below this share of the root of the rows' squared gradients is taken for zero.
_FLAT = 1e-3


class SeparationWarning(ConvergenceWarning):
    """The inputs separate the classes, so the likelihood has no finite maximum."""


class ProportionalOdds(ThresholdModelMixin, BaseEstimator):
    """Cumulative link model: proportional odds and its kin with other links.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"}, default="logit"
        Distribution F of the noise on the latent score.
    alpha : float, default=0.0
        Strength of the L2 penalty ½·alpha·‖coef‖² in the units of `X`; thresholds are free.
        Zero gives the maximum likelihood estimate.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        ``predict`` returns the label with the least expected cost; "absolute" gives the median
        and "zero_one" the most probable label. It has no part in ``fit``.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`. It may name levels that `y`
        lacks; these get probability zero.
    max_iter : int, default=100
        Most Newton steps.
    tol : float, default=1e-8
        Largest gradient entry per unit of weight, for inputs scaled to unit variance.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    coef_ : ndarray of shape (d,)
        Effects on the latent score; a positive effect moves labels up. Zero for constant inputs.
    thresholds_ : ndarray of shape (K−1,)
        θ_k in P(y ≤ k) = F(θ_k − x·coef_), ascending; −∞ or +∞ beside end levels that `y` lacks,
        equal around middle levels that `y` lacks.
    log_likelihood_ : float
    gradient_norm_ : float
        Certificate: the largest gradient entry per unit of weight at the solution.
    newton_decrement_ : float
        Estimate of how far the objective lies above its minimum.
    covariance_ : ndarray of shape (K−1+d, K−1+d), or None
        Inverse Hessian for thresholds, then coefficients; NaN where undetermined. None under a
        penalty with more than 2,000 inputs.
    n_iter_ : int
    converged_ : bool

    Warns
    -----
    SeparationWarning
        If the maximum lies at infinity; the message names the inputs that separate the classes.
    ConvergenceWarning
        If `max_iter` was reached or rounding allows no further step; the message states the
        gradient norm.

    Notes
    -----
    Maximises Σ_i w_i ln(F(θ_{y_i} − f_i) − F(θ_{y_i −1} − f_i)) − ½·alpha·‖coef‖² with
    f_i = x_i·coef + offset_i by Newton's method with the exact Hessian, on inputs that are
    centred and scaled internally. All links but the cauchit make this a concave problem, and
    `gradient_norm_` then certifies the global maximum. Integer sample weights count as repeated
    rows, in the standard errors too.

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_lev
    >>> X, y = load_lev(return_X_y=True)
    >>> model = ProportionalOdds().fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _takes_sparse = True

    def __init__(
        self,
        link: str = "logit",
        *,
        alpha: float = 0.0,
        cost: CostLike = "absolute",
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        max_iter: int = 100,
        tol: float = 1e-8,
    ) -> None:
        self.link = link
        self.alpha = alpha
        self.cost = cost
        self.class_weight = class_weight
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> Self:
        """Fit by maximum penalised likelihood.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        offset : array-like of shape (n,), optional
            Added to the latent score with coefficient one.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, offset)

    def _check_parameters(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0.0):
            raise ValueError(f"alpha must be a number not below zero; found {self.alpha!r}.")
        get_link(self.link)

    def _learn(self, data: OrdinalData, offset: Any) -> None:
        cost_matrix(self.cost, data.n_classes)
        shift = _read_offset(offset, len(data.codes))
        counted = data.sample_weight > 0
        observed, codes = np.unique(data.codes[counted], return_inverse=True)
        inputs = data.X if counted.all() else data.X[counted]
        weights = data.sample_weight[counted]
        design = StandardizedDesign(inputs, weights)
        problem = CumulativeLinkProblem(
            design=design,
            codes=codes,
            n_classes=len(observed),
            weights=weights,
            offset=shift[counted],
            ridge=self.alpha / np.maximum(design.scale, _LEAST_SCALE) ** 2,
            link=get_link(self.link),
        )
        result = solve_cumulative_link(problem, max_iter=self.max_iter, tol=self.tol)
        self._store(data, design, observed, result)
        self._report_trouble(problem, result)

    def _store(
        self,
        data: OrdinalData,
        design: StandardizedDesign,
        observed: Codes,
        result: CumulativeLinkResult,
    ) -> None:
        n_columns = data.X.shape[1]
        self.coef_, shift = design.to_original(result.coef, n_columns)
        self.thresholds_ = all_levels(result.thresholds + shift, observed, data.n_classes)
        covariance = parameter_covariance(result, design, n_columns)
        if covariance is not None:
            covariance = _all_levels_covariance(covariance, observed, data.n_classes)
        self.covariance_ = covariance
        self.log_likelihood_ = result.log_likelihood
        self.gradient_norm_ = result.gradient_norm
        self.newton_decrement_ = result.newton_decrement
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged

    def _report_trouble(self, problem: CumulativeLinkProblem, result: CumulativeLinkResult) -> None:
        if result.converged:
            return
        if self.alpha == 0.0:
            columns = separating_columns(problem.design, problem.codes, problem.n_classes)
            if len(columns):
                names = ", ".join(input_names(self)[j] for j in columns[:10])
                warn_caller(
                    f"The inputs separate the classes ({names}), so the likelihood has no finite "
                    "maximum and the coefficients stand for infinite ones; set alpha > 0 for "
                    "finite ones.",
                    SeparationWarning,
                )
                return
        flat = result.gradient_norm <= self.tol
        what = "with the steps still long" if flat else f"above tol={self.tol:g}"
        remedy = "raise max_iter or alpha" if result.n_iter >= self.max_iter else "raise alpha"
        warn_caller(
            f"Newton's method stopped after {result.n_iter} steps with gradient norm "
            f"{result.gradient_norm:.2g} per unit of weight, {what}; {remedy}.",
            ConvergenceWarning,
        )

    def _latent(self, X: Any, offset: Any = None) -> Vector:
        X = validate_inputs(self, X)
        return np.asarray(X @ self.coef_ + _read_offset(offset, X.shape[0]))

    def _margins(self, X: Any, offset: Any = None) -> Matrix:
        # P(y > k) > ½ where the score passes θ_k less the median of the noise, which is zero
        # for the symmetric links.
        return margins(self._latent(X, offset), self.thresholds_ - get_link(self.link).median)

    def _codes(self, X: Any, offset: Any = None, **params: Any) -> Codes:
        return self._cheapest(self.predict_proba(X, offset))

    def _cheapest(self, probabilities: Matrix) -> Codes:
        return minimum_cost_codes(probabilities, cost_matrix(self.cost, len(self.classes_)))

    def predict_latent(self, X: MatrixLike, offset: VectorLike | None = None) -> Vector:
        """Latent score x·coef_ + offset, on the scale of ``thresholds_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        offset : array-like of shape (n,), optional

        Returns
        -------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self._latent(X, offset)

    def decision_function(self, X: MatrixLike, offset: VectorLike | None = None) -> Vector:
        """Margins: positive at threshold k where P(y > k) > ½.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        offset : array-like of shape (n,), optional

        Returns
        -------
        margins : ndarray of shape (n, K−1), or (n,) for two classes
        """
        check_is_fitted(self)
        return squeeze_margins(self._margins(X, offset))

    def predict(self, X: MatrixLike, offset: VectorLike | None = None) -> LabelArray:
        """Labels with the least expected cost, in the type that came in at ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        offset : array-like of shape (n,), optional

        Returns
        -------
        labels : array of shape (n,)
        """
        check_is_fitted(self)
        labels: LabelArray = self._scale.decode(self._codes(X, offset))
        return labels

    def predict_proba(self, X: MatrixLike, offset: VectorLike | None = None) -> Vector:
        """Class probabilities, a column per class from lowest to highest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        offset : array-like of shape (n,), optional

        Returns
        -------
        probabilities : ndarray of shape (n, K)
        """
        check_is_fitted(self)
        return class_probabilities(get_link(self.link), self._latent(X, offset), self.thresholds_)

    def predict_with_proba(
        self, X: MatrixLike, offset: VectorLike | None = None
    ) -> tuple[LabelArray, Matrix]:
        """Labels and class probabilities at the cost of one of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        offset : array-like of shape (n,), optional

        Returns
        -------
        labels : array of shape (n,)
        probabilities : ndarray of shape (n, K)
        """
        probabilities = self.predict_proba(X, offset)
        return self._scale.decode(self._cheapest(probabilities)), probabilities

    def score(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> float:
        """Negative mean cost of the predictions, so that greater is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        offset : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        return -self._mean_cost(self._codes(X, offset), y, sample_weight)

    def robust_covariance(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        groups: KeysLike | None = None,
        offset: VectorLike | None = None,
    ) -> Matrix:
        """Sandwich covariance, which does not trust the model, for the rows it was fitted to.

        Parameters
        ----------
        X, y, sample_weight, offset
            Those of ``fit``, whose gradient is checked to vanish.
        groups : sequence of shape (n,), optional
            What each row belongs to: rows of one group need not be independent.

        Returns
        -------
        covariance : ndarray of shape (K−1+d, K−1+d)
            For thresholds, then coefficients; NaN where undetermined. Under a penalty it is about
            the spread of the penalised estimates, which are drawn towards zero.
        """
        check_is_fitted(self)
        if self.covariance_ is None:
            raise ValueError("There is no covariance under a penalty with more than 2,000 inputs.")
        latent, codes = self._latent(X, offset), self._scale.encode(one_column(y))
        weights = check_weights(sample_weight, len(codes))
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, codes, self._scale, weights)
            weights = weights * factors[codes]
        rows = validate_inputs(self, X)
        scores = row_scores(get_link(self.link), self.thresholds_, latent, codes, rows)
        scores *= weights[:, None]
        slope = scores.sum(axis=0)
        slope[-len(self.coef_) :] -= self.alpha * self.coef_
        # In units of what rows differ by, so that no unit of X matters.
        size = np.sqrt((scores**2).sum(axis=0) * weights.sum())
        if not (np.abs(slope) <= _FLAT * size).all():
            raise ValueError(
                "X, y and sample_weight must be those of fit; found rows at which the gradient "
                "does not vanish."
            )
        which = None if groups is None else query_codes(groups, len(codes), name="groups")[0]
        return sandwich(self.covariance_, scores, which)

    def summary(self, *, level: float = 0.95, backend: str = "pandas") -> Any:
        """Coefficients and thresholds with standard errors, as a data frame.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the confidence intervals.
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the frame.

        Returns
        -------
        frame : data frame
            Columns term, estimate, std_error, z, p_value, ci_low, ci_high; coefficients first,
            thresholds named "lower|upper" after them. Standard errors come from the inverse
            Hessian of the log-likelihood, and are NaN under a penalty.
        """
        check_is_fitted(self)
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1; found {level!r}.")
        estimate = np.concatenate([self.coef_, self.thresholds_])
        error = np.full_like(estimate, np.nan)
        if self.alpha == 0.0 and self.covariance_ is not None:
            error = np.roll(np.sqrt(np.diagonal(self.covariance_)), len(self.coef_))
        with np.errstate(invalid="ignore"):
            z = estimate / error
            half = get_link("probit").quantile(np.asarray(0.5 + 0.5 * level)) * error
            low, high = estimate - half, estimate + half
        cuts = [f"{a}|{b}" for a, b in zip(self.classes_[:-1], self.classes_[1:], strict=True)]
        return make_frame(
            {
                "term": [*input_names(self), *cuts],
                "estimate": estimate,
                "std_error": error,
                "z": z,
                "p_value": 2.0 * ndtr(-np.abs(z)),
                "ci_low": low,
                "ci_high": high,
            },
            backend,
        )


def _read_offset(offset: Any, n: int) -> Vector:
    return np.zeros(n) if offset is None else finite_vector(offset, n, "offset")


def _all_levels_covariance(covariance: Matrix, observed: Codes, n_classes: int) -> Matrix:
    n_observed = len(observed) - 1
    level = level_of_threshold(observed, n_classes)
    undetermined = (level == 0) | (level == len(observed))
    source = np.concatenate(
        [np.clip(level - 1, 0, n_observed - 1), np.arange(n_observed, len(covariance))]
    )
    full = covariance[np.ix_(source, source)]
    full[: len(level)][undetermined] = np.nan
    full[:, : len(level)][:, undetermined] = np.nan
    return np.asarray(full)
