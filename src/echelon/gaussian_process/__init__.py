"""Gaussian processes for ordered labels, their kernels, and ratings completed for them."""

from .gpor import GPOR
from .imputation import LowRankImputer
from .kernels import LinearARD, PearsonKernel

__all__ = ["GPOR", "LinearARD", "LowRankImputer", "PearsonKernel"]
