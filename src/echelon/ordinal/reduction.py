"""Ordinal ranking as binary questions "is y above threshold k?", and back.

Reduction [LL09] (2) turns an example with costs c into K−1 weighted binary examples with side
z_k = +1 if y > k else −1 and weight W_k = |c[k+1] − c[k]|. Reverse reduction (3) sums the weights
between y and r back into c[r]. The paper's common factor K−1, which makes the mean over a random
k equal to the sum, cancels between the two and is left out here. (3) is printed with a wrong
range; the inverse is c[r] = Σ_k W_k·[y ≤ k < r or r ≤ k < y], and a test holds it to be exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .costs import Matrix, threshold_weights
from .labels import Codes

Sides = npt.NDArray[np.int8]


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


def vote_margins(votes: Codes, weights: npt.NDArray[np.float64], n_classes: int) -> Matrix:
    """Weighted votes for "above k" minus those for "not above k", as a share of all votes.

    Parameters
    ----------
    votes : ndarray of shape (n, T)
        The codes that T rankers give.
    weights : ndarray of shape (T,)
        Their weights, not negative and not all zero.
    """
    margins = np.empty((len(votes), n_classes - 1))
    total = weights.sum()
    for k in range(n_classes - 1):
        margins[:, k] = 2.0 * ((votes > k) @ weights) / total - 1.0
    return margins


def weighted_median(votes: Codes, weights: npt.NDArray[np.float64]) -> Codes:
    """Weighted (upper) median of the votes, [LL09] (7).

    The least k with more than half of the weight on votes ≤ k. It equals (6), which counts the
    thresholds with at least half of the weight above them.
    """
    order = np.argsort(votes, axis=1, kind="stable")
    ranked = np.take_along_axis(votes, order, axis=1)
    below = np.cumsum(weights[order], axis=1)
    first = np.argmax(2.0 * below > below[:, -1:], axis=1)
    return np.take_along_axis(ranked, first[:, None], axis=1)[:, 0]


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


def exceedance_to_probabilities(above: Matrix) -> Matrix:
    """Class probabilities of a valid P(y > k): its falls from 1 to 0."""
    edges = np.zeros((len(above), above.shape[1] + 2))
    edges[:, 0] = 1.0
    edges[:, 1:-1] = above
    return edges[:, :-1] - edges[:, 1:]
