"""Intervals of labels with a guarantee: nonconformity scores and conformal p-values.

A *nonconformity score* s(x, y) ≥ 0 is zero at the predicted label and never falls as y moves away
from it, so that {y : s(x, y) ≤ τ} is a contiguous interval around the prediction for every τ, and
intervals are nested in τ. Coverage needs nothing more of s; how short intervals are depends
on it. Two are here, one from probabilities and one from margins.

**Theorem 1 (split).** Let the n calibration rows and a new row be exchangeable given the model,
which has seen none of them. With s_i the score of the label of calibration row i,

    p(y) = (1 + #{i : s_i ≥ s(x, y)}) / (n + 1)

has P(p(Y) ≤ α) ≤ α for the label Y of the new row, so {y : p(y) > α} covers it with probability
1 − α at least. *Proof.* p(Y) ≤ α says that Y's score is among the ⌊α(n+1)⌋ greatest of n + 1
numbers even if it is placed last among its equals; under exchangeability every place is equally
likely. If no two scores are equal, all n + 1 places are single, and the
probability of coverage is 1 − ⌊α(n+1)⌋/(n+1) ≤ 1 − α + 1/(n+1). ∎ The set is
{y : s(x, y) ≤ the ⌈(n+1)(1−α)⌉-th smallest s_i}, and all labels where that number exceeds n.

**Theorem 2 (by class).** If for each y only calibration rows of class y are counted, n_y of them,
P(p(Y) ≤ α | Y = y) ≤ α for every class. *Proof.* Given all labels, the rows of class y are
exchangeable; apply theorem 1 to them. ∎ The split may then depend on labels too.

**Theorem 3 (cross).** Let p_1 … p_M be the p of M models, each calibrated on rows that it has not
seen, and p̄(y) their mean. {y : p̄(y) > α} covers Y with probability 1 − 2α at least, for α ≤ ½,
however much the models and the rows have to do with each other. *Proof.* f(u) = max(0, 2 − u/α) is
convex and falling, and f(u) ≥ 1 for u ≤ α. So P(p̄ ≤ α) ≤ E f(p̄) ≤ mean_m E f(p_m) by Jensen's
inequality, and E f(p_m) ≤ ∫₀^{2α} (2 − u/α) du = 2α as p_m is stochastically no smaller than a
uniform number. ∎ In practice the coverage is near 1 − α: the factor is the price of dependence at
its worst. The set need not be contiguous; its hull with the prediction only adds labels.

**Theorem 4 (groups).** Let the rows come in groups that are exchangeable, G of them for
calibration, and let the new row be drawn at random from a new group. If each calibration row
counts 1/n_g, with n_g the number of rows of its group,

    p(y) = (1 + Σ_{i : s_i ≥ s(x, y)} 1/n_g(i)) / (G + 1)

has P(p(Y) ≤ α) ≤ α [LBW23]. *Proof.* Let r(s) be the mean over all G + 1 groups, the new one
among them, of the share of a group's rows whose score is s or more. It is the probability that the
score of a row drawn at random from a group drawn at random is s or more, so that r of such a score
is at most α with probability α at most, whatever the groups; given all groups, the new row's score
is one such draw. The new group's own share is at most one, hence p(Y) ≥ r. ∎ With a row in each
group this is theorem 1. Rows of a group whose others were calibrated on fare no worse in practice,
but nothing is promised for them.

Numbers within a rounding error of each other count as equal, which can only add labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from .._utils.types import Codes, Index, Matrix, Vector

# Probabilities closer than this are equal.
EQUAL = 1e-12
# By so much a score is taken to be smaller, relative to itself and in itself.
_SLACK = 1e-9
# Of the test whether a class is covered as all rows are to be.
_LEVEL = 0.01
# Rows of a class below which its share says little.
_FEWEST = 5


def probability_nonconformity(probabilities: Matrix, predicted: Codes) -> Matrix:
    """Probability of the labels that join before each, as an interval grows.

    The interval always takes the more probable of its two neighbours, and both if they are equally
    probable.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
    predicted : ndarray of shape (n,)
        Predicted labels, where intervals start.

    Returns
    -------
    scores : ndarray of shape (n, K)

    Notes
    -----
    For probabilities with one peak and the prediction there, the interval of each length is the
    most probable one of that length.

    Examples
    --------
    >>> p = np.array([[0.1, 0.5, 0.3, 0.1]])
    >>> probability_nonconformity(p, np.array([1]))
    array([[0.8, 0. , 0.5, 0.8]])
    """
    n, n_classes = probabilities.shape
    framed = np.full((n, n_classes + 2), -np.inf)
    framed[:, 1:-1] = probabilities
    flat = framed.ravel()
    # Where a row begins, and where the interval and the columns beside it are.
    start = np.arange(n) * (n_classes + 2)
    low = high = start + predicted + 1
    scores = np.zeros(flat.shape)
    mass = flat[low]
    for _ in range(n_classes - 1):
        left, right = flat.take(low - 1), flat.take(high + 1)
        growing = np.maximum(left, right) > -np.inf
        goes_left = growing & (left >= right - EQUAL)
        goes_right = growing & (right >= left - EQUAL)
        low, high = low - goes_left, high + goes_right
        # A side that stays writes into the first column, which is outside.
        scores[np.where(goes_left, low, start)] = mass
        scores[np.where(goes_right, high, start)] = mass
        mass = mass + np.where(goes_left, left, 0.0) + np.where(goes_right, right, 0.0)
    return scores.reshape(framed.shape)[:, 1:-1]


def margin_nonconformity(margins: Matrix, predicted: Codes) -> Matrix:
    """How far the margins would have to move for each label to be decoded.

    Parameters
    ----------
    margins : ndarray of shape (n, K−1)
    predicted : ndarray of shape (n,)
        Predicted labels, whose score is set to zero.

    Returns
    -------
    scores : ndarray of shape (n, K)

    Notes
    -----
    Label y needs G_k > 0 for k < y and G_k ≤ 0 for k ≥ y; the greatest violation is
    max(0, max_{k<y} −G_k, max_{k≥y} G_k). For a threshold model that is the distance of
    the latent score from the label's interval.

    Examples
    --------
    >>> margin_nonconformity(np.array([[2.0, -1.0, -4.0]]), np.array([1]))
    array([[2., 0., 1., 4.]])
    """
    n, thresholds = margins.shape
    violation = np.zeros((n, thresholds + 1))
    violation[:, 1:] = np.maximum.accumulate(-margins, axis=1)
    from_right = np.maximum.accumulate(margins[:, ::-1], axis=1)[:, ::-1]
    violation[:, :-1] = np.maximum(violation[:, :-1], from_right)
    values = np.maximum(violation, 0.0)
    # Zero at the prediction, and the greatest value between it and each label elsewhere.
    levels = np.arange(thresholds + 1)
    right = np.where(levels > predicted[:, None], values, 0.0)
    left = np.where(levels < predicted[:, None], values, 0.0)
    outward = np.maximum.accumulate(right, axis=1)
    return outward + np.maximum.accumulate(left[:, ::-1], axis=1)[:, ::-1]


def miscoverage(confidence: float) -> float:
    """α = 1 − confidence, as near to the decimal that was meant as can be.

    Examples
    --------
    >>> miscoverage(0.9)
    0.1
    """
    return round(1.0 - float(confidence), 12)


def conformal_p_values(
    scores: Matrix, calibration: Vector, weights: Vector | None = None
) -> Matrix:
    """p(y) of theorem 1, or of theorem 4, for every row and label.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Of new rows.
    calibration : ndarray of shape (m,)
        Scores of the labels of the calibration rows, ascending.
    weights : ndarray of shape (m,), optional
        What these rows count: one divided by the rows of their group.

    Returns
    -------
    p_values : ndarray of shape (n, K)

    Examples
    --------
    >>> conformal_p_values(np.array([[0.0, 0.5, 9.0]]), np.array([0.0, 0.5, 1.0]))
    array([[1.  , 0.75, 0.25]])
    """
    counted = np.ones(len(calibration)) if weights is None else weights
    above = np.append(np.cumsum(counted[::-1])[::-1], 0.0)
    # Infinite scores stay infinite.
    eased = scores - _SLACK * np.minimum(1.0 + scores, np.finfo(np.float64).max)
    smaller = np.searchsorted(calibration, eased.ravel()).reshape(scores.shape)
    return np.asarray((1.0 + above[smaller]) / (1.0 + above[0]))


def one_per_group(groups: Codes, classes: Codes | None = None) -> Vector:
    """Weights of rows that sum to one over each group, or over its rows of each class.

    Examples
    --------
    >>> one_per_group(np.array([3, 7, 3])).tolist()
    [0.5, 1.0, 0.5]
    """
    keys = groups[None] if classes is None else np.stack([groups, classes])
    _, unit = np.unique(keys, axis=1, return_inverse=True)
    return np.asarray(1.0 / np.bincount(unit.ravel())[unit.ravel()])


def conformal_p_values_by_class(
    scores: Matrix, calibration: Vector, codes: Codes, weights: Vector
) -> Matrix:
    """p(y) of theorem 2: each label is compared with the calibration rows of its own class.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
    calibration : ndarray of shape (m,)
        Ascending.
    codes : ndarray of shape (m,)
        Classes of the calibration rows.
    weights : ndarray of shape (m,)
        What they count: one, or one divided by the rows of their group and class.

    Returns
    -------
    p_values : ndarray of shape (n, K)
        One for a class without calibration rows.
    """
    columns = [
        conformal_p_values(scores[:, [y]], calibration[codes == y], weights[codes == y])
        for y in range(scores.shape[1])
    ]
    return np.hstack(columns)


def covering_interval(p_values: Matrix, predicted: Codes, alpha: float) -> tuple[Codes, Codes]:
    """First and last code of the hull of the prediction and of all labels with p above α.

    Parameters
    ----------
    p_values : ndarray of shape (n, K)
    predicted : ndarray of shape (n,)
    alpha : float
        Miscoverage, the share of rows whose interval may miss their label.

    Returns
    -------
    low, high : ndarrays of shape (n,)

    Examples
    --------
    >>> covering_interval(np.array([[0.2, 0.05, 0.9, 0.1]]), np.array([2]), 0.1)
    (array([0]), array([2]))
    """
    inside = p_values > alpha + EQUAL
    inside[np.arange(len(predicted)), predicted] = True
    low = np.argmax(inside, axis=1)
    high = inside.shape[1] - 1 - np.argmax(inside[:, ::-1], axis=1)
    return low, high


def fewest_rows(alpha: float) -> int:
    """Calibration rows, or groups, below which p is above α for every label: all are kept.

    Examples
    --------
    >>> fewest_rows(0.1), fewest_rows(0.05)
    (9, 19)
    """
    return max(int(np.ceil(1.0 / alpha - 1.0 - _SLACK)), 1)


def hidden_classes(
    labels: Any, covered: npt.ArrayLike, rows: npt.ArrayLike, confidence: float
) -> str | None:
    """A sentence on classes whose intervals hold far fewer labels than the confidence promises.

    Theorem 1 promises coverage on average over all rows, and a rare class hardly counts there. A
    class of at least five rows is named if so few of its labels are covered that, at the level 1 %
    over all classes, its coverage is below the confidence.

    Parameters
    ----------
    labels : sequence of length K
    covered, rows : ndarray of shape (K,)
        Rows of each class whose interval holds their label, and all its rows.
    confidence : float

    Returns
    -------
    sentence : str or None
        Without an end mark, so that advice may follow; None if there is no such class.

    Examples
    --------
    >>> print(hidden_classes(["poor", "good"], np.array([2, 95]), np.array([9, 98]), 0.9))
    Intervals hold 22 % of the labels 'poor' (2 of 9 rows), and 91 % of all labels
    """
    held, total = np.asarray(covered, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    found = hidden_ranks(held, total, confidence)
    if not len(found):
        return None
    shares = [
        f"{held[k] / total[k]:.0%} of the labels {str(labels[k])!r} "
        f"({held[k]:.0f} of {total[k]:.0f} rows)".replace("%", " %")
        for k in found
    ]
    overall = f"{held.sum() / total.sum():.0%}".replace("%", " %")
    return f"Intervals hold {' and '.join(shares)}, and {overall} of all labels"


def hidden_ranks(covered: npt.ArrayLike, rows: npt.ArrayLike, confidence: float) -> Index:
    """The classes that `hidden_classes` names, as positions.

    Examples
    --------
    >>> hidden_ranks(np.array([2, 95]), np.array([9, 98]), 0.9)
    array([0])
    """
    held, total = np.asarray(covered, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    tail = bdtr(held, np.maximum(total, 1.0).astype(np.int64), confidence)
    return np.flatnonzero((total >= _FEWEST) & (tail < _LEVEL / len(total)))
