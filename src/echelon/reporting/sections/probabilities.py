"""How sure the model is, and whether it is right to be: scores, probabilities, intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._utils.types import Matrix
from ...base.wrappers import last_step
from ...metrics import ordinal_log_loss, ranked_probability_score
from ...ordinal.intervals import hidden_classes
from ...plots import CumulativeCalibrationDisplay, LatentDisplay
from ...plots.display import latent_of
from ..content import (
    Column,
    Figure,
    Figures,
    Findings,
    Section,
    Table,
    Tile,
    Tiles,
    figure_cell,
    number,
    percent,
    percent_cell,
    table,
)
from ..facts import Study
from ..pictures import WIDTH, draw


def latent(study: Study) -> Section | None:
    """Densities of the score by class, with thresholds."""
    trial = study.trial
    found = latent_of(trial.model, study.rows.inputs(trial.rows))
    thresholds = found.thresholds
    if thresholds is None and hasattr(trial.model, "predict_latent"):
        # A wrapper hands on the score of the model inside, whose thresholds these are.
        thresholds = getattr(last_step(trial.model)[1], "thresholds_", None)
    codes = study.rows.codes[trial.rows]
    names = study.rows.labels
    display = LatentDisplay(found.scores, codes, names, thresholds, score_name=found.name)
    figure = draw(
        "figure-latent",
        "Score of the rows by true class",
        "A density of the score for each class, the lowest class at the bottom"
        + (", with dashed lines at the thresholds." if thresholds is not None else "."),
        display,
        size=(WIDTH, display.size[1]),
        numbers=_score_table(study.rows.labels, codes, found.scores, thresholds),
    )
    lead = (
        f"The less the classes overlap along the {found.name.split(' f(x)')[0]}, the better the "
        f"model separates them; shown on {trial.how}."
    )
    return Section("latent", "Latent score", lead, [Figures([figure])])


def _score_table(labels: list[str], codes: Any, scores: Any, thresholds: Any) -> Table:
    rows = []
    for k, label in enumerate(labels):
        own = scores[codes == k]
        quartiles = np.quantile(own, [0.25, 0.5, 0.75]) if len(own) else [np.nan] * 3
        cells: list[Any] = [label, len(own), *(figure_cell(q, 2) for q in quartiles)]
        if thresholds is not None:
            cells.append(figure_cell(thresholds[k] if k < len(thresholds) else np.nan, 2))
        rows.append(cells)
    titles = ["Class", "Rows", "25 %", "Median", "75 %"]
    if thresholds is None:
        return table("Scores by true class: quartiles", titles, rows)
    caption = "Scores by true class: quartiles, and the threshold above"
    return table(caption, [*titles, "Threshold"], rows)


def calibration(study: Study) -> Section | None:
    """Predicted probabilities against what happened, by threshold and by class."""
    p, truth = study.held_out.probabilities, study.held_out.truth
    if p is None:
        return None
    ranks, weights = np.arange(len(study.rows.labels)), study.held_out.weights
    known: dict[str, Any] = {"classes": ranks, "sample_weight": weights}
    rps = ranked_probability_score(truth, p, **known)
    shares = np.bincount(truth, weights, minlength=len(ranks))
    shares = shares / shares.sum()
    plain = ranked_probability_score(truth, np.tile(shares, (len(truth), 1)), **known)
    skill = 1.0 - rps / plain if plain > 0 else np.nan
    log_loss = ordinal_log_loss(truth, p, **known)
    tiles = Tiles(
        [
            Tile(number(rps), "", "Ranked probability score", "0 is perfect"),
            Tile(number(plain), "", "The same with class shares alone", "for every row alike"),
            Tile(percent(skill), "", "Better than class shares by", "1 − ratio of the two scores"),
            Tile(number(log_loss), "nats", "Log loss", "∞ if p was 0"),
        ]
    )
    lead = (
        "A curve on the diagonal is calibrated; where it lies below, the event is less frequent "
        "than predicted."
    )
    if np.isfinite(skill):
        compared = f"{percent(abs(skill))} {'lower' if skill >= 0 else 'higher'}"
        lead += f" The ranked probability score is {compared} than that of class shares alone."
    figures = [_curves(study, p, by) for by in ("threshold", "class")]
    return Section(
        "calibration", "Calibration", lead, [tiles, Figures(figures), _class_table(study, p)]
    )


def _curves(study: Study, p: Matrix, by: str) -> Figure:
    names = study.rows.labels
    event = "lying above each class" if by == "threshold" else "being of each class"
    return draw(
        f"figure-calibration-{by}",
        f"Probability of {event}",
        f"Observed share against predicted probability of {event}; the diagonal is perfect.",
        lambda ax: CumulativeCalibrationDisplay.from_predictions(
            np.asarray(names, dtype=object)[study.held_out.truth], p, classes=names, by=by, ax=ax
        ),
        size=(WIDTH, 3.4),
        numbers=_bin_table,
    )


def _bin_table(display: CumulativeCalibrationDisplay) -> Table:
    rows = [
        [name, figure_cell(predicted), figure_cell(observed), f"{n:,.0f}"]
        for name, bins in display.curves.items()
        for predicted, observed, n in zip(bins.predicted, bins.observed, bins.counts, strict=True)
    ]
    columns = ["Event", "Predicted", "Observed", "Rows"]
    return table("Mean predicted probability and observed share by bin", columns, rows)


def _class_table(study: Study, p: Matrix) -> Table:
    truth = study.held_out.truth
    rows = []
    for k, label in enumerate(study.rows.labels):
        own = truth == k
        shares = map(_mean, (p[:, k], own, p[own, k], p[~own, k]))
        rows.append([label, *(percent_cell(share, 1) for share in shares)])
    columns = [
        "Class",
        "Mean probability",
        "Share of rows",
        Column("For rows of the class", about="mean probability of the class where it is true"),
        Column("For other rows", about="mean probability of the class where it is not true"),
    ]
    return table(f"Probability of each class; {study.how}", columns, rows)


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else math.nan


def intervals(study: Study) -> Section | None:
    """Coverage and width of prediction intervals, for models that give them."""
    trial, model = study.trial, study.interval_model
    if model is None:
        return None
    low, high = (
        study.rows.scale.encode(labels)
        for labels in model.predict_interval(study.rows.inputs(trial.rows))
    )
    truth = study.rows.codes[trial.rows]
    inside, width = (low <= truth) & (truth <= high), high - low + 1
    wanted, K = getattr(model, "confidence", None), len(study.rows.labels)
    nominal = f"nominal: {percent(wanted)}" if isinstance(wanted, float) else ""
    rows = [
        [label, own.sum(), percent_cell(_mean(inside[own]), 1), figure_cell(_mean(width[own]), 2)]
        for label, own in ((name, truth == k) for k, name in enumerate(study.rows.labels))
    ]
    about = "mean number of labels in the interval"
    columns = ["True class", "Rows", "Covered", Column("Width, labels", about=about)]
    tiles = [
        Tile(percent(inside.mean(), 1), "", "Covered", nominal),
        Tile(number(width.mean(), 2), "labels", "Mean width", f"of {K} on the scale"),
        Tile(percent(np.mean(width == 1), 1), "", "Intervals of one label", "of rows"),
    ]
    lead = (
        f"{percent(inside.mean(), 1)} of the true labels lie in their interval, which holds "
        f"{number(width.mean(), 2)} labels on average; on {trial.how}."
    )
    part = table("Coverage and width by true class", columns, rows, style="compact")
    held, total = (np.bincount(truth[some], minlength=K) for some in (inside, ...))
    named = study.rows.labels
    hidden = hidden_classes(named, held, total, wanted) if isinstance(wanted, float) else None
    found = [] if hidden is None else [Findings([("high", f"{hidden}.")])]
    return Section("intervals", "Prediction intervals", lead, [Tiles(tiles), *found, part])
