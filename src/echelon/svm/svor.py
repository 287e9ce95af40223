"""Support vector machines for ordered labels."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from .._utils.messages import warn_caller
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    LabelsLike,
    Matrix,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.folds import dealt_parts
from ..base.kernel_machine import KernelMachineMixin
from ..base.mixins import CalibratedScoreMixin, SignedLearnerMixin
from ..base.threads import suitable_threads
from ..base.validation import validate_inputs
from ..kernels import Kernel, KernelFunction
from ..kernels.cache import row_source
from ..kernels.factory import make_kernel, take_inputs
from ..ordinal.arrays import finite_vector, require_positive
from ..ordinal.costs import cost_matrix, threshold_weights
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import decode
from ..ordinal.thresholds import margins
from ..solvers.linear.calibration import calibrate
from ..solvers.svor.dual import Solved, best_start
from ..solvers.svor.smo import solve_threshold_dual
from .problem import Formulation, Problem, SignedMachines

_CALIBRATION_FOLDS = 5
# No multiplier of a solution that double precision can tell is as large.
_LARGEST_BOX = 1e100
_NO_PROGRESS = (
    "no further step makes measurable progress in double precision: scale the inputs, for example "
    "with StandardScaler, lower C or the weights, or raise tol"
)


def _gives_probabilities(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba needs probability=True at fit.")
    return True


class SVOR(KernelMachineMixin, SignedLearnerMixin, CalibratedScoreMixin, BaseEstimator):
    """Support vector ordinal regression: one kernel machine, K−1 thresholds [CK07].

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the smoothness of the latent score.
    constraints : {"implicit", "explicit", "none"}, default="implicit"
        "implicit" counts the error of every example at every threshold, so thresholds ascend by
        themselves and the absolute error of ranks is bounded; "explicit" counts it at the two
        thresholds next to the example's class and keeps the thresholds in order by constraints;
        "none" leaves these out, as Shashua and Levin did, and thresholds may cross: it is there
        for comparison.
    kernel : str, callable or Kernel, default="rbf"
        "rbf" (or "gaussian"), "linear", "poly" (or "polynomial"), "sigmoid", "pearson" (which
        takes missing entries), "precomputed", a function of X and Y that gives their kernel
        matrix, or an object of ``echelon.kernels``. Inputs may be sparse; with "precomputed" they
        are the kernel matrix of shape (n, n).
    gamma : {"scale", "auto"}, float or array-like of shape (d,), default="scale"
        γ of the Gaussian exp(−γ‖x − x′‖²), one for all features or one for each, and of the
        polynomial and sigmoid kernels. "scale" is 1 / (d·v) with v the variance of all entries of
        X, each row counted by its weight; "auto" is 1 / d.
    kappa : float, optional
        κ of [CK07] (27), another way to give γ = κ/2 for the Gaussian kernel.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost that weighs the errors at the thresholds under implicit constraints, and that
        ``score`` reports under all. Where it is not convex, implicit constraints alone would not
        keep the thresholds in order, and the order is imposed.
    regularize_thresholds : bool or "offset", default=False
        True adds ½Σb² to the problem, which makes thresholds unique ([CK07] footnote 2); "offset"
        adds ½Σ(b − b₀)² with b₀ free, which is the reduction to one binary support vector machine
        that [LL09] boosts. Needs ``constraints="implicit"``.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.
    probability : bool, default=False
        Whether to fit ``predict_proba``: a cumulative logit model of the latent scores that each
        of five folds gets from a machine trained on the others. It takes five more fits. The most
        probable label need not be the predicted one.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to leave, in units of the latent score.
    max_iter : int, default=-1
        Most pair steps, or -1 for no limit.
    cache_size : float, default=200
        Megabytes for rows of the kernel matrix.
    warm_start : bool, default=False
        Whether ``fit`` starts from the solution of the last ``fit`` when rows, labels and weights
        are the same up to C.
    verbose : int, default=0
        Above zero, print the gap now and then.
    random_state : int, RandomState or None, default=None
        For the folds of ``probability=True``; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    support_ : ndarray of int
        Rows of the training data with a coefficient.
    support_vectors_ : ndarray or CSR matrix of shape (n_support, d)
        These rows; not for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_support,)
        Their coefficients β: the latent score is Σ β·k(x, ·).
    thresholds_ : ndarray of shape (K−1,)
        Ascending, unless ``constraints="none"``; −∞ or +∞ beside end levels that `y` lacks, equal
        around middle levels that `y` lacks.
    objective_ : float
        Value of the dual, ½βᵀKβ − Σα, at the solution.
    kkt_gap_ : float
        Certificate: largest violation of the optimality conditions, in double precision.
    duality_gap_ : float
        Certificate: primal less dual value; the objective is at most this far from optimal.
    n_iter_ : int
        Number of pair steps.
    converged_ : bool
        Whether ``kkt_gap_`` ≤ ``tol``.

    Warns
    -----
    ConvergenceWarning
        If the gap is above `tol` at the end; the message states it. That can be because of
        `max_iter`, or because kernel values times C and weights are too large for double precision:
        the machine is then that of the largest C that could be solved.

    Notes
    -----
    The problem is, with Z_ik = ±1 for labels above and not above threshold k,

        min  ½‖f‖² + C Σ_i w_i Σ_k W_ik·max(0, 1 − Z_ik(f(x_i) − b_k)),

    where W_ik = |cost[y_i, k+1] − cost[y_i, k]| for implicit constraints (1 for the absolute
    cost), and 1 next to the example's class only for the others. Its dual is solved by sequential
    minimal optimisation in blocks, see ``echelon.solvers.svor.smo``. Costs of rows, the argument
    `sample_cost` of ``fit``, need ``constraints="implicit"``.

    Examples
    --------
    >>> from echelon import SVOR
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = SVOR(C=10.0, kappa=0.1).fit(X, y)
    >>> bool(model.kkt_gap_ <= model.tol)
    True
    >>> model.predict(X[:2]).shape
    (2,)
    """

    _free_parameters = frozenset({"C"})

    def __init__(
        self,
        C: float = 1.0,
        *,
        constraints: str = "implicit",
        kernel: str | KernelFunction | Kernel = "rbf",
        gamma: npt.ArrayLike = "scale",
        kappa: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        cost: CostLike = "absolute",
        regularize_thresholds: bool | str = False,
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.C = C
        self.constraints = constraints
        self.kernel = kernel
        self.gamma = gamma
        self.kappa = kappa
        self.degree = degree
        self.coef0 = coef0
        self.cost = cost
        self.regularize_thresholds = regularize_thresholds
        self.class_weight = class_weight
        self.classes = classes
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, data: OrdinalData, sample_cost: Any) -> None:
        problem = self._problem(data, sample_cost)
        last = getattr(self, "_last", None) if self.warm_start else None
        self.fit_problem(problem, last)
        if self.probability:
            self._calibrate(problem, sample_cost)

    def fit_path(
        self,
        X: MatrixLike,
        y: LabelsLike,
        Cs: npt.ArrayLike,
        sample_weight: VectorLike | None = None,
    ) -> list[Self]:
        """Fit a model for each of several C, each from the solution of the one before.

        The kernel matrix is shared. The models are what separate fits would give, to within
        `tol`; this estimator itself is not fitted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        Cs : array-like
            Values of C, in any order.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        models : list of SVOR
            In the order of `Cs`.

        Examples
        --------
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> [model.C for model in SVOR().fit_path(X, y, [1.0, 0.1])]
        [1.0, 0.1]
        """
        values = finite_vector(Cs, np.size(Cs), "Cs")
        models: list[Self] = [clone(self).set_params(C=float(C)) for C in values]
        problem: Problem | None = None
        last: Solved | None = None
        for place in np.argsort(values, kind="stable"):
            model = models[place]
            problem = model.read_problem(X, y, sample_weight, None, shared=problem)
            last = model.fit_problem(problem, last)
            if model.probability:
                model._calibrate(problem, None)
        return models

    def _formulation(self) -> Formulation:
        """What the parameters, which are checked, state of the constraints."""
        for name in ("C", "tol", "cache_size"):
            require_positive(name, getattr(self, name))
        limit: Any = self.max_iter
        if not isinstance(limit, Integral):
            raise ValueError(f"max_iter must be an integer, -1 for no limit; found {limit!r}.")
        return Formulation(self.constraints, self.regularize_thresholds)

    def read_problem(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        sample_cost: npt.ArrayLike | None = None,
        shared: Problem | None = None,
    ) -> Problem:
        """All that a fit solves but for C, to be fitted with several C by `fit_problem`.

        Parameters
        ----------
        X, y, sample_weight, sample_cost
            As for `fit`.
        shared : Problem, optional
            Of the same inputs: what depends on these alone is taken from it.

        Returns
        -------
        problem : Problem
        """
        return self._problem(self._validated(X, y, sample_weight), sample_cost, shared)

    def _problem(
        self, data: OrdinalData, sample_cost: Any, shared: Problem | None = None
    ) -> Problem:
        form = self._formulation()
        cost_matrix(self.cost, data.n_classes)
        if form.constraints == "implicit":
            weights = threshold_weights(data.costs(self.cost, sample_cost))
        else:
            if sample_cost is not None:
                form.require_implicit("sample_cost")
            weights = form.weights_without_costs(data)
        return self._prepare(data, weights, shared)

    def _prepare(
        self, data: OrdinalData, weights: Matrix, shared: Problem | None = None
    ) -> Problem:
        """Problem of validated data and threshold weights W of every row, (n, K−1)."""
        rows = np.flatnonzero(data.sample_weight > 0.0)
        boxes = data.sample_weight[rows, None] * weights[rows]
        if shared is not None:
            return replace(shared, data=data, unit_boxes=boxes)
        # Another order of entries would round the kernel differently.
        inputs = data.X if sp.issparse(data.X) else np.ascontiguousarray(data.X)
        kernel = make_kernel(self, inputs, data.sample_weight, **self._stated_gamma())
        if len(rows) < len(data.codes):
            inputs = take_inputs(kernel, inputs, rows, rows)
        source = row_source(kernel, inputs, self.cache_size)
        return Problem(data, rows, inputs, kernel, source, boxes)

    def _stated_gamma(self) -> dict[str, float]:
        """Gamma where `kappa` states it."""
        if self.kappa is None:
            return {}
        gaussian = isinstance(self.kernel, str) and self.kernel in ("rbf", "gaussian")
        if not gaussian or not (isinstance(self.gamma, str) and self.gamma == "scale"):
            raise ValueError(
                "kappa stands for gamma = kappa / 2 of the Gaussian kernel; found it beside "
                f"gamma={self.gamma!r} and kernel={self.kernel!r}."
            )
        require_positive("kappa", self.kappa)
        return {"gamma": 0.5 * self.kappa}

    def fit_problem(self, problem: Problem, *earlier: Solved | None) -> Solved:
        """Fit with this C to a problem that was read, from the best start of earlier solutions.

        Parameters
        ----------
        problem : Problem
            What `read_problem` gave, of this estimator or of one that differs in C alone.
        *earlier : Solved or None
            What this method gave for other C or kernels.

        Returns
        -------
        solved : Solved
            The dual problem and its solution.
        """
        with suitable_threads(problem.inputs):
            solved = self._solve(problem, *earlier)
        self._store(problem, solved)
        return solved

    def _solve(self, problem: Problem, *earlier: Solved | None) -> Solved:
        """Dual problem of this C and its solution, from the best start of earlier ones."""
        with np.errstate(over="ignore"):
            boxes = np.minimum(self.C * problem.unit_boxes, _LARGEST_BOX)
        dual = self._formulation().dual(problem.codes, boxes)
        solution = solve_threshold_dual(
            dual,
            problem.source,
            start=best_start(dual, problem.source, *earlier),
            tol=self.tol,
            max_steps=None if self.max_iter < 0 else self.max_iter,
            progress=_Printer() if self.verbose else None,
        )
        if not solution.converged:
            spent = 0 <= self.max_iter <= solution.n_steps
            advice = "raise max_iter" if spent else _NO_PROGRESS
            warn_caller(
                f"SVOR stopped after {solution.n_steps} pair steps with a gap of "
                f"{solution.kkt_gap:.2g}, above tol={self.tol:g}; {advice}.",
                ConvergenceWarning,
            )
        return dual, solution

    @property
    def _orders_thresholds(self) -> bool:
        return self.constraints != "none"

    def __getstate__(self) -> dict[str, Any]:
        # Where a warm start would begin is no part of the model.
        return {name: value for name, value in super().__getstate__().items() if name != "_last"}

    def _store(self, problem: Problem, solved: Solved) -> None:
        # What an earlier fit left and this one may not set.
        for name in ("_calibration", "_last"):
            self.__dict__.pop(name, None)
        dual, solution = solved
        form = Formulation(self.constraints, self.regularize_thresholds)
        self._store_support(problem.kernel, problem.inputs, problem.rows, solution.coef)
        self.thresholds_ = form.all_thresholds(dual, solution.thresholds, problem.data.n_classes)
        self.objective_ = solution.objective
        self.kkt_gap_ = solution.kkt_gap
        self.duality_gap_ = solution.duality_gap
        self.n_iter_ = solution.n_steps
        self.converged_ = solution.converged
        self._store_scale(problem.data)
        if self.warm_start:
            self._last = solved

    def _calibrate(self, problem: Problem, sample_cost: Any) -> None:
        """Fit a cumulative logit model of scores that rows get from machines trained without."""
        codes = problem.codes
        weights = problem.data.sample_weight[problem.rows]
        costs = None if sample_cost is None else np.asarray(sample_cost)[problem.rows]
        machine = clone(self).set_params(
            kernel=problem.kernel,
            kappa=None,
            class_weight=None,
            classes=list(range(problem.data.n_classes)),
            probability=False,
        )
        scores, rng = np.empty(len(codes)), check_random_state(self.random_state)
        for inside, outside in dealt_parts(codes, min(_CALIBRATION_FOLDS, len(codes)), rng):
            if len(np.unique(codes[inside])) < 2:
                raise ValueError(
                    "probability=True needs two rows or more in at least two classes, so that no "
                    "row is scored by a machine that has seen it."
                )
            machine.fit(
                problem.take(inside, inside),
                codes[inside],
                sample_weight=weights[inside],
                sample_cost=None if costs is None else costs[inside],
            )
            scores[outside] = machine.predict_latent(problem.take(outside, inside))
        self._calibration = calibrate(scores, codes, problem.data.n_classes, weights)

    def _signed_learner(self, data: OrdinalData, n_threads: int, rng: Any) -> SignedMachines:
        return SignedMachines(self, data)

    def _adopt(self, result: tuple[Problem, Solved]) -> None:
        self._store(*result)

    def _ranks(self, X: Any) -> Codes:
        return decode(margins(self._scores(X), self.thresholds_))

    def _latent(self, X: Any) -> Vector:
        return self._scores(validate_inputs(self, X))

    predict_proba = available_if(_gives_probabilities)(CalibratedScoreMixin.predict_proba)


class _Printer:
    """Progress of the solver on standard output: a line whenever the gap has halved."""

    def __init__(self) -> None:
        self._next = np.inf

    def __call__(self, n_steps: int, gap: float) -> None:
        if gap < self._next:
            print(f"SVOR: {n_steps} pair steps, gap {gap:.3g}", flush=True)
            self._next = 0.5 * gap
