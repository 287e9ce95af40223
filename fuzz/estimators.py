"""Estimators of every kind on awkward data: finite, coherent and repeatable, or one sentence."""

from __future__ import annotations

import pickle
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import echelon
from fuzz.awkward_data import Awkward, draw_data
from fuzz.campaign import ANSWERED, REFUSED, Case, judge, not_finite
from fuzz.drawn_estimators import DRAWS, draw_estimator

_PACKAGE = Path(echelon.__file__).parent

NAMES = sorted(DRAWS)
# scikit-learn's own search leaves attributes behind where a fit fails.
SEARCH = "CoarseToFineSearchCV"
# Gaussian processes and searches take longer on every row.
LARGEST = {"GPOR": 15, SEARCH: 25, "AdaBoostOR": 40, "OrdinalCalibrator": 40}


def subject(seed: int) -> str:
    """The estimator of a case."""
    return NAMES[seed % len(NAMES)]


def case(seed: int) -> Case:
    """Fit an estimator with drawn parameters to drawn data, and ask it everything."""
    rng = np.random.default_rng(seed)
    name = subject(seed)
    data = draw_data(rng, LARGEST.get(name, 60))
    model = draw_estimator(name, rng)
    words = f"{model!r} on {data.words}".replace("\n", "")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            fault = _try(model, data, rng.random() < 0.2, seen)
        except Exception as error:
            outcome, detail = judge(error, checks_of_others=True)
            left = sorted(k for k in vars(model) if k.endswith("_"))
            if outcome == REFUSED and left and name != SEARCH and _was_in_fit(error):
                outcome, detail = "different", f"a failed fit left {left}: {detail}"
            return Case(name, outcome, f"{detail} | {words}" if outcome != REFUSED else detail)
    fault = fault or _leaked(seen)
    return Case(name, *fault[:1], f"{fault[1]} | {words}") if fault else Case(name, ANSWERED)


Fault = tuple[str, str] | None


def _try(model: Any, data: Awkward, again: bool, seen: list[Any]) -> Fault:
    given = _arguments(model, data)
    if hasattr(model, "classes") and data.classes is not None:
        model.set_params(classes=data.classes)
    fitted = _fit(model, given)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in seen)
    if getattr(fitted, "converged_", True) is False and not warned:
        return "different", "converged_ is False and nobody was warned"
    answers = dict(_answers(fitted, data))
    fault = _first(
        _check(fitted, name, value, len(answers["rows"])) for name, value in answers.items()
    )
    if fault or not again:
        return fault
    copy = pickle.loads(pickle.dumps(fitted))
    twin = _fit(clone(model), given)
    for other, what in ((copy, "pickle"), (twin, "second fit")):
        for name, value in _answers(other, data):
            if not _equal(value, answers[name]):
                return "different", f"{what}: {name} differs"
    return None


def _arguments(model: Any, data: Awkward) -> dict[str, Any]:
    """What ``fit`` is given; rankers may get pairs or queries."""
    given: dict[str, Any] = {"X": data.X, "y": data.y}
    kind = getattr(model, "_estimator_type", None) or type(model).__name__
    is_ranker = hasattr(model, "rank") or kind == "ranker"
    if type(model).__name__ == "LowRankImputer":
        return {"X": data.X}
    if is_ranker:
        given["y"] = _relevance(data.y)
        if data.pairs is not None:
            return {"X": data.X, "pairs": data.pairs}
        given["qid"] = data.qid
    if data.weights is not None and type(model).__name__ != SEARCH:
        given["sample_weight"] = data.weights
    return given


def _relevance(y: Any) -> Any:
    values = np.asarray(y)
    return values if values.dtype.kind in "iuf" else y


def _fit(model: Any, given: dict[str, Any]) -> Any:
    return model.fit(**given)


def _answers(model: Any, data: Awkward) -> Iterator[tuple[str, Any]]:
    yield "rows", np.zeros(np.shape(data.new)[0])
    for name in ("predict", "decision_function", "predict_latent", "predict_proba", "transform"):
        if hasattr(model, name):
            yield name, getattr(model, name)(data.new)
    if hasattr(model, "predict_interval"):
        yield "predict_interval", model.predict_interval(data.new)
    if hasattr(model, "rank"):
        yield "rank", model.rank(data.new)
    for name in ("thresholds_", "coef_", "objective_", "duality_gap_", "kkt_gap_", "dual_coef_"):
        if isinstance(getattr(model, name, None), (float, np.ndarray)):
            yield name, getattr(model, name)


def _check(model: Any, name: str, value: Any, n: int) -> Fault:
    if name == "predict_interval":
        return None
    array = np.asarray(value)
    if not_finite(name, array):
        return "not finite", name
    if name == "predict_proba" and not _are_probabilities(array):
        return "different", "probabilities are negative or do not sum to one"
    if name == "rank" and sorted(array.tolist()) != list(range(n)):
        return "different", "rank is no order of the rows"
    if name == "predict" and hasattr(model, "classes_"):
        known = set(np.asarray(model.classes_).tolist())
        if len(array) != n or not set(array.tolist()) <= known:
            return "different", "a prediction that is no class"
    ordered = getattr(model, "constraints", "") != "none"
    ordered &= hasattr(model, "classes_")
    if name == "thresholds_" and ordered and (array[1:] < array[:-1]).any():
        return "different", "thresholds fall"
    return None


def _are_probabilities(p: Any) -> bool:
    return bool((p >= 0.0).all() and np.allclose(p.sum(axis=1), 1.0, atol=1e-6))


def _equal(a: Any, b: Any) -> bool:
    a, b = (np.asarray(v) for v in (a, b))
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _first(faults: Iterator[Fault]) -> Fault:
    return next((fault for fault in faults if fault), None)


def _was_in_fit(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(f.name == "_fit" and f.filename == __file__ for f in frames)


def _leaked(seen: list[Any]) -> Fault:
    """Raw warnings of NumPy from our own lines."""
    for warning in seen:
        place = Path(warning.filename)
        if _PACKAGE in place.parents and issubclass(warning.category, RuntimeWarning):
            return "foreign", f"RuntimeWarning: {warning.message} ({place.name}:{warning.lineno})"
    return None
