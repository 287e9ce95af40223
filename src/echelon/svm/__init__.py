"""Support vector machines with kernels for ordered labels."""

from .svor import SVOR

__all__ = ["SVOR"]
