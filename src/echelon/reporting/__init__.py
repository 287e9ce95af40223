"""Reports of comparisons and models as one HTML page each; they need the ``report`` extra."""

from .build import Report, report

__all__ = ["Report", "report"]
