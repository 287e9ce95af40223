"""Ordinal data: embedded sets, the papers' generators and benchmarks, and binning of targets."""

from ._benchmarks import fetch_benchmark
from ._binning import discretize
from ._embedded import (
    list_datasets,
    load_anes96,
    load_balance_scale,
    load_dataset,
    load_era,
    load_esl,
    load_lev,
    load_swd,
)
from ._generators import (
    OrdinalTruth,
    make_nonlinear_ordinal,
    make_ordinal_classification,
    make_quadratic_ordinal,
    make_three_rank_ordinal,
)
from ._registry import list_benchmarks, list_splits
from ._splits import fetch_splits

__all__ = [
    "OrdinalTruth",
    "discretize",
    "fetch_benchmark",
    "fetch_splits",
    "list_benchmarks",
    "list_datasets",
    "list_splits",
    "load_anes96",
    "load_balance_scale",
    "load_dataset",
    "load_era",
    "load_esl",
    "load_lev",
    "load_swd",
    "make_nonlinear_ordinal",
    "make_ordinal_classification",
    "make_quadratic_ordinal",
    "make_three_rank_ordinal",
]
