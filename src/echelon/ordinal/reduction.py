"""Ordinal ranking as binary questions "is y above threshold k?", and back.

Reduction [LL09] (2) turns an example with costs c into K−1 weighted binary examples with side
z_k = +1 if y > k else −1 and weight W_k = |c[k+1] − c[k]|. Reverse reduction (3) sums the weights
between y and r back into c[r]. The paper's common factor K−1, which makes the mean over a random
k equal to the sum, cancels between the two and is left out here. (3) is printed with a wrong
range; the inverse is c[r] = Σ_k W_k·[y ≤ k < r or r ≤ k < y], and a test holds it to be exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes, Matrix, Vector
from .costs import threshold_weights

Sides = npt.NDArray[np.int8]

# Shares of votes closer to one half than this are a tie.
VOTE_ROUNDING = 1e-12
# Equations for probabilities are solved for so many rows at a time, with so small a ridge.
_ROWS = 2**14
UNTILTING_RIDGE = 1e-12


class ProbabilityLink(NamedTuple):
    """From scores to the probabilities of labels, for models whose log-odds are twice a margin.

    A score less ``thresholds`` gives the share of each threshold's upper side, from which
    `untilted_probabilities` takes the effect of ``weights`` (K, K−1).
    """

    weights: Matrix
    thresholds: Vector


def side_matrix(codes: Codes, n_classes: int) -> Sides:
    """Z[i, k] = +1 if y_i lies above threshold k, else −1; also g_r of [LL09] (4) for ranks r."""
    above = codes[:, None] > np.arange(n_classes - 1)
    return np.where(above, 1, -1).astype(np.int8)


def reduce_to_binary(codes: Codes, costs: Matrix) -> tuple[Sides, Matrix]:
    """Sides and weights of the K−1 binary examples of every example, [LL09] (2).

    Parameters
    ----------
    codes : ndarray of shape (n,)
    costs : ndarray of shape (n, K)
        Costs per example, V-shaped around its code.

    Returns
    -------
    sides, weights : ndarrays of shape (n, K−1)
    """
    return side_matrix(codes, costs.shape[1]), threshold_weights(costs)


def signed_weights(codes: Codes, weights: Matrix) -> Matrix:
    """V = Z·W for threshold weights W: what a cost-sensitive learner needs of labels and costs.

    Parameters
    ----------
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n, K−1)
        Not negative.

    Examples
    --------
    >>> signed_weights(np.array([0, 1]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[-1., -2.],
           [ 3., -4.]])
    """
    below = codes[:, None] <= np.arange(weights.shape[1])
    return np.asarray(np.where(below, -weights, weights))


def reverse_reduce(sides: Sides, weights: Matrix) -> tuple[Codes, Matrix]:
    """Codes and costs whose reduction is `sides` and `weights`, the exact inverse of (2)."""
    codes = decode(sides)
    n, thresholds = weights.shape
    climb = np.zeros((n, thresholds + 1))
    np.cumsum(np.where(sides > 0, -weights, weights), axis=1, out=climb[:, 1:])
    return codes, climb - climb[np.arange(n), codes][:, None]


def decode(margins: npt.NDArray[np.floating] | Sides) -> Codes:
    """r(x) = #{k : G(x, k) > 0}, the code that all models decode to, [LL09] (1)."""
    return np.asarray(np.count_nonzero(margins > 0, axis=1), dtype=np.intp)


def vote_margins(above: Matrix, total: Matrix | float) -> Matrix:
    """Margins of rows by the weight of votes above each threshold and of all votes.

    A tie counts as above, by [LL09] (6): it has the least positive margin, also where the sums
    miss each other by rounding.
    """
    shares = np.divide(above, total, out=np.zeros_like(above), where=np.asarray(total) > 0.0)
    margins = np.where(np.asarray(total) > 0.0, 2.0 * shares - 1.0, 0.0)
    tied = (np.abs(margins) <= VOTE_ROUNDING) & (np.asarray(total) > 0.0)
    return np.asarray(np.where(tied, np.finfo(np.float64).tiny, margins))


class VoteTally:
    """Weighted votes of many rankers, gathered one ranker at a time.

    Parameters
    ----------
    n_rows : int
    n_classes : int
        K.

    Examples
    --------
    >>> tally = VoteTally(1, 3)
    >>> tally.add(np.array([0]), 1.0)
    >>> tally.add(np.array([2]), 3.0)
    >>> tally.margins()
    array([[0.5, 0.5]])
    """

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self.mass = np.zeros((n_rows, n_classes))
        self._rows = np.arange(n_rows)

    def add(self, votes: Codes, weight: float) -> None:
        """Count the vote of one ranker for every row."""
        self.mass[self._rows, votes] += weight

    def margins(self) -> Matrix:
        """Weight for "above k" minus weight for "not above k", as a share of all, (n, K−1).

        A row without votes has margin zero.
        """
        above = np.cumsum(self.mass[:, :0:-1], axis=1)[:, ::-1]
        return vote_margins(above, self.mass.sum(axis=1, keepdims=True))


def monotone_exceedance(above: Matrix) -> Matrix:
    """Nearest valid P(y > k) to K−1 separate estimates: falling in k and within [0, 1].

    Notes
    -----
    The least-squares projection of each row on the non-increasing sequences is
    min_{a ≤ k} max_{b ≥ k} mean(row[a … b]).

    Examples
    --------
    >>> monotone_exceedance(np.array([[0.9, 0.2, 0.4]]))
    array([[0.9, 0.3, 0.3]])
    """
    n, thresholds = above.shape
    total = np.zeros((n, thresholds + 1))
    np.cumsum(above, axis=1, out=total[:, 1:])
    projected = np.full((n, thresholds), np.inf)
    for a in range(thresholds):
        means = (total[:, a + 1 :] - total[:, a : a + 1]) / np.arange(1, thresholds - a + 1)
        highest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        np.minimum(projected[:, a:], highest, out=projected[:, a:])
    return np.clip(np.minimum.accumulate(projected, axis=1), 0.0, 1.0)


def expected_rank(probabilities: Matrix) -> Vector:
    """Σ_k k·p_k of rows, counted from 0.

    Examples
    --------
    >>> expected_rank(np.array([[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]))
    array([1., 2.])
    """
    return np.asarray(probabilities @ np.arange(probabilities.shape[1], dtype=np.float64))


def exceedance(probabilities: Matrix) -> Matrix:
    """P(y > k), (n, K−1), summed from the highest class down.

    Examples
    --------
    >>> exceedance(np.array([[0.5, 0.25, 0.25]]))
    array([[0.5 , 0.25]])
    """
    return np.asarray(np.cumsum(probabilities[:, :0:-1], axis=1)[:, ::-1])


def exceedance_to_probabilities(above: Matrix) -> Matrix:
    """Class probabilities of a valid P(y > k): its falls from 1 to 0."""
    edges = np.zeros((len(above), above.shape[1] + 2))
    edges[:, 0] = 1.0
    edges[:, 1:-1] = above
    return edges[:, :-1] - edges[:, 1:]


def untilted_probabilities(above: Matrix, weights: Matrix) -> Matrix:
    """Class probabilities p behind shares that were estimated with threshold weights.

    Weighting the side of class y at threshold k by W[y, k] makes a binary learner estimate
    s_k = Σ_{y>k} W[y, k]·p_y / Σ_y W[y, k]·p_y instead of P(y > k).

    Parameters
    ----------
    above : ndarray of shape (n, K−1)
        s, within [0, 1].
    weights : ndarray of shape (K, K−1)
        W, not negative.

    Returns
    -------
    probabilities : ndarray of shape (n, K)

    Notes
    -----
    p has Σ_y W[y, k]·([y > k] − s_k)·p_y = 0 for every k: K−1 equations that are linear in p,
    solved by least squares under Σ p = 1 with the least norm where they leave p open. For equal
    weights p are the falls of s. Estimates s that no p explains can give negative entries, which
    are set to zero.

    Examples
    --------
    >>> p = np.array([0.2, 0.5, 0.3])
    >>> W = np.array([[1.0, 3.0], [1.0, 1.0], [3.0, 1.0]])
    >>> s = [[(0.5 + 0.9) / (0.2 + 0.5 + 0.9), 0.3 / (0.6 + 0.5 + 0.3)]]
    >>> untilted_probabilities(np.array(s), W).round(6)
    array([[0.2, 0.5, 0.3]])
    """
    if (weights == weights[0, 0]).all():
        return exceedance_to_probabilities(above)
    n_classes = len(weights)
    sides = np.arange(n_classes) > np.arange(n_classes - 1)[:, None]
    scaled = weights.T / max(weights.max(), np.finfo(np.float64).tiny)
    probabilities = np.empty((len(above), n_classes))
    for start in range(0, len(above), _ROWS):
        block = slice(start, start + _ROWS)
        equations = scaled * (sides - above[block][:, :, None])
        normal = np.swapaxes(equations, 1, 2) @ equations + UNTILTING_RIDGE * np.eye(n_classes)
        solved = np.linalg.solve(normal, np.ones((len(equations), n_classes, 1)))[:, :, 0]
        solved = np.maximum(solved / solved.sum(axis=1, keepdims=True), 0.0)
        probabilities[block] = solved / solved.sum(axis=1, keepdims=True)
    return probabilities
