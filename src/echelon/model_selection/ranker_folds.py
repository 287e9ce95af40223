"""One fold of a ranker's cross-validation: what it is fitted with, and what it is scored on."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import has_fit_parameter

from .._utils.types import Index, Vector
from ..metrics.ranking.summary import QueryScores
from ..metrics.scorers import RankingScorer, ranking_scores
from ..ordinal.arrays import check_weights
from ..pairs import PairSet
from ..pairs.queries import query_codes


@dataclass(frozen=True)
class RankingProblem:
    """What is learnt from and scored, and how rows or pairs of it are taken out."""

    X: Any
    y: Any
    qid: Any
    sample_weight: Vector | None
    pairs: Index | None = None
    pair_weight: Vector | None = None

    def training(self, part: Index) -> tuple[Any, Any, dict[str, Any]]:
        """Inputs, labels and further arguments of ``fit``."""
        if self.pairs is not None:
            given = {"qid": self.qid, "sample_weight": self.sample_weight}
            stated = {"pairs": self.pairs[part], "pair_weight": _taken(self.pair_weight, part)}
            return self.X, self.y, _present({**given, **stated})
        X, y, given = self.test(part)
        return X, y, _present(given)

    def test(self, part: Index) -> tuple[Any, Any, dict[str, Any]]:
        """Inputs, labels and further arguments of a scorer."""
        given = {
            "qid": _taken(self.qid, part),
            "sample_weight": _taken(self.sample_weight, part),
        }
        return _safe_indexing(self.X, part), _safe_indexing(self.y, part), given


@dataclass(frozen=True)
class FoldResult:
    """Scores and seconds of one fold, and the estimator that was fitted in it."""

    scores: dict[str, float]
    per_query: dict[str, QueryScores]
    fit_time: float
    score_time: float
    estimator: Any


def read_problem(
    X: Any, y: Any, qid: Any, sample_weight: Any, pairs: Any, pair_weight: Any
) -> RankingProblem:
    """Check the arguments of a cross-validation; estimators check their own again."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if y is not None:
        check_consistent_length(X, y)
    elif pairs is None:
        raise ValueError("y must be passed, or pairs; found neither.")
    if qid is not None:
        query_codes(qid, n)
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    if pairs is None and pair_weight is not None:
        raise ValueError("pair_weight needs pairs; for labels pass sample_weight.")
    stated = (None, None) if pairs is None else _read_pairs(pairs, n, pair_weight)
    return RankingProblem(X, y, qid, weights, *stated)


def _read_pairs(pairs: Any, n: int, pair_weight: Any) -> tuple[Index, Vector]:
    """Stated pairs as a table with weights, in their order and with those of weight zero."""
    if isinstance(pairs, PairSet):
        if pairs.kind != "listed" or pairs.n_items != n or pair_weight is not None:
            raise ValueError(
                f"pairs must be a PairSet of stated pairs over the {n} rows of X, with "
                "pair_weight=None as it has weights; labels are passed as y."
            )
        listed = pairs.listed
        return np.column_stack([listed.winners, listed.losers]), listed.weights
    if PairSet.from_pairs(pairs, n, pair_weight).n_pairs == 0:
        raise ValueError("pairs must hold a pair of positive weight.")
    table = np.asarray(pairs, dtype=np.intp)
    weights = np.ones(len(table)) if pair_weight is None else np.asarray(pair_weight, dtype=float)
    return table, weights


def run_fold(
    estimator: Any,
    problem: RankingProblem,
    training: Index,
    test: Index,
    judges: Mapping[str, Any],
    error_score: str | float,
) -> FoldResult:
    """One fold; what it is given where it fails, unless the error is let through."""
    started = time.perf_counter()
    try:
        run = _run_on_rows if problem.pairs is None else _run_on_pairs
        return run(estimator, problem, training, test, judges)
    except Exception as error:
        if isinstance(error_score, str):
            raise
        warnings.warn(
            f"A fold failed and is scored {error_score}: {type(error).__name__}: {error}",
            FitFailedWarning,
            stacklevel=2,
        )
        failed = dict.fromkeys(judges, float(error_score))
        return FoldResult(failed, {}, time.perf_counter() - started, 0.0, estimator)


def _run_on_rows(
    estimator: Any,
    problem: RankingProblem,
    training: Index,
    test: Index,
    judges: dict[str, RankingScorer],
) -> FoldResult:
    fit_time = _fit(estimator, *problem.training(training))
    started = time.perf_counter()
    X, y, given = problem.test(test)
    scores = ranking_scores(estimator, X)
    values = {name: judge.of_scores(y, scores, **given) for name, judge in judges.items()}
    score_time = time.perf_counter() - started
    per_query = {}
    if problem.qid is not None:
        per_query = {name: judge.by_query(y, scores, **given) for name, judge in judges.items()}
    return FoldResult(values, per_query, fit_time, score_time, estimator)


def _run_on_pairs(
    estimator: Any,
    problem: RankingProblem,
    training: Index,
    test: Index,
    judges: dict[str, Callable[..., float]],
) -> FoldResult:
    assert problem.pairs is not None
    fit_time = _fit(estimator, *problem.training(training))
    started = time.perf_counter()
    scores = ranking_scores(estimator, problem.X)
    pairs, weights = problem.pairs[test], _taken(problem.pair_weight, test)
    values = {
        name: float(judge(pairs, scores, pair_weight=weights)) for name, judge in judges.items()
    }
    return FoldResult(values, {}, fit_time, time.perf_counter() - started, estimator)


def _fit(estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> float:
    """Fit with further arguments for the ranker inside; the seconds that it takes."""
    chain = list(_chain(estimator))
    ranker = chain[-1][1]
    if not has_fit_parameter(ranker, "qid"):
        # A model of single rows, such as a regression, learns without queries.
        given = {name: value for name, value in given.items() if name != "qid"}
    searched = any(isinstance(part, BaseSearchCV) for _, part in chain)
    if not searched:
        path = "".join(f"{name}__" for name, _ in chain[1:])
        given = {f"{path}{name}": value for name, value in given.items()}
    started = time.perf_counter()
    with config_context(enable_metadata_routing=searched):
        estimator.fit(X, y, **given)
    return time.perf_counter() - started


def _chain(estimator: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """An estimator and those that it passes ``fit``'s arguments on to, with their names."""
    yield name, estimator
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        yield from _chain(last, step)
    elif isinstance(estimator, BaseSearchCV):
        yield from _chain(estimator.estimator, "estimator")


def _taken(values: Any, part: Index) -> Any:
    """Some entries of a sequence, which for ids may be a list of tuples."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)):
        return [values[i] for i in part]
    return np.asarray(values)[part]


def _present(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}
