"""Where predictions go wrong on the ordered scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ...plots import OrdinalConfusionDisplay
from ..content import (
    Cell,
    Column,
    Figures,
    Section,
    Table,
    amount,
    amount_cell,
    count,
    figure_cell,
    number,
    percent,
    percent_cell,
    table,
)
from ..pictures import WIDTH, draw
from ..study import Study

#: classes beyond which a table of all pairs cannot be read
_MOST = 25


def confusion(study: Study) -> Section | None:
    """Counts and shares of predicted labels for every true label."""
    K = len(study.rows.labels)
    held = study.held_out
    counts = confusion_matrix(held.truth, held.codes, labels=range(K), sample_weight=held.weights)
    far = np.abs(held.truth - held.codes)
    lead = (
        f"{percent(held.mean(far == 0), 1)} of rows lie on the diagonal, "
        f"{percent(held.mean(far <= 1), 1)} on it or beside it; "
        f"the largest error is {count(int(far.max()), 'rank')}."
    )
    part = _table(study, counts) if K <= _MOST else Figures([_picture(study, counts)])
    return Section("confusion", "Confusion on the ordered scale", lead, [part])


def _picture(study: Study, counts: Any) -> Any:
    """A picture, for more classes than a table can hold; its numbers are pairs that occur."""
    labels = np.asarray(study.rows.labels, dtype=object)
    rows = [
        [labels[i], labels[j], amount_cell(counts[i, j])] for i, j in np.argwhere(counts).tolist()
    ]
    columns = ["True", Column("Predicted", number=False), study.rows.counted]
    return draw(
        "figure-confusion",
        "Share of each true label by predicted label",
        "Most rows lie on the diagonal or near it where the model is good.",
        lambda ax: OrdinalConfusionDisplay.from_predictions(
            labels[study.held_out.truth],
            labels[study.held_out.codes],
            classes=study.rows.labels,
            sample_weight=study.held_out.weights,
            name="",
            ax=ax,
        ),
        size=(WIDTH, WIDTH - 0.6),
        numbers=table(f"Rows by true and predicted label; {study.how}", columns, rows),
    )


def _table(study: Study, counts: Any) -> Table:
    """Counts and shares of every pair of labels."""
    K, totals = len(study.rows.labels), counts.sum(axis=1)
    shares = counts / np.where(totals > 0, totals, 1.0)[:, None]
    rows = [
        [
            study.rows.labels[i],
            *(
                Cell(
                    amount(counts[i, j]),
                    note=percent(shares[i, j]) if totals[i] else "",
                    heat=float(shares[i, j]),
                    kind="exact" if i == j else "",
                )
                for j in range(K)
            ),
            amount_cell(totals[i]),
        ]
        for i in range(K)
    ]
    return table(
        f"Rows by true and predicted label, with the share of each true label; {study.how}",
        ["True", *study.rows.labels, study.rows.counted],
        rows,
        groups=[("", 1), ("Predicted, lowest to highest", K), ("", 1)],
        style="heat",
        note="The diagonal, where the label is right, is outlined."
        + (
            " Each repeat of the folds counts in equal shares."
            if (study.held_out.times > 1).any()
            else ""
        ),
    )


def by_class(study: Study) -> Section | None:
    """Error, recall and bias for every true class."""
    found = study.quality
    errors = found.mean_absolute_error
    top = max(np.nanmax(errors), 1e-12)
    rows = [
        [
            Cell(label, key=k),
            amount_cell(found.n[k]),
            figure_cell(errors[k], share=None if np.isnan(errors[k]) else float(errors[k] / top)),
            percent_cell(found.recall[k]),
            percent_cell(found.precision[k]),
            percent_cell(found.within_one[k]),
            figure_cell(found.mean_signed_error[k], signed=True),
        ]
        for k, label in enumerate(study.rows.labels)
    ]
    columns = [
        Column("True class", number=False, sorted="ascending"),
        study.rows.counted,
        Column("MAE, ranks", about="mean absolute difference of ranks"),
        Column("Recall", about="share of the class that is predicted right"),
        Column("Precision", about="share of right ones among rows predicted to be of the class"),
        Column("Within one", about="share of the class that is right or one rank off"),
        Column("Bias, ranks", about="mean of predicted minus true rank"),
    ]
    macro, held = found.totals["macro_mean_absolute_error"], study.held_out
    note = (
        f"The mean of the classes' errors is {number(macro)} ranks, that of all rows "
        f"{number(held.mean(np.abs(held.truth - held.codes)))} ranks. Bias above zero means "
        "that the class is rated too high."
    )
    part = table(f"Quality by true class; {study.how}", columns, rows, sortable=True, note=note)
    return Section("by-class", "Error by class", _worst_class(study), [part])


def _worst_class(study: Study) -> str:
    errors = study.quality.mean_absolute_error
    worst = int(np.nanargmax(errors))
    if not errors[worst] > 0:
        return "Every row has the right label."
    bias = study.quality.mean_signed_error[worst]
    where = f", mostly rated too {'high' if bias > 0 else 'low'}"
    return (
        f"Class {study.rows.labels[worst]} has the largest mean absolute error, "
        f"{number(errors[worst], 2)} ranks{where if abs(bias) > 0.5 * errors[worst] else ''}."
    )
