"""``echelon rank``: learn which rows stand above which, or rank rows with a saved model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from echelon._utils.processes import watched_workers

from .failures import UsageError, guarded
from .info import figures
from .options import (
    FILE_OPTIONS,
    Data,
    DropUnlabelled,
    Jobs,
    Order,
    Raw,
    Seed,
    Sign,
    TrustedKey,
    reads_ranking,
)
from .output import say
from .values import refuse_model_as_table, require_key, require_places
from .views import show_notes

if TYPE_CHECKING:
    from echelon.tables import RankingTable
    from echelon.trained import TrainedModel

RANKERS = "LinearRankSVM, RankSVM, RankBoost, PreferenceRanker, RankPerceptron"


@reads_ranking
def rank(
    *,
    reading: dict[str, Any],
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
    model: Annotated[str, typer.Option(help=f"Ranker to train: {RANKERS}.")] = "LinearRankSVM",
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
    sign: Sign = None,
    trusted_key: TrustedKey = None,
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
    raw: Raw = False,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Learn to rank rows, or rank them with a saved model.

    Learn from labels within queries (--target, --qid), from judgements on pairs of rows (--pairs,
    --id), or from both. The ranked rows are written best first within their query, with their score
    and position.
    """
    with guarded(), watched_workers():
        # The ranking may go to standard output, and what is said of the work then does not.
        tell = partial(say, err=out == "-")
        refuse_model_as_table(data, "rank DATA --model-file MODEL")
        from echelon.tables import TableWriter, read_ranking_table
        from echelon.tables.formats import output_format
        from echelon.trained.ranking import ranked_rows, read_rows_to_rank

        output_format(out, None)
        require_places((data, pairs, model_file, sign), out=out, save=save)
        require_key(sign)
        if model_file is not None:
            cells = {name: value for name, value in reading.items() if name not in FILE_OPTIONS}
            _refuse_training(target=target, pairs=pairs, save=save, sign=sign, **cells)
            trained = _load(model_file, trusted_key)
            table = read_rows_to_rank(trained, data, qid, id, one_query=one_query, **reading)
        else:
            if one_query:
                raise UsageError(
                    "--one-query is for --model-file; to train on one query leave --qid out."
                )
            table = read_ranking_table(
                data,
                target,
                qid,
                pairs=pairs,
                id=id,
                order=order,
                drop_unlabelled=drop_unlabelled,
                **reading,
            )
            trained = _train(table, model, folds, seed, jobs, tell)
            if save is not None:
                trained.save(save, key=sign)
                tell(f"Written: {save}")
        frame = ranked_rows(trained, table, top)
        with TableWriter(out, raw=raw) as writer:
            writer.write(frame)
        if out != "-":
            tell(f"Ranking of {len(frame):,} rows: {out}")


def _refuse_training(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} is for training a model; with --model-file the saved "
                "one is used."
            )


def _train(
    table: RankingTable, model: str, folds: int, seed: int, jobs: int, tell: Callable[[str], None]
) -> TrainedModel:
    from echelon.trained.ranking import find_ranker, train_ranker

    name = find_ranker(model)
    tell(table.about())
    show_notes(*table.notes)
    trained = train_ranker(table, name, folds=folds, random_state=seed, n_jobs=jobs)
    show_notes(*(note for note in trained.notes if note not in table.notes))
    if trained.metrics:
        tell(f"Cross-validated over {trained.extra['folds']}:")
    for line in figures(trained.metrics):
        tell(f"  {line}")
    return trained


def _load(model_file: Path, trusted_keys: list[Path] | None) -> TrainedModel:
    from echelon.trained import load_model

    trained = load_model(model_file, trusted_keys=trusted_keys)
    if trained.task != "ranking":
        raise UsageError(
            f"{model_file} holds a model of labels, not of rankings; use echelon predict."
        )
    return trained
