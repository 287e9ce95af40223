"""Models that users have, behind the interface of our rankers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from echelon._utils.types import Array
from echelon.base.mixins import RankerMixin

from ..errors import ReproductionError


class LambdaRank(RankerMixin, BaseEstimator):
    """LightGBM's lambdarank: trees boosted on the gradients of NDCG.

    LightGBM wants the rows of a query together and the sizes of the groups; rows are sorted here.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        min_child_samples: int = 20,
    ) -> None:
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.min_child_samples = min_child_samples

    def fit(self, X: Array, y: Array, *, qid: Any = None) -> LambdaRank:
        """Fit to whole grades."""
        lightgbm = _lightgbm()
        order = np.argsort(qid, kind="stable")
        sizes = np.unique(np.asarray(qid)[order], return_counts=True)[1]
        self.n_features_in_ = X.shape[1]
        self.model_ = lightgbm.LGBMRanker(
            n_estimators=self.n_estimators,
            num_leaves=self.num_leaves,
            learning_rate=self.learning_rate,
            min_child_samples=self.min_child_samples,
            random_state=0,
            n_jobs=1,
            verbose=-1,
        ).fit(X[order], np.asarray(y)[order], group=sizes)
        return self

    def _scores(self, X: Array) -> Array:
        with warnings.catch_warnings():
            # It names the columns of an array by itself and misses the names afterwards.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.model_.predict(X), dtype=np.float64)


def lightgbm_version() -> str:
    """Version of the peer, which must be installed."""
    return str(_lightgbm().__version__)


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise ReproductionError(
            "The rankers are measured beside LightGBM, which is not installed; install "
            "echelon[bench]."
        ) from error
    return lightgbm
