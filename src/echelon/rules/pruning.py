"""Fewer rules for a fitted ensemble: a sparse refit, and a report of what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.types import Vector
from ..base.validation import OrdinalData
from ..solvers.rules.bodies import Body, covers
from ..solvers.rules.losses import RuleLoss
from ..solvers.rules.rank_rules import ClassWeights, RuleRound, replay
from ..solvers.rules.sparse import sparse_refit
from .ensemble import RuleEnsemble

# On the responses in units of the deviation that they give the score, beside ln of the mean loss:
# where rules make no error, the score of a rule deviates by no more than about the inverse.
_RIDGE = 1e-2


@dataclass(frozen=True)
class Pruning:
    """What became of a model by pruning.

    Parameters
    ----------
    n_before, n_after : int
        Rules.
    error_before, error_after : float
        Mean absolute error on the rows that the rules were chosen by.
    violation, selection_violation : float
        The most by which the responses of the rules kept violate the conditions of their optimum,
        and by which those of all rules violated them where the choice was made.
    """

    n_before: int
    n_after: int
    error_before: float
    error_after: float
    violation: float
    selection_violation: float

    def __str__(self) -> str:
        return (
            f"{self.n_after} of {self.n_before} rules; mean absolute error {self.error_before:.3f} "
            f"with all and {self.error_after:.3f} with those kept."
        )


@dataclass(frozen=True)
class KeptRules:
    """Rules of a pruned ensemble, the most important first, and thresholds of the score 0."""

    rounds: list[RuleRound]
    start: Vector
    violation: float = 0.0
    selection_violation: float = 0.0


def kept_rules(
    ensemble: RuleEnsemble,
    loss: RuleLoss,
    n: int,
    data: OrdinalData,
) -> KeptRules:
    """The rules of an ensemble that matter most to a loss of the data at the score 0."""
    merged: dict[Body, float] = {}
    for body, response in zip(ensemble.bodies, ensemble.responses, strict=True):
        merged[body] = merged.get(body, 0.0) + float(response)
    bodies = list(merged)
    if not bodies:
        return KeptRules([], loss.thresholds)
    coverage = np.column_stack([covers(body, data.X) for body in bodies])
    start = np.array(list(merged.values()))
    fit = sparse_refit(coverage, loss.refit_loss(), start, n, ridge=_RIDGE)
    loss.settle(coverage @ fit.responses)
    shares = data.sample_weight @ coverage[:, fit.kept] / data.sample_weight.sum()
    importance = np.abs(fit.responses[fit.kept]) * np.sqrt(shares * (1.0 - shares))
    order = fit.kept[np.argsort(-importance, kind="stable")]
    thresholds = loss.thresholds
    weigh = ClassWeights(data.codes, data.n_classes, data.sample_weight)
    rounds = replay(loss, [bodies[m] for m in order], fit.responses[order], data.X, weigh)
    return KeptRules(list(rounds), thresholds, fit.refit_violation, fit.selection_violation)
