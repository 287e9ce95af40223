"""``echelon fit``: from a table to a saved model."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from echelon._utils.processes import watched_workers

from .failures import UsageError, guarded
from .options import (
    Cost,
    Data,
    DropUnlabelled,
    Gap,
    Jobs,
    Margin,
    Order,
    Prefer,
    Seed,
    Sign,
    Target,
    reads_table,
)
from .output import say
from .values import (
    read_cost,
    read_equivalence,
    read_seconds,
    require_confidence,
    require_key,
    require_places,
)
from .views import (
    end_if_no_better,
    live_view,
    reserve_for,
    show_board,
    show_choice,
    show_other_folds,
    show_table,
    step_line,
)

if TYPE_CHECKING:
    from echelon.model_selection import Leaderboard
    from echelon.model_selection.roster import Candidate
    from echelon.tables import LabelledTable

AUTO = "auto"


@reads_table
def fit(
    *,
    reading: dict[str, Any],
    data: Data,
    target: Target = None,
    order: Order = None,
    model: Annotated[
        str,
        typer.Option(
            help="Name of a model as `echelon compare` lists them, or auto: the best of a short "
            "contest."
        ),
    ] = AUTO,
    cost: Cost = None,
    gap: Gap = 0.0,
    confidence: Annotated[
        float, typer.Option(help="Share of rows whose label a prediction interval shall hold.")
    ] = 0.9,
    budget: Annotated[
        str,
        typer.Option(help="Time for --model auto, saving included: 90s, 10m, 1h."),
    ] = "1m",
    margin: Margin = "2%",
    prefer: Prefer = "best",
    save: Annotated[Path, typer.Option(help="Model file to write.")] = Path("model.echelon"),
    sign: Sign = None,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Fit a model to a table and save it to a file.

    Settings are searched by cross-validation; the model is then fitted to all rows, given
    probabilities and prediction intervals, and measured by cross-validation. With --group whole
    groups are held out in all of it, with --time rows later than those learnt from.
    """
    started = time.monotonic()
    with guarded(), watched_workers():
        require_confidence(confidence)
        seconds, equivalence = read_seconds(budget), read_equivalence(margin, prefer)
        require_places((data, cost, sign), save=save)
        require_key(sign)
        from echelon.model_selection.stack import STACK, board_candidate
        from echelon.tables import read_labelled_table

        if model.casefold() == STACK.casefold():
            raise UsageError(
                f"--model {model} is a mixture of the models of a comparison; --model {AUTO} and "
                "echelon compare --save fit it where it wins."
            )
        table = read_labelled_table(data, target, order, drop_unlabelled=drop_unlabelled, **reading)
        show_table(table, data)
        options = {"cost": read_cost(cost, table.classes), "n_jobs": jobs, "random_state": seed}
        options["gap"] = gap
        left = max(1.0, seconds - (time.monotonic() - started))
        board = _contest(table, left, equivalence, **options) if model == AUTO else None
        candidate = board_candidate(
            board,
            model if board is None else board.chosen.model,
            table.schema,
            classes=table.classes,
            cost=options["cost"],
            random_state=seed,
        )
        options |= {"confidence": confidence, "leaderboard": board}
        _train(table, candidate, save, sign, **options)


def _contest(
    table: LabelledTable,
    seconds: float,
    equivalence: dict[str, Any],
    n_jobs: int,
    **options: Any,
) -> Leaderboard:
    """A short contest."""
    from echelon.model_selection.contest import finish, make_experiment
    from echelon.model_selection.experiment_run import ExperimentRun
    from echelon.model_selection.roster import candidates

    roster = candidates(options["random_state"])
    contest = ExperimentRun(make_experiment(table, candidates=roster, repeats=1, **options))
    reserve = reserve_for(save=True, report=False)
    with live_view() as show:
        board = finish(contest, budget=seconds, n_jobs=n_jobs, reserve=reserve, on_progress=show)
    if board.interrupted:
        raise KeyboardInterrupt
    if not board.rows:
        raise UsageError(f"No model could be measured in {seconds:g} s; give more --budget.")
    board = replace(board, **equivalence)
    show_board(board)
    show_other_folds(table, contest, board)
    show_choice(board)
    return board


def _train(
    table: LabelledTable, candidate: Candidate, save: Path, sign: Path | None, **options: Any
) -> None:
    from echelon.model_selection.leaderboard import settings_text
    from echelon.trained import train

    from .info import save_model

    say(f"Model: {candidate.name}. {candidate.about}")
    with step_line() as step:
        step(f"Fitting {candidate.name} to all rows")
        trained = train(table, candidate, **options)
    settings = trained.extra.get("settings")
    if settings:
        say(f"Settings: {settings_text(settings)}")
    save_model(trained, save, sign)
    if trained.leaderboard is not None:
        end_if_no_better(trained.leaderboard, trained.name)
