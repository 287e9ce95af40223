"""How sure the model is, and whether it is right to be: scores, probabilities, intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._utils.types import Matrix
from ...base.wrappers import last_step
from ...metrics.probability import row_log_losses, row_ranked_probability_scores
from ...ordinal.intervals import hidden_ranks
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
    amount,
    amount_cell,
    figure_cell,
    listed,
    number,
    percent,
    percent_cell,
    table,
)
from ..pictures import WIDTH, draw
from ..rows import row_weights, weighted_quantile
from ..study import Study


def latent(study: Study) -> Section | None:
    """Densities of the score by class, with thresholds."""
    trial = study.trial
    found = latent_of(trial.model, study.rows.inputs(trial.rows))
    thresholds = found.thresholds
    if thresholds is None and hasattr(trial.model, "predict_latent"):
        # A wrapper hands on the score of the model inside, whose thresholds these are.
        thresholds = getattr(last_step(trial.model)[1], "thresholds_", None)
    codes, weights = study.rows.codes[trial.rows], row_weights(study.rows.design, trial.rows)
    names = study.rows.labels
    display = LatentDisplay(
        found.scores, codes, names, thresholds, sample_weight=weights, score_name=found.name
    )
    figure = draw(
        "figure-latent",
        "Score of the rows by true class",
        "A density of the score for each class, the lowest class at the bottom"
        + (", with dashed lines at the thresholds." if thresholds is not None else "."),
        display,
        size=(WIDTH, display.size[1]),
        numbers=_score_table(study, codes, found.scores, weights, thresholds),
    )
    lead = (
        f"The less the classes overlap along the {found.name.split(' f(x)')[0]}, the better the "
        f"model separates them; shown on {trial.how}."
    )
    return Section("latent", "Latent score", lead, [Figures([figure])])


def _score_table(study: Study, codes: Any, scores: Any, weights: Any, thresholds: Any) -> Table:
    rows = []
    for k, label in enumerate(study.rows.labels):
        own, counts = scores[codes == k], weights[codes == k]
        quartiles = [weighted_quantile(own, counts, share) for share in (0.25, 0.5, 0.75)]
        cells: list[Any] = [label, amount_cell(counts.sum())]
        cells += [figure_cell(q, 2) for q in quartiles]
        if thresholds is not None:
            cells.append(figure_cell(thresholds[k] if k < len(thresholds) else np.nan, 2))
        rows.append(cells)
    titles = ["Class", study.rows.counted, "25 %", "Median", "75 %"]
    if thresholds is None:
        return table("Scores by true class: quartiles", titles, rows)
    caption = "Scores by true class: quartiles, and the threshold above"
    return table(caption, [*titles, "Threshold"], rows)


def calibration(study: Study) -> Section | None:
    """Predicted probabilities against what happened, by threshold and by class."""
    held = study.held_out
    p, truth, K = held.probabilities, held.truth, len(study.rows.labels)
    if p is None:
        return None
    shares = np.bincount(truth, held.weights, minlength=K)
    alike = np.tile(shares / shares.sum(), (len(truth), 1))
    rps, plain = (
        held.mean(row_ranked_probability_scores(truth, found)) / (K - 1) for found in (p, alike)
    )
    skill = round(1.0 - rps / plain, 9) + 0.0 if plain > 0 else np.nan
    log_loss = held.mean(row_log_losses(truth, p))
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
            np.asarray(names, dtype=object)[study.held_out.truth],
            p,
            classes=names,
            sample_weight=study.held_out.weights,
            by=by,
            ax=ax,
        ),
        size=(WIDTH, 3.4),
        numbers=lambda display: _bin_table(display, study.rows.counted),
    )


def _bin_table(display: CumulativeCalibrationDisplay, counted: str) -> Table:
    rows = [
        [name, figure_cell(predicted), figure_cell(observed), amount(n)]
        for name, bins in display.curves.items()
        for predicted, observed, n in zip(bins.predicted, bins.observed, bins.counts, strict=True)
    ]
    columns = ["Event", "Predicted", "Observed", counted]
    return table("Mean predicted probability and observed share by bin", columns, rows)


def _class_table(study: Study, p: Matrix) -> Table:
    held, rows = study.held_out, []
    for k, label in enumerate(study.rows.labels):
        own = held.truth == k
        parts = ((p[:, k], ...), (own, ...), (p[own, k], own), (p[~own, k], ~own))
        shares = (_mean(values, held.weights[some]) for values, some in parts)
        rows.append([label, *(percent_cell(share, 1) for share in shares)])
    columns = [
        "Class",
        "Mean probability",
        "Share of rows",
        Column("For rows of the class", about="mean probability of the class where it is true"),
        Column("For other rows", about="mean probability of the class where it is not true"),
    ]
    return table(f"Probability of each class; {study.how}", columns, rows)


def _mean(values: Any, weights: Any) -> float:
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else math.nan


def intervals(study: Study) -> Section | None:
    """Coverage and width of prediction intervals, for models that give them."""
    ends = study.interval_ends
    if ends is None or not ends.known.any():
        return None
    known, held, K = ends.known, ends.held, len(study.rows.labels)
    inside, width, wanted = ends.inside, ends.width, ends.confidence
    covered, mean = held.mean(inside[known], known), held.mean(width[known], known)
    one = held.mean(width[known] == 1, known)
    poor = short_classes(study)
    rows = []
    for k, label in enumerate(study.rows.labels):
        own = known & (held.truth == k)
        weights = held.weights[own]
        marks = ("falls short",) if label in poor else ()
        share = _mean(inside[own], weights)
        kind = "short" if marks else ""
        rows.append(
            [
                label,
                amount_cell(weights.sum()),
                percent_cell(share, 1, marks=marks, kind=kind),
                figure_cell(_mean(width[own], weights), 2),
            ]
        )
    about = "mean number of labels in the interval"
    columns = ["True class", study.rows.counted, "Covered", Column("Width, labels", about=about)]
    nominal = f"nominal: {percent(wanted)}" if wanted is not None else ""
    tiles = [
        Tile(percent(covered, 1), "", "Covered", nominal),
        Tile(number(mean, 2), "labels", "Mean width", f"of {K} on the scale"),
        Tile(percent(one, 1), "", "Intervals of one label", "of rows"),
    ]
    lead = (
        f"{percent(covered, 1)} of the true labels lie in their interval, which holds "
        f"{number(mean, 2)} labels on average; {ends.how}."
    )
    parts: list[Any] = [Tiles(tiles)]
    if poor:
        parts.append(Findings([("high", short_words(poor))]))
    parts.append(table("Coverage and width by true class", columns, rows, style="compact"))
    return Section("intervals", "Prediction intervals", lead, parts)


def short_classes(study: Study) -> list[str]:
    """Labels that intervals hold clearly more seldom than their confidence says."""
    ends, K = study.interval_ends, len(study.rows.labels)
    if ends is None or ends.confidence is None:
        return []
    # A row counts once, however often it was predicted.
    rows, truth = ends.held.rows, ends.held.truth
    often = np.bincount(rows[ends.known], minlength=len(study.rows))
    held, total = (
        np.bincount(truth[some], 1.0 / often[rows[some]], minlength=K).round()
        for some in (ends.known & ends.inside, ends.known)
    )
    found = hidden_ranks(held, total, ends.confidence)
    return [study.rows.labels[k] for k in found.tolist()]


def short_words(labels: list[str]) -> str:
    """What to know of such labels."""
    named = listed([f"“{label}”" for label in labels])
    return (
        f"Intervals hold the label clearly less often than stated where it is {named}: their "
        "confidence is meant on average over all rows, not for each label."
    )
