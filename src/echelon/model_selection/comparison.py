"""Any models compared by cross-validation on the same splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from .._utils.types import LabelsLike, MatrixLike
from ..base.nested import fresh
from ..ordinal.labels import read_scale
from .contest import Contest
from .leaderboard import Leaderboard, LeaderboardRow
from .tuning import repeated_splits
from .units import Arena, Entrant


def compare_models(
    models: Mapping[str, Any],
    X: MatrixLike,
    y: LabelsLike,
    *,
    classes: LabelsLike | None = None,
    folds: int = 5,
    repeats: int = 2,
    n_jobs: int | None = None,
    random_state: int = 0,
    on_row: Callable[[LeaderboardRow], None] | None = None,
) -> Leaderboard:
    """Cross-validate models on the same repeated stratified folds.

    Parameters
    ----------
    models : mapping from name to estimator
        Ordinal estimators, or pipelines that end in one.
    X : array-like or data frame of shape (n, d)
    y : array-like of shape (n,)
    classes : sequence, optional
        The labels from lowest to highest.
    folds, repeats : int
        Folds of each cross-validation, and cross-validations.
    n_jobs : int, optional
        Processes, as in joblib.
    random_state : int
        Seed of the folds.
    on_row : callable, optional
        Called with each finished row, to show progress.

    Returns
    -------
    leaderboard : Leaderboard

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> board = compare_models({"odds": ProportionalOdds(alpha=1.0)}, X, y, repeats=1)
    >>> board.rows[0].mean("mae") < 0.4
    True
    """
    if not models:
        raise ValueError("models must name at least one model.")
    scale, codes = read_scale(y, classes)
    known = scale.classes.tolist()
    entrants = {n: Entrant(n, fresh(model, classes=known)) for n, model in models.items()}
    splits = repeated_splits(codes, folds, repeats, random_state)
    contest = Contest(Arena(X, y, known, splits, entrants, random_state=random_state, strict=True))
    with closing(contest.run(n_jobs=n_jobs)) as steps:
        for progress in steps:
            row = None if progress.latest is None else contest.row(progress.latest.model)
            if row is not None and on_row is not None:
                on_row(row)
    return contest.board()
