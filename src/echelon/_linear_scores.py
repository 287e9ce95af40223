"""What linear rankers share: scores, explanations, and their generator of random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ._pair_explanations import PairTerm, linear_terms
from .base import RankerMixin
from .ordinal.arrays import LARGEST_SEED

Vector = npt.NDArray[np.float64]


class LinearRankerMixin(RankerMixin):
    """A ranker whose score is x·coef_, for dense and sparse inputs."""

    def _scores(self, X: Any) -> Vector:
        return np.asarray(X @ self.coef_)

    def _pair_terms(self, a: Vector, b: Vector) -> list[PairTerm]:
        return linear_terms(self._input_names(), self.coef_, a, b)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _new_generator(self) -> np.random.Generator:
        """Random numbers from ``random_state``, for rankers that draw pairs."""
        return np.random.default_rng(check_random_state(self.random_state).randint(LARGEST_SEED))
