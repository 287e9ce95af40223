"""Ordinal and ranking data: embedded sets, generators, benchmarks, binning, files of rankings."""

from .benchmarks import fetch_benchmark, fetch_splits, list_benchmarks, list_splits
from .binning import discretize
from .embedded import (
    list_datasets,
    load_anes96,
    load_balance_scale,
    load_dataset,
    load_era,
    load_esl,
    load_lev,
    load_swd,
)
from .generators import (
    OrdinalTruth,
    make_nonlinear_ordinal,
    make_ordinal_classification,
    make_quadratic_ordinal,
    make_three_rank_ordinal,
)
from .ranking_sets import fetch_ranking, list_ranking_sets
from .svmlight import dump_ranking_svmlight, load_ranking_svmlight
from .trec import (
    JudgedRun,
    Qrels,
    Run,
    judged_run,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)

__all__ = [
    "JudgedRun",
    "OrdinalTruth",
    "Qrels",
    "Run",
    "discretize",
    "dump_ranking_svmlight",
    "fetch_benchmark",
    "fetch_ranking",
    "fetch_splits",
    "judged_run",
    "list_benchmarks",
    "list_datasets",
    "list_ranking_sets",
    "list_splits",
    "load_anes96",
    "load_balance_scale",
    "load_dataset",
    "load_era",
    "load_esl",
    "load_lev",
    "load_ranking_svmlight",
    "load_swd",
    "make_nonlinear_ordinal",
    "make_ordinal_classification",
    "make_quadratic_ordinal",
    "make_three_rank_ordinal",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]
