"""``echelon rank``: learn which rows stand above which, or rank rows with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import UsageError, guarded, usage_errors
from .options import Data, Delimiter, Drop, DropUnlabelled, Format, Jobs, Order, Seed
from .table_view import show_notes
from .values import refuse_model_as_table, require_place

if TYPE_CHECKING:
    from echelon.trained import TrainedModel

    from .ranking_tables import RankingTable

RANKERS = ("LinearRankSVM", "RankSVM", "RankBoost", "PreferenceRanker", "RankPerceptron")


def rank(
    data: Data,
    target: Annotated[
        str | None, typer.Option(help="Column of labels to learn from, higher is better.")
    ] = None,
    qid: Annotated[
        str | None,
        typer.Option(help="Column of queries: only rows of one query are compared."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Table of judgements to learn from: columns winner and loser with ids of rows, "
            "and maybe weight. Needs --id.",
            readable=False,
        ),
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column with the id of each row.")] = None,
    order: Order = None,
    model: Annotated[
        str, typer.Option(help=f"Ranker to train: {', '.join(RANKERS)}.")
    ] = "LinearRankSVM",
    model_file: Annotated[
        Path | None,
        typer.Option(help="Rank with this saved model instead of training one.", readable=False),
    ] = None,
    one_query: Annotated[
        bool, typer.Option("--one-query", help="Compare all rows, though the model has queries.")
    ] = False,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    save: Annotated[
        Path | None, typer.Option(help="Model file to write, usually ending in .echelon.")
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            help="Where the ranked rows go: .csv, .tsv, .jsonl, .parquet or .arrow; "
            "- for standard output, as CSV."
        ),
    ] = "ranking.csv",
    top: Annotated[
        int | None, typer.Option(min=1, help="Most rows of each query to write.")
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
    drop: Drop = None,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Learn to rank rows, or rank them with a saved model.

    Learn from labels within queries (--target, --qid), from judgements on pairs of rows (--pairs,
    --id), or from both. The ranked rows are written best first within their query, with their score
    and position.
    """
    with guarded():
        say = Speaker(out)
        refuse_model_as_table(data, "rank DATA --model-file MODEL")
        _refuse_unwritable(out, save, data, pairs, model_file)
        if model_file is not None:
            _refuse_training(target, pairs, save)
            trained, table = _apply(model_file, data, qid, id, one_query, format, delimiter)
        else:
            _refuse_impossible(target, pairs, id, one_query, format, data)
            from .ranking_tables import read_training_table

            table = read_training_table(
                data,
                target,
                qid,
                pairs,
                id,
                order,
                format=format,
                delimiter=delimiter,
                drop=tuple(drop or ()),
                drop_unlabelled=drop_unlabelled,
            )
            trained = _train(table, _find(model), folds, seed, jobs, say)
            if save is not None:
                trained.save(save)
                say(f"Written: {save}")
        rows = _write(trained, table, top, out)
        if out != "-":
            say(f"Ranking of {rows:,} rows: {out}")


class Speaker:
    """Lines about the work, on standard output unless the ranking goes there."""

    def __init__(self, out: str) -> None:
        self._aside = out == "-"

    def __call__(self, text: str) -> None:
        """Say one line."""
        typer.echo(text, err=self._aside)


def _refuse_unwritable(out: str, save: Path | None, *sources: str | Path | None) -> None:
    """Before the work, not after it."""
    from echelon.tables.formats import output_format

    output_format(out, None)
    require_place("--out", out, *sources)
    if save is not None:
        require_place("--save", save, *sources)


def _refuse_training(target: str | None, pairs: Path | None, save: Path | None) -> None:
    for name, value in (("--target", target), ("--pairs", pairs), ("--save", save)):
        if value is not None:
            raise UsageError(
                f"{name} is for training a model; with --model-file the saved one is used."
            )


def _refuse_impossible(
    target: str | None,
    pairs: Path | None,
    id: str | None,
    one_query: bool,
    format: str | None,
    data: str,
) -> None:
    from .ranking_tables import is_svmlight

    if target is None and pairs is None and not is_svmlight(data, format):
        raise UsageError(
            "Say what to learn from: labels with --target, judgements with --pairs, or a saved "
            "model to use with --model-file."
        )
    if pairs is not None and id is None:
        raise UsageError("--pairs needs --id, the column that holds the ids of rows.")
    if one_query:
        raise UsageError("--one-query is for --model-file; to train on one query leave --qid out.")


def _find(name: str) -> str:
    """The ranker that was meant, whatever its case."""
    plain = {ranker.lower(): ranker for ranker in RANKERS}
    found = plain.get(name.lower().replace("-", "").replace("_", "").replace(" ", ""))
    if found is None:
        raise UsageError(f"--model must be one of {', '.join(RANKERS)}; found {name!r}.")
    return found


def _ranker(name: str, seed: int) -> Any:
    import echelon

    ranker = getattr(echelon, name)()
    if "random_state" in ranker.get_params(deep=False):
        ranker.set_params(random_state=seed)
    return ranker


def _train(
    table: RankingTable, name: str, folds: int, seed: int, jobs: int, say: Speaker
) -> TrainedModel:
    from sklearn.pipeline import Pipeline

    from echelon.model_selection.preparation import prepare
    from echelon.trained import TrainedModel

    say(table.about())
    show_notes(*table.notes)
    pipeline = Pipeline([("prepare", prepare(table.schema)), ("model", _ranker(name, seed))])
    metrics = _cross_validate(pipeline, table, folds, jobs, say)
    given = {f"model__{key}": value for key, value in table.fit_arguments().items()}
    with usage_errors(ValueError):
        pipeline.fit(table.X, table.y, **given)
    return TrainedModel(
        estimator=pipeline,
        schema=table.schema,
        classes=[],
        target=table.target or "",
        name=name,
        task="ranking",
        metrics=metrics,
        notes=table.notes,
        extra={"qid": table.qid_name, "id": table.id_name, "levels": table.levels},
    )


def _cross_validate(
    pipeline: Any, table: RankingTable, folds: int, jobs: int, say: Speaker
) -> dict[str, float]:
    """Pair accuracy, and NDCG@10 of labels, on queries, rows or pairs that were held out."""
    from echelon.metrics.measures import known_measures
    from echelon.model_selection import cross_validate_ranker

    units, what = table.units()
    if units < 2:
        show_notes(f"There is no cross-validation, which needs two {what} or more.")
        return {}
    folds = min(folds, units)
    scoring = _measures(table)
    with usage_errors(ValueError):
        found = cross_validate_ranker(
            pipeline,
            table.X,
            table.y,
            cv=folds,
            scoring=scoring,
            n_jobs=jobs,
            **table.fit_arguments(),
        )
    metrics: dict[str, float] = {}
    say(f"Cross-validated over {folds} folds of {what}:")
    for measure in known_measures(found.scores):
        summary = found.summary(measure.key)
        metrics |= {measure.key: summary.mean, f"{measure.key}_se": summary.se}
        say(f"  {measure.heading}: {summary.mean:.4f} ± {summary.se:.4f}")
    return metrics


def _measures(table: RankingTable) -> list[str] | None:
    """What is measured on held-out rows; None for what judged pairs allow."""
    if table.pairs is not None or table.y is None:
        return None
    lowest = float(table.y.min())
    if lowest < 0.0:
        show_notes(f"NDCG@10 is left out: it needs labels of 0 or more, and there is {lowest:g}.")
        return ["pairwise_accuracy"]
    return ["pairwise_accuracy", "ndcg@10"]


def _apply(
    model_file: Path,
    data: str,
    qid: str | None,
    id: str | None,
    one_query: bool,
    format: str | None,
    delimiter: str | None,
) -> tuple[TrainedModel, RankingTable]:
    from echelon.trained import load_model

    from .ranking_tables import read_new_table

    trained = load_model(model_file)
    if trained.task != "ranking":
        raise UsageError(
            f"{model_file} holds a model of labels, not of rankings; use echelon predict."
        )
    table = read_new_table(
        data, trained, qid, id, one_query=one_query, format=format, delimiter=delimiter
    )
    return trained, table


def _write(trained: TrainedModel, table: RankingTable, top: int | None, out: str) -> int:
    from echelon.tables import TableWriter

    frame = table.ranked(trained.estimator.predict(table.X), top)
    with TableWriter(out) as writer:
        writer.write(frame)
    return len(frame)
