"""Models of one score: linear, of kernels, and Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Product, Sum

from .._utils.types import Matrix
from ..gaussian_process import GPOR, LinearARD
from ..kernels import Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from ..linear import LinearSVOR, PRank, ProportionalOdds
from ..ordinal.likelihoods import get_link
from ..ranking import LinearRankSVM, MarginLPRanker, OnlineRankSVM, RankPerceptron, RankSVM
from ..solvers.gp.evidence import DensePredictor, Predictor
from ..svm import SVOR
from .columns import ORDINAL, RANKERS, Columns, ExportError, registered
from .decoding import Ordinal, least_cost, link_probabilities, margins_of, threshold_model
from .graph import Value, in_double


@registered(ORDINAL, ProportionalOdds)
def proportional_odds(model: ProportionalOdds, columns: Columns) -> Ordinal:
    """A cumulative link model; the label is the one of least expected cost."""
    latent = linear_score(model, columns)
    probabilities = link_probabilities(model.link, latent, model.thresholds_)
    margins = margins_of(latent, model.thresholds_ - get_link(model.link).median)
    return Ordinal(least_cost(probabilities, model), margins, latent, probabilities)


@registered(ORDINAL, LinearSVOR, PRank)
def linear_thresholds(model: LinearSVOR | PRank, columns: Columns) -> Ordinal:
    """A linear score with thresholds."""
    return threshold_model(linear_score(model, columns), model.thresholds_)


@registered(RANKERS, LinearRankSVM, RankPerceptron, MarginLPRanker, OnlineRankSVM)
def linear_score(model: Any, columns: Columns) -> Value:
    """x·coef."""
    return (columns.matrix() @ np.asarray(model.coef_)[:, None]).flat()


@registered(ORDINAL, SVOR)
def support_vectors(model: SVOR, columns: Columns) -> Ordinal:
    """A kernel machine with thresholds, and probabilities where it has them."""
    latent = kernel_score(model, columns)
    return threshold_model(latent, model.thresholds_, model.calibration())


@registered(RANKERS, RankSVM)
def kernel_score(model: SVOR | RankSVM, columns: Columns) -> Value:
    """Σ β·k(x, ·) over the support rows."""
    X = columns.matrix()
    coef = np.asarray(model.dual_coef_, dtype=np.float64)[:, None]
    if isinstance(model.kernel_, Precomputed):
        return (X.take(model.support_) @ coef).flat()
    rows = model.support_vectors_
    rows = np.asarray(rows.todense() if sp.issparse(rows) else rows)
    return (_gram(model.kernel_, X, rows) @ coef).flat()


def _gram(kernel: Any, X: Value, rows: Matrix) -> Value:
    if isinstance(kernel, Linear):
        return X @ rows.T
    if isinstance(kernel, Gaussian):
        return _gaussian(X, rows, np.sqrt(np.asarray(kernel.gamma)))
    if isinstance(kernel, Polynomial):
        return _power(X @ (kernel.gamma * rows.T) + kernel.coef0, int(kernel.degree))
    if isinstance(kernel, Sigmoid):
        return (X @ (kernel.gamma * rows.T) + kernel.coef0).apply("Tanh")
    raise ExportError(
        f"The kernel {type(kernel).__name__} cannot be exported to ONNX; kernels that can are "
        "linear, polynomial, Gaussian, sigmoid and precomputed ones."
    )


def _gaussian(X: Value, rows: Matrix, roots: Any) -> Value:
    """exp(−Σ (root·(x − row))²), with both shifted by the mean of the rows to keep digits."""
    centre = rows.mean(axis=0)
    right = (rows - centre) * roots
    left = in_double((X - centre) * np.broadcast_to(roots, centre.shape))
    squares = (left * left).sum(keep=True) + (right * right).sum(axis=1)
    return ((left @ (2.0 * right.T)) - squares).clip(None, 0.0).apply("Exp")


def _power(base: Value, exponent: int) -> Value:
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    square = half * half
    return square * base if exponent % 2 else square


@registered(ORDINAL, GPOR)
def gaussian_process(model: GPOR, columns: Columns) -> Ordinal:
    """Posterior moments of the latent value, and the label of least expected cost."""
    rows, predictor, link = model.posterior()
    if link.name != "probit":
        raise ExportError(
            f"GPOR with likelihood={link.name!r} cannot be exported to ONNX, which would need an "
            "integral for every row; likelihood='probit' can."
        )
    cross, own = _covariances(model.kernel_, columns.matrix(), np.asarray(rows))
    latent = (cross @ np.asarray(predictor.a)[:, None]).flat()
    left = own - _explained(predictor, cross)
    scale = (left.clip(0.0) + float(model.noise_) ** 2).apply("Sqrt")
    probabilities = link_probabilities("probit", latent, model.thresholds_, scale)
    margins = margins_of(latent, model.thresholds_)
    return Ordinal(least_cost(probabilities, model), margins, latent, probabilities)


def _explained(predictor: Predictor, cross: Value) -> Value:
    if isinstance(predictor, DensePredictor):
        whitened = solve_triangular(predictor.lower, np.diag(predictor.root), lower=True)
        half = cross @ whitened.T
        return (half * half).sum()
    return ((cross @ predictor.response) * cross).sum()


def _covariances(kernel: Any, X: Value, kept: Matrix) -> tuple[Value, Value]:
    """Covariance with the rows that are kept, (n, m), and the variance of each row, (n,)."""
    if isinstance(kernel, Sum | Product):
        (a, a_own), (b, b_own) = (_covariances(part, X, kept) for part in (kernel.k1, kernel.k2))
        return (a + b, a_own + b_own) if isinstance(kernel, Sum) else (a * b, a_own * b_own)
    flat = X.column(0).flat() * 0.0
    if isinstance(kernel, ConstantKernel):
        value = float(kernel.constant_value)
        return flat.upright() + np.full((1, len(kept)), value), flat + value
    if isinstance(kernel, RBF):
        roots = np.sqrt(0.5) / np.asarray(kernel.length_scale, dtype=np.float64)
        return _gaussian(X, kept, roots), flat + 1.0
    if isinstance(kernel, LinearARD):
        rates = np.broadcast_to(np.asarray(kernel.relevance, dtype=np.float64), kept.shape[1])
        return X @ (kept * rates).T, (X * X * rates).sum()
    raise ExportError(
        f"The kernel {type(kernel).__name__} cannot be exported to ONNX; kernels of GPOR that can "
        "are RBF, ConstantKernel and LinearARD, their sums and products."
    )
