"""The finalists of a contest as one model: a mixture of their probabilities, honestly measured.

The contest has probabilities of every finalist for rows that it has not seen. The shares that are
measured on a fold are learnt on the other folds of its repeat, or with times on those before it;
the shares of the model that is fitted in the end are learnt on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._utils.types import CostLike, Index, Matrix, Vector
from ..meta.stack import LEAST_SHARE, OrdinalStack, mixture_codes
from ..metrics.measures import MEASURES
from ..ordinal.likelihoods import with_one_more_row
from ..solvers.linear.mixture import few_weights
from .experiment import Experiment, test_figures
from .holdout import Holdout
from .leaderboard import Leaderboard, LeaderboardRow
from .preparation import candidate_pipeline, with_probabilities
from .roster import Candidate, find_candidate

#: Name of the row.
STACK = "Stack"
# Share of the best figure by which a mixture has to be better.
_LEAST_LEAD = 0.005
# Fits of a fold that training a saved model takes at the most: on all rows, and for its intervals.
_FITS = 4.0


def with_stack(
    board: Leaderboard, experiment: Experiment, seconds: float | None = None
) -> Leaderboard:
    """The leaderboard with a row for the mixture of its finalists, if that is clearly the best.

    Finalists are the models with probabilities on all folds; two at least are needed. A mixture is
    slower and harder to explain than each of them, so that a lead of less than half a per cent of
    the best one's figure does not count. One that takes more than these seconds to train, on all
    rows and for its intervals, is left out.
    """
    finalists = _finalists(board)
    if len(finalists) < 2:
        return board
    row = _measured(board, finalists, experiment)
    if not _wins(row, board) or (seconds is not None and _FITS * row.fit_seconds > seconds):
        return board
    return replace(board, rows=Leaderboard.of([*board.rows, row], board.measure).rows)


def _wins(row: LeaderboardRow, board: Leaderboard) -> bool:
    best = board.best.mean(board.measure)
    gain = MEASURES[board.measure].sign * (row.mean(board.measure) - best)
    return gain > _LEAST_LEAD * abs(best)


def stack_shares(board: Leaderboard) -> dict[str, float]:
    """Share of each model in the mixture of a contest's finalists, the largest first."""
    finalists = _finalists(board)
    if len(finalists) < 2:
        return {}
    found = _shares(board, finalists, np.ones(len(finalists[0].predictions), dtype=bool))
    shares = {row.model: float(w) for row, w in zip(finalists, found, strict=True) if w > 0.0}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def board_candidate(
    board: Leaderboard | None,
    name: str,
    schema: Any,
    *,
    classes: Sequence[Any],
    cost: CostLike | None = None,
    random_state: int = 0,
) -> Candidate:
    """The candidate of a leaderboard's row: one of the roster, or the mixture of its finalists.

    Each of the finalists has its own preparation of the table's columns, and the settings that were
    chosen for it most often.
    """
    if name != STACK:
        return find_candidate(name, random_state)
    shares = {} if board is None else stack_shares(board)
    if board is None or not shares:
        raise ValueError(
            f"{STACK} is a mixture of the models of a contest; give the leaderboard of one that "
            "has predictions of two models on all folds."
        )
    known: dict[str, Any] = {"classes": classes, "cost": cost}
    members = []
    for model in shares:
        candidate, row = find_candidate(model, random_state), board.find(model)
        pipeline = candidate_pipeline(candidate, schema, **known)
        if row is not None:
            pipeline.set_params(**row.usual_settings)
        found = with_probabilities(
            pipeline, **known, random_state=random_state, decision=candidate.decision
        )
        members.append((model, found))
    stack = OrdinalStack(
        members,
        weights=[round(share, 4) for share in shares.values()],
        cost="absolute" if cost is None else cost,
        classes=list(classes),
    )
    return Candidate(STACK, stack, about=_words(shares), inputs="table")


def _finalists(board: Leaderboard) -> list[LeaderboardRow]:
    return [
        row
        for row in board.rows
        if row.group != "baseline"
        and row.model != STACK
        and len(row.predictions) == board.planned > 0
        and all(p is not None for _, _, p in row.predictions)
    ]


def _measured(
    board: Leaderboard, finalists: list[LeaderboardRow], experiment: Experiment
) -> LeaderboardRow:
    """The mixture's row: on every fold with shares that were learnt on others."""
    n_folds = len(finalists[0].predictions)
    folds: dict[str, Vector] = {key: np.full(n_folds, np.nan) for key in board.best.folds}
    predictions: list[Any] = []
    for fold, others in enumerate(_other_folds(board, finalists[0])):
        shares = _shares(board, finalists, others)
        rows, mixed = _mixture(finalists, fold, shares)
        cost = "absolute" if experiment.cost is None else experiment.cost
        codes = mixture_codes(mixed, cost)
        training = len(experiment.splits[fold][0])
        for key, value in test_figures(experiment, rows, codes, mixed, training).items():
            folds[key][fold] = value
        predictions.append((rows, codes.astype(np.int16), mixed.astype(np.float32)))
    final = stack_shares(board)
    seconds = sum(row.fit_seconds for row in finalists if row.model in final)
    note = f"{_words(final)} Each fold is measured with shares learnt on other folds."
    return LeaderboardRow(
        STACK, folds, seconds, group="ordinal", note=note, predictions=tuple(predictions)
    )


def _words(shares: dict[str, float]) -> str:
    parts = [f"{share:.2f} {model}" for model, share in shares.items()]
    return f"A mixture of the models' probabilities: {', '.join(parts)}."


def _other_folds(board: Leaderboard, row: LeaderboardRow) -> list[Any]:
    """For every fold the others of its repeat; with times only those before it."""
    held = board.held_out(row)
    repeats = _repeats(held)
    place = np.arange(len(repeats))
    any_order = board.design is None or board.design.times is None
    return [
        (repeats == repeats[fold]) & ((place != fold) if any_order else (place < fold))
        for fold in place
    ]


def _repeats(held: Holdout) -> Index:
    """Repeat of each fold, in their order."""
    return np.unique(np.stack([held.repeat, held.fold]), axis=1)[0]


def _shares(board: Leaderboard, finalists: list[LeaderboardRow], folds: Any) -> Vector:
    """Shares learnt on some folds; even ones where there is none."""
    chosen = np.flatnonzero(folds)
    if not len(chosen):
        return np.full(len(finalists), 1.0 / len(finalists))
    assert board.truth is not None
    weights = None if board.design is None else board.design.weights
    p, of_rows = [], []
    for fold in chosen:
        rows = finalists[0].predictions[fold][0]
        truth = board.truth[rows]
        p.append(
            np.stack([_of_truth(r.predictions[fold][2], truth, board) for r in finalists], axis=1)
        )
        of_rows.append(np.ones(len(rows)) if weights is None else weights[rows])
    counts = np.concatenate(of_rows)
    if not counts.any():
        return np.full(len(finalists), 1.0 / len(finalists))
    return few_weights(np.concatenate(p), counts, LEAST_SHARE).weights


def _of_truth(probabilities: Any, truth: Index, board: Leaderboard) -> Vector:
    n = len(truth) if board.sizes is None else board.sizes[0]
    smooth = with_one_more_row(np.asarray(probabilities, dtype=np.float64), n)
    return np.asarray(smooth[np.arange(len(truth)), truth])


def _mixture(finalists: list[LeaderboardRow], fold: int, shares: Vector) -> tuple[Index, Matrix]:
    """Test rows of a fold and their mixed probabilities."""
    parts = [row.predictions[fold] for row in finalists]
    mixed = sum(
        share * np.asarray(p, dtype=np.float64)
        for share, (_, _, p) in zip(shares, parts, strict=True)
        if share > 0.0
    )
    return parts[0][0], np.asarray(mixed / np.sum(mixed, axis=1, keepdims=True))
