"""How the model came about: more rows, more rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...ordinal.reduction import side_matrix
from ..content import (
    Cell,
    Column,
    Figures,
    LeftOutError,
    Section,
    Table,
    figure_cell,
    number,
    percent,
)
from ..facts import Facts
from ..figures import WIDTH, draw

#: most rows and folds of the learning curve, which fits many models
_MOST_ROWS, _FOLDS, _SIZES = 1500, 3, (0.1, 0.25, 0.5, 1.0)
#: processor time of a fit beyond which the curve would take most of the time of the report
_MOST_SECONDS = 1.5


def learning(facts: Facts) -> Section | None:
    """Mean cost by number of training rows."""
    if facts.model is None or not facts.has_rows or facts.is_new or facts.n_rows < 30:
        return None
    if facts.trial.seconds > _MOST_SECONDS and not facts.is_patient:
        raise LeftOutError(
            f"A fit takes {number(facts.trial.seconds, 1)} s, and the curve needs "
            f"{_FOLDS * len(_SIZES)} of them; ask for the section by name to have it."
        )
    from ...inspection import learning_curve
    from ...plots import LearningCurveDisplay

    rows = facts.some_rows(np.arange(facts.n_rows), _MOST_ROWS)
    found = learning_curve(
        facts.model,
        facts.inputs(rows),
        facts.targets(rows),
        sizes=_SIZES,
        cv=_FOLDS,
        cost=facts.cost,
        classes=facts.scale.classes,
        random_state=facts.random_state,
        n_jobs=facts.n_jobs,
    )
    display = LearningCurveDisplay(found)
    table = [
        [Cell(f"{size:,}"), *(figure_cell(float(part[i])) for part in _parts(found))]
        for i, size in enumerate(found.sizes.tolist())
    ]
    titles = ("Training cost", "s.d.", "Held-out cost", "s.d.")
    figure = draw(
        "figure-learning",
        "Mean cost by number of training rows",
        f"The held-out cost goes from {number(float(found.test_mean[0]))} with "
        f"{found.sizes[0]:,} rows to {number(float(found.test_mean[-1]))} with "
        f"{found.sizes[-1]:,}.",
        lambda ax: display.plot(ax=ax),
        numbers=Table(
            "Mean cost by number of training rows", [Column("Rows"), *map(Column, titles)], table
        ),
    )
    return Section("learning", "Learning curve", _lesson(found), [Figures([figure])])


def _parts(found: Any) -> tuple[Any, ...]:
    return found.train_mean, found.train_sd, found.test_mean, found.test_sd


def _lesson(found: Any) -> str:
    """Whether more rows would help, as far as the last step of the curve tells."""
    last, before = found.test_mean[-1], found.test_mean[-2]
    error = float(np.nan_to_num(found.test_sd[-1])) / np.sqrt(_FOLDS)
    step = f"from {found.sizes[-2]:,} to {found.sizes[-1]:,} training rows the held-out cost "
    if before - last > error:
        return f"More rows should still help: {step}fell from {number(before)} to {number(last)}."
    if abs(before - last) <= error:
        return (
            f"More rows of this kind would hardly help: {step}went from {number(before)} to "
            f"{number(last)}, within its standard error."
        )
    return f"The curve is not yet settled: {step}rose from {number(before)} to {number(last)}."


def rounds(facts: Facts) -> Section | None:
    """Margins of held-out rows, and errors by round for models that grow by rounds."""
    if facts.trial is None:
        return None
    figures = [figure for figure in (_margins(facts), _boosting(facts)) if figure is not None]
    if not figures:
        return None
    lead = f"How clearly rows stand on their side of the thresholds; on {facts.trial.how}."
    if len(figures) > 1:
        lead = (
            "How clearly rows stand on their side of the thresholds, and how the error falls with "
            f"the rounds; on {facts.trial.how}."
        )
    return Section("rounds", "Margins and rounds", lead, [Figures(figures)])


def _margins(facts: Facts) -> Any:
    """Share of held-out rows with at most each margin; None for a model without margins."""
    model, rows = facts.trial.model, facts.trial.rows
    if not hasattr(model, "decision_function"):
        return None
    margins = np.asarray(model.decision_function(facts.inputs(rows)), dtype=float)
    margins = margins.reshape(len(rows), -1)
    K = len(facts.labels)
    if margins.shape[1] != K - 1 or not np.isfinite(margins).all():
        return None
    from ...plots import MarginDistributionDisplay

    spread = float(margins.mean(axis=1).std()) or 1.0
    codes = facts.codes[rows]
    least = (side_matrix(codes, K) * margins / spread).min(axis=1)
    display = MarginDistributionDisplay(least)
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    table = [
        [Cell(percent(level)), figure_cell(float(np.quantile(least, level)), 2)] for level in levels
    ]
    wrong = percent(display.share_up_to(0.0), 1)
    return draw(
        "figure-margins",
        "Least margin of each row",
        f"{wrong} of rows have a margin of at most zero, so that they get a wrong label.",
        lambda ax: display.plot(ax=ax),
        size=(WIDTH, 2.8),
        numbers=Table(
            "Margins in units of the spread of scores",
            [Column("Share of rows", number=False), Column("Margin at most")],
            table,
        ),
    )


def _boosting(facts: Facts) -> Any:
    """Training and held-out error by round, with the bound; None for other models."""
    trial = facts.trial
    if trial.training is None:
        return None
    from ...plots import BoostingCurveDisplay
    from ...plots.reading import opened

    inside = opened(trial.model, None, "staged_predict")
    if inside is None:
        return None
    same = np.array_equal(np.asarray(inside[0].classes_), np.asarray(facts.scale.classes))
    found: dict[str, Any] = {}

    def labels(rows: Any) -> Any:
        # Models inside others may know ranks instead of labels.
        return facts.targets(rows) if same else facts.codes[rows]

    def plot(ax: Any) -> None:
        found["display"] = BoostingCurveDisplay.from_estimator(
            trial.model,
            facts.inputs(trial.training),
            labels(trial.training),
            held_out=(facts.inputs(trial.rows), labels(trial.rows)),
            ax=ax,
        )
        ax.set_title("", loc="left")

    figure = draw(
        "figure-boosting",
        "Mean cost by round",
        "Mean cost on training and held-out rows after each round, and the bound if there is one.",
        plot,
        size=(WIDTH, 2.8),
    )
    return replace(figure, numbers=_round_table(found["display"]))


def _round_table(display: Any) -> Table:
    """Errors after some of the rounds."""
    curves = {"Training": display.training, "Held out": display.held_out, "Bound": display.bound}
    curves = {title: curve for title, curve in curves.items() if curve is not None}
    last = len(display.training)
    shown = np.unique(np.geomspace(1, last, 12).round().astype(int))
    rows = [
        [
            Cell(f"{t:,}"),
            *(figure_cell(float(c[t - 1]) if t <= len(c) else np.nan) for c in curves.values()),
        ]
        for t in shown.tolist()
    ]
    return Table("Mean cost after some rounds", [Column("Round"), *map(Column, curves)], rows)
