"""Ratings of items by users, and the ordinal problem of predicting one user from others.

The tables have a line for each rating. They are in no public archive that can be asked by name, so
they are read from a data folder alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echelon._utils.types import Array

from .errors import ReproductionError


@dataclass(frozen=True)
class RatingFacts:
    """Columns of a table of ratings, and the checksum of its content."""

    user: str
    item: str
    checksum: str


RATINGS = {
    "insteval": RatingFacts(
        "student", "lecturer", "3218045acb0eb1b8f8a23869a98b655d2891de4cb0e47889d0e5f6180a6cfb81"
    ),
    "jester5k": RatingFacts(
        "user", "joke", "1fc9a4323be2aac01ec292c31d0c4402f81552d90a71a403704baa5a25bd93b7"
    ),
}


@dataclass(frozen=True)
class Ratings:
    """A rating for every triple of user, item and value; users and items are numbers."""

    users: npt.NDArray[np.intp]
    items: npt.NDArray[np.intp]
    values: Array


@dataclass(frozen=True)
class RatingProblem:
    """Labels 1 … K that one user gave items, a row each, and what others gave them, NaN for none.

    A column of X is another user.
    """

    X: Array
    y: npt.NDArray[np.intp]
    classes: tuple[int, ...]
    user: int

    @property
    def observed(self) -> float:
        """Share of inputs that are there."""
        return float(1.0 - np.isnan(self.X).mean())


def read_ratings(name: str) -> Ratings:
    """Read a table of ratings, ``ranking/<name>.csv.gz`` in a data folder."""
    from echelon.datasets.ranking_sets import read_ranking_table

    if name not in RATINGS:
        raise ReproductionError(
            f"There are no ratings {name!r}; there are {', '.join(sorted(RATINGS))}."
        )
    facts = RATINGS[name]
    try:
        table = read_ranking_table(name, facts.checksum)
    except (OSError, ValueError) as error:
        raise ReproductionError(str(error)) from error
    columns = dict(zip(table.names, table.columns, strict=True))
    users, items = (np.array(columns[key], dtype=np.intp) for key in (facts.user, facts.item))
    return Ratings(users, items, np.array(table.target, dtype=np.float64))


def rating_problem(
    ratings: Ratings, *, inputs: int, choice: str, cuts: Sequence[float], seed: int
) -> RatingProblem:
    """Predict the ratings of the user who gave most of them.

    Parameters
    ----------
    ratings : Ratings
    inputs : int
        Number of other users.
    choice : {"most", "random"}
        Those who rated the most of the same items, or any that rated one of them.
    cuts : sequence of float
        A label is one plus the number of cuts below the rating.
    seed : int
        For the random choice.

    Examples
    --------
    >>> ratings = Ratings(np.array([7, 8, 7, 8, 7]), np.array([1, 1, 2, 2, 3]), np.arange(5.0))
    >>> problem = rating_problem(ratings, inputs=1, choice="most", cuts=[1.5], seed=0)
    >>> problem.user, problem.y.tolist(), problem.X.ravel().tolist()
    (7, [1, 2, 2], [1.0, 3.0, nan])
    """
    if choice not in ("most", "random"):
        raise ReproductionError(f"choice must be most or random; found {choice!r}.")
    user = _most_frequent(ratings.users, 1)[0]
    items = np.unique(ratings.items[ratings.users == user])
    others = ratings.users[np.isin(ratings.items, items) & (ratings.users != user)]
    if choice == "most":
        chosen = _most_frequent(others, inputs)
    else:
        chosen = np.random.default_rng(seed).choice(np.unique(others), inputs, replace=False)
    matrix = _pivot(ratings, items, np.array([user, *np.sort(chosen)]))
    y = 1 + np.searchsorted(np.asarray(cuts), matrix[:, 0])
    return RatingProblem(matrix[:, 1:], y, tuple(range(1, len(cuts) + 2)), int(user))


def _most_frequent(numbers: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
    """The numbers that occur most, the smaller first among equals."""
    found, times = np.unique(numbers, return_counts=True)
    return np.asarray(found[np.argsort(-times, kind="stable")[:count]])


def _pivot(ratings: Ratings, items: npt.NDArray[np.intp], users: npt.NDArray[np.intp]) -> Array:
    """Matrix of items by users, NaN where there is no rating; items are in ascending order."""
    kept = np.isin(ratings.users, users) & np.isin(ratings.items, items)
    order = np.argsort(users)
    columns = order[np.searchsorted(users, ratings.users[kept], sorter=order)]
    matrix = np.full((len(items), len(users)), np.nan)
    matrix[np.searchsorted(items, ratings.items[kept]), columns] = ratings.values[kept]
    return matrix
