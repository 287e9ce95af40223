"""How sure the model is, and whether it is right to be: scores, probabilities, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.types import Matrix
from ...base.wrappers import last_step
from ...metrics import ordinal_log_loss, ranked_probability_score
from ...plots import CumulativeCalibrationDisplay, LatentDisplay
from ...plots.display import latent_of
from ..content import (
    Cell,
    Column,
    Figure,
    Figures,
    Section,
    Table,
    Tile,
    Tiles,
    figure_cell,
    number,
    percent,
    percent_cell,
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
        cells = [Cell(label), Cell(f"{len(own):,}"), *(figure_cell(q, 2) for q in quartiles)]
        if thresholds is not None:
            cells.append(figure_cell(thresholds[k] if k < len(thresholds) else np.nan, 2))
        rows.append(cells)
    titles = ["Rows", "25 %", "Median", "75 %"]
    titles += [] if thresholds is None else ["Threshold"]
    columns = [Column("Class", number=False), *map(Column, titles)]
    more = "" if thresholds is None else ", and the threshold above"
    return Table(f"Scores by true class: quartiles{more}", columns, rows)


def calibration(study: Study) -> Section | None:
    """Predicted probabilities against what happened, by threshold and by class."""
    p, truth = study.held_out.probabilities, study.rows.codes
    if p is None:
        return None
    ranks = np.arange(len(study.rows.labels))
    rps = ranked_probability_score(truth, p, classes=ranks)
    shares = np.bincount(truth, minlength=len(ranks)) / len(truth)
    plain = ranked_probability_score(truth, np.tile(shares, (len(truth), 1)), classes=ranks)
    skill = 1.0 - rps / plain if plain > 0 else np.nan
    log_loss = ordinal_log_loss(truth, p, classes=ranks)
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
            np.asarray(names, dtype=object)[study.rows.codes], p, classes=names, by=by, ax=ax
        ),
        size=(WIDTH, 3.4),
        numbers=_bin_table,
    )


def _bin_table(display: CumulativeCalibrationDisplay) -> Table:
    rows = [
        [
            Cell(name),
            *(figure_cell(x) for x in (bins.predicted[i], bins.observed[i])),
            Cell(f"{bins.counts[i]:,.0f}"),
        ]
        for name, bins in display.curves.items()
        for i in range(len(bins.predicted))
    ]
    columns = [Column("Event", number=False), *map(Column, ("Predicted", "Observed", "Rows"))]
    return Table("Mean predicted probability and observed share by bin", columns, rows)


def _class_table(study: Study, p: Matrix) -> Table:
    truth = study.rows.codes
    rows = []
    for k, label in enumerate(study.rows.labels):
        own = truth == k
        rows.append(
            [
                Cell(label),
                percent_cell(float(p[:, k].mean()), 1),
                percent_cell(float(own.mean()), 1),
                percent_cell(float(p[own, k].mean()) if own.any() else np.nan, 1),
                percent_cell(float(p[~own, k].mean()) if not own.all() else np.nan, 1),
            ]
        )
    columns = [
        Column("Class", number=False),
        Column("Mean probability"),
        Column("Share of rows"),
        Column("For rows of the class", about="mean probability of the class where it is true"),
        Column("For other rows", about="mean probability of the class where it is not true"),
    ]
    return Table(f"Probability of each class; {study.how}", columns, rows)


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
    wanted = getattr(model, "confidence", None)
    rows = [
        [
            Cell(label),
            Cell(f"{int(own.sum()):,}"),
            percent_cell(float(inside[own].mean()) if own.any() else np.nan, 1),
            figure_cell(float(width[own].mean()) if own.any() else np.nan, 2),
        ]
        for label, own in ((name, truth == k) for k, name in enumerate(study.rows.labels))
    ]
    columns = [Column("True class", number=False), Column("Rows"), Column("Covered")]
    columns += [Column("Width, labels", about="mean number of labels in the interval")]
    tiles = [
        Tile(percent(inside.mean(), 1), "", "Covered", _nominal(wanted)),
        Tile(
            number(width.mean(), 2),
            "labels",
            "Mean width",
            f"of {len(study.rows.labels)} on the scale",
        ),
        Tile(percent(np.mean(width == 1), 1), "", "Intervals of one label", "of rows"),
    ]
    lead = (
        f"{percent(inside.mean(), 1)} of the true labels lie in their interval, which holds "
        f"{number(width.mean(), 2)} labels on average; on {trial.how}."
    )
    table = Table("Coverage and width by true class", columns, rows, style="compact")
    return Section("intervals", "Prediction intervals", lead, [Tiles(tiles), table])


def _nominal(wanted: Any) -> str:
    return "" if not isinstance(wanted, float) else f"nominal: {percent(wanted)}"
