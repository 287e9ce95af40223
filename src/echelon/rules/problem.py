"""From the parameters of a `RankRules` and its data to losses and a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from .._utils.types import Codes
from ..base.validation import OrdinalData
from ..ordinal.arrays import require_count, require_positive
from ..solvers.boosting.bins import bin_inputs, check_max_bins
from ..solvers.rules.losses import AbsoluteLoss, RankLoss, RuleLoss, ThresholdLoss, measure
from ..solvers.rules.search import TECHNIQUES, RuleSearch
from .columns import InputColumns
from .ensemble import Levels

# Added to W_> and W_<, as a share of the loss, before their ratio gives the response of a rule.
_SMOOTHING = 1e-4

_CHOICES = {
    "loss": ("rank", "threshold", "binary", "absolute"),
    "technique": (None, *TECHNIQUES),
    "pair_weight": ("per_threshold", "once"),
}


def check_parameters(model: Any) -> None:
    """Raise unless the parameters make sense, alone and together."""
    for name, choices in _CHOICES.items():
        if getattr(model, name) not in choices:
            raise ValueError(
                f"{name} must be one of {', '.join(map(str, choices))}; found "
                f"{getattr(model, name)!r}."
            )
    if model.loss == "absolute" and model.technique == "simultaneous":
        raise ValueError(
            "technique must be 'gradient', 'gradient_boosting' or 'constant_step' with "
            "loss='absolute', whose best response has no closed form; found 'simultaneous'."
        )
    for name in ("shrinkage", "subsample"):
        require_positive(name, getattr(model, name))
        if getattr(model, name) > 1.0:
            raise ValueError(f"{name} must be at most 1; found {getattr(model, name)!r}.")
    require_positive("beta", model.beta)
    if model.max_conditions is not None:
        require_count("max_conditions", model.max_conditions)
    check_max_bins(model.max_bins)


def learn_levels(model: Any, data: OrdinalData) -> Levels:
    """The levels that losses are about: those that occur, or all where ranks are numbers."""
    whole = model.loss == "absolute"
    observed = np.arange(data.n_classes) if whole else np.unique(data.codes)
    return Levels(observed, data.n_classes, joint=model.loss != "binary")


def make_losses(model: Any, data: OrdinalData, observed: Codes) -> list[RuleLoss]:
    """One loss, or with "binary" one for each threshold between levels that occur."""
    weights = data.sample_weight
    if model.loss == "absolute":
        technique, step = _technique(model), model.beta
        return [
            AbsoluteLoss(data.codes, data.n_classes, weights, technique=technique, step_size=step)
        ]
    present, n_levels = np.searchsorted(observed, data.codes), len(observed)
    if model.loss == "binary":
        sides = [(present > k).astype(np.intp) for k in range(n_levels - 1)]
        return [ThresholdLoss(side, 2, weights, smoothing=_SMOOTHING) for side in sides]
    if model.loss == "threshold":
        return [ThresholdLoss(present, n_levels, weights, smoothing=_SMOOTHING)]
    count = model.pair_weight == "per_threshold"
    return [RankLoss(present, n_levels, weights, per_threshold=count, smoothing=_SMOOTHING)]


def make_search(model: Any, data: OrdinalData, columns: InputColumns) -> RuleSearch:
    """A search over the rows of the data."""
    known = zip(columns.categories, columns.nominal, strict=True)
    sizes = [len(names) if names is not None and sets else 0 for names, sets in known]
    max_bins = check_max_bins(model.max_bins)
    technique, gains = measure(model.loss, _technique(model), model.beta)
    return RuleSearch(
        bin_inputs(data.X, max_bins, data.sample_weight, sizes),
        data.n_classes,
        technique,
        step_gains=gains,
        nominal=columns.nominal,
        exact=max_bins is None,
        max_conditions=model.max_conditions,
        n_threads=effective_n_jobs(model.n_jobs),
    )


def _technique(model: Any) -> str:
    default = "gradient" if model.loss == "absolute" else "simultaneous"
    return str(model.technique or default)
