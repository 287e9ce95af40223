"""How the model came about: more rows, more rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.wrappers import opened
from ...inspection import learning_curve
from ...ordinal.reduction import side_matrix
from ...plots import BoostingCurveDisplay, LearningCurveDisplay, MarginDistributionDisplay
from ..content import (
    Column,
    Figures,
    Section,
    Table,
    count,
    figure_cell,
    number,
    percent,
    table,
)
from ..pictures import draw
from ..rows import row_weights, weighted_quantile
from ..study import Study

#: most rows and folds of the learning curve, which fits many models
_MOST_ROWS, _FOLDS, _SIZES = 1500, 3, (0.1, 0.25, 0.5, 1.0)


def learning(study: Study) -> Section | None:
    """Mean cost by number of training rows."""
    # It needs many fits in folds of its own, whose figures are not those of the evaluation.
    if study.is_prefit or len(study.rows) < 30 or not study.settings.is_patient:
        return None
    rows = study.settings.sample(np.arange(len(study.rows)), _MOST_ROWS)
    design = study.rows.design.take(rows)
    found = learning_curve(
        study.model,
        study.rows.inputs(rows),
        study.rows.targets(rows),
        sizes=_SIZES,
        cv=_FOLDS,
        cost=study.settings.cost,
        classes=study.rows.classes,
        sample_weight=design.weights,
        groups=design.groups,
        time=design.times,
        random_state=study.settings.random_state,
        n_jobs=study.settings.n_jobs,
    )
    parts = (found.sizes, found.train_mean, found.train_sd, found.test_mean, found.test_sd)
    rows_told = [
        [size, *map(figure_cell, figures)]
        for size, *figures in zip(*(part.tolist() for part in parts), strict=True)
    ]
    titles = ("Training cost", "s.d.", "Held-out cost", "s.d.")
    figure = draw(
        "figure-learning",
        "Mean cost by number of training rows",
        f"The held-out cost goes from {number(float(found.test_mean[0]))} with "
        f"{found.sizes[0]:,} rows to {number(float(found.test_mean[-1]))} with "
        f"{found.sizes[-1]:,}.",
        LearningCurveDisplay(found),
        numbers=table("Mean cost by number of training rows", [Column("Rows"), *titles], rows_told),
    )
    lead = f"{_lesson(found)} On {_FOLDS} folds of {count(len(rows), 'row')}, for the curve alone."
    return Section("learning", "Learning curve", lead, [Figures([figure])])


def _lesson(found: Any) -> str:
    """What the last step of the curve did."""
    last, before = found.test_mean[-1], found.test_mean[-2]
    error = float(np.nan_to_num(found.test_sd[-1])) / np.sqrt(_FOLDS)
    step = f"from {found.sizes[-2]:,} to {found.sizes[-1]:,} training rows the held-out cost "
    if before - last > error:
        return f"The curve is still falling: {step}fell from {number(before)} to {number(last)}."
    if abs(before - last) <= error:
        return (
            f"The curve has levelled off: {step}went from {number(before)} to "
            f"{number(last)}, within its standard error."
        )
    return f"The curve rises at its end: {step}rose from {number(before)} to {number(last)}."


def rounds(study: Study) -> Section | None:
    """Margins of held-out rows, and errors by round for models that grow by rounds."""
    figures = [figure for figure in (_margins(study), _boosting(study)) if figure is not None]
    if not figures:
        return None
    shown = {
        "figure-margins": "how far rows lie from the thresholds, on the right or the wrong side",
        "figure-boosting": "the error after each round",
    }
    words = ", and ".join(shown[figure.name] for figure in figures)
    lead = f"{words[0].upper()}{words[1:]}; on {study.trial.how}."
    return Section("rounds", "Margins and rounds", lead, [Figures(figures)])


def _margins(study: Study) -> Any:
    """Share of held-out rows with at most each margin; None for a model without margins."""
    model, rows = study.trial.model, study.trial.rows
    if not hasattr(model, "decision_function"):
        return None
    margins = np.asarray(model.decision_function(study.rows.inputs(rows)), dtype=float)
    margins = margins.reshape(len(rows), -1)
    K = len(study.rows.labels)
    if margins.shape[1] != K - 1 or not np.isfinite(margins).all():
        return None
    spread = float(margins.mean(axis=1).std()) or 1.0
    codes = study.rows.codes[rows]
    least = (side_matrix(codes, K) * margins / spread).min(axis=1)
    weights = row_weights(study.rows.design, rows)
    display = MarginDistributionDisplay(least, weights)
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    quantiles = (weighted_quantile(least, weights, p) for p in levels)
    rows_told = [[percent(p), figure_cell(q, 2)] for p, q in zip(levels, quantiles, strict=True)]
    wrong = percent(display.share_up_to(0.0), 1)
    return draw(
        "figure-margins",
        "Least margin of each row",
        f"{wrong} of rows have a margin of at most zero: they are not on the right side of every "
        "threshold.",
        display,
        numbers=table(
            "Margins in units of the spread of scores",
            ["Share of rows", "Margin at most"],
            rows_told,
        ),
    )


def _boosting(study: Study) -> Any:
    """Training and held-out error by round, with the bound; None for other models."""
    trial = study.trial
    training = trial.training
    if training is None:
        return None
    inside = opened(trial.model, None, "staged_predict")
    if inside is None:
        return None
    same = np.array_equal(np.asarray(inside[0].classes_), np.asarray(study.rows.classes))

    design = study.rows.design

    def labels(rows: Any) -> Any:
        # Models inside others may know ranks instead of labels.
        return study.rows.targets(rows) if same else study.rows.codes[rows]

    def plot(ax: Any) -> BoostingCurveDisplay:
        display = BoostingCurveDisplay.from_estimator(
            trial.model,
            study.rows.inputs(training),
            labels(training),
            sample_weight=design.take(training).weights,
            held_out=(
                study.rows.inputs(trial.rows),
                labels(trial.rows),
                design.take(trial.rows).weights,
            ),
            ax=ax,
        )
        ax.set_title("", loc="left")
        return display

    return draw(
        "figure-boosting",
        "Mean cost by round",
        "Mean cost on training and held-out rows after each round, and the bound if there is one.",
        plot,
        numbers=_round_table,
    )


def _round_table(display: BoostingCurveDisplay) -> Table:
    """Errors after some of the rounds."""
    parts = {"Training": display.training, "Held out": display.held_out, "Bound": display.bound}
    curves = {title: curve for title, curve in parts.items() if curve is not None}
    last = len(display.training)
    shown = np.unique(np.geomspace(1, last, 12).round().astype(int))
    rows = [
        [t, *(figure_cell(float(c[t - 1]) if t <= len(c) else np.nan) for c in curves.values())]
        for t in shown.tolist()
    ]
    return table("Mean cost after some rounds", [Column("Round"), *curves], rows)
