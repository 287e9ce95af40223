"""Cross-validation of many `SVOR` candidates that shares what their fits have in common.

Candidates that differ in C alone have the same kernel matrix, which is computed once per training
fold. They are solved in ascending order of C, each from the better of two solutions of the same
fold: that of the C before, scaled to the new boxes, and that of the same C for the kernel before.
A preprocessing in front of the machine is fitted once per fold. Every model meets the same `tol`
as one that is fitted alone, and is scored as one.

Whatever cannot be shared raises `CannotShareError`, and scikit-learn's own way is to be taken.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from joblib import hash as content_hash
from sklearn.base import clone
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed

from ..solvers.svor.dual import Solved
from ..svm.svor import SVOR

Candidate = dict[str, Any]

# With another kernel rows may be split otherwise; probabilities take five more fits, which have
# no path; a limit of steps makes the result depend on the start.
_NOT_SHARED = ("kernel", "probability", "max_iter")
# Groups of a fold that are solved one after the other. It is the same for any number of jobs, so
# that the results are too, and leaves tasks enough to keep several processes busy.
_LONGEST_CHAIN = 5


class CannotShareError(Exception):
    """The candidates must be fitted one by one."""


@dataclass(frozen=True)
class Scoring:
    """How fitted models are scored, in the terms of ``BaseSearchCV``."""

    scorer: Any
    error_score: Any
    with_train: bool


@dataclass
class _Group:
    """Candidates that differ in C alone: their places in the list, and their C."""

    params: Candidate
    places: list[int] = field(default_factory=list)
    Cs: list[float] = field(default_factory=list)


def machine_of(estimator: Any) -> tuple[str, SVOR] | None:
    """The machine and the prefix of its parameters, if it is an `SVOR`, alone or in a pipeline.

    Subclasses are left out, since they may fit in another way.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> machine_of(make_pipeline(StandardScaler(), SVOR()))
    ('svor__', SVOR())
    """
    if type(estimator) is SVOR:
        return "", estimator
    if type(estimator) is Pipeline and len(estimator.steps) > 1:
        name, machine = estimator.steps[-1]
        if type(machine) is SVOR:
            return f"{name}__", machine
    return None


def evaluate_shared(
    estimator: Any,
    X: Any,
    y: Any,
    candidates: Sequence[Candidate],
    folds: Sequence[Any],
    scoring: Scoring,
    **parallel: Any,
) -> list[dict[str, Any]]:
    """Fit and score every candidate on every fold.

    Parameters
    ----------
    estimator : SVOR or Pipeline that ends in one
    X, y : indexable
    candidates : sequence of dict
    folds : sequence of (train, test)
    scoring : Scoring
    **parallel
        For ``joblib.Parallel``.

    Returns
    -------
    out : list of dict
        For each candidate one per fold, with the keys of scikit-learn's ``_fit_and_score``.

    Raises
    ------
    CannotShareError
        If the candidates differ in what is not shared, or if a fit fails: the general way then
        meets the failure again and deals with it as ``error_score`` says.
    """
    groups = _group(estimator, candidates)
    n_chains = -(-len(groups) // _LONGEST_CHAIN)
    chains = [[groups[g] for g in part] for part in np.array_split(range(len(groups)), n_chains)]
    tasks = [(chain, number) for chain in chains for number in range(len(folds))]
    found = Parallel(**parallel)(
        delayed(_evaluate_chain)(estimator, X, y, folds[number], chain, scoring)
        for chain, number in tasks
    )
    out: list[Any] = [None] * (len(candidates) * len(folds))
    for (_, number), results in zip(tasks, found, strict=True):
        for place, result in results:
            out[place * len(folds) + number] = result
    return out


def _group(estimator: Any, candidates: Sequence[Candidate]) -> list[_Group]:
    """Groups of candidates in descending order of the kernel's rate, so that neighbours follow."""
    found = machine_of(estimator)
    if found is None:
        raise CannotShareError
    prefix, machine = found
    own = machine.get_params(deep=False)
    if own["probability"] or own["max_iter"] >= 0:
        raise CannotShareError
    allowed = {prefix + name for name in own if name not in _NOT_SHARED}
    groups: dict[str, _Group] = {}
    for place, candidate in enumerate(candidates):
        if not allowed.issuperset(candidate):
            raise CannotShareError
        params = {name.removeprefix(prefix): value for name, value in candidate.items()}
        C = params.pop("C", machine.C)
        group = groups.setdefault(content_hash(params), _Group(params))
        group.places.append(place)
        group.Cs.append(C)
    return sorted(groups.values(), key=_rate, reverse=True)


def _rate(group: _Group) -> float:
    values = [group.params.get(name) for name in ("gamma", "kappa")]
    return max((float(value) for value in values if isinstance(value, Real)), default=0.0)


def _evaluate_chain(
    estimator: Any, X: Any, y: Any, fold: Any, groups: list[_Group], scoring: Scoring
) -> list[tuple[int, dict[str, Any]]]:
    """Results of all candidates of some groups on one fold, each with its place."""
    train, test = fold
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    results = []
    for place, fitted, seconds in _fit_chain(estimator, X_train, y_train, groups):
        started = time.perf_counter()
        how: Any = scoring.scorer, {}, scoring.error_score
        result = {
            "fit_error": None,
            "test_scores": _score(fitted, X_test, y_test, *how),
            "n_test_samples": len(test),
            "fit_time": seconds,
            "score_time": time.perf_counter() - started,
        }
        if scoring.with_train:
            result["train_scores"] = _score(fitted, X_train, y_train, *how)
        results.append((place, result))
    return results


def _fit_chain(
    estimator: Any, X: Any, y: Any, groups: list[_Group]
) -> Iterator[tuple[int, Any, float]]:
    """Place, fitted estimator and seconds of the fit of every candidate."""
    try:
        steps: list[Any] = []
        machine = estimator
        if isinstance(estimator, Pipeline):
            head = clone(estimator[:-1])
            X = head.fit_transform(X, y)
            steps, machine = head.steps, estimator.steps[-1][1]
        path: dict[float, Solved] = {}
        for group in groups:
            path, fits = _fit_group(clone(machine).set_params(**group.params), X, y, group, path)
            for place, model, seconds in fits:
                whole = Pipeline([*steps, (estimator.steps[-1][0], model)]) if steps else model
                yield place, whole, seconds
    except Exception as error:
        raise CannotShareError from error


def _fit_group(
    machine: SVOR, X: Any, y: Any, group: _Group, before: dict[float, Solved]
) -> tuple[dict[float, Solved], list[tuple[int, SVOR, float]]]:
    """Solutions by C, and the models with their places and seconds; ``before`` is another's."""
    started = time.perf_counter()
    problem = machine.set_params(C=group.Cs[0]).read_problem(X, y)
    common = (time.perf_counter() - started) / len(group.Cs)
    path: dict[float, Solved] = {}
    fits = []
    last: Solved | None = None
    for C, place in sorted(zip(group.Cs, group.places, strict=True)):
        started = time.perf_counter()
        # A copy has what reading the inputs leaves behind, which is the same for every C.
        model = copy(machine).set_params(C=C)
        last = model.fit_problem(problem, last, before.get(C))
        path[C] = last
        fits.append((place, model, common + time.perf_counter() - started))
    return path, fits
