"""The models that tables are reproduced with, by the name of their column.

A model is one function from a `Problem` to an estimator, registered under the column's name::

    @register_model("SVR")
    def rounded_svr(problem): ...

An estimator that is a scikit-learn search (it has ``best_params_`` once fitted) is tuned as the
effort asks; any other estimator is fitted as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.svm import SVR

from echelon.meta import RoundedRegressor
from echelon.model_selection import CoarseToFineSearchCV
from echelon.svm import SVOR

from .errors import ReproductionError


@dataclass(frozen=True)
class Problem:
    """What a model may know before it sees the data of a split.

    Parameters
    ----------
    classes : tuple
        All labels of the set in ascending order; a training part may lack some.
    seed : int
        For everything random in the model or its tuning; the number of the split.
    jobs : int
        Processes for the tuning.
    """

    classes: tuple[Any, ...]
    seed: int
    jobs: int = 1


@dataclass(frozen=True)
class Model:
    """A registered model; `revision` goes up when a change makes older results obsolete."""

    name: str
    build: Callable[[Problem], Any]
    revision: int = 1

    @property
    def about(self) -> str:
        """First line of the builder's docstring."""
        return (self.build.__doc__ or self.name).strip().splitlines()[0]


_MODELS: dict[str, Model] = {}


def register_model(
    name: str, *, revision: int = 1
) -> Callable[[Callable[[Problem], Any]], Callable[[Problem], Any]]:
    """Register the decorated builder as the model of the column `name`."""

    def keep(build: Callable[[Problem], Any]) -> Callable[[Problem], Any]:
        if name in _MODELS:
            raise ValueError(f"The model {name!r} is registered already.")
        _MODELS[name] = Model(name, build, revision)
        return build

    return keep


def list_models() -> list[str]:
    """Names of the registered models."""
    return sorted(_MODELS)


def get_model(name: str) -> Model:
    """Return a registered model by name."""
    if name not in _MODELS:
        raise ReproductionError(
            f"There is no model {name!r}; there are {', '.join(list_models())}."
        )
    return _MODELS[name]


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


def _tuned_svor(constraints: str, problem: Problem) -> CoarseToFineSearchCV:
    model = SVOR(
        constraints=constraints, kernel="rbf", tol=1e-3, cache_size=300, classes=problem.classes
    )
    return tuned(model, gaussian_grid("C", "gamma"), problem)
