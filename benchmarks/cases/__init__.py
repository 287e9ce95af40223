"""The declared cases, a module per job."""

from ..registry import Case
from . import import_time, kernels, metrics, proportional_odds

CASES: tuple[Case, ...] = (
    *proportional_odds.CASES,
    *metrics.CASES,
    *kernels.CASES,
    *import_time.CASES,
)
