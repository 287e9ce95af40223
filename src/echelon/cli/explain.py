"""``echelon explain``: what a saved model goes by, and why single rows get their labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .evaluate import labelled_part, require_ordinal, split_labels
from .failures import UsageError, guarded
from .options import Cost, Model, Seed, TrustedKey, reads_file
from .output import say
from .values import read_cost, refuse_model_as_table
from .views import json_text

if TYPE_CHECKING:
    from echelon.trained import TrainedModel

_MOST_RULES = 20
_MOST_WORDS = 8
# Central share of the values of a number that effects are told over.
_BULK = 0.98


@reads_file
def explain(
    *,
    reading: dict[str, Any],
    model: Model,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to explain the model with: all but the rules needs them; - for standard "
            "input.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(help="Row of DATA to explain, counted from 1; may be given again."),
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="Rows of DATA to explain, such as 1,5,20-25.")
    ] = None,
    show_global: Annotated[
        bool, typer.Option("--global", help="Importance and effects of the columns.")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="The rules of a model of rules.")] = False,
    target: Annotated[
        str | None,
        typer.Option(
            help="Label column of DATA, for importance.",
            show_default="that of the table it was fitted to",
        ),
    ] = None,
    cost: Cost = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
    trusted_key: TrustedKey = None,
    seed: Seed = 0,
) -> None:
    """Explain a saved model and its predictions.

    By default the importance and effects of columns and the rules, if the model has any; with rows,
    what pushed their predictions up and down.
    """
    with guarded():
        refuse_model_as_table(data, "explain MODEL DATA")
        from echelon.tables import read_table
        from echelon.trained import load_model

        trained = require_ordinal(load_model(model, trusted_keys=trusted_key), "explain")
        numbers = _row_numbers(row, rows)
        if data is None and (numbers or show_global):
            raise UsageError(
                "Rows are needed for this: name a table after the model, such as the one that it "
                "was fitted to."
            )
        label = trained.target if target is None else target
        frame = None
        if data is not None:
            frame = read_table(data, schema=trained.schema, target=label, **reading)
        told = _Told()
        by_default = not (numbers or show_global or rules)
        if rules or by_default:
            _tell_rules(trained, told, asked=rules)
        if frame is not None and (show_global or by_default):
            _tell_columns(trained, frame, target, cost, seed, told)
        if numbers:
            _tell_rows(trained, frame, numbers, seed, told)
        if not told.lines:
            raise UsageError(
                f"{trained.name} has no rules, so rows are needed to explain it: name a table."
            )
        if not told.lines[-1]:
            del told.lines[-1]
        lines = json_text(told.content).split("\n") if as_json else told.lines
        say(*lines, needed=True)


@dataclass
class _Told:
    """What the command says, as lines and for JSON."""

    lines: list[str] = field(default_factory=list)
    content: dict[str, Any] = field(default_factory=dict)


def _row_numbers(row: list[int] | None, rows: str | None) -> list[int]:
    numbers = list(row or [])
    for part in (rows or "").split(","):
        first, dash, last = part.strip().partition("-")
        if not part.strip():
            continue
        if not first.strip().isdigit() or (dash and not last.strip().isdigit()):
            raise UsageError(f"--rows must be numbers of rows such as 1,5,20-25; found {rows!r}.")
        numbers += range(int(first), int(last or first) + 1)
    if any(number < 1 for number in numbers):
        raise UsageError(f"Rows are counted from 1; found {min(numbers)}.")
    return numbers


def _tell_rules(trained: TrainedModel, told: _Told, *, asked: bool) -> None:
    from echelon.inspection import rule_sentences

    sentences = rule_sentences(trained)
    if sentences is None:
        if asked:
            raise UsageError(f"{trained.name} is not a model of rules, so there is no --rules.")
        return
    told.content["rules"] = sentences
    shown = sentences[:_MOST_RULES]
    more = len(sentences) - len(shown)
    told.lines += [f"Rules, the most important {len(shown)} of {len(sentences)}:"]
    told.lines += [f"  {number}. {text}" for number, text in enumerate(shown, 1)]
    told.lines += [f"  … and {more} more (--json has all)", ""] if more else [""]


def _tell_columns(
    trained: TrainedModel, frame: Any, target: str | None, cost: Any, seed: int, told: _Told
) -> None:
    from echelon.inspection import feature_effects
    from echelon.tables.roles import read_roles

    X = trained.inputs(frame)
    weights = read_roles(frame, trained.schema.roles).get("sample_weight")
    name = trained.target if target is None else target
    if target is not None or name in frame.columns:
        _tell_importance(trained, frame, name, cost, seed, told)
    else:
        told.lines += [f"No column {name!r} with labels, so there is no importance of columns.", ""]
    found = feature_effects(trained, X, bulk=_BULK, sample_weight=weights, random_state=seed)
    effects = sorted(found, key=lambda e: -e.span)
    if effects:
        weighted = "" if weights is None else f", weighted by {trained.schema.roles['weight']!r}"
        told.lines += [
            f"Effects over the central {_BULK:.0%} of values, other columns as they are{weighted}:"
        ]
        told.lines += [f"  {effect.sentence()}" for effect in effects] + [""]
    _tell_words(trained, X, seed, told)
    told.content["effects"] = [
        {
            "feature": effect.feature,
            "kind": effect.kind,
            "unit": effect.unit,
            "values": effect.values,
            "expected_rank": effect.expected_rank.tolist(),
            "cumulative": None if effect.cumulative is None else effect.cumulative.tolist(),
        }
        for effect in effects
    ]


def _tell_words(trained: TrainedModel, X: Any, seed: int, told: _Told) -> None:
    from echelon.inspection import word_effects

    found = word_effects(trained, X, random_state=seed)
    if not found:
        return
    unit = " the rank" if found[0].unit == "ranks" else " the score"
    told.lines += ["Words, the mean change beside the same texts without them:"]
    for column in dict.fromkeys(effect.column for effect in found):
        for side, sign in (("raise", 1.0), ("lower", -1.0)):
            own = [e for e in found if e.column == column and sign * e.change > 0]
            own = sorted(own, key=lambda e: -abs(e.change))[:_MOST_WORDS]
            listed = ", ".join(f"{e.term} {e.change:+.2f}" for e in own)
            told.lines += [f"  {column}, what {side}s{unit}: {listed}"] if own else []
    told.lines += [""]
    told.content["words"] = [effect._asdict() for effect in found]


def _tell_importance(
    trained: TrainedModel, frame: Any, target: str, cost: Any, seed: int, told: _Told
) -> None:
    from echelon.inspection import ordinal_importance
    from echelon.tables.roles import read_roles

    matrix = read_cost(cost, trained.classes)
    frame = labelled_part(frame, target, drop_unlabelled=True)
    X, y = split_labels(trained, frame, target)
    importance = ordinal_importance(
        trained,
        X,
        y,
        cost="absolute" if matrix is None else matrix,
        sample_weight=read_roles(frame, trained.schema.roles).get("sample_weight"),
        random_state=seed,
    )
    told.lines += ["Importance, the rise of the mean cost when a column is shuffled:"]
    told.lines += [f"  {line}" for line in str(importance).splitlines()] + [""]
    told.content["importance"] = {
        "baseline": importance.baseline,
        "columns": [
            {
                "feature": importance.features[j],
                "mean": float(importance.mean[j]),
                "sd": float(importance.sd[j]),
            }
            for j in importance.order
        ],
    }


def _tell_rows(
    trained: TrainedModel, frame: Any, numbers: list[int], seed: int, told: _Told
) -> None:
    from echelon.inspection import explain_rows

    beyond = [number for number in numbers if number > len(frame)]
    if beyond:
        raise UsageError(f"The table has {len(frame)} rows, so there is no row {beyond[0]}.")
    X = trained.inputs(frame)
    positions = [number - 1 for number in numbers]
    explained = explain_rows(trained, X.iloc[positions], X, random_state=seed)
    for number, one in zip(numbers, explained, strict=True):
        told.lines += [f"Row {number}: {one.sentence()}"]
        told.lines += [f"  {rule}" for rule in one.rules]
    told.content["rows"] = [
        {"row": number, **one.to_dict()} for number, one in zip(numbers, explained, strict=True)
    ]
