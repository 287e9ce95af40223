"""``echelon info``: what a model file says of its model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import guarded
from .options import Model, TrustedKey
from .output import say
from .views import json_text

if TYPE_CHECKING:
    from echelon.trained import TrainedModel


def info(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="The whole card, as JSON.")] = False,
    trusted_key: TrustedKey = None,
) -> None:
    """Show what a model file holds.

    Names, schema, label order, figures and versions are read and checked; the model itself is not
    loaded, so this is safe for any file.
    """
    with guarded():
        from echelon.trained.model import read_card

        found = read_card(model, trusted_keys=trusted_key)
        if as_json:
            say(*json_text(found.card()).split("\n"), needed=True)
        else:
            say(*describe(found), needed=True)


def describe(model: TrainedModel) -> list[str]:
    """The card as lines of text."""
    from echelon._utils.frames import aligned

    extra = {
        key: value
        for key, value in model.extra.items()
        if key not in ("cost", "evaluated", "fitted_to") and value not in (None, {}, [])
    }
    facts = [
        ["Model", model.name],
        ["Task", model.task],
        ["Target", model.target],
        *([["Labels", " < ".join(map(str, model.classes))]] if model.classes else []),
        ["Trained", model.created],
        ["With", ", ".join(f"{name} {number}" for name, number in model.versions.items())],
        *([["Cost", cost_words(model)]] if model.task == "ordinal" else []),
        *[[key.replace("_", " ").capitalize(), _plain(value)] for key, value in extra.items()],
    ]
    columns = [["Column", "kind", "categories"]]
    columns += [[c.name, c.kind, _levels(c.levels)] for c in model.schema.columns]
    return [
        *aligned(facts, words=(0, 1)),
        *(["", figures_heading(model)] if model.metrics else []),
        *figures(model.metrics),
        "",
        *aligned(columns, words=(0, 1, 2)),
        *(["", "Notes", *model.notes] if model.notes else []),
    ]


def cost_words(model: TrainedModel) -> str:
    """The cost under which a model was trained, a matrix by true labels."""
    cost = model.extra.get("cost") or "absolute"
    if isinstance(cost, str):
        return "absolute difference of ranks" if cost == "absolute" else cost
    rows = zip(model.classes, cost, strict=False)
    return "by true label " + "; ".join(f"{label}: {_plain(list(row))}" for label, row in rows)


def save_model(model: TrainedModel, path: Path, key: Path | None = None) -> None:
    """Print how good a model that was just trained is, and how that was found, and save it."""
    if model.metrics:
        say(f"{figures_heading(model)}:")
    for line in figures(model.metrics):
        say(f"  {line}")
    coverage = model.extra.get("interval_coverage_by_label")
    if coverage:
        say(f"  interval coverage by label, on rows that calibrate them: {_plain(coverage)}")
    model.save(path, key=key)
    say(f"Written: {path}")


def figures_heading(model: TrainedModel) -> str:
    """Settings that were searched on all rows make figures on some of them slightly too good."""
    how = model.extra.get("evaluated")
    return f"Cross-validated ({how})" if how else "Cross-validated"


def figures(metrics: dict[str, float]) -> list[str]:
    """Cross-validated figures as lines."""
    from echelon._utils.frames import aligned
    from echelon.metrics.measures import known_measures

    rows = []
    for measure in known_measures(metrics):
        spread = metrics.get(f"{measure.key}_se")
        error = f"± {spread:.3f}" if spread and math.isfinite(spread) else ""
        rows.append([measure.heading, f"{metrics[measure.key]:.3f}", error])
    return aligned(rows) if rows else []


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(inner)}" for key, inner in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _levels(levels: tuple[str, ...] | None) -> str:
    if levels is None:
        return ""
    shown = ", ".join(map(str, levels[:8]))
    return shown if len(levels) <= 8 else f"{shown}, … ({len(levels)})"
