"""``echelon evaluate``: how good a saved model is on a table with labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .evaluate_ranking import evaluate_ranking
from .failures import UsageError, guarded
from .new_categories import NewCategories
from .options import Cost, Data, Delimiter, DropUnlabelled, Format, Model, Seed
from .table_view import show_notes
from .values import read_cost, refuse_model_as_table, require_place

if TYPE_CHECKING:
    from echelon.trained import TrainedModel


def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(help="Label column.", show_default="that of the table it was fitted to"),
    ] = None,
    cost: Cost = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this HTML file.", metavar="FILE.html")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the figures to this JSON file.")] = None,
    confidence: Annotated[
        float, typer.Option(help="Confidence of the intervals of the figures.")
    ] = 0.95,
    format: Format = None,
    delimiter: Delimiter = None,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
) -> None:
    """Measure a saved model on a table with labels.

    Every figure has an interval from draws with replacement, of rows or, for a ranking, of queries.
    """
    with guarded():
        if not 0.0 < confidence < 1.0:
            raise UsageError(f"--confidence must lie between 0 and 1; found {confidence:g}.")
        for option, path in (("--report", report), ("--out", out)):
            if path is not None:
                require_place(option, path, data, model, cost)
        refuse_model_as_table(data, "evaluate MODEL DATA")
        from echelon.inspection import evaluate_model
        from echelon.tables import read_table
        from echelon.trained import load_model

        trained = load_model(model)
        if trained.task == "ranking":
            _refuse_for_rankings(report=report, cost=cost)
            reading = {"format": format, "delimiter": delimiter, "drop_unlabelled": drop_unlabelled}
            figures = evaluate_ranking(trained, data, target, confidence, seed, **reading)
            if out is not None:
                _write_json(out, figures)
            return
        matrix = read_cost(cost, trained.classes)
        name = trained.target if target is None else target
        frame = read_table(
            data, format=format, delimiter=delimiter, schema=trained.schema, target=name
        )
        X, y = split_labels(trained, frame, target, drop_unlabelled)
        result = evaluate_model(
            trained, X, y, cost=matrix, confidence=confidence, random_state=seed
        )
        typer.echo(f"{trained.name} on {data}: {result.rows} rows")
        typer.echo(str(result))
        show_notes(*_notes(trained, frame, y, data))
        if out is not None:
            _write_json(out, result.to_dict())
        if report is not None:
            _write_report(report, trained, X, y, matrix)


def _refuse_for_rankings(**options: Path | None) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name} is for models of labels, and this one ranks rows.")


def require_ordinal(trained: TrainedModel, command: str) -> TrainedModel:
    """The model, if it predicts ordered labels."""
    if trained.task != "ordinal":
        raise UsageError(
            f"`echelon {command}` is for models of ordered labels, and {trained.name} ranks rows; "
            "rank a table with echelon rank DATA --model-file MODEL."
        )
    return trained


def split_labels(
    trained: TrainedModel, frame: Any, target: str | None, drop_unlabelled: bool
) -> tuple[Any, Any]:
    """Inputs of the model and labels on its scale."""
    import numpy as np

    from echelon.ordinal.labels import OrdinalScale
    from echelon.tables import encode_target

    name = trained.target if target is None else target
    if name not in frame.columns:
        raise UsageError(
            f"The table has no label column {name!r}; name it with --target, one of "
            f"{', '.join(map(str, frame.columns))}."
        )
    missing = frame[name].isna()
    if missing.any() and not drop_unlabelled:
        raise UsageError(
            f"The label {name!r} is missing in {int(missing.sum())} of {len(frame)} rows; "
            "--drop-unlabelled leaves them out."
        )
    if missing.all():
        raise UsageError(f"No row has a label in column {name!r}.")
    frame = frame[~missing]
    codes = encode_target(frame[name], trained.classes, name)
    y = OrdinalScale(np.asarray(trained.classes)).decode(codes)
    return trained.inputs(frame.drop(columns=name)), y


def _notes(trained: TrainedModel, frame: Any, y: Any, data: str) -> list[str]:
    """What the figures do not show by themselves."""
    notes = [
        f"No row of {data} has a value in column {name!r}."
        for name in trained.schema.names
        if frame[name].isna().all()
    ]
    new = NewCategories(trained.schema)
    new.look_at(frame)
    notes += new.notes()
    labels = {str(label) for label in y}
    if len(labels) == 1:
        notes.append(
            f"All rows have the label {labels.pop()!r}, for which kappa is not defined: it is "
            "given as 1 if all predictions are right and as 0 otherwise."
        )
    return notes


def _write_json(path: Path, content: dict[str, Any]) -> None:
    from echelon._utils.files import write_whole

    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False).encode("utf-8"))
    typer.echo(f"Written: {path}")


def _write_report(path: Path, trained: TrainedModel, X: Any, y: Any, cost: Any) -> None:
    from echelon.reporting import report

    from .steps import step_line

    with step_line() as step:
        report(
            trained,
            X,
            y,
            cost="absolute" if cost is None else cost,
            cv="prefit",  # the rows are new to the model, so it is judged as it is
            target=trained.target,
            path=path,
            on_section=lambda key: step(f"Report: {key}"),
        )
    typer.echo(f"Written: {path}")
