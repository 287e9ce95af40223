"""The figure of a contest's best model on folds that keep together what may belong together.

Where nobody has stated groups or times, rows may still be visits of one patient, copies of one
case, or come from years in which labels drift. What such folds would find is told beside what was
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from ..base.row_design import RowDesign
from ..metrics.measures import MEASURES
from ..metrics.significance import Summary
from ..ordinal.labels import read_scale
from ..pairs.misranking import count_pairs
from ..tables import LabelledTable
from ..tables.faults import Argument, Sentence
from .experiment import Experiment
from .experiment_run import ExperimentRun
from .leaderboard import Leaderboard
from .splitters import contest_splits

_FOLDS = 5
# Seconds of a fit of which a few more are cheap, and so many kinds of other folds at most.
_CHEAP, _MOST = 1.0, 3
# Equal rows are worth a word from this share of all rows on, if at least this share are distinct:
# tables of a few ratings have few distinct rows by their nature.
_LEAST_REPEATED, _LEAST_DISTINCT = 0.01, 0.5
# Goodman and Kruskal's γ of time and label, and how many standard errors it must be from zero.
_LEAST_DRIFT, _CLEAR = 0.1, 3.0


@dataclass(frozen=True)
class OtherFolds:
    """What a model's figure would be on other folds.

    Parameters
    ----------
    reason : Sentence
        Why rows may belong together.
    design : RowDesign
        How the folds keep them together.
    advice : Sentence
        What to do about it.
    how : str
        What the folds are.
    model, measure : str
    usual, other : float
        Means over the folds of the contest, and over these.
    """

    reason: Sentence
    design: RowDesign
    advice: Sentence
    how: str = ""
    model: str = ""
    measure: str = "mae"
    usual: float = np.nan
    other: float = np.nan

    @property
    def sentence(self) -> Sentence:
        """All of it in a sentence."""
        heading = MEASURES[self.measure].heading
        return Sentence(
            *self.reason.parts,
            f": on {self.how} the {heading} of {self.model} is {self.other:.3f} in place of "
            f"{self.usual:.3f}; ",
            *self.advice.parts,
        )


def other_folds(
    table: LabelledTable,
    experiment: Experiment,
    board: Leaderboard,
    n_jobs: int | None = None,
) -> list[OtherFolds]:
    """Measure the best model of a contest on every other kind of folds that the table suggests.

    Its settings are those chosen most often in the contest. Nothing is measured where a fit takes
    longer than a second, and no more than three kinds of folds.

    Parameters
    ----------
    table : LabelledTable
    experiment, board
        The contest on this table, and what it has found.
    n_jobs : int, optional
        Processes, as in joblib.
    """
    best = next((row for row in board.rows if row.model in experiment.entries), None)
    if best is None or best.fit_seconds > _CHEAP:
        return []
    entry, found = experiment.entries[best.model], []
    model = clone(entry.estimator).set_params(**best.usual_settings)
    entries = {best.model: replace(entry, estimator=model, settings={})}
    codes = read_scale(experiment.y, experiment.classes)[1]
    for suspect in islice(suspects(table, codes, experiment.design), _MOST):
        try:
            splits, how = contest_splits(codes, suspect.design, _FOLDS, 1, experiment.random_state)
        except ValueError:
            # Nothing is left to learn from on such folds.
            continue
        other = replace(experiment, splits=splits, entries=entries, design=suspect.design)
        run = ExperimentRun(replace(other, how=how, racing=False))
        with closing(run.run(n_jobs=n_jobs)) as steps:
            for _ in steps:
                pass
        rows = run.board().rows
        if rows:
            figures = Summary.of(rows[0].folds[board.measure].tolist())
            found.append(
                replace(
                    suspect,
                    how=how,
                    model=best.model,
                    measure=board.measure,
                    usual=best.mean(board.measure),
                    other=figures.mean,
                )
            )
    return found


def suspects(table: LabelledTable, codes: Any, design: RowDesign) -> Iterator[OtherFolds]:
    """Ways in which rows may belong together without anyone having said so."""
    if design.groups is None:
        yield from _owners(table.owners, design)
        yield from _copies(table.X, codes, design)
    if design.times is None:
        yield from _drifts(table, codes, design)


def _owners(owners: Mapping[str, Any], design: RowDesign) -> Iterator[OtherFolds]:
    for name, groups in owners.items():
        yield OtherFolds(
            Sentence(f"Values of {name!r} repeat"),
            replace(design, groups=groups),
            Sentence(
                f"if the model is for new values of {name!r}, give ", Argument("group", name), "."
            ),
        )


def _copies(X: Any, codes: Any, design: RowDesign) -> Iterator[OtherFolds]:
    from pandas.util import hash_pandas_object

    rows = hash_pandas_object(X.assign(**{"": codes}), index=False).to_numpy()
    _, groups, sizes = np.unique(rows, return_inverse=True, return_counts=True)
    repeated = int(sizes[sizes > 1].sum())
    if repeated < _LEAST_REPEATED * len(rows) or len(sizes) < _LEAST_DISTINCT * len(rows):
        return
    yield OtherFolds(
        Sentence(f"{repeated:,} of {len(rows):,} rows equal another one, label included"),
        replace(design, groups=groups),
        Sentence("if these are copies, leave them out of the table."),
    )


def _drifts(table: LabelledTable, codes: Any, design: RowDesign) -> Iterator[OtherFolds]:
    for name in table.schema.of_kind("date"):
        times = np.asarray(table.X[name], dtype=np.float64)
        if np.isnan(times).any() or len(np.unique(times)) < 2:
            continue
        pairs = count_pairs(times, codes)
        apart = pairs.concordant + pairs.discordant
        drift = (pairs.concordant - pairs.discordant) / apart if apart else 0.0
        # Without drift the standard error is about that of Kendall's τ, 2/(3√n).
        if abs(drift) >= max(_LEAST_DRIFT, _CLEAR * 2.0 / (3.0 * np.sqrt(len(times)))):
            yield OtherFolds(
                Sentence(
                    f"Labels {'rise' if drift > 0 else 'fall'} with {name!r} (Goodman and "
                    f"Kruskal's γ {drift:+.2f})"
                ),
                replace(design, times=times),
                Sentence("if the model is for later rows, give ", Argument("time", name), "."),
            )
