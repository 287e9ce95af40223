"""Linear support vector machines for ordered labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length

from .._utils.entries import require_moderate
from .._utils.messages import require_choice, warn_caller
from .._utils.types import ClassWeightLike, CostLike, LabelsLike, Matrix, Vector
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin
from ..base.threads import suitable_threads
from ..base.validation import all_or_nothing, one_column, validate_inputs
from ..ordinal.arrays import check_weights, finite_vector, require_count, require_positive
from ..ordinal.costs import adjacent_weights, cost_matrix, require_v_shaped, threshold_weights
from ..ordinal.data import OrdinalData, class_factors
from ..ordinal.labels import OrdinalScale, read_scale
from ..ordinal.losses import get_loss
from ..solvers.linear.svor import LinearSVORProblem, solve_linear_svor
from ..solvers.linear.svor_rows import Chunk, RowSummary, Source, summarise

Chunks: TypeAlias = Iterable[Any] | Callable[[], Iterable[Any]]
"""Chunks of rows that can be read again and again."""


class LinearSVOR(ThresholdModelMixin, BaseEstimator):
    """Linear support vector ordinal regression for many rows.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty ½‖coef‖², which is in the units of `X`.
    constraints : {"implicit", "explicit"}, default="implicit"
        "implicit" lets every row have a say at every threshold, weighted by `cost`; "explicit" only
        at the two thresholds next to its label, with the order of the thresholds enforced.
    loss : {"squared_hinge", "hinge", "logistic", "exponential"}, default="squared_hinge"
        A name of ``echelon.ordinal.losses.LOSSES``. All but the hinge are smooth, so a few passes
        over the data solve them to full precision. The hinge is the loss of [CK07] and of `SVC`;
        it takes a few times as many passes.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost that the loss bounds under implicit constraints, and that ``score`` reports
        under both.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`. It may name levels that `y`
        lacks.
    max_iter : int, default=200
        Most Newton steps.
    tol : float, default=1e-6
        Largest duality gap, relative to 1 + objective.
    verbose : int, default=0
        Above zero, print a line for each Newton step.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    coef_ : ndarray of shape (d,)
        A positive coefficient moves labels up.
    thresholds_ : ndarray of shape (K−1,)
        Ascending; −∞ or +∞ beside end levels that `y` lacks.
    objective_ : float
        Value of the objective below at the solution.
    duality_gap_ : float
        Certificate: the objective lies at most so far above its minimum, and ½‖coef − optimum‖² is
        at most so much.
    n_iter_ : int
        Newton steps; each makes one pass over the data, a few make more.
    converged_ : bool

    Warns
    -----
    ConvergenceWarning
        If the duality gap stayed above `tol`; the message states it.

    Notes
    -----
    Minimises, over coef and ascending thresholds b,

        ½‖coef‖² + C Σ_i s_i Σ_k W[y_i, k] φ(Z_ik (x_i·coef − b_k)),

    where s are the weights, Z_ik = +1 where y_i lies above threshold k and −1 elsewhere, and φ(m)
    is max(0, 1 − m), its square, ln(1 + e^−m) or e^−m. W[y, k] = |cost[y, k+1] − cost[y, k]| under
    implicit constraints, all ones for the absolute cost; under explicit ones it is 1 next to y and
    0 elsewhere. For convex costs the thresholds ascend by themselves; otherwise the order is a
    constraint and thresholds may be tied. Where a threshold has an interval of minimisers its
    middle is taken.

    ``fit`` takes data in memory, also sparse. Newton's method runs on the primal, with inputs
    centred and scaled within its linear algebra, so the units of `X` matter to the penalty only,
    not to the speed. Up to 1,000 columns the curvature is formed; beyond, conjugate gradients
    multiply by it. A dense `X` of up to 2,000 rows and more columns is solved in the space of its
    rows, except with the hinge. The hinge is rounded over a width that shrinks to nothing; with
    thousands of columns this takes many steps, and the squared hinge is the better choice. Memory
    beyond `X` is that of a block of rows, and of the products of all rows where these are used.

    References
    ----------
    [CK07] W. Chu and S. S. Keerthi, Support Vector Ordinal Regression, Neural Computation 19, 2007.

    Examples
    --------
    >>> from echelon import LinearSVOR
    >>> from echelon.datasets import load_lev
    >>> X, y = load_lev(return_X_y=True)
    >>> model = LinearSVOR().fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    >>> halves = [(X[:500], y[:500]), (X[500:], y[500:])]
    >>> streamed = LinearSVOR().fit_chunks(halves)
    >>> bool(abs(streamed.coef_ - model.coef_).max() < 1e-6)
    True
    """

    _takes_sparse = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        constraints: str = "implicit",
        loss: str = "squared_hinge",
        cost: CostLike = "absolute",
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.constraints = constraints
        self.loss = loss
        self.cost = cost
        self.class_weight = class_weight
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _learn(self, data: OrdinalData) -> None:
        source = [(data.X, data.codes, data.sample_weight)]
        self._solve(source, data.n_classes, summarise(source, data.n_classes))

    @all_or_nothing
    def fit_chunks(self, chunks: Chunks, classes: LabelsLike | None = None) -> Self:
        """Fit to data that come in chunks, with one chunk in memory at a time.

        The solution is that of ``fit`` on all rows at once. Every Newton step reads all chunks.

        Parameters
        ----------
        chunks : iterable or callable
            Yields (X, y) or (X, y, sample_weight), the same rows each time: a list, an object whose
            ``__iter__`` starts from the beginning, or a function that returns a fresh iterator.
        classes : sequence, optional
            The labels from lowest to highest, in place of the parameter `classes`; without either,
            a first pass collects them.

        Returns
        -------
        self
        """
        self._check_parameters()
        stream = _Stream(self, chunks)
        stated = self.classes if classes is None else classes
        stream.scale = stream.read_scale(stated)
        summary = summarise(stream, stream.scale.n_classes)
        mass = summary.class_mass
        if not mass.any():
            raise ValueError("sample_weight must have a positive entry; found all zeros.")
        # One row for each class stands for all of its rows.
        codes = np.arange(stream.scale.n_classes)
        if self.class_weight is not None:
            stream.factors = class_factors(self.class_weight, codes, stream.scale, mass)
        data = OrdinalData(None, codes, stream.scale, mass * stream.factors)
        observed = np.flatnonzero(data.sample_weight)
        if len(observed) < 2:
            raise ValueError(
                f"y has one class only, {stream.scale.classes[observed[0]]!r}, among the rows of "
                "positive weight; at least two classes are needed."
            )
        self._store_scale(data)
        with suitable_threads(summary.centre[None]):
            self._solve(stream, data.n_classes, RowSummary(summary.centre, data.sample_weight))
        return self

    def _check_parameters(self) -> None:
        require_choice("constraints", self.constraints, ("implicit", "explicit"))
        get_loss(self.loss)
        for name in ("C", "tol"):
            require_positive(name, getattr(self, name))
        require_count("max_iter", self.max_iter)

    def _solve(self, source: Source, n_classes: int, summary: RowSummary) -> None:
        problem = LinearSVORProblem(
            source=source,
            summary=summary,
            C=self.C,
            weights=self._threshold_weights(n_classes),
            loss=get_loss(self.loss),
        )
        result = solve_linear_svor(
            problem,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=_print_step if self.verbose > 0 else None,
        )
        self.coef_ = result.coef
        self.thresholds_ = result.thresholds
        self.objective_ = result.objective
        self.duality_gap_ = result.duality_gap
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        if not result.converged:
            warn_caller(
                f"Newton's method stopped after {result.n_iter} steps with a duality gap of "
                f"{result.duality_gap:.2g}, above tol={self.tol:g} times 1 + objective "
                f"({result.objective:.6g}); raise max_iter or tol, or lower C.",
                ConvergenceWarning,
            )

    def _threshold_weights(self, n_classes: int) -> Matrix:
        cost = cost_matrix(self.cost, n_classes)
        if self.constraints == "explicit":
            return adjacent_weights(n_classes)
        require_v_shaped(cost)
        return threshold_weights(cost)

    def _latent(self, X: Any) -> Vector:
        return np.asarray(validate_inputs(self, X) @ self.coef_)


class _Stream:
    """Chunks of the user, validated and coded anew on every pass."""

    scale: OrdinalScale

    def __init__(self, estimator: LinearSVOR, chunks: Chunks) -> None:
        if not callable(chunks) and iter(chunks) is chunks:
            raise ValueError(
                "chunks must give the same rows on every pass: a list, an object whose __iter__ "
                f"starts anew, or a function that returns an iterator; found {chunks!r}, which can "
                "be read once."
            )
        self._estimator = estimator
        self._chunks = chunks
        self.factors: Vector | float = 1.0

    def __iter__(self) -> Iterator[Chunk]:
        factors = np.broadcast_to(self.factors, self.scale.n_classes)
        for number, chunk in enumerate(self._raw()):
            X, y, sample_weight = _three(chunk)
            X = validate_inputs(self._estimator, X, first=number == 0)
            codes = self.scale.encode(one_column(y))
            check_consistent_length(X, codes)
            yield X, codes, _chunk_weights(sample_weight, len(codes)) * factors[codes]

    def read_scale(self, classes: Any) -> OrdinalScale:
        """The stated scale, or the labels of a first pass."""
        if classes is not None:
            return read_scale(list(classes), classes)[0]
        seen: list[Any] = []
        for chunk in self._raw():
            scale, _ = read_scale(one_column(_three(chunk)[1]))
            if scale.container != "numpy":
                return scale
            seen.extend(scale.classes.tolist())
        if not seen:
            raise ValueError("chunks must yield at least one chunk of rows; found none.")
        return read_scale(np.asarray(seen))[0]

    def _raw(self) -> Iterator[Any]:
        return iter(self._chunks() if callable(self._chunks) else self._chunks)


def _three(chunk: Any) -> tuple[Any, Any, Any]:
    if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
        raise ValueError(
            f"chunks must yield (X, y) or (X, y, sample_weight); found {type(chunk).__name__}."
        )
    return (*chunk, None) if len(chunk) == 2 else tuple(chunk)


def _chunk_weights(sample_weight: Any, n: int) -> Vector:
    if sample_weight is None:
        return np.ones(n)
    weights = finite_vector(sample_weight, n, "sample_weight")
    require_moderate(weights, "sample_weight")
    # A chunk without weight is no error as long as another one has some.
    return check_weights(weights, n) if weights.any() else weights


def _print_step(step: int, objective: float, gap: float, width: float) -> None:
    print(f"step {step}: objective {objective:.8g}, gap about {gap:.2g}, width {width:.2g}")
