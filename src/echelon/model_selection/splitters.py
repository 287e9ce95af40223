"""Rows, queries and pairs dealt into folds: by class, by whole queries, and by stated pairs.

How the rows of a class are spread over folds is in `echelon.base.folds`, which estimators share.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from heapq import heapreplace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import (
    BaseCrossValidator,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from .._utils.messages import require_choice
from .._utils.types import Codes, Index, KeysLike, LabelsLike, MatrixLike, RandomStateLike
from ..base.folds import dealt_parts
from ..base.row_design import RowDesign, Split
from ..ordinal.arrays import require_count
from ..pairs.queries import query_codes


def stratified_folds(codes: Codes, folds: int, random_state: int) -> list[Split]:
    """Training and test rows of every fold; classes may be smaller than the number of folds."""
    return _split(StratifiedKFold, codes, folds, shuffle=True, random_state=random_state)


def repeated_splits(codes: Codes, folds: int, repeats: int, random_state: int) -> list[Split]:
    """Folds of repeated stratified cross-validation."""
    require_count("repeats", repeats)
    return _split(
        RepeatedStratifiedKFold, codes, folds, n_repeats=repeats, random_state=random_state
    )


def contest_splits(
    codes: Codes,
    design: RowDesign,
    folds: int = 5,
    repeats: int = 2,
    random_state: int = 0,
    cv: Any = None,
    X: Any = None,
) -> tuple[list[Split], str]:
    """Training and test rows of a contest, and what they are in words.

    Rows of weight zero are in neither. An integer `cv` is a number of folds, dealt out once.
    """
    rows = design.counted(len(codes))
    counted, known = design.take(rows), codes[rows]
    if cv is not None and not isinstance(cv, Integral):
        splitter = check_cv(cv, codes, classifier=True)
        X = np.zeros(len(codes)) if X is None else X
        found = list(splitter.split(X, codes, design.groups))
        inside = np.isin(np.arange(len(codes)), rows)
        kept = [tuple(np.asarray(p)[inside[np.asarray(p)]] for p in s) for s in found]
        splits = [(a, b) for a, b in kept if len(a) and len(b)]
        return splits, f"{len(splits)} splits as given"
    if cv is not None:
        require_count("cv", cv, 2)
        folds, repeats = int(cv), 1
    if counted.is_plain:
        splits = repeated_splits(known, folds, repeats, random_state)
        said = f"{folds} folds{_times(repeats)}"
    else:
        require_count("folds", folds, 2)
        require_count("repeats", repeats)
        rng = np.random.RandomState(random_state)
        # Windows of time alone are the same again.
        repeats = 1 if counted.groups is None else repeats
        splits = [s for _ in range(repeats) for s in counted.folds(known, folds, rng)]
        said = _designed_words(counted, len(splits), repeats)
    return [(rows[a], rows[b]) for a, b in splits], said


def _designed_words(design: RowDesign, n: int, repeats: int) -> str:
    if design.times is None:
        return f"{n // repeats} folds of whole groups{_times(repeats)}"
    if design.groups is None:
        return f"{n} window{'s' if n > 1 else ''} of time, each after what is learnt from"
    return f"{n} parts of later rows of groups that are not learnt from"


def _times(repeats: int) -> str:
    return f" × {repeats}" if repeats > 1 else ""


def _split(splitter: Any, codes: Codes, folds: int, **options: Any) -> list[Split]:
    """Folds of a stratified splitter, without its warning about small classes."""
    require_count("folds", folds, 2)
    largest = int(np.bincount(codes, minlength=1).max())
    if largest < folds:
        raise ValueError(
            f"{folds} folds need a class of at least {folds} rows; the largest has {largest}."
        )
    with warnings.catch_warnings():
        # Classes smaller than the number of folds are missing from some; the scale covers that.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter(n_splits=folds, **options).split(np.zeros(len(codes)), codes))


def dealt_splits(
    labels: npt.NDArray[Any], cv: int, repeats: int = 1, random_state: int | None = None
) -> list[Split]:
    """Folds that any class may be too small for: rows are dealt out by rising label.

    Rows of one label are dealt out at random, or in their order without a seed.
    """
    if len(labels) < cv:
        raise ValueError(f"cv must be at most the number of rows, {len(labels)}; found {cv}.")
    rng = None if random_state is None else np.random.RandomState(random_state)
    return [split for _ in range(repeats) for split in dealt_parts(labels, cv, rng)]


class _Splitter(BaseCrossValidator):
    """A splitter with a number of splits that does not depend on the data."""

    n_splits: int

    def get_n_splits(
        self,
        X: MatrixLike | None = None,
        y: LabelsLike | None = None,
        groups: KeysLike | None = None,
        **metadata: object,
    ) -> int:
        """Return the number of splits; the arguments are for scikit-learn and are not looked at."""
        return int(self.n_splits)


class _QuerySplitter(_Splitter):
    """A splitter of whole queries, which scikit-learn may hand over by either of two names."""

    # With metadata routing on, queries arrive as the ranker's ``qid`` or as ``groups``.
    __metadata_request__split = {"groups": True, "qid": True}  # noqa: RUF012 - read from the class

    def split(
        self,
        X: MatrixLike,
        y: LabelsLike | None = None,
        groups: KeysLike | None = None,
        qid: KeysLike | None = None,
    ) -> Iterator[Split]:
        """Rows of the training and the test part of every split.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Only its number of rows counts.
        y : object
            Not looked at; for scikit-learn.
        groups, qid : sequence of shape (n,)
            Query of each row, by one of the two names: any hashable ids in any order.

        Yields
        ------
        training, test : ndarray
            Rows in ascending order.
        """
        codes, ids = query_codes(_one_of(groups, qid, "qid"), _num_samples(X))
        codes = _id_ranks(ids)[codes]
        for training, test in self._parts(np.bincount(codes, minlength=len(ids))):
            yield np.flatnonzero(np.isin(codes, training)), np.flatnonzero(np.isin(codes, test))

    def _parts(self, sizes: Index) -> Iterator[Split]:
        """Queries of the two parts of every split, from the queries' numbers of rows."""
        raise NotImplementedError


class QueryKFold(_QuerySplitter):
    """K folds of whole queries with about as many rows in each.

    Queries are dealt out one by one, each to the fold that has the fewest rows so far, from the
    largest query to the smallest or, with `shuffle`, in random order. So no two folds differ by
    more rows than the largest query has.

    The fold of a query depends on the ids and their numbers of rows, not on the order of the rows:
    queries are first put into the order of their ids (numbers and texts by value, other ids by
    type and by ``repr``).

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, from 2 to the number of queries.
    shuffle : bool, default=False
        Whether to deal queries out in random order.
    random_state : int, RandomState instance or None, default=None
        Seed of that order; only with `shuffle`.

    See Also
    --------
    QueryShuffleSplit : Random shares of the queries.
    echelon.model_selection.cross_validate_ranker : Cross-validation that passes queries on.

    Examples
    --------
    >>> import numpy as np
    >>> from echelon.model_selection.splitters import QueryKFold
    >>> X, qid = np.zeros((6, 1)), ["b", "a", "c", "b", "a", "a"]
    >>> for training, test in QueryKFold(2).split(X, qid=qid):
    ...     print(training, test)
    [0 2 3] [1 4 5]
    [1 4 5] [0 2 3]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: RandomStateLike = None
    ):
        require_count("n_splits", n_splits, least=2)
        _check_seed(shuffle, random_state)
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def _parts(self, sizes: Index) -> Iterator[Split]:
        fold = _deal(sizes, self.n_splits, _rng(self.shuffle, self.random_state), "queries")
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


class QueryShuffleSplit(_QuerySplitter):
    """Random splits of whole queries into a training and a test part.

    The splits depend on the ids and the seed, not on the order of the rows; see `QueryKFold`.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size : float or int, optional
        Share or number of the queries (not of the rows) to test on. By default what `train_size`
        leaves, or 0.2.
    train_size : float or int, optional
        Share or number of the queries to train on; by default all others.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from echelon.model_selection.splitters import QueryShuffleSplit
    >>> qid = np.repeat([7, 8, 9], 2)
    >>> splitter = QueryShuffleSplit(1, test_size=1, random_state=0)
    >>> [qid[test].tolist() for _, test in splitter.split(np.zeros((6, 1)), qid=qid)]
    [[9, 9]]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | int | None = None,
        train_size: float | int | None = None,
        random_state: RandomStateLike = None,
    ):
        require_count("n_splits", n_splits)
        self.n_splits = n_splits
        self.test_size = test_size
        self.train_size = train_size
        self.random_state = random_state

    def _parts(self, sizes: Index) -> Iterator[Split]:
        test_size = 0.2 if self.test_size is None and self.train_size is None else self.test_size
        draws = ShuffleSplit(
            self.n_splits,
            test_size=test_size,
            train_size=self.train_size,
            random_state=self.random_state,
        )
        yield from draws.split(sizes)


class PairKFold(_Splitter):
    """K folds of stated pairs with about as many pairs in each.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    disjoint : {"pairs", "items"}, default="pairs"
        What the training and the test part must not share. ``"pairs"``: all judgements of the
        same two items, whichever of them won, are in one fold. ``"items"``: no item of a test
        pair is in a training pair. Items, or groups of items that pairs connect where no group
        holds more than its share of the pairs, are then dealt out to folds; a fold tests the
        pairs that lie within it and trains on those that lie outside, and pairs with one item
        inside are left out, which with many connections is most of them.
    shuffle : bool, default=False
        Whether to deal out in random order, not from the most frequent to the least.
    random_state : int, RandomState instance or None, default=None
        Seed of that order; only with `shuffle`.

    Notes
    -----
    As for `QueryKFold`, the fold of a pair does not depend on the order of the rows. For folds of
    single judgements take scikit-learn's ``KFold``.

    Examples
    --------
    >>> from echelon.model_selection.splitters import PairKFold
    >>> pairs = [("x", "y"), ("y", "x"), ("x", "z"), ("y", "z")]
    >>> for training, test in PairKFold(2).split(pairs):
    ...     print(training, test)
    [2 3] [0 1]
    [0 1] [2 3]
    """

    __metadata_request__split = {"groups": True, "pairs": True}  # noqa: RUF012

    def __init__(
        self,
        n_splits: int = 5,
        *,
        disjoint: str = "pairs",
        shuffle: bool = False,
        random_state: RandomStateLike = None,
    ):
        require_count("n_splits", n_splits, least=2)
        require_choice("disjoint", disjoint, ("pairs", "items"))
        _check_seed(shuffle, random_state)
        self.n_splits = n_splits
        self.disjoint = disjoint
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self,
        X: MatrixLike,
        y: LabelsLike | None = None,
        groups: KeysLike | None = None,
        pairs: npt.ArrayLike | None = None,
    ) -> Iterator[Split]:
        """Positions of the training and the test pairs of every fold.

        Parameters
        ----------
        X : array-like of shape (m, 2), or of m rows
            The pairs, or anything with a row for each where `pairs` or `groups` gives them.
        y : object
            Not looked at; for scikit-learn.
        groups, pairs : array-like of shape (m, 2), optional
            The two items of each pair: any hashable ids.

        Yields
        ------
        training, test : ndarray
            Positions in ascending order.
        """
        stated = X if groups is None and pairs is None else _one_of(groups, pairs, "pairs")
        ends = _item_codes(stated)
        if len(ends) != _num_samples(X):
            raise ValueError(
                f"pairs must have a row per row of X, {_num_samples(X)}; found {len(ends)}."
            )
        first, second = self._folds(ends, _rng(self.shuffle, self.random_state))
        for k in range(self.n_splits):
            test = (first == k) & (second == k)
            if not test.any():
                raise ValueError(
                    f"n_splits={self.n_splits} leaves a fold without a pair between its own items; "
                    "take fewer splits or disjoint='pairs'."
                )
            yield np.flatnonzero((first != k) & (second != k)), np.flatnonzero(test)

    def _folds(self, ends: Index, rng: np.random.RandomState | None) -> tuple[Index, Index]:
        """Fold of both ends of each pair; a pair whose ends are apart is in no fold."""
        if self.disjoint == "pairs":
            _, kinds = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
            fold = _deal(np.bincount(kinds.ravel()), self.n_splits, rng, "different pairs")
            return fold[kinds.ravel()], fold[kinds.ravel()]
        units = _separate_units(ends, self.n_splits)
        fold = _deal(np.bincount(units.ravel()), self.n_splits, rng, "items")
        return fold[units[:, 0]], fold[units[:, 1]]


def _separate_units(ends: Index, n_splits: int) -> Index:
    """Units to be dealt out, for both ends of each pair: groups of connected items, or items."""
    n = int(ends.max()) + 1
    edges = sparse.coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    _, group = connected_components(edges, directed=False)
    largest = np.bincount(group[ends[:, 0]]).max()
    return group[ends] if largest * n_splits <= len(ends) else ends


def _deal(sizes: Index, n_folds: int, rng: np.random.RandomState | None, what: str) -> Index:
    """Fold of each unit: one by one to the fold with the least in it so far."""
    if len(sizes) < n_folds:
        raise ValueError(
            f"n_splits must be at most the number of {what}, {len(sizes)}; found {n_folds}."
        )
    order = np.argsort(-sizes, kind="stable") if rng is None else rng.permutation(len(sizes))
    fold = np.empty(len(sizes), dtype=np.intp)
    filled = [(0, k) for k in range(n_folds)]
    for unit, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        least, k = filled[0]
        fold[unit] = k
        heapreplace(filled, (least + size, k))
    return fold


def _item_codes(pairs: Any) -> Index:
    """Codes of the two items of each pair in the order of the ids, of shape (m, 2)."""
    # A list may hold ids that are tuples themselves, which NumPy would take apart.
    rows = pairs if isinstance(pairs, (list, tuple)) else np.asarray(pairs).tolist()
    if not rows or any(not isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        raise ValueError("pairs must be a table of two columns with at least one row.")
    if {len(row) for row in rows} != {2}:
        raise ValueError(f"pairs must have two columns; found {max(map(len, rows))}.")
    ends = [end for row in rows for end in row]
    codes, ids = query_codes(ends, len(ends), name="pairs")
    return _id_ranks(ids)[codes].reshape(-1, 2)


def _id_ranks(ids: Sequence[Any]) -> Index:
    """Rank of each id in an order that does not depend on where it first appeared."""
    kinds = {type(entry) for entry in ids}
    if not (kinds <= {bool, int, float} or kinds == {str}):
        # Ids of several types, or of one without an order, such as sets, still have texts.
        ids = [(type(entry).__name__, repr(entry)) for entry in ids]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    ranks = np.empty(len(ids), dtype=np.intp)
    ranks[order] = np.arange(len(ids))
    return ranks


def _one_of(groups: Any, named: Any, name: str) -> Any:
    if (groups is None) == (named is None):
        found = "neither" if groups is None else "both"
        raise ValueError(f"Pass {name} or groups to split, one of the two; found {found}.")
    return groups if named is None else named


def _check_seed(shuffle: bool, random_state: Any) -> None:
    if random_state is not None and not shuffle:
        raise ValueError("random_state must be None where shuffle=False, which draws nothing.")


def _rng(shuffle: bool, random_state: Any) -> np.random.RandomState | None:
    return check_random_state(random_state) if shuffle else None
