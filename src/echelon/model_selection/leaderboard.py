"""A table of models measured on the same folds, and which of them differ significantly."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.escapes import inert_cell, markdown_cell
from .._utils.frames import aligned
from .._utils.types import Codes
from ..base.row_design import RowDesign
from ..metrics import NemenyiResult, nemenyi_test
from ..metrics.measures import MEASURES
from ..metrics.significance import Summary, corrected_resampled_t_test
from ..ordinal.labels import OrdinalScale
from .holdout import FoldPredictions, Holdout

#: Measures of every leaderboard; "cost" is there too if the user has a cost.
SHOWN = ("mae", "zero_one", "qwk", "rps", "log_loss")
#: In front of models that are not significantly different from the best.
MARK = "≈"
#: In front of models with too few folds for a test.
UNTESTED = "?"
#: Level of the tests between the best model and the others.
LEVEL = 0.05
#: Folds that a model must have in common with the best to be tested, where so many were planned.
_FEWEST_FOLDS = 5


@dataclass(frozen=True)
class LeaderboardRow:
    """A model's figures: a value per fold for each measure, and seconds per fit.

    Parameters
    ----------
    model : str
    folds : mapping from measure to array
        NaN where the fold was not run, or where the model lacks what the measure needs.
    fit_seconds : float
        Mean time of a fit with the chosen settings, without their search.
    settings : tuple of dict
        Settings that the search chose, one for each fold that was run, in the order of folds.
    group : str
        "ordinal", "outsider" or "baseline"; empty where it is not known.
    note : str
        Why there are fewer folds than planned, or what else a reader should know.
    predictions : tuple
        For each fold that was run its test rows, the ranks predicted for them, and their class
        probabilities.
    """

    model: str
    folds: Mapping[str, Any]
    fit_seconds: float
    settings: tuple[Mapping[str, Any], ...] = ()
    group: str = ""
    note: str = ""
    predictions: tuple[FoldPredictions, ...] = field(default=(), repr=False, compare=False)

    @property
    def n_folds(self) -> int:
        """Folds that were run."""
        return int(np.isfinite(np.asarray(self.folds["mae"])).sum())

    @property
    def usual_settings(self) -> dict[str, Any]:
        """Settings chosen most often; {} if nothing was searched."""
        texts = Counter(json.dumps(dict(chosen), sort_keys=True) for chosen in self.settings)
        return json.loads(texts.most_common(1)[0][0]) if texts else {}

    def summary(self, measure: str) -> Summary:
        """Mean and spread over folds; NaN where the model lacks what the measure needs."""
        values = np.asarray(self.folds.get(measure, [math.nan]), dtype=np.float64)
        found = values[np.isfinite(values)]
        return Summary.of(found.tolist() if len(found) else values.tolist())

    def mean(self, measure: str) -> float:
        """Mean over folds."""
        return self.summary(measure).mean


@dataclass(frozen=True)
class Leaderboard:
    """Models measured on the same folds, best first; ``str()`` is an aligned table.

    Parameters
    ----------
    rows : tuple of LeaderboardRow
        Sorted by the mean of `measure`. Models with less than half as many folds as is usual come
        last, because a mean over few folds can be lucky.
    measure : str
        What the rows are sorted by and compared on.
    sizes : tuple of int, optional
        Rows of the training and of the test part of a fold, which the tests need.
    planned : int
        Folds that every model was meant to have; 0 where it is not known.
    failures : mapping from model to str
        Models without any fold, and why.
    interrupted : bool
        Whether Ctrl-C ended the contest.
    how : str
        What the folds are, such as "5 folds × 2"; empty where it is not known.
    labels : OrdinalScale, optional
        The labels from lowest to highest.
    truth : ndarray of shape (n,), optional
        Rank of the label of every row.
    design : RowDesign, optional
        Weights, groups and times of the rows.
    """

    rows: tuple[LeaderboardRow, ...]
    measure: str = "mae"
    sizes: tuple[int, int] | None = None
    planned: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    how: str = ""
    labels: OrdinalScale | None = field(default=None, repr=False, compare=False)
    truth: Codes | None = field(default=None, repr=False, compare=False)
    design: RowDesign | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, rows: Any, measure: str = "mae", **more: Any) -> Leaderboard:
        """Sort rows into a leaderboard."""
        rows = list(rows)
        usual = _usual_folds(rows)
        sign = -MEASURES[measure].sign

        def place(row: LeaderboardRow) -> tuple[bool, float]:
            return 2 * row.n_folds < usual, sign * row.mean(measure)

        return cls(tuple(sorted(rows, key=place)), measure, **more)

    @property
    def best(self) -> LeaderboardRow:
        """First row."""
        if not self.rows:
            raise ValueError("The leaderboard has no rows, so that there is no best model.")
        return self.rows[0]

    def find(self, model: str) -> LeaderboardRow | None:
        """The row of a model, if it has one."""
        return next((row for row in self.rows if row.model == model), None)

    @property
    def best_(self) -> str:
        """Name of the best model."""
        return self.best.model

    @property
    def predictions_(self) -> dict[str, Holdout]:
        """What each model predicts for rows that it has not seen, by its name."""
        return {row.model: self.held_out(row) for row in self.rows}

    def held_out(self, row: LeaderboardRow) -> Holdout:
        """What a model predicts for rows that it has not seen."""
        if self.labels is None or self.truth is None or not row.predictions:
            raise ValueError(f"The leaderboard has no predictions of {row.model!r}.")
        return Holdout.of(row.predictions, self.truth, self.labels.classes)

    def figures(self, model: str, confidence: float) -> dict[str, float]:
        """Means and standard errors (``<measure>_se``) over folds, those of intervals included.

        The intervals are those of `Holdout.intervals`.
        """
        row = self.find(model)
        if row is None:
            return {}
        folds = {m: f[np.isfinite(f)].tolist() for m, f in row.folds.items()}
        if row.predictions:
            folds |= self.held_out(row).interval_figures(confidence, self.design)
        found = {measure: Summary.of(values) for measure, values in folds.items() if values}
        return {
            f"{measure}{end}": getattr(summary, part)
            for measure, summary in found.items()
            for end, part in (("", "mean"), ("_se", "se"))
        }

    @property
    def notes(self) -> dict[str, list[str]]:
        """What a reader should know, and the models of which it is true."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.note:
                found.setdefault(row.note, []).append(row.model)
        return found

    @property
    def measures(self) -> tuple[str, ...]:
        """Measures that at least one model has; the one that ranks comes first."""
        found = [
            measure
            for measure in ("cost", *SHOWN)
            if any(measure in r.folds and math.isfinite(r.mean(measure)) for r in self.rows)
        ]
        return tuple(sorted(found, key=lambda measure: measure != self.measure))

    @cached_property
    def p_values(self) -> dict[str, float]:
        """Of each model against the best: corrected resampled t-tests over their common folds.

        Two-sided, not yet corrected for the number of models. NaN for fewer than five common folds,
        or fewer than planned where that is less: so few tell a bad model from a good one by luck.
        """
        return {row.model: self._p_value(row) for row in self.rows[1:]}

    def _p_value(self, row: LeaderboardRow) -> float:
        first, second = (np.asarray(r.folds[self.measure]) for r in (self.best, row))
        common = np.isfinite(first) & np.isfinite(second)
        if self.sizes is None or common.sum() < max(2, min(_FEWEST_FOLDS, self.planned)):
            return math.nan
        sizes = dict(zip(("training", "test"), self.sizes, strict=True))
        return corrected_resampled_t_test(first[common], second[common], **sizes)[1]

    @cached_property
    def undistinguished(self) -> tuple[str, ...]:
        """Models that are not significantly different from the best, in the order of the rows.

        Holm's procedure keeps the probability of any wrong "worse than the best" at 5 % over all
        models. Models with too few folds for a test are `untested`.
        """
        tested = {m: p for m, p in self.p_values.items() if not math.isnan(p)}
        rejected = _holm(tested, LEVEL)
        return tuple(model for model in tested if model not in rejected)

    @property
    def untested(self) -> tuple[str, ...]:
        """Models with too few folds in common with the best to say anything of them."""
        return tuple(model for model, p in self.p_values.items() if math.isnan(p))

    def scores(self) -> tuple[tuple[str, ...], npt.NDArray[np.float64]]:
        """Models and their figures (n_folds, n_models) on folds that all of them have.

        Models with less than half as many folds as is usual are left out, else few folds would be
        common.
        """
        usual = _usual_folds(self.rows)
        rows = [row for row in self.rows if 2 * row.n_folds >= usual]
        table = np.array([row.folds[self.measure] for row in rows], dtype=np.float64).T
        return tuple(row.model for row in rows), table[np.isfinite(table).all(axis=1)]

    def nemenyi(self, alpha: float = LEVEL) -> NemenyiResult:
        """Average ranks over folds with Nemenyi's critical difference, for the diagram.

        The test is made for independent data sets. Folds of one data set share training rows, so
        that the critical difference is too small here: take the picture as a summary of ranks, and
        `undistinguished` as the test.

        Parameters
        ----------
        alpha : float
            Level of the test over all pairs.

        Returns
        -------
        result : NemenyiResult
        """
        names, table = self.scores()
        if len(names) < 2 or len(table) < 2:
            raise ValueError(
                "A critical difference needs at least two models with two folds in common; found "
                f"{len(names)} models and {len(table)} common folds."
            )
        lower = not MEASURES[self.measure].greater_is_better
        return nemenyi_test(table, names=names, alpha=alpha, lower_is_better=lower)

    def records(self) -> list[dict[str, Any]]:
        """A flat dictionary per model: means, standard errors, seconds, folds, settings."""
        measures = [*(["cost"] if "cost" in self.measures else []), *SHOWN]
        return [
            {
                "model": row.model,
                **{
                    f"{measure}{end}": getattr(row.summary(measure), part)
                    for measure in measures
                    for end, part in (("", "mean"), ("_se", "se"))
                },
                "fit_seconds": row.fit_seconds,
                "folds": row.n_folds,
                "undistinguished": row is self.best or row.model in self.undistinguished,
                "settings": settings_text(row.usual_settings),
                "note": row.note,
            }
            for row in self.rows
        ]

    def lines(self) -> list[list[str]]:
        """Heading and rows as text cells."""
        with_folds = any(row.n_folds < self.planned for row in self.rows)
        head = [" model", *(MEASURES[measure].short for measure in self.measures), "fit s"]
        return [
            [*head, "folds"] if with_folds else head,
            *(self._cells(row, with_folds) for row in self.rows),
        ]

    def _cells(self, row: LeaderboardRow, with_folds: bool) -> list[str]:
        figures = []
        for measure in self.measures:
            found = row.summary(measure)
            error = "" if math.isnan(found.se) else f"±{found.se:.3f}"
            # A zero from below is a zero.
            mean = round(found.mean, 3) + 0.0
            figures.append("–" if math.isnan(mean) else f"{mean:.3f}{error}")
        mark = MARK if row.model in self.undistinguished else " "
        mark = UNTESTED if row.model in self.untested else mark
        folds = [f"{row.n_folds}/{self.planned}"] if with_folds else []
        return [f"{mark}{row.model}", *figures, f"{row.fit_seconds:.2f}", *folds]

    def to_csv(self) -> str:
        """Records as comma-separated text, of which spreadsheets run nothing."""
        if not self.rows:
            return "model\n"
        text = io.StringIO()
        records = self.records()
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: inert_cell(v) if isinstance(v, str) else v for k, v in record.items()}
            for record in records
        )
        return text.getvalue()

    def to_json(self) -> str:
        """Records as JSON, with null where a figure does not exist."""
        records = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()}
            for record in self.records()
        ]
        return json.dumps(records, indent=2, ensure_ascii=False) + "\n"

    def to_markdown(self) -> str:
        """Table in Markdown."""
        head, *rows = self.lines()
        rule = ["---", *["---:"] * (len(head) - 1)]
        rows = [[markdown_cell(cell) for cell in row] for row in rows]
        return "".join(f"| {' | '.join(line).strip()} |\n" for line in (head, rule, *rows))

    def __str__(self) -> str:
        return "\n".join(aligned(self.lines(), gap=" "))


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in one line, without the names of the steps they belong to.

    Examples
    --------
    >>> settings_text({"model__C": 1.0, "model__estimator__gamma": 0.5})
    'C=1.0, gamma=0.5'
    """
    return ", ".join(f"{name.rpartition('__')[2]}={value}" for name, value in settings.items())


def _usual_folds(rows: Sequence[LeaderboardRow]) -> float:
    """Median number of folds."""
    return float(np.median([row.n_folds for row in rows])) if rows else 0.0


def _holm(p_values: Mapping[str, float], level: float) -> set[str]:
    """Names whose hypothesis Holm's step-down procedure rejects.

    Examples
    --------
    >>> sorted(_holm({"a": 0.04, "b": 0.012, "c": 0.02}, 0.05))
    ['a', 'b', 'c']
    >>> sorted(_holm({"a": 0.04, "b": 0.012, "c": 0.03}, 0.05))
    ['b']
    """
    rejected: set[str] = set()
    for name in sorted(p_values, key=lambda name: p_values[name]):
        if p_values[name] > level / (len(p_values) - len(rejected)):
            break
        rejected.add(name)
    return rejected
