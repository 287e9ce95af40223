"""Cross-validated search on a coarse grid, then on a fine grid around its best point."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import indexable
from sklearn.utils._param_validation import Interval

from .._utils.types import EstimatorLike, LabelsLike, MatrixLike
from .shared_kernel import CannotShareError, Scoring, evaluate_shared, machine_of

Candidate = dict[str, Any]

# Two points are the same point when their log10 agree to this many digits.
_DIGITS = 9


class CoarseToFineSearchCV(BaseSearchCV):
    """Search a coarse grid, then a fine grid on the log10 scale around its best point.

    This is the search of [CK07] section 4.3 for any estimator and any parameters. There, (C, κ)
    runs over a 7×7 grid 10⁻³ … 10³ and then over a 9×9 grid with step 0.2 in log10 around the
    best coarse point.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fit.
    param_grid : dict or list of dicts
        The coarse grid, by *values* as for ``GridSearchCV``. A parameter that is a multiple of
        the one searched is given by its own values: with γ = κ/2 and κ = 10⁻³ … 10³ that is
        ``{"gamma": 0.5 * np.logspace(-3, 3, 7)}``.
    fine_points : int, default=9
        Points of the fine grid per refined parameter, centred on the best coarse value. With 1
        there is no fine stage.
    fine_step : float, default=0.2
        Distance of neighbouring fine points in log10.
    refine : list of str or None, default=None
        Names of the parameters to refine. None takes those whose values, in the grid that the
        best point comes from, are positive numbers and not all the same. All others keep their
        best coarse value.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in ``GridSearchCV``. With several metrics `refit` must name one or be a callable, as it
        also decides which coarse point is best.

    Attributes
    ----------
    cv_results_ : dict
        As in ``GridSearchCV``, the coarse points first, with the column ``stage`` ("coarse" or
        "fine").
    best_estimator_, best_params_, best_score_, best_index_
        Of both stages together.

    Notes
    -----
    Both stages use the same folds, whatever the splitter. A point of the fine grid that was
    evaluated before is not evaluated again. Among equal scores the point evaluated first wins: a
    coarse point before a fine one, and within a stage the first in the order of
    ``sklearn.model_selection.ParameterGrid`` (names sorted, the last name varies fastest, fine
    values ascending). With ascending values of C and gamma, ties therefore go to the smaller C,
    then to the smaller gamma.

    For an `SVOR`, or a pipeline that ends in one, whose own parameters alone are searched, folds
    share kernel matrices between values of C, and solutions start from those of neighbouring
    points, which takes less time. Solutions agree with those of separate fits to within the
    machine's ``tol``, so that the label of a row near a threshold may differ; ``verbose`` then
    reports stages, not fits. Weights and other parameters of ``fit``, ``probability=True``,
    ``max_iter``, a search over kernels and a fit that fails lead back to separate fits.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> from echelon.model_selection import CoarseToFineSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"C": np.logspace(-1, 3, 5), "gamma": 0.5 * np.logspace(-1, 1, 3)}
    >>> search = CoarseToFineSearchCV(SVR(), grid, fine_points=3).fit(X[:99], y[:99])
    >>> len(search.cv_results_["params"])  # 15 coarse points and 8 new fine ones
    23
    """

    _required_parameters: ClassVar[list[str]] = ["estimator", "param_grid"]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
        "fine_points": [Interval(Integral, 1, None, closed="left")],
        "fine_step": [Interval(Real, 0, None, closed="neither")],
        "refine": [list, tuple, None],
    }

    def __init__(
        self,
        estimator: EstimatorLike,
        param_grid: Mapping[str, Any] | list[Mapping[str, Any]],
        *,
        fine_points: int = 9,
        fine_step: float = 0.2,
        refine: list[str] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_grid = param_grid
        self.fine_points = fine_points
        self.fine_step = fine_step
        self.refine = refine

    def fit(
        self, X: MatrixLike, y: LabelsLike | None = None, **params: Any
    ) -> CoarseToFineSearchCV:
        """Search both grids, and refit the best point on all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,), optional
        **params : dict
            Passed on as by ``GridSearchCV.fit``.

        Returns
        -------
        self
        """
        # One list of folds for both stages: a splitter may draw anew at every call.
        self._folds = _Folds(check_cv(self.cv, y, classifier=is_classifier(self.estimator)))
        try:
            if self._can_share(y, params):
                try:
                    return self._fit_shared(X, y, params)
                except CannotShareError:
                    pass
            return super().fit(X, y, **params)
        finally:
            del self._folds

    def _can_share(self, y: Any, params: dict[str, Any]) -> bool:
        if machine_of(self.estimator) is None or y is None:
            return False
        # Newer releases of scikit-learn have callbacks, to which only separate fits can report.
        if hasattr(self, "_skl_callbacks") or hasattr(self.estimator, "_skl_callbacks"):
            return False
        routed = self._get_routed_params_for_fit(params)
        return not routed.estimator.fit and not routed.scorer.score

    def _fit_shared(self, X: Any, y: Any, params: dict[str, Any]) -> CoarseToFineSearchCV:
        """Do what ``BaseSearchCV.fit`` does, with an evaluation of all candidates at once.

        ``BaseSearchCV`` has no place to put such an evaluation in, so the frame around it is
        repeated here, from the same private methods.
        """
        self._validate_params()
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        split_params = self._get_routed_params_for_fit(params).splitter.split
        folds = self._folds.split(X, y, **split_params)
        self.n_splits_ = len(folds)
        scoring = Scoring(scorers, self.error_score, self.return_train_score)
        parallel = {"n_jobs": self.n_jobs, "pre_dispatch": self.pre_dispatch}
        points: list[Candidate] = []
        out: list[dict[str, Any]] = []
        more: dict[str, list[Any]] = defaultdict(list)

        def evaluate(
            candidates: list[Candidate], cv: _Folds, more_results: dict[str, list[str]]
        ) -> dict[str, Any]:
            if self.verbose > 0:
                print(f"Fitting {len(folds)} folds for each of {len(candidates)} candidates")
            out.extend(
                evaluate_shared(self.estimator, X, y, candidates, folds, scoring, **parallel)
            )
            points.extend(candidates)
            for key, values in more_results.items():
                more[key].extend(values)
            self.cv_results_: dict[str, Any] = self._format_results(points, len(folds), out, more)
            return self.cv_results_

        self._run_search(evaluate)
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        self.multimetric_ = isinstance(out[0]["test_scores"], dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            metric = self.refit
        self._keep_best(X, y, metric)
        return self

    def _keep_best(self, X: Any, y: Any, metric: str) -> None:
        results = self.cv_results_
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, metric, results)
            self.best_params_ = results["params"][self.best_index_]
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        if self.refit:
            best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            started = time.perf_counter()
            self.best_estimator_ = best.fit(X, y)
            self.refit_time_ = time.perf_counter() - started
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        grids = list(ParameterGrid(self.param_grid).param_grid)
        known = sorted({name for grid in grids for name in grid})
        for name in self.refine or ():
            if name not in known:
                raise ValueError(f"refine names {name!r}, which is not in param_grid: {known}.")
        coarse = [(point, grid) for grid in grids for point in ParameterGrid(grid)]
        points = [point for point, _ in coarse]
        stage = {"stage": ["coarse"] * len(points)}
        results = evaluate_candidates(points, cv=self._folds, more_results=stage)

        best, grid = coarse[self._best_coarse(results)]
        refined = [n for n, values in grid.items() if _can_be_refined(values)]
        names = [n for n in (refined if self.refine is None else self.refine) if n in best]
        seen = {_key(point) for point in points}
        fine = [p for p in self._fine_grid(best, names) if _key(p) not in seen]
        if fine:
            stage = {"stage": ["fine"] * len(fine)}
            evaluate_candidates(fine, cv=self._folds, more_results=stage)

    def _best_coarse(self, results: dict[str, Any]) -> int:
        metric = self.refit if f"rank_test_{self.refit}" in results else "score"
        if not callable(self.refit) and f"rank_test_{metric}" not in results:
            raise ValueError(
                f"refit must name the metric that chooses the centre of the fine grid when there "
                f"are several metrics; found {self.refit!r}."
            )
        return int(self._select_best_index(self.refit, metric, results))

    def _fine_grid(self, centre: Candidate, names: list[str]) -> Iterator[Candidate]:
        steps = np.arange(self.fine_points, dtype=np.float64) - (self.fine_points - 1) / 2
        exponents = np.asarray(self.fine_step * steps)
        axes = [_around(name, centre[name], exponents) for name in sorted(names)]
        for values in product(*axes):
            yield {**centre, **dict(zip(sorted(names), values, strict=True))}


class _Folds:
    """A splitter that remembers the folds of its first call."""

    def __init__(self, splitter: Any) -> None:
        self._splitter = splitter
        self._folds: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        if self._folds is None:
            self._folds = list(self._splitter.split(X, y, **params))
        return self._folds


def _is_positive(value: Any) -> bool:
    """Whether a value is a number with a log10."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return is_number and 0 < float(value) < math.inf


def _can_be_refined(values: Any) -> bool:
    return all(_is_positive(value) for value in values) and len(set(values)) > 1


def _around(name: str, centre: Any, exponents: npt.NDArray[np.float64]) -> list[Any]:
    """`centre` times powers of ten; the centre itself stays the exact value of the grid."""
    if not _is_positive(centre):
        raise ValueError(
            f"param_grid has {name}={centre!r} as its best value, which has no log10; give "
            f"positive numbers, or leave {name!r} out of refine=[...]."
        )
    return [centre if e == 0 else float(centre * 10.0**e) for e in exponents]


def _key(point: Candidate) -> tuple[tuple[str, Any], ...]:
    """What makes two points the same: numbers by their log10, the rest by what they print."""
    return tuple(
        (name, round(math.log10(value), _DIGITS) if _is_positive(value) else repr(value))
        for name, value in sorted(point.items())
    )
