"""The coefficients and thresholds of a linear model, and how far they can be trusted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._utils.types import Index, Vector
from ...base.wrappers import known_inputs, last_step, output_names, transformed
from ...inspection.table import Table as Inputs
from ...inspection.table import read_feature
from ..content import (
    Cell,
    Column,
    Section,
    Table,
    Text,
    count,
    figure_cell,
    number,
    short,
    table,
)
from ..rows import MOST_ROWS
from ..study import Study

_MOST = 40
#: quantile of the normal distribution for intervals of 95 %
_REACH = 1.959963984540054
#: groups below which errors by groups tend to be too small
_FEW_GROUPS = 30


class _Errors(NamedTuple):
    """Standard errors of thresholds, then coefficients, and what they are."""

    values: Vector | None
    about: str


def coefficients(study: Study) -> Section | None:
    """What every input of a linear model adds to the score, and where the score is cut."""
    before, last = last_step(study.model)
    coef, thresholds = (getattr(last, name, None) for name in ("coef_", "thresholds_"))
    if coef is None or thresholds is None or np.ndim(coef) != 1:
        return None
    names = output_names(before)
    if names is None or len(names) != len(coef):
        listed = getattr(last, "feature_names_in_", None)
        names = [f"x{j}" for j in range(len(coef))] if listed is None else list(map(str, listed))
    # Weights of words have no step that means anything by itself; another section tells of them.
    texts = tuple(f"{name}: " for name, kind in study.rows.kinds.items() if kind == "text")
    shown = np.array([j for j, name in enumerate(names) if not name.startswith(texts)], np.intp)
    errors = _errors(study, before, last)
    is_odds = getattr(last, "link", "") == "logit"
    cuts = len(thresholds)
    by_input = None if errors.values is None else errors.values[cuts:]
    parts = [
        _inputs(study, before, names, np.asarray(coef), shown, by_input, is_odds),
        _thresholds(study, np.asarray(thresholds), errors.values),
        Text(" ".join(filter(None, [errors.about, _meaning(last, is_odds)]))),
    ]
    if not len(shown):
        del parts[0]
    lead = f"The score is a weighted sum of {count(len(coef), 'input')}, cut by thresholds."
    if len(shown) and np.any(coef[shown]):
        first = int(shown[np.argmax(np.abs(coef[shown]))])
        way = "higher" if coef[first] > 0 else "lower"
        name, beside = study.rows.called(names[first]), " beside words" if texts else ""
        lead += f" The longest step{beside} is that of {name}: a step more gives {way} labels."
    return Section("coefficients", "Coefficients", lead, parts)


def _meaning(last: Any, is_odds: bool) -> str:
    """How coefficients are read."""
    if is_odds:
        return (
            "An odds ratio of 2 says that a step more doubles the odds of a label above any given "
            "one; below 1, that it lowers them. The model takes it to be the same for every label."
        )
    link = getattr(last, "link", None)
    if link is None:
        return ""
    return f"With the {link} link coefficients are not logarithms of odds ratios."


def _errors(study: Study, before: list[Any], last: Any) -> _Errors:
    """Standard errors of the kind that weights, groups and penalty ask for."""
    design = study.rows.design
    if not hasattr(last, "robust_covariance"):
        return _Errors(None, "This model has no likelihood, and so no standard errors.")
    if last.covariance_ is None:
        return _Errors(None, "There are too many inputs for standard errors.")
    plain = last.alpha == 0.0
    covariance = last.covariance_
    about = (
        "Standard errors are model-based, from the curvature of the likelihood: they hold as far "
        "as the model does."
    )
    if not (plain and design.weights is None and design.groups is None):
        try:
            covariance, about = _robust(study, before, last), _robust_words(study)
        except ValueError:
            if not plain:
                return _Errors(
                    None,
                    "There are no standard errors: those of a penalised fit need the rows that it "
                    "was fitted to.",
                )
            about += " Weights and groups have no part in them."
    if not plain:
        about += (
            f" The fit is penalised (alpha = {last.alpha:g}), which draws coefficients towards "
            "zero: intervals tell how much such estimates vary with the rows, and need not hold "
            "what a fit without penalty would find."
        )
    about += " The choice of model and settings is not counted in them."
    with np.errstate(invalid="ignore"):
        return _Errors(np.sqrt(np.diagonal(covariance)), about)


def _robust(study: Study, before: list[Any], last: Any) -> Any:
    rows = study.rows
    Z = transformed(before, known_inputs(study.model, rows.X))
    same = np.array_equal(np.asarray(last.classes_), np.asarray(rows.classes))
    y = rows.y if same else rows.codes
    return last.robust_covariance(Z, y, rows.design.weights, rows.design.groups)


def _robust_words(study: Study) -> str:
    design, rows = study.rows.design, study.rows
    words = "Standard errors are robust (sandwich): they do not rest on the model"
    if design.groups is not None:
        n = len(np.unique(design.groups))
        words += (
            f", and rows of one group of {rows.role('group', 'the group column')} need not be "
            f"independent ({count(n, 'group')})"
        )
        words += "; from so few groups they tend to be too small" if n < _FEW_GROUPS else ""
    if design.weights is not None:
        words += (
            ". Only ratios of weights matter, as those of a sample do; where a weight counts equal "
            "rows, repeat the rows to have their number counted"
        )
    return f"{words}."


def _inputs(
    study: Study,
    before: list[Any],
    names: list[str],
    coef: Vector,
    shown: Index,
    errors: Any,
    is_odds: bool,
) -> Table:
    order = shown[np.argsort(-np.abs(coef[shown]), kind="stable")[:_MOST]]
    steps = _steps(study, before, [names[j] for j in order], order)
    columns = [
        Column("Input", number=False),
        Column("One step", about="how much more of the input the coefficient is for"),
        Column("Coefficient", about="what a step adds to the score", sorted=""),
    ]
    columns += [] if errors is None else [Column("95 % interval")]
    columns += [Column("Odds ratio", about="of a label above any given one")] if is_odds else []
    rows = []
    for j, step in zip(order.tolist(), steps, strict=True):
        value = float(coef[j])
        error = np.nan if errors is None else float(errors[j])
        ends = value - _REACH * error, value + _REACH * error
        note = "" if np.isnan(error) else f"± {number(error)} s.e."
        name = study.rows.called(names[j])
        cells = [Cell(name, key=name), step, figure_cell(value, signed=True, note=note)]
        if errors is not None:
            cells.append(Cell(_between(*ends, signed=True), key=ends[0] if error >= 0 else None))
        if is_odds:
            with np.errstate(over="ignore"):
                ratio, ratios = float(np.exp(value)), np.exp(ends).tolist()
            said = "" if np.isnan(error) else f"{_ratio(ratios[0])} to {_ratio(ratios[1])}"
            cells.append(Cell(_ratio(ratio), key=ratio if np.isfinite(ratio) else None, note=said))
        rows.append(cells)
    left, words = len(shown) - len(order), len(coef) - len(shown)
    notes = [
        "A dash stands for a step that is not the same everywhere in the input's own unit."
        if any(step.key is None for step in steps)
        else "",
        f"{count(left, 'more input')} with shorter steps." if left else "",
        f"{count(words, 'word')} of texts are not among them." if words else "",
    ]
    return table(
        "Inputs, the longest steps first",
        columns,
        rows,
        sortable=True,
        note=" ".join(filter(None, notes)),
    )


def _between(low: float, high: float, signed: bool = False) -> str:
    if not np.isfinite(low + high):
        return "–"
    return f"{number(low, signed=signed)} to {number(high, signed=signed)}"


def _ratio(value: float) -> str:
    return number(value, 2) if 0.05 <= value < 1000 else short(value) if value < 1e300 else "∞"


def _steps(study: Study, before: list[Any], names: list[str], places: Any) -> list[Cell]:
    """How much of a column one unit of a model's input is, where a number is scaled evenly."""
    if not before:
        return [Cell("1", key=1.0)] * len(names)
    chosen = study.settings.sample(np.arange(len(study.rows)), MOST_ROWS)
    X = study.rows.inputs(chosen)
    inputs = Inputs(X, study.rows.kinds)
    known = {name: j for j, name in enumerate(inputs.names)}
    Z = transformed(before, X)
    found = []
    for name, place in zip(names, places.tolist(), strict=True):
        own = Z[:, [place]]
        own = own.toarray() if hasattr(own, "toarray") else np.asarray(own)
        own = own.ravel().astype(np.float64)
        step = ("no to yes", 1.0) if np.isin(own, (0.0, 1.0)).all() else None
        if name in known and step is None:
            column = read_feature(name, inputs.column(known[name]), inputs.kinds.get(name))
            step = _even_step(column, own)
        found.append(Cell("–" if step is None else step[0], key=None if step is None else step[1]))
    return found


def _even_step(column: Any, scaled: Vector) -> tuple[str, float] | None:
    """The part of a number that makes one unit, unless it was bent on the way."""
    kept = column.present & np.isfinite(column.numbers)
    x, z = column.numbers[kept], scaled[kept]
    if column.kind not in ("number", "date") or len(x) < 2 or not np.ptp(x) > 0:
        return None
    slope = float(np.cov(x, z)[0, 1] / np.var(x, ddof=1))
    if slope == 0.0 or np.abs(z - z.mean() - slope * (x - x.mean())).max() > 1e-6 * np.ptp(z):
        return None
    step = 1.0 / abs(slope)
    return f"{short(step)} days" if column.kind == "date" else short(step), step


def _thresholds(study: Study, thresholds: Vector, errors: Any) -> Table:
    labels = study.rows.labels
    rows = [
        [
            f"{below} | {above}",
            figure_cell(
                float(value),
                note=""
                if errors is None or not np.isfinite(errors[k])
                else f"± {number(float(errors[k]))} s.e.",
            ),
        ]
        for k, (below, above, value) in enumerate(
            zip(labels[:-1], labels[1:], thresholds.tolist(), strict=True)
        )
    ]
    return table("Thresholds between labels", ["Between", "Score"], rows, style="compact")
