"""Whether pictures can be drawn at all."""

from __future__ import annotations

from echelon.plots.style import require_pyplot

from .errors import ReproductionError


def require_matplotlib() -> None:
    """Raise a `ReproductionError` that names the extra if matplotlib is absent."""
    try:
        require_pyplot()
    except ImportError as error:
        raise ReproductionError(str(error)) from error
