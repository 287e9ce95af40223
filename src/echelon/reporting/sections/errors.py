"""Where predictions go wrong on the ordered scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..content import (
    Cell,
    Column,
    Figures,
    Section,
    Table,
    count,
    figure_cell,
    number,
    percent,
    percent_cell,
)
from ..facts import Facts
from ..figures import WIDTH, draw

#: classes beyond which a table of all pairs cannot be read
_MOST = 25


def confusion(facts: Facts) -> Section | None:
    """Counts and shares of predicted labels for every true label."""
    if facts.held_out is None:
        return None
    K = len(facts.labels)
    counts = np.zeros((K, K), dtype=int)
    np.add.at(counts, (facts.codes, facts.held_out.codes), 1)
    far = np.abs(facts.codes - facts.held_out.codes)
    lead = (
        f"{percent(np.mean(far == 0), 1)} of rows lie on the diagonal, "
        f"{percent(np.mean(far <= 1), 1)} on it or beside it; "
        f"the largest error is {count(int(far.max()), 'rank')}."
    )
    part = _table(facts, counts) if K <= _MOST else Figures([_picture(facts, counts)])
    return Section("confusion", "Confusion on the ordered scale", lead, [part])


def _picture(facts: Facts, counts: Any) -> Any:
    """A picture, for more classes than a table can hold; its numbers are pairs that occur."""
    from ...plots import OrdinalConfusionDisplay

    labels = np.asarray(facts.labels, dtype=object)
    rows = [
        [Cell(facts.labels[i]), Cell(facts.labels[j]), Cell(f"{counts[i, j]:,}")]
        for i, j in np.argwhere(counts).tolist()
    ]
    columns = [Column("True", number=False), Column("Predicted", number=False), Column("Rows")]
    return draw(
        "figure-confusion",
        "Share of each true label by predicted label",
        "Most rows lie on the diagonal or near it where the model is good.",
        lambda ax: OrdinalConfusionDisplay.from_predictions(
            labels[facts.codes], labels[facts.held_out.codes], classes=facts.labels, name="", ax=ax
        ),
        size=(WIDTH, WIDTH - 0.6),
        numbers=Table(f"Rows by true and predicted label; {facts.how}", columns, rows),
    )


def _table(facts: Facts, counts: Any) -> Table:
    """Counts and shares of every pair of labels."""
    K, totals = len(facts.labels), counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    rows = [
        [
            Cell(facts.labels[i]),
            *(
                Cell(
                    f"{counts[i, j]:,}",
                    note=percent(shares[i, j]) if totals[i] else "",
                    heat=float(shares[i, j]),
                    kind="exact" if i == j else "",
                )
                for j in range(K)
            ),
            Cell(f"{totals[i]:,}"),
        ]
        for i in range(K)
    ]
    columns = [Column("True", number=False), *map(Column, facts.labels), Column("Rows")]
    return Table(
        f"Rows by true and predicted label, with the share of each true label; {facts.how}",
        columns,
        rows,
        groups=[("", 1), ("Predicted, lowest to highest", K), ("", 1)],
        style="heat",
        note="The diagonal, where the label is right, is outlined.",
    )


def by_class(facts: Facts) -> Section | None:
    """Error, recall and bias for every true class."""
    if facts.held_out is None:
        return None
    found = facts.quality
    errors = found.mean_absolute_error
    top = max(np.nanmax(errors), 1e-12)
    rows = [
        [
            Cell(label, key=k),
            Cell(f"{found.n[k]:,.0f}", key=float(found.n[k])),
            figure_cell(errors[k], share=None if np.isnan(errors[k]) else float(errors[k] / top)),
            percent_cell(found.recall[k]),
            percent_cell(found.precision[k]),
            percent_cell(found.within_one[k]),
            _signed(found.mean_signed_error[k]),
        ]
        for k, label in enumerate(facts.labels)
    ]
    columns = [
        Column("True class", number=False, sorted="ascending"),
        Column("Rows"),
        Column("MAE, ranks", about="mean absolute difference of ranks"),
        Column("Recall", about="share of the class that is predicted right"),
        Column("Precision", about="share of right ones among rows predicted to be of the class"),
        Column("Within one", about="share of the class that is right or one rank off"),
        Column("Bias, ranks", about="mean of predicted minus true rank"),
    ]
    worst = int(np.nanargmax(errors))
    direction = found.mean_signed_error[worst]
    where = "rated too high" if direction > 0 else "rated too low"
    lead = (
        f"Class {facts.labels[worst]} is predicted worst, {number(errors[worst], 2)} ranks off on "
        f"average" + (f", mostly {where}." if abs(direction) > 0.5 * errors[worst] else ".")
    )
    totals = found.totals
    note = (
        f"The mean of the classes' errors is {number(totals['macro_mean_absolute_error'])} ranks, "
        f"that of all rows {number(totals['mean_absolute_error'])} ranks. Bias above zero means "
        "that the class is rated too high."
    )
    table = Table(f"Quality by true class; {facts.how}", columns, rows, sortable=True, note=note)
    return Section("by-class", "Error by class", lead, [table])


def _signed(value: float) -> Cell:
    cell = figure_cell(value)
    return cell if not value > 0 else Cell("+" + cell.text, key=cell.key)
