"""What support vector machines share: kernels of their parameters, support rows, scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.types import Index, Vector
from ..kernels import Kernel, Pearson, Precomputed
from ..kernels.cache import apply_kernel
from .estimator import EstimatorMixin


class KernelMachineMixin(EstimatorMixin):
    """Scores K(x, support rows)·dual_coef_, and inputs as the parameter ``kernel`` takes them."""

    kernel: Any

    def _store_support(self, kernel: Kernel, inputs: Any, rows: Index, coef: Vector) -> None:
        """Keep the rows with a coefficient; `rows` are their places in what was passed."""
        self.__dict__.pop("support_vectors_", None)
        used = np.flatnonzero(coef)
        self.kernel_ = kernel
        self.support_ = rows[used]
        self.dual_coef_ = coef[used]
        if not isinstance(kernel, Precomputed):
            self.support_vectors_ = inputs[used]

    def _scores(self, X: Any) -> Vector:
        if isinstance(self.kernel_, Precomputed):
            return np.asarray(X[:, self.support_] @ self.dual_coef_)
        return apply_kernel(self.kernel_, X, self.support_vectors_, self.dual_coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = _is_kernel(self.kernel, "precomputed", Precomputed)
        tags.input_tags.allow_nan = _is_kernel(self.kernel, "pearson", Pearson)
        return tags


def _is_kernel(kernel: Any, name: str, kind: type) -> bool:
    return isinstance(kernel, kind) or (isinstance(kernel, str) and kernel == name)
