"""Ranking support vector machines written out pair by pair, to compare the fast ones with."""

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from support.qp import solve_qp


def all_pairs(pairs):
    """Winners, losers and weights of a pair set, one by one."""
    return tuple(np.concatenate(column) for column in zip(*pairs.blocks(), strict=True))


def objective(scores, half_norm, pairs, C, squared):
    """½‖f‖² + C Σ c·φ(1 − margin) from its definition."""
    winners, losers, weights = all_pairs(pairs)
    t = np.maximum(0.0, 1.0 - scores[winners] + scores[losers])
    return half_norm + C * float(weights @ (t**2 if squared else t))


def least_objective(gram, pairs, C, squared):
    """Minimum over the space of a kernel, from a general solver of the dual."""
    winners, losers, weights = all_pairs(pairs)
    m = len(winners)
    signs = np.zeros((m, len(gram)))
    signs[np.arange(m), winners] += 1.0
    signs[np.arange(m), losers] -= 1.0
    box = C * weights
    Q = signs @ gram @ signs.T
    if squared:
        # ½αᵀQα − Σα is a problem of least squares in α ≥ 0, with unit diagonal for its digits.
        Q = Q + np.diag(0.5 / box)
        unit = 1.0 / np.sqrt(Q.diagonal())
        root = np.linalg.cholesky(unit[:, None] * Q * unit).T
        goal = scipy.linalg.solve_triangular(root, unit, trans="T")
        alpha = unit * nnls(root, goal, maxiter=100 * m)[0]
    else:
        unit = np.minimum(box, 1.0 / np.sqrt(np.maximum(Q.diagonal(), 1e-12)))
        none, nothing = np.zeros((0, m)), np.zeros(0)
        P, q = unit[:, None] * Q * unit, -unit
        size = max(np.abs(P).max(), np.abs(q).max())
        found = solve_qp(P / size, q / size, none, nothing, none, nothing, box / unit, tol=1e-11)
        alpha = unit * found.x
    return float(alpha.sum() - 0.5 * alpha @ Q @ alpha)
