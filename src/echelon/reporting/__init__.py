"""Reports of comparisons and models as one HTML page each; they need the ``report`` extra."""

from .build import report
from .document import Report

__all__ = ["Report", "report"]
