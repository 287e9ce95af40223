"""Gaussian processes for ordered labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._utils.entries import require_moderate
from .._utils.messages import require_choice, warn_caller
from .._utils.types import (
    BoundsLike,
    ClassWeightLike,
    Codes,
    CostLike,
    Index,
    LabelsLike,
    Matrix,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ProbabilityMixin, ThresholdModelMixin
from ..base.threads import suitable_threads
from ..base.validation import validate_inputs
from ..ordinal.arrays import finite_vector, require_count, require_positive
from ..ordinal.costs import cost_matrix, minimum_cost_codes
from ..ordinal.data import OrdinalData
from ..ordinal.gaussian_intervals import predictive_probabilities
from ..ordinal.likelihoods import Link, get_link
from ..ordinal.thresholds import all_levels
from ..solvers.gp.evidence import Predictor, make_predictor
from .covariance import covariance, relevance
from .objective import (
    EvidenceObjective,
    Hyperparameters,
    HyperPrior,
    Maximum,
    maximise,
    projected_norm,
    random_theta,
)
from .start import (
    accepts_missing,
    choose_inducing,
    convergence_warnings,
    first_thresholds,
    gather_rows,
    make_kernel,
    read_noise_bounds,
)

_CHOICES = {
    "inference": ("laplace", "ep"),
    "likelihood": ("probit", "logit"),
    "objective": ("evidence", "bound"),
}
_LARGEST_WEIGHT = 1e12
#: Covariances with new rows that are held at a time.
_BLOCK_NUMBERS = 1 << 22
#: Mismatch of moments that expectation propagation may leave; more while it searches by the
#: evidence, which errs by the square of it only.
_TOLERANCE = 1e-6
_SEARCH_TOLERANCE = 1e-4
#: Rows per inducing point that a sparse process searches its hyperparameters on at first.
_SEARCH_ROWS = 50
#: Gain of an iteration, as a share of the value, below which the search stops: at least the first,
#: and the second for every row, as more rows make long valleys and leave less to gain.
_LEAST_GAIN, _GAIN_PER_ROW = 1e-7, 1e-10
#: Rows from which on more than one thread of linear algebra is worth while.
_MANY_ROWS = 2000
#: Distance of Laplace's log evidence from that of expectation propagation up to which its maximum
#: is kept: a Bayes factor of e, up to which Kass and Raftery (1995) speak of no more than a bare
#: mention.
_LARGEST_GAP = 1.0


class Posterior(NamedTuple):
    """What a fitted Gaussian process keeps: rows, how covariances with them predict, the link."""

    rows: Matrix
    predictor: Predictor
    link: Link


class GPOR(ProbabilityMixin, ThresholdModelMixin, BaseEstimator):
    """Gaussian process ordinal regression: a latent function, K−1 thresholds and noise [CG05].

    Kernel parameters, noise and thresholds are learned together by maximising the evidence, so
    nothing is left to cross-validation.

    Parameters
    ----------
    kernel : None, str or Kernel, default=None
        Covariance of the latent function: a kernel of ``sklearn.gaussian_process.kernels``, sums
        and products included, or one of its kin here, ``LinearARD`` and ``PearsonKernel``. None or
        "rbf" is the Gaussian exp(−κ/2‖x − x′‖²) with κ = 1/d at the start for inputs of unit
        variance; "rbf_ard" has a κ for each feature; "linear_ard" is Σ κ_v x_v x′_v; "pearson" is
        the correlation of rating vectors, which may have missing entries. A given kernel's
        parameters are the start.
    inference : {"ep", "laplace"}, default="ep"
        How the posterior of the latent values is approximated: by expectation propagation, which
        matches moments, or around its mode, which takes a half to a fifth of the time, less with
        sample weights. The hyperparameters that Laplace's evidence chooses are checked, and a fit
        for which it is wrong is made by expectation propagation instead (see Notes).
    likelihood : {"probit", "logit"}, default="probit"
        Distribution of the noise on the latent value. The logit takes numerical integration for
        probabilities and for expectation propagation.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="zero_one"
        ``predict`` returns the label with the least expected cost. It has no part in ``fit``.
    objective : {"evidence", "bound"}, default="evidence"
        What expectation propagation maximises: its approximation of the evidence, or the
        variational lower bound of [CG05], whose gradient is approximate.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        None keeps the hyperparameters as they are; a callable has scikit-learn's form,
        ``optimizer(obj_func, initial_theta, bounds)`` → (theta, value) for a function to minimise.
    n_restarts_optimizer : int, default=0
        Random starts after the first; the best evidence wins.
    noise : float, default=1.0
        σ at the start.
    noise_bounds : pair of floats or "fixed", default=(1e-3, 1e3)
        Bounds on σ. Where the kernel has a free factor, its scale and σ's are tied only
        by one another: "fixed" then takes away a direction without consequence.
    thresholds : array-like of shape (K−1,), optional
        Thresholds at the start; −1, −1 + 2/K, … by default.
    prior : callable, optional
        Function from the hyperparameters θ (see `theta_`) to the log density of a prior on them
        and its gradient; added to the objective.
    n_inducing : int, optional
        Number of inducing points of a sparse approximation, chosen by k-means, for data past a few
        thousand rows; memory and time grow with n·m and n·m² instead of n² and n³. With more than
        50·m rows, the search starts on a random part of so many.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.
    max_iter : int, default=200
        Most iterations of L-BFGS-B from each start.
    random_state : int, RandomState or None, default=None
        For the random starts and the inducing points.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    kernel_ : Kernel
        With the learned parameters.
    noise_ : float
    thresholds_ : ndarray of shape (K−1,)
        Ascending; −∞ or +∞ beside end levels that `y` lacks, equal around middle levels that `y`
        lacks.
    theta_ : ndarray
        All that was learned: the kernel's theta, ln σ unless it is fixed, the first threshold, and
        the logarithms of the steps between thresholds of the observed classes.
    log_marginal_likelihood_value_ : float
        The objective at ``theta_``.
    inference_ : {"ep", "laplace"}
        How the posterior of this fit is approximated: "ep" with ``inference="laplace"`` means that
        Laplace's evidence was wrong where it was largest, or could not be checked there.
    evidence_gap_ : float
        Laplace's log evidence at its maximum less that of expectation propagation there, NaN where
        that one fails. Only with ``inference="laplace"`` and a search for hyperparameters.
    feature_relevance_ : ndarray of shape (d,)
        κ of each feature, for kernels that have one for each: the square of the inverse length
        scale, or the weight in a linear kernel. Comparable for features on one scale.
    gradient_norm_ : float
        Certificate: largest entry of the projected gradient of the objective at ``theta_``. With
        ``objective="bound"`` the gradient is approximate and certifies less.
    inference_residual_ : float
        Certificate: Newton decrement of the posterior mode, or largest mismatch of moments in
        units of the posterior standard deviation.
    n_iter_ : int
        Iterations of the best search, the one on all rows.
    n_evaluations_ : int
        Evaluations of the objective in all searches, those on a part of the rows included.
    converged_ : bool
        Whether search and inference both converged.
    X_train_ : ndarray
        Distinct rows of positive weight; rows with the same entries and label count as one with
        their total weight.
    inducing_points_ : ndarray of shape (m, d)
        Only with `n_inducing`.

    Warns
    -----
    ConvergenceWarning
        If the search stopped early, or the inference at its end did, with the certificate; or if
        the inputs explain nothing and have scales far from one.

    Notes
    -----
    P(y = k | f) = F((b_k − f)/σ) − F((b_{k−1} − f)/σ), f a Gaussian process with mean zero. A
    sample weight w stands for the likelihood P^w, so a whole weight counts as repeated rows (unless
    the kernel has noise of its own, as ``WhiteKernel`` has: repeated rows then differ). Inputs
    should have comparable scales. The exact mode holds at most five n×n matrices.

    Laplace's evidence sees the curvature at the mode and not the edges of P(y|f), a box as σ → 0: a
    row whose mode lies inside its interval then counts as certain, though its interval holds little
    of the prior. With few rows it can be largest where labels are learned by heart with hardly any
    noise. At the maximum of Laplace's evidence the one of expectation propagation is therefore
    computed too. If both differ by more than 1, a Bayes factor of e, the search is done again by
    expectation propagation, from its own starts.

    Examples
    --------
    >>> from echelon import GPOR
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = GPOR().fit(X[:150], y[:150])
    >>> model.predict_proba(X[150:153]).round(2).sum(axis=1)
    array([1., 1., 1.])
    """

    # Decided by the number of rows, in ``_learn``.
    _one_thread = False

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        *,
        inference: str = "ep",
        likelihood: str = "probit",
        cost: CostLike = "zero_one",
        objective: str = "evidence",
        optimizer: Callable[..., Any] | str | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        noise: float = 1.0,
        noise_bounds: BoundsLike = (1e-3, 1e3),
        thresholds: VectorLike | None = None,
        prior: HyperPrior | None = None,
        n_inducing: int | None = None,
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        max_iter: int = 200,
        random_state: RandomStateLike = None,
    ) -> None:
        self.kernel = kernel
        self.inference = inference
        self.likelihood = likelihood
        self.cost = cost
        self.objective = objective
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.noise = noise
        self.noise_bounds = noise_bounds
        self.thresholds = thresholds
        self.prior = prior
        self.n_inducing = n_inducing
        self.class_weight = class_weight
        self.classes = classes
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name, choices in _CHOICES.items():
            require_choice(name, getattr(self, name), choices)
        if self.objective == "bound" and self.inference != "ep":
            raise ValueError("objective='bound' needs inference='ep'; found 'laplace'.")
        optimizer, prior = self.optimizer, self.prior
        if not callable(optimizer):
            require_choice("optimizer", optimizer, ("fmin_l_bfgs_b", None), "a function")
        if not (prior is None or callable(prior)):
            raise ValueError(f"prior must be a function or None; found {prior!r}.")
        require_positive("noise", self.noise)
        require_count("max_iter", self.max_iter)
        require_count("n_restarts_optimizer", self.n_restarts_optimizer, least=0)
        if self.n_inducing is not None:
            require_count("n_inducing", self.n_inducing)

    def _learn(self, data: OrdinalData) -> None:
        cost_matrix(self.cost, data.n_classes)
        # Likelihoods to the power of larger weights are narrower than any double can tell.
        require_moderate(data.sample_weight, "sample_weight", most=_LARGEST_WEIGHT)
        counted = data.sample_weight > 0
        observed, codes = np.unique(data.codes[counted], return_inverse=True)
        inputs, weights = data.X[counted], data.sample_weight[counted]
        start = Hyperparameters(
            kernel=make_kernel(self.kernel, inputs, weights),
            noise=float(self.noise),
            thresholds=first_thresholds(self.thresholds, observed, data.n_classes),
            noise_bounds=read_noise_bounds(self.noise_bounds),
        )
        rng = check_random_state(self.random_state)
        self.X_train_, self._codes_train, self._weights_train = gather_rows(
            start.kernel, inputs, codes, weights
        )
        self._link, self.inference_ = get_link(self.likelihood), self.inference
        self._criterion, self._hyper_prior = self.objective, self.prior
        self.__dict__.pop("inducing_points_", None)
        if self.n_inducing is not None:
            self.inducing_points_ = choose_inducing(
                self.X_train_, self._weights_train, self.n_inducing, rng
            )
        objective = self._make_objective(start)
        with suitable_threads(None, one=len(self._codes_train) < _MANY_ROWS):
            maximum = self._search_checked(objective, rng)
            evidence = objective.infer(maximum.theta)
            value, gradient = objective.differentiate(maximum.theta, evidence)
            self._predictor = make_predictor(evidence)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise ValueError(
                f"The log evidence must be a finite number with a finite gradient; found {value:g} "
                "at the end of the search: check kernel, prior and sample_weight, and scale X."
            )
        self._store(data, observed, start.with_theta(maximum.theta))
        self.theta_ = maximum.theta
        self.log_marginal_likelihood_value_ = value
        self.gradient_norm_ = projected_norm(maximum.theta, gradient, start.bounds)
        self.inference_residual_ = evidence.residual
        self.n_iter_ = maximum.n_iter
        self.n_evaluations_ = objective.n_evaluations
        self.converged_ = maximum.converged and evidence.converged
        for sentence in convergence_warnings(objective, maximum, evidence, self.gradient_norm_):
            warn_caller(sentence, ConvergenceWarning)

    def _make_objective(self, hyperparameters: Hyperparameters) -> EvidenceObjective:
        return EvidenceObjective(
            hyperparameters=hyperparameters,
            X=self.X_train_,
            inducing=getattr(self, "inducing_points_", None),
            codes=self._codes_train,
            weights=self._weights_train,
            link=self._link,
            inference=self.inference_,
            criterion=self._criterion,
            hyper_prior=self._hyper_prior,
        )

    def _search_checked(self, objective: EvidenceObjective, rng: np.random.RandomState) -> Maximum:
        """Maximum of the evidence; of expectation propagation's where Laplace's is wrong."""
        self.__dict__.pop("evidence_gap_", None)
        maximum = self._search(objective, rng)
        if self.inference == "ep" or self.optimizer is None:
            return maximum
        self.evidence_gap_ = objective.laplace_gap(maximum.theta)
        if abs(self.evidence_gap_) <= _LARGEST_GAP:
            return maximum
        self.inference_ = objective.inference = "ep"
        objective.start = None
        return self._search(objective, rng)

    def _search(self, objective: EvidenceObjective, rng: np.random.RandomState) -> Maximum:
        first = objective.hyperparameters
        if self.optimizer is None:
            return Maximum(first.theta, np.nan, 0, True)
        starts = [first.theta]
        for _ in range(self.n_restarts_optimizer):
            starts.append(random_theta(first, self._codes_train, self._weights_train, rng))
        if self.objective == "evidence":
            objective.tolerance = _SEARCH_TOLERANCE
        n_seen = _SEARCH_ROWS * (self.n_inducing or len(objective.codes))
        if n_seen < len(objective.codes):
            # Hyperparameters that suit a part of the rows are nearly those of all.
            rows = rng.choice(len(objective.codes), n_seen, replace=False)
            part = objective.part(rows)
            starts = [self._maximise(part, starts).theta]
            objective.n_evaluations += part.n_evaluations
        maximum = self._maximise(objective, starts)
        objective.tolerance = _TOLERANCE
        return maximum

    def _maximise(self, objective: EvidenceObjective, starts: list[Vector]) -> Maximum:
        tol = max(_LEAST_GAIN, _GAIN_PER_ROW * len(objective.codes))
        bounds = objective.hyperparameters.bounds
        return maximise(
            objective.value_and_gradient, starts, bounds, self.optimizer, self.max_iter, tol
        )

    def _store(self, data: OrdinalData, observed: Codes, learned: Hyperparameters) -> None:
        self.kernel_ = learned.kernel
        self.noise_ = learned.noise
        self._learned = learned
        self.thresholds_ = all_levels(learned.thresholds, observed, data.n_classes)
        self.__dict__.pop("feature_relevance_", None)
        relevances = relevance(learned.kernel, data.X.shape[1])
        if relevances is not None:
            self.feature_relevance_ = relevances

    def log_marginal_likelihood(
        self, theta: VectorLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, Vector]:
        """Objective of the search: the approximate log evidence, with the prior if there is one.

        Parameters
        ----------
        theta : array-like, optional
            Hyperparameters in the order of ``theta_``; ``theta_`` itself by default.
        eval_gradient : bool, default=False
            Whether to return the gradient in `theta` too.

        Returns
        -------
        value : float
        gradient : ndarray
            Only with ``eval_gradient=True``.
        """
        check_is_fitted(self)
        point = self.theta_ if theta is None else theta
        point = finite_vector(point, len(self.theta_), "theta")
        objective = self._make_objective(self._learned)
        return objective.value_and_gradient(point) if eval_gradient else objective.value(point)

    def _moments(self, X: Any, *, with_variance: bool) -> tuple[Vector, Vector]:
        """Posterior mean and variance of the latent values of checked rows, in blocks."""
        kept = self._kept_rows
        mean, variance = np.empty(len(X)), np.zeros(len(X))
        block = max(1, _BLOCK_NUMBERS // len(kept))
        for first in range(0, len(X), block):
            rows = slice(first, first + block)
            cross = covariance(self.kernel_, kept, X[rows])
            mean[rows] = self._predictor.mean(cross)
            if with_variance:
                left = self.kernel_.diag(X[rows]) - self._predictor.explained(cross)
                variance[rows] = np.maximum(left, 0.0)
        return mean, variance

    @property
    def _kept_rows(self) -> Matrix:
        return getattr(self, "inducing_points_", self.X_train_)

    def _latent(self, X: Any) -> Vector:
        return self._moments(validate_inputs(self, X), with_variance=False)[0]

    @overload
    def predict_latent(self, X: MatrixLike, return_std: Literal[False] = ...) -> Vector: ...

    @overload
    def predict_latent(self, X: MatrixLike, return_std: Literal[True]) -> tuple[Vector, Vector]: ...

    def predict_latent(
        self, X: MatrixLike, return_std: bool = False
    ) -> Vector | tuple[Vector, Vector]:
        """Posterior mean of the latent function, on the scale of ``thresholds_``.

        Parameters
        ----------
        X : array-like of shape (n, d)
        return_std : bool, default=False
            Whether to return the posterior standard deviation too; the noise is not in it.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only with ``return_std=True``.
        """
        check_is_fitted(self)
        mean, variance = self._moments(validate_inputs(self, X), with_variance=return_std)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _probabilities(self, X: Any) -> Matrix:
        mean, variance = self._moments(validate_inputs(self, X), with_variance=True)
        return predictive_probabilities(self._link, mean, variance, self.thresholds_, self.noise_)

    def _codes(self, X: Any, **params: Any) -> Codes:
        cost = cost_matrix(self.cost, len(self.classes_))
        return minimum_cost_codes(self.predict_proba(X), cost)

    @property
    def feature_importances_(self) -> Vector:
        """``feature_relevance_`` as shares of one, by which ``SelectFromModel`` selects."""
        relevances = self._require_relevance()
        return np.asarray(relevances / relevances.sum())

    def select_features(self, n_features: int) -> Index:
        """Columns of the most relevant features, the most relevant first.

        Parameters
        ----------
        n_features : int
            How many.

        Returns
        -------
        columns : ndarray of int
        """
        check_is_fitted(self)
        require_count("n_features", n_features)
        order = np.argsort(-self._require_relevance(), kind="stable")
        return order[:n_features]

    def _require_relevance(self) -> Vector:
        if not hasattr(self, "feature_relevance_"):
            raise AttributeError(
                "Features have relevances after fit with a kernel that has a parameter for each, "
                "such as kernel='rbf_ard' or 'linear_ard'."
            )
        return self.feature_relevance_

    def posterior(self) -> Posterior:
        """What moments and probabilities of new rows are computed from."""
        check_is_fitted(self)
        return Posterior(self._kept_rows, self._predictor, self._link)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = accepts_missing(self.kernel)
        return tags
