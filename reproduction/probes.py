"""What models compute on two small problems: a revision stands for the results that it gives.

A cell is kept under the revision of its model, so a model that computes something else needs
another revision. ``probes.json`` has what each model gave at its revision. A run refuses to add
cells of a model that gives something else by now, whichever line of code or library is the cause,
and the test suite fails. ``python -m reproduction --record`` adds new models and revisions; it
never changes the record of a revision.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection._search import BaseSearchCV

from echelon._utils.files import write_whole
from echelon._utils.types import Matrix, Vector

from .errors import ReproductionError
from .models import Model, Problem, get_model, list_models

RECORD = Path(__file__).with_name("probes.json")
#: Training rows, classes and noise: one problem with many rows for each class, one with few.
PROBLEMS = ((30, 3, 1.0), (16, 5, 0.5))
_INPUTS, _NEW_ROWS = 5, 5
#: Rounds, rules or epochs of a probe at most, and values for each parameter that is tuned.
_ROUNDS, _VALUES = 5, 2
_LARGEST = 1e6
_LENGTHS = ("n_estimators", "n_rules", "n_epochs")
#: In place of a solver's own, within which its solution depends on the order of its steps.
_SOLVER_TOLERANCE = 1e-9
#: Difference that another processor may make by rounding, which a search for hyperparameters
#: enlarges.
_TOLERANCE = 1e-6


def outputs(model: Model) -> Vector:
    """A number for each new row of each problem, from probabilities or margins and from labels."""
    found = []
    for n_rows, n_classes, noise in PROBLEMS:
        X, y = _draw(n_rows, n_classes, noise)
        estimator = _shortened(model.build(Problem(tuple(range(n_classes)), 0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(X[:n_rows], y[:n_rows])
        found.append(_summary(estimator, X[n_rows:]))
    return np.concatenate(found)


def require_same_results(model: Model) -> None:
    """Refuse a model that gives other results than its revision has on record."""
    record = read_record().get(model.name)
    if record is None or record["revision"] != model.revision:
        return
    if not np.allclose(outputs(model), record["outputs"], rtol=_TOLERANCE, atol=_TOLERANCE):
        raise ReproductionError(
            f"{model.name} does not give the results of its revision {model.revision} any more: "
            "raise its revision in register_model, then run python -m reproduction --record."
        )


def read_record() -> dict[str, Any]:
    """Revision and outputs of each model on record."""
    content: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return content


def record() -> None:
    """Check every model whose revision is on record, and add those of the others."""
    old, new = read_record(), {}
    for name in list_models():
        model = get_model(name)
        require_same_results(model)
        if old.get(name, {}).get("revision") == model.revision:
            new[name] = old[name]
        else:
            new[name] = {"revision": model.revision, "outputs": outputs(model).round(8).tolist()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(new[name])}" for name in new)
    write_whole(RECORD, f"{{\n{lines}\n}}\n".encode())


def _draw(n_rows: int, n_classes: int, noise: float) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + _NEW_ROWS, _INPUTS))
    score = X @ np.linspace(1.0, 0.2, _INPUTS) + noise * rng.normal(size=len(X))
    return X, np.argsort(np.argsort(score)) * n_classes // len(X)


def _shortened(estimator: Any) -> Any:
    """An estimator of few rounds or candidates, whose solution does not depend on the way to it."""
    settings = {}
    for name, value in estimator.get_params().items():
        if name.rsplit("__", 1)[-1] in _LENGTHS:
            settings[name] = min(value, _ROUNDS)
        elif name.rsplit("__", 1)[-1] == "tol":
            settings[name] = _SOLVER_TOLERANCE
    estimator.set_params(**settings)
    if isinstance(estimator, BaseSearchCV):
        grid = {
            name: list(values)[2 : 2 + _VALUES] for name, values in estimator.param_grid.items()
        }
        return estimator.set_params(param_grid=grid, fine_points=_VALUES)
    return estimator


def _summary(estimator: Any, X: Matrix) -> Vector:
    """The label and Σ_k k·v_k over columns of probabilities, or of margins where there are none."""
    has_probabilities = hasattr(estimator, "predict_proba")
    values = estimator.predict_proba(X) if has_probabilities else estimator.decision_function(X)
    # A margin is infinite at a threshold that no row crosses.
    weights = np.arange(1.0, values.shape[1] + 1.0)
    return np.asarray(estimator.predict(X) + np.clip(values, -_LARGEST, _LARGEST) @ weights)
