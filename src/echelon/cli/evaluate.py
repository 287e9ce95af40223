"""``echelon evaluate``: how good a saved model is on a table with labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import UsageError, guarded
from .info import cost_words
from .oddities import Oddities
from .options import Cost, Data, DropUnlabelled, Model, Report, Seed, TrustedKey, reads_file
from .output import say
from .values import read_cost, refuse_model_as_table, require_confidence, require_places
from .views import json_text, show_notes, write_file, write_report

if TYPE_CHECKING:
    import numpy as np

    from echelon.inspection import Evaluation
    from echelon.metrics.measures import Measure
    from echelon.tables import RankingTable
    from echelon.trained import TrainedModel

# Of queries, for the intervals of a ranking's figures.
_DRAWS = 400


@reads_file
def evaluate(
    *,
    reading: dict[str, Any],
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(help="Label column.", show_default="that of the table it was fitted to"),
    ] = None,
    cost: Cost = None,
    report: Report = None,
    out: Annotated[Path | None, typer.Option(help="Write the figures to this JSON file.")] = None,
    confidence: Annotated[
        float, typer.Option(help="Confidence of the intervals of the figures.")
    ] = 0.95,
    trusted_key: TrustedKey = None,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
) -> None:
    """Measure a saved model on a table with labels.

    Every figure has an interval from draws with replacement, of rows or, for a ranking, of queries.
    """
    with guarded():
        require_confidence(confidence)
        require_places((data, model, cost), report=report, out=out)
        refuse_model_as_table(data, "evaluate MODEL DATA")
        from echelon.inspection import evaluate_model
        from echelon.tables import read_table
        from echelon.tables.roles import read_roles
        from echelon.trained import load_model

        trained = load_model(model, trusted_keys=trusted_key)
        if trained.task == "ranking":
            for option, value in (("report", report), ("cost", cost)):
                if value is not None:
                    raise UsageError(f"--{option} is for models of labels; this one ranks rows.")
            reading["drop_unlabelled"] = drop_unlabelled
            figures = _evaluate_ranking(trained, data, target, confidence, seed, **reading)
            if out is not None:
                write_file(out, json_text(figures))
            return
        matrix = read_cost(cost, trained.classes)
        if matrix is None:
            # What the model was trained to make small.
            matrix = trained.extra.get("cost")
        name = trained.target if target is None else target
        frame = read_table(data, schema=trained.schema, target=name, **reading)
        frame = labelled_part(frame, name, drop_unlabelled)
        X, y = split_labels(trained, frame, name)
        new, seen = _new_rows(trained, X, y)
        X, y, frame = X[new], y[new], frame[new]
        known = read_roles(frame, trained.schema.roles)
        result = evaluate_model(
            trained, X, y, cost=matrix, confidence=confidence, random_state=seed, **known
        )
        say(f"{trained.name} on {data}: {result.rows} rows{_ways(trained, known)}")
        say(f"Trained under the cost: {cost_words(trained)}")
        say(*str(result).split("\n"), needed=out is None and report is None)
        show_notes(*seen, *_notes(trained, frame, y, data, result))
        if out is not None:
            write_file(out, json_text(result.to_dict()))
        if report is not None:
            known["source"] = "standard input" if data == "-" else Path(data).name
            write_report(
                report, trained, X, y, cost=matrix, cv="prefit", target=trained.target, **known
            )


def require_ordinal(trained: TrainedModel, command: str) -> TrainedModel:
    """The model, if it predicts ordered labels."""
    if trained.task != "ordinal":
        raise UsageError(
            f"`echelon {command}` is for models of ordered labels, and {trained.name} ranks rows; "
            "rank a table with echelon rank DATA --model-file MODEL."
        )
    return trained


def labelled_part(frame: Any, name: str, drop_unlabelled: bool) -> Any:
    """The rows with a label in the column of that name; they keep their numbers for errors."""
    from echelon.tables.interpretation import labelled_rows

    if name not in frame.columns:
        raise UsageError(
            f"The table has no label column {name!r}; name it with --target, one of "
            f"{', '.join(map(str, frame.columns))}."
        )
    labelled_rows(frame, name, drop_unlabelled, "the table")
    return frame[frame[name].notna()]


def split_labels(trained: TrainedModel, frame: Any, name: str) -> tuple[Any, Any]:
    """Inputs of the model, and labels of the column of that name on its scale."""
    import numpy as np

    from echelon.ordinal.labels import OrdinalScale
    from echelon.tables import encode_target

    codes = encode_target(frame[name], trained.classes, name)
    y = OrdinalScale(np.asarray(trained.classes)).decode(codes)
    return trained.inputs(frame.drop(columns=name)), y


def _ways(trained: TrainedModel, known: dict[str, Any]) -> str:
    """What is made of columns that are no inputs."""
    roles = trained.schema.roles
    ways = []
    if known.get("sample_weight") is not None:
        ways.append(f"weighted by {roles['weight']!r}")
    if known.get("groups") is not None:
        ways.append(f"intervals by draws of whole groups of {roles['group']!r}")
    return "".join(f", {way}" for way in ways)


def _new_rows(trained: TrainedModel, X: Any, y: Any) -> tuple[Any, list[str]]:
    """Rows to measure, and what is known of those that the model was fitted to."""
    import numpy as np

    from echelon.ordinal.labels import read_scale

    marks, every = trained.row_marks, np.ones(len(y), dtype=bool)
    seen = trained.was_fitted_to(X, read_scale(y, trained.classes)[1])
    if marks is None or seen is None:
        return every, ["The model file does not say which rows it was fitted to."]
    if not seen.any():
        return every, []
    if seen.all():
        mae = trained.metrics.get("mae")
        known = "" if mae is None else f"; cross-validated, the mean absolute error is {mae:.3f}"
        return every, [
            "These are rows that the model was fitted to, or equal to such, on which figures tend "
            f"to be too good{known}."
        ]
    share = f"{seen.sum():,} of {len(seen):,} rows equal rows that the model was fitted to"
    if marks.many_twins:
        return every, [
            f"{share}. They are measured like the others, because {marks.twins:.0%} of the rows "
            "that it was fitted to have an equal among themselves, so that these may be new."
        ]
    return ~seen, [f"{share}; the figures are those of the other {(~seen).sum():,}."]


def _notes(trained: TrainedModel, frame: Any, y: Any, data: str, result: Evaluation) -> list[str]:
    """What the figures do not show by themselves."""
    oddities = Oddities(trained.schema)
    list(oddities.watch([frame]))
    notes = oddities.notes(data)
    hidden = result.hidden_classes(trained.extra.get("confidence", 0.0))
    if hidden is not None:
        notes.append(
            f"{hidden}; their confidence is meant on average over rows like the training's."
        )
    labels = {str(label) for label in y}
    if len(labels) == 1:
        notes.append(
            f"All rows have the label {labels.pop()!r}, for which kappa is not defined: it is "
            "given as 1 if all predictions are right and as 0 otherwise."
        )
    return notes


def _evaluate_ranking(
    trained: TrainedModel,
    data: str,
    target: str | None,
    confidence: float,
    seed: int,
    **reading: Any,
) -> dict[str, Any]:
    """Measure a ranker on a table, print the figures, and give them by name."""
    from echelon._utils.frames import aligned
    from echelon.metrics.measures import known_measures
    from echelon.trained.ranking import read_judged_rows

    table = read_judged_rows(trained, data, target, **reading)
    # Gains of negative labels are not defined.
    with_gains = table.y is not None and table.y.min() >= 0.0
    scores = trained.estimator.predict(table.X)
    found = {}
    rows = [["", "value", f"{confidence:.0%} interval"]]
    for measure in known_measures(["pairwise_accuracy", *(["ndcg@10"] if with_gains else [])]):
        value = measure.function(table.y, scores, qid=table.queries, **measure.options)
        low, high = _interval(measure, table, scores, confidence, seed)
        found[measure.key] = {"value": float(value), "low": low, "high": high}
        interval = "–" if low is None else f"{low:.4f} to {high:.4f}"
        rows.append([measure.heading, f"{value:.4f}", interval])
    say(f"{trained.name} on {table.about()}")
    say(*aligned(rows))
    show_notes(*table.notes)
    return {"model": trained.name, "rows": len(table.X), "confidence": confidence, **found}


def _interval(
    measure: Measure,
    table: RankingTable,
    scores: np.ndarray,
    confidence: float,
    seed: int,
) -> tuple[float | None, float | None]:
    """Percentiles over draws of queries; nothing where there are no two of them."""
    import numpy as np

    names = list(dict.fromkeys(table.queries or ()))
    if len(names) < 2:
        return None, None
    rng = np.random.default_rng(seed)
    even = np.full(len(names), 1.0 / len(names))
    values = []
    for counts in rng.multinomial(len(names), even, size=_DRAWS):
        weights = dict(zip(names, counts.astype(np.float64), strict=True))
        options = {"qid": table.queries, "query_weight": weights, **measure.options}
        values.append(float(measure.function(table.y, scores, **options)))
    tail = (1.0 - confidence) / 2.0
    low, high = np.nanquantile(values, [tail, 1.0 - tail])
    return float(low), float(high)
