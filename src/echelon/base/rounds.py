"""Models that grow by rounds: what is held out, when to stop, and what they say at each stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from .._utils.state import require_state
from .._utils.types import Codes, LabelArray, LabelsLike, Mask, MatrixLike, Vector, VectorLike
from ..metrics.scorers import as_ranking_scorer
from ..ordinal.arrays import require_count, require_positive
from ..ordinal.data import OrdinalData
from ..pairs.misranking import misranked
from ..pairs.pair_set import LevelPairs, PairSet, paired_rows
from ..pairs.queries import query_codes
from .held_out_fit import HoldsRowsOutMixin
from .mixins import ProbabilityMixin
from .row_design import RowDesign
from .validation import RankingData

Round = TypeVar("Round")


class EarlyStopping:
    """The cost after every round, and whether it has stopped to fall.

    Parameters
    ----------
    n_iter_no_change : int
        Rounds to wait for a lower cost.
    tol : float
        Least fall that counts.

    Examples
    --------
    >>> stopping = EarlyStopping(2, 0.0)
    >>> [stopping.should_stop(cost) for cost in (3.0, 2.0, 2.0, 2.5)]
    [False, False, False, True]
    >>> stopping.best
    1
    """

    def __init__(self, n_iter_no_change: int, tol: float) -> None:
        self._most = n_iter_no_change
        self._tol = tol
        self.costs: list[float] = []
        self.best = 0

    def should_stop(self, cost: float) -> bool:
        """Note the cost of one more round."""
        self.costs.append(cost)
        if cost < self.costs[self.best] - self._tol:
            self.best = len(self.costs) - 1
        return len(self.costs) - 1 - self.best >= self._most


def check_weighted(members: Any, weights: Any) -> None:
    """Raise an error unless there are members, each with a weight that is finite."""
    listed = isinstance(members, list) and isinstance(weights, np.ndarray)
    fits = listed and weights.shape == (len(members),) and weights.dtype == np.float64
    require_state(fits and np.isfinite(weights).all(), "its members have no weights")


class RoundsMixin:
    """The driver of estimators that grow by rounds and may stop early.

    The estimator has the parameters below, and those that ``_most_rounds`` and ``_step_factor``
    name. ``_validation_figures`` names the attribute for what the held-out data say after every
    round: costs, or scores where ``_greater_is_better``.
    """

    n_iter_no_change: int | None
    validation_fraction: float
    tol: float
    verbose: int

    _most_rounds = "n_estimators"
    _step_factor = "learning_rate"
    _validation_figures = "validation_costs_"
    _greater_is_better = False

    def _check_rounds(self) -> None:
        require_count(self._most_rounds, getattr(self, self._most_rounds))
        require_positive(self._step_factor, getattr(self, self._step_factor))
        if self.n_iter_no_change is None:
            return
        require_count("n_iter_no_change", self.n_iter_no_change)
        fraction: Any = self.validation_fraction
        if not isinstance(fraction, Real) or not 0.0 < float(fraction) < 1.0:
            raise ValueError(f"validation_fraction must lie between 0 and 1; found {fraction!r}.")

    def _grow(
        self,
        rounds: Iterable[Round],
        held_out: Callable[[Round], float] | None,
        figures: Callable[[list[Round]], str],
    ) -> list[Round]:
        """The rounds to keep: all, or those up to the best one on what is held out.

        ``held_out`` gives the cost or score on the held-out data with one more round, or is None;
        ``figures`` tells in words what the rounds so far have brought.
        """
        self.__dict__.pop(self._validation_figures, None)
        sign = -1.0 if self._greater_is_better else 1.0
        stopping = None
        if held_out is not None and self.n_iter_no_change is not None:
            stopping = EarlyStopping(self.n_iter_no_change, self.tol)
        grown: list[Round] = []
        for found in rounds:
            grown.append(found)
            self._print_round(grown, figures)
            if held_out and stopping and stopping.should_stop(sign * held_out(found)):
                break
        if stopping is None:
            return grown
        setattr(self, self._validation_figures, sign * np.array(stopping.costs))
        return grown[: stopping.best + 1]

    def _print_round(self, rounds: list[Round], figures: Callable[[list[Round]], str]) -> None:
        """Print about ten of the rounds, if asked."""
        most = getattr(self, self._most_rounds)
        if self.verbose > 0 and len(rounds) % max(1, most // 10) == 0:
            name = type(self).__name__
            print(f"{name}: round {len(rounds)} of {most}, {figures(rounds)}", flush=True)


class StagedMixin(RoundsMixin, HoldsRowsOutMixin, ProbabilityMixin):
    """What the ordinal ones of them share: labels and scores after every round, and rows held out.

    A subclass gives ``_staged_codes(X)`` and ``_probabilities(X)``.
    """

    def _staged_codes(self, X: Any) -> Iterator[Codes]:
        raise NotImplementedError

    def staged_predict(self, X: MatrixLike) -> Iterator[LabelArray]:
        """Labels after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        labels : array of shape (n,)
        """
        for codes in self._staged_codes(X):
            yield self._scale.decode(codes)

    def staged_score(
        self, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None
    ) -> Iterator[float]:
        """Negative mean cost after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        score : float
        """
        for codes in self._staged_codes(X):
            yield -self._mean_cost(codes, y, sample_weight)

    def _hold_out(
        self, data: OrdinalData, rng: np.random.RandomState, groups: Any = None, time: Any = None
    ) -> tuple[Codes | None, Codes | None]:
        """Rows that train, None for all, and rows held out; rows without weight do neither."""
        design = RowDesign.of(len(data.codes), groups=groups, time=time)
        rows = np.flatnonzero(data.sample_weight)
        if self.n_iter_no_change is None:
            return None if len(rows) == len(data.codes) else rows, None
        codes, design = data.codes[rows], design.take(rows)
        if design.is_plain:
            train, held = self._random_part(rows, codes, rng)
        else:
            inside, outside = design.held_out(codes, self.validation_fraction, rng)
            train, held = rows[inside], rows[outside]
        if len(np.unique(data.codes[train])) < 2:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} leaves one class only to learn "
                "from; pass more rows, another fraction, or n_iter_no_change=None."
            )
        return np.sort(train), held

    def _random_part(
        self, rows: Codes, codes: Codes, rng: np.random.RandomState
    ) -> tuple[Codes, Codes]:
        n_held = max(1, round(self.validation_fraction * len(rows)))
        counts = np.bincount(codes)
        counts = counts[counts > 0]
        spread = counts.min() > 1 and len(counts) <= min(n_held, len(rows) - n_held)
        train, held = train_test_split(
            rows, test_size=n_held, random_state=rng, stratify=codes if spread else None
        )
        return train, held


def take_rows(data: OrdinalData, rows: Codes | None) -> OrdinalData:
    """Some of the rows, or all for None."""
    if rows is None:
        return data
    return replace(
        data,
        X=_safe_indexing(data.X, rows),
        codes=data.codes[rows],
        sample_weight=data.sample_weight[rows],
    )


class HeldOutPairs:
    """Pairs held out, and how well the scores that base rankers add up to order them.

    Parameters
    ----------
    data : RankingData
        All rows.
    pairs : PairSet
        The pairs held out.
    scoring : str, callable or None
        Score of the labels, as `as_ranking_scorer` reads it; None for the share of the pairs in
        order.

    Attributes
    ----------
    X : array or sparse matrix
        Inputs of the rows held out.
    """

    def __init__(self, data: RankingData, pairs: PairSet, scoring: Any) -> None:
        self._pairs = pairs
        self._scoring = None if scoring is None else as_ranking_scorer(scoring)
        if scoring is None:
            rows = paired_rows(pairs)
        elif pairs.implied is None or data.relevance is None:
            raise ValueError("scoring needs labels; pass y, or scoring=None.")
        else:
            rows = np.sort(pairs.implied.rows)
            self._y = data.relevance[rows]
            codes, _ = query_codes(data.qid, data.X.shape[0])
            self._qid = None if data.qid is None else codes[rows]
        self._rows, self.X = rows, data.X[rows]
        self._scores = np.zeros(data.X.shape[0])

    def add(self, scores: Vector) -> float:
        """Add to the scores of the rows held out, and tell how well they are in order."""
        self._scores[self._rows] += scores
        if self._scoring is None:
            return misranked(self._pairs, self._scores).accuracy
        return self._scoring.of_scores(self._y, self._scores[self._rows], qid=self._qid)


def hold_out_pairs(
    pairs: PairSet, fraction: float, rng: np.random.RandomState
) -> tuple[PairSet, PairSet]:
    """Pairs that train, and pairs held out.

    Held out are whole queries where there are several, rows spread over all levels where there is
    one, and stated pairs at random.

    Examples
    --------
    >>> pairs = PairSet.from_labels([0, 1, 0, 1, 0, 1], qid=["a", "a", "b", "b", "c", "c"])
    >>> train, held = hold_out_pairs(pairs, 0.3, np.random.RandomState(0))
    >>> train.n_pairs, held.n_pairs
    (2, 1)
    """
    train, held = PairSet(pairs.n_items), PairSet(pairs.n_items)
    if pairs.implied is not None:
        out = _rows_out(pairs.implied, fraction, rng)
        train += _part(pairs.implied, ~out, pairs.n_items)
        held += _part(pairs.implied, out, pairs.n_items)
    if pairs.listed is not None:
        stated = pairs.listed
        chosen = np.zeros(len(stated.winners), dtype=bool)
        count = min(max(1, round(fraction * len(chosen))), len(chosen) - 1)
        chosen[rng.permutation(len(chosen))[:count]] = True
        both = np.stack([stated.winners, stated.losers], axis=1)
        train += PairSet.from_pairs(both[~chosen], pairs.n_items, stated.weights[~chosen])
        held += PairSet.from_pairs(both[chosen], pairs.n_items, stated.weights[chosen])
    if train.kind == "empty" or held.kind == "empty":
        raise ValueError(
            f"validation_fraction={fraction!r} leaves no pair to train or none to validate on; "
            "pass more rows, another fraction, or n_iter_no_change=None."
        )
    return train, held


def _rows_out(part: LevelPairs, fraction: float, rng: np.random.RandomState) -> Mask:
    """Which of the rows of implied pairs are held out."""
    if part.n_queries > 1:
        count = min(max(1, round(fraction * part.n_queries)), part.n_queries - 1)
        queries = np.zeros(part.n_queries, dtype=bool)
        queries[rng.permutation(part.n_queries)[:count]] = True
        return np.asarray(queries[part.row_queries])
    # Every so many rows, in order of their levels and at random within each.
    m = len(part.rows)
    order = np.lexsort((rng.random_sample(m), part.segments))
    count = min(max(2, round(fraction * m)), m)
    out = np.zeros(m, dtype=bool)
    out[order[((np.arange(count) + rng.random_sample()) * m / count).astype(np.intp)]] = True
    return out


def _part(part: LevelPairs, kept: Mask, n_items: int) -> PairSet:
    """The pairs among some of the rows."""
    rows, queries = part.rows[kept], part.row_queries[kept]
    present = np.unique(queries)
    found = PairSet.from_labels(
        part.levels[part.segments[kept]], queries, part.weights[kept], part.scales[present]
    ).implied
    if found is None:
        return PairSet(n_items)
    ids = part.ids[present[found.ids]]
    return PairSet(n_items, implied=replace(found, rows=rows[found.rows], ids=ids))
