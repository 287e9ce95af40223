"""Linear models and rankers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linear.linear_svor import LinearSVOR
from ..linear.prank import PRank
from ..linear.proportional_odds import ProportionalOdds
from ..ordinal.costs import cost_matrix
from ..ordinal.likelihoods import get_link
from ..ranking import LinearRankSVM, MarginLPRanker, RankPerceptron
from ..ranking.online_rank_svm import OnlineRankSVM
from ._columns import Columns
from ._decoding import Ordinal, least_cost, link_probabilities, margins_of, threshold_model
from ._graph import Value
from ._registry import ORDINAL, RANKERS, registered


@registered(ORDINAL, ProportionalOdds)
def proportional_odds(model: Any, columns: Columns) -> Ordinal:
    """A cumulative link model; the label is the one of least expected cost."""
    latent = linear_score(model, columns)
    probabilities = link_probabilities(model.link, latent, model.thresholds_)
    cost = cost_matrix(model.cost, len(model.classes_))
    return Ordinal(
        least_cost(probabilities, cost),
        margins_of(latent, model.thresholds_ - get_link(model.link).median),
        latent,
        probabilities,
    )


@registered(ORDINAL, LinearSVOR, PRank)
def linear_thresholds(model: Any, columns: Columns) -> Ordinal:
    """A linear score with thresholds."""
    return threshold_model(linear_score(model, columns), model.thresholds_)


@registered(RANKERS, LinearRankSVM, RankPerceptron, MarginLPRanker, OnlineRankSVM)
def linear_score(model: Any, columns: Columns) -> Value:
    """x·coef."""
    return (columns.matrix() @ np.asarray(model.coef_)[:, None]).flat()
