"""Cross-validation of rankers: problems cut into folds by query, row or pair, and their scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from .._utils.frames import aligned
from .._utils.types import (
    EstimatorLike,
    Index,
    KeysLike,
    LabelsLike,
    MatrixLike,
    Vector,
    VectorLike,
)
from ..base.row_design import Split
from ..metrics.ranking.misranking import stated_misranking_loss
from ..metrics.ranking.queries import read_label_column
from ..metrics.ranking.summary import QueryScores
from ..metrics.scorers import RankingScorer, as_ranking_scorer, ranking_scores
from ..metrics.significance import Summary
from ..ordinal.arrays import check_weights, require_count
from ..pairs import PairSet
from ..pairs.queries import query_codes
from .splitters import PairKFold, QueryKFold, dealt_splits


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
        given = {"qid": _taken(self.qid, part), "sample_weight": _taken(self.sample_weight, part)}
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
        listed = pairs.listed
        if listed is None or pairs.n_items != n or pair_weight is not None:
            raise ValueError(
                f"pairs must be a PairSet of stated pairs over the {n} rows of X, with "
                "pair_weight=None as it has weights; labels are passed as y."
            )
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
    scorers: Mapping[str, Any],
    error_score: str | float,
) -> FoldResult:
    """One fold; what it is given where it fails, unless the error is let through."""
    started = time.perf_counter()
    try:
        fit_time = _fit(estimator, *problem.training(training))
        score = _score_rows if problem.pairs is None else _score_pairs
        values, per_query, seconds = score(estimator, problem, test, scorers)
        return FoldResult(values, per_query, fit_time, seconds, estimator)
    except Exception as error:
        if isinstance(error_score, str):
            raise
        warnings.warn(
            f"A fold failed and is scored {error_score}: {type(error).__name__}: {error}",
            FitFailedWarning,
            stacklevel=2,
        )
        failed = dict.fromkeys(scorers, float(error_score))
        return FoldResult(failed, {}, time.perf_counter() - started, 0.0, estimator)


#: Scores by scorer, scores of queries by scorer, and the seconds that the scores took.
Scored = tuple[dict[str, float], dict[str, QueryScores], float]


def _score_rows(
    estimator: Any, problem: RankingProblem, test: Index, scorers: Mapping[str, Any]
) -> Scored:
    started = time.perf_counter()
    X, y, given = problem.test(test)
    scores = ranking_scores(estimator, X)
    values = {name: scorer.of_scores(y, scores, **given) for name, scorer in scorers.items()}
    seconds = time.perf_counter() - started
    by_query = scorers.items() if problem.qid is not None else ()
    return values, {n: scorer.by_query(y, scores, **given) for n, scorer in by_query}, seconds


def _score_pairs(
    estimator: Any, problem: RankingProblem, test: Index, scorers: Mapping[str, Any]
) -> Scored:
    assert problem.pairs is not None
    started = time.perf_counter()
    scores = ranking_scores(estimator, problem.X)
    pairs, weights = problem.pairs[test], _taken(problem.pair_weight, test)
    values = {n: float(scorer(pairs, scores, pair_weight=weights)) for n, scorer in scorers.items()}
    return values, {}, time.perf_counter() - started


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


@dataclass(frozen=True)
class RankerValidation(Mapping[str, Any]):
    """Scores of a ranker on held-out queries, rows or pairs; ``str()`` is a table.

    As a mapping it has the keys of scikit-learn's ``cross_validate``: ``test_<name>``,
    ``fit_time``, ``score_time`` and, where asked for, ``estimator``.

    Parameters
    ----------
    scores : dict of str to ndarray of shape (n_splits,)
        Score of every fold, by the name of the scorer.
    fit_time, score_time : ndarray of shape (n_splits,)
        Seconds.
    per_query : dict of str to QueryScores
        Scores of the held-out queries, by the name of the scorer, without those for which the
        metric is undefined. A query that was held out more than once has its mean. Empty without
        queries.
    estimators : tuple
        The fitted estimators where they were asked for.
    """

    scores: dict[str, Vector]
    fit_time: Vector
    score_time: Vector
    per_query: dict[str, QueryScores] = field(default_factory=dict)
    estimators: tuple[Any, ...] = ()

    def summary(self, name: str) -> Summary:
        """Mean and spread of a score over the folds."""
        return Summary.of(self.scores[name].tolist())

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"fit_time": self.fit_time, "score_time": self.score_time}
        if self.estimators:
            columns["estimator"] = list(self.estimators)
        return {**columns, **{f"test_{name}": values for name, values in self.scores.items()}}

    def __getitem__(self, key: str) -> Any:
        return self._columns()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns())

    def __len__(self) -> int:
        return len(self._columns())

    def __str__(self) -> str:
        n_folds = len(self.fit_time)
        rows = [["score", *(f"fold {k + 1}" for k in range(n_folds)), "mean", "se"]]
        for name, values in self.scores.items():
            found = self.summary(name)
            figures = [*values.tolist(), found.mean, found.se]
            rows.append([name, *("–" if np.isnan(v) else f"{v:.4f}" for v in figures)])
        return "\n".join(aligned(rows))


def cross_validate_ranker(
    estimator: EstimatorLike,
    X: MatrixLike,
    y: LabelsLike | None = None,
    *,
    qid: KeysLike | None = None,
    sample_weight: VectorLike | None = None,
    pairs: npt.ArrayLike | None = None,
    pair_weight: VectorLike | None = None,
    cv: Any = 5,
    scoring: Any = None,
    return_estimator: bool = False,
    n_jobs: int | None = None,
    error_score: str | float = "raise",
) -> RankerValidation:
    """Cross-validate a ranker by query, by row or by pair.

    With queries, whole queries are held out (`QueryKFold`), and ``fit`` and every scorer get the
    queries and weights of their own rows. Without queries, rows are held out, and pairs are formed
    among the training rows and among the test rows of each fold. With `pairs`, pairs are held out
    (`PairKFold`): the ranker sees all items and the training pairs, and the score is the share of
    held-out pairs that it orders rightly; labels passed beside pairs are for training in every
    fold.

    It makes no difference whether scikit-learn's metadata routing is on. Arguments reach the last
    step of a pipeline. A search such as ``GridSearchCV`` is fitted with routing on, so that its
    own folds and scores go by query too if its ``cv`` is a splitter by query.

    Parameters
    ----------
    estimator : estimator
        A ranker, or a pipeline or search that ends in one. Cloned for every fold.
    X : array-like of shape (n, d)
        Inputs.
    y : array-like of shape (n,), optional
        Labels, higher is better; needed unless `pairs` are given.
    qid : sequence of shape (n,), optional
        Query of each row: any hashable ids in any order.
    sample_weight : array-like of shape (n,), optional
        Weights of rows, for training and for scoring.
    pairs : array-like of shape (m, 2) or PairSet, optional
        Row of the winner and row of the loser of stated pairs.
    pair_weight : array-like of shape (m,), optional
        Weights of the pairs, for training and for scoring.
    cv : int, splitter or iterable of (training, test), default=5
        An int is a number of folds: of queries by `QueryKFold`; of rows dealt out by rising label,
        so that all folds have the same labels; or of pairs by `PairKFold`. A splitter is called
        with the queries as ``groups``, or with the pairs as ``X``.
    scoring : str, callable, list of str or dict, optional
        Names of `ranking_scorer_names`, a metric of rankings, a scorer by `make_ranking_scorer`,
        or a dict of them. By default ``"pairwise_accuracy"`` and ``"ndcg"``. With `pairs`, a
        function of pairs, scores of all rows, and ``pair_weight``, or a dict of such functions; by
        default ``"pairwise_accuracy"``.
    return_estimator : bool, default=False
        Whether to keep the fitted estimators.
    n_jobs : int, optional
        Folds at a time, as in scikit-learn.
    error_score : "raise" or float, default="raise"
        What a fold is given whose fit or score fails, with a warning; or to let the error through.

    Returns
    -------
    result : RankerValidation

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from echelon.model_selection.ranker_validation import cross_validate_ranker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(60, 3)), rng.integers(12, size=60)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> result = cross_validate_ranker(Ridge(), X, y, qid=qid, cv=3, scoring="pairwise_accuracy")
    >>> print(result)
    score              fold 1  fold 2  fold 3    mean      se
    pairwise_accuracy  1.0000  0.9231  1.0000  0.9744  0.0256
    """
    problem = read_problem(X, y, qid, sample_weight, pairs, pair_weight)
    scorers = _row_scoring(scoring) if problem.pairs is None else _pair_scoring(scoring)
    is_number = isinstance(error_score, Real) and not isinstance(error_score, bool)
    if error_score != "raise" and not is_number:
        raise ValueError(f"error_score must be 'raise' or a number; found {error_score!r}.")
    folds = Parallel(n_jobs=n_jobs)(
        delayed(run_fold)(clone(estimator), problem, training, test, scorers, error_score)
        for training, test in list(_parts(cv, problem))
    )
    return _gather(folds, list(scorers), return_estimator)


def _parts(cv: Any, problem: RankingProblem) -> Iterator[Split]:
    """Rows, or pairs, to train on and to test on."""
    if isinstance(cv, Integral):
        require_count("cv", cv, least=2)
        if problem.pairs is None and problem.qid is None:
            return iter(dealt_splits(read_label_column(problem.y), int(cv)))
        cv = QueryKFold(int(cv)) if problem.pairs is None else PairKFold(int(cv))
    if isinstance(cv, (str, bytes)) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ValueError(
            f"cv must be a number of folds, a splitter, or pairs of training and test rows; found "
            f"{cv!r}."
        )
    if not hasattr(cv, "split"):
        return iter(cv)
    if problem.pairs is not None:
        return cv.split(problem.pairs)
    return cv.split(problem.X, problem.y, groups=problem.qid)


def _row_scoring(scoring: Any) -> dict[str, RankingScorer]:
    if scoring is None:
        scoring = ["pairwise_accuracy", "ndcg"]
    if isinstance(scoring, str):
        scoring = [scoring]
    if isinstance(scoring, Sequence) and scoring and all(isinstance(s, str) for s in scoring):
        scoring = dict(zip(scoring, scoring, strict=True))
    if not isinstance(scoring, Mapping):
        scoring = {"score": scoring}
    return {str(name): as_ranking_scorer(found) for name, found in scoring.items()}


def _pair_scoring(scoring: Any) -> dict[str, Callable[..., float]]:
    if scoring is None:
        return {"pairwise_accuracy": _pairwise_accuracy}
    scorers = scoring if isinstance(scoring, Mapping) else {"score": scoring}
    if not all(
        callable(scorer) and not isinstance(scorer, RankingScorer) for scorer in scorers.values()
    ):
        raise ValueError(
            "With pairs, scoring must be a function of pairs, scores and pair_weight, or a dict of "
            f"such functions; found {scoring!r}."
        )
    return dict(scorers)


def _pairwise_accuracy(pairs: Index, scores: Vector, pair_weight: Vector) -> float:
    return 1.0 - stated_misranking_loss(pairs, scores, pair_weight=pair_weight)


def _gather(folds: list[FoldResult], names: list[str], return_estimator: bool) -> RankerValidation:
    tested = [fold.per_query for fold in folds if fold.per_query]
    per_query = {name: _united([found[name] for found in tested]) for name in names if tested}
    return RankerValidation(
        scores={name: np.array([fold.scores[name] for fold in folds]) for name in names},
        fit_time=np.array([fold.fit_time for fold in folds]),
        score_time=np.array([fold.score_time for fold in folds]),
        per_query=per_query,
        estimators=tuple(fold.estimator for fold in folds) if return_estimator else (),
    )


def _united(parts: list[QueryScores]) -> QueryScores:
    """Queries of all folds; one that repeated splits held out more than once has its mean."""
    held: dict[Any, list[tuple[float, float]]] = {}
    for part in parts:
        for query, *found in zip(part.ids, part.values, part.weights, strict=True):
            held.setdefault(query, []).append(tuple(found))
    means = np.array([np.mean(found, axis=0) for found in held.values()]).reshape(-1, 2)
    return QueryScores(tuple(held), means[:, 0], means[:, 1])
