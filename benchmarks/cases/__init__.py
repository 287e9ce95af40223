"""The declared cases, a module per job."""

from ..registry import Case
from . import (
    adaboost_or,
    forest,
    gpor,
    import_time,
    kernels,
    linear_rank_svm,
    linear_svor,
    metrics,
    orboost,
    predict_file,
    proportional_odds,
    rank_boost,
    rank_rules,
    ranking_metrics,
    read_table,
    survey_file,
    svor,
    svor_search,
)

CASES: tuple[Case, ...] = (
    *proportional_odds.CASES,
    *linear_svor.CASES,
    *adaboost_or.CASES,
    *forest.CASES,
    *orboost.CASES,
    *rank_rules.CASES,
    *linear_rank_svm.CASES,
    *rank_boost.CASES,
    *svor_search.CASES,
    *svor.CASES,
    *gpor.CASES,
    *metrics.CASES,
    *ranking_metrics.CASES,
    *predict_file.CASES,
    *read_table.CASES,
    *survey_file.CASES,
    *kernels.CASES,
    *import_time.CASES,
)
