"""Support vector machines tuned by cross-validation: the columns of [CK07] tables 1 and 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.svm import SVR

from echelon.meta import RoundedRegressor
from echelon.model_selection import CoarseToFineSearchCV
from echelon.svm.svor import SVOR

from .registry import Problem, get_model, register_model


def gaussian_grid(C: str, gamma: str) -> dict[str, Any]:
    """Coarse grid of [CK07] section 4.3 over log10 C and log10 κ, with γ = κ/2 by (27)."""
    decades = np.logspace(-3, 3, 7)
    return {C: decades, gamma: 0.5 * decades}


def tuned(estimator: Any, grid: dict[str, Any], problem: Problem) -> CoarseToFineSearchCV:
    """Tune an ordinal estimator by the search of [CK07] section 4.3.

    Five folds of shuffled rows. The paper does not say which error decides; here it is the
    mean absolute error of ranks, the estimators' own score, for the columns of both measures.
    """
    folds = KFold(5, shuffle=True, random_state=problem.seed)
    return CoarseToFineSearchCV(estimator, grid, cv=folds, n_jobs=problem.jobs)


def fixed(name: str, problem: Problem, *, C: float, kappa: float) -> Any:
    """Build a model that `gaussian_grid` tunes, with given parameters in place of tuned ones."""
    search = get_model(name).build(problem)
    C_name, gamma_name = search.param_grid
    return clone(search.estimator).set_params(**{C_name: C, gamma_name: 0.5 * kappa})


@register_model("SVR")
def rounded_svr(problem: Problem) -> CoarseToFineSearchCV:
    """ε-SVR on the ranks, ε = 0.1, Gaussian kernel, rounded to the nearest rank."""
    regressor = SVR(kernel="rbf", epsilon=0.1, tol=1e-3, cache_size=300)
    model = RoundedRegressor(regressor, classes=problem.classes)
    return tuned(model, gaussian_grid("regressor__C", "regressor__gamma"), problem)


@register_model("SLA")
def unordered_svor(problem: Problem) -> CoarseToFineSearchCV:
    """Support vector ordinal regression with free thresholds, Gaussian kernel."""
    return _tuned_svor("none", problem)


@register_model("EXC")
def explicit_svor(problem: Problem) -> CoarseToFineSearchCV:
    """Support vector ordinal regression with explicit constraints, Gaussian kernel."""
    return _tuned_svor("explicit", problem)


@register_model("IMC")
def implicit_svor(problem: Problem) -> CoarseToFineSearchCV:
    """Support vector ordinal regression with implicit constraints, Gaussian kernel."""
    return _tuned_svor("implicit", problem)


@register_model("IMC (linear)")
def linear_svor(problem: Problem) -> CoarseToFineSearchCV:
    """Support vector ordinal regression with implicit constraints, linear kernel."""
    return tuned(_svor("implicit", "linear", problem), {"C": np.logspace(-3, 3, 7)}, problem)


@register_model("IMC (Pearson)")
def pearson_svor(problem: Problem) -> CoarseToFineSearchCV:
    """Support vector ordinal regression with implicit constraints, correlation of ratings."""
    return tuned(_svor("implicit", "pearson", problem), {"C": np.logspace(-3, 3, 7)}, problem)


def _tuned_svor(constraints: str, problem: Problem) -> CoarseToFineSearchCV:
    return tuned(_svor(constraints, "rbf", problem), gaussian_grid("C", "gamma"), problem)


def _svor(constraints: str, kernel: str, problem: Problem) -> SVOR:
    return SVOR(
        constraints=constraints, kernel=kernel, tol=1e-3, cache_size=300, classes=problem.classes
    )
