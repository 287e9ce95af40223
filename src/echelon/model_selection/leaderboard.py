"""A table of models measured on the same folds, and how much worse each is than the best."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from .._utils.escapes import inert_cell, markdown_cell
from .._utils.frames import aligned, make_frame
from .._utils.html import html_table
from .._utils.messages import printable, require_choice
from .._utils.types import Codes, Matrix
from ..base.row_design import RowDesign
from ..metrics import NemenyiResult, nemenyi_test
from ..metrics.best_comparison import LEVEL, MARGIN, Comparison, Verdict
from ..metrics.measures import MEASURES
from ..metrics.significance import Summary
from ..ordinal.labels import OrdinalScale
from .differences import compare_rows
from .holdout import FoldPredictions, Holdout

#: Measures of every leaderboard; "cost" is there too if the user has a cost.
SHOWN = ("mae", "zero_one", "qwk", "rps", "log_loss")
#: Which of the models that are equivalent to the best is chosen.
Preference = Literal["best", "simple", "fast"]
#: Of models that are not in the roster.
UNKNOWN_COMPLEXITY = 9


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
    complexity : int
        As `echelon.model_selection.roster.Candidate` has it; less is simpler.
    behind : float, optional
        By how much the model was behind the best, on what both had predicted, when it stopped; None
        if it did not stop early.
    """

    model: str
    folds: Mapping[str, Any]
    fit_seconds: float
    settings: tuple[Mapping[str, Any], ...] = ()
    group: str = ""
    note: str = ""
    predictions: tuple[FoldPredictions, ...] = field(default=(), repr=False, compare=False)
    complexity: int = UNKNOWN_COMPLEXITY
    behind: float | None = None

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
        Sorted by the mean of `measure`; a model that stopped early has its place as far behind the
        first as it was on the folds that both have. Others with less than half as many folds as is
        usual come last, because a mean over few folds can be lucky.
    measure : str
        What the rows are sorted by and compared on.
    sizes : tuple of int, optional
        Rows of the training and of the test part of a fold, which comparisons need.
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
    cost : ndarray of shape (K, K), optional
        Of the measure "cost".
    margin : float
        Largest difference between equivalent models, as a share of the best one's figure.
    prefer : {"best", "simple", "fast"}
        What is `chosen`: the best model, or the simplest or fastest of those equivalent to it.
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
    cost: Matrix | None = field(default=None, repr=False, compare=False)
    margin: float = MARGIN
    prefer: Preference = "best"

    def __post_init__(self) -> None:
        if not (isinstance(self.margin, Real) and 0.0 <= self.margin < math.inf):
            raise ValueError(
                "margin must be a share of the best figure that is not negative, such as 0.02; "
                f"found {self.margin!r}."
            )
        require_choice("prefer", self.prefer, get_args(Preference))

    @classmethod
    def of(cls, rows: Any, measure: str = "mae", **more: Any) -> Leaderboard:
        """Sort rows into a leaderboard."""
        rows = list(rows)
        usual = _usual_folds(rows)
        sign = -MEASURES[measure].sign

        firm = [row for row in rows if row.behind is None and 2 * row.n_folds >= usual]
        first = min((sign * row.mean(measure) for row in firm), default=0.0)

        def place(row: LeaderboardRow) -> tuple[bool, float, bool]:
            if row.behind is None:
                return 2 * row.n_folds < usual, sign * row.mean(measure), False
            return False, first + max(row.behind, 0.0), True

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

    def lost_to_constant(self, model: str) -> tuple[float, float] | None:
        """Figures of a model and of one label for all rows, if the model's is no better.

        That label's is the figure of the baseline on common folds, or, where no baseline took part,
        the mean absolute error of the median of all labels on the model's rows.
        """
        row, sign = self.find(model), MEASURES[self.measure].sign
        base = next((r for r in self.rows if r.group == "baseline"), None)
        if row is None or (base is None and (self.measure != "mae" or not row.predictions)):
            return None
        if base is not None:
            folds = np.stack([row.folds[self.measure], base.folds[self.measure]])
            common = folds[:, np.isfinite(folds).all(axis=0)]
            if not common.size:
                return None
            own, constant = common.mean(axis=1)
            lost = sign * own <= sign * constant
        else:
            held = self.held_out(row)
            weights = None if self.design is None else self.design.weights
            known = np.ones(len(held.rows)) if weights is None else weights[held.rows]
            order = np.argsort(held.truth, kind="stable")
            share = np.cumsum(known[order])
            median = held.truth[order][np.searchsorted(share, 0.5 * share[-1])]
            errors = np.abs(np.stack([held.codes, np.full_like(held.codes, median)]) - held.truth)
            own, constant = np.average(errors, axis=1, weights=known)
            lost = own > constant
        return (float(own), float(constant)) if lost else None

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

    def how_of(self, row: LeaderboardRow) -> str:
        """The folds, and how many of them a row has where that is not all."""
        done = f"of which {row.n_folds} of {self.planned} were run"
        return ", ".join(filter(None, [self.how, done if row.n_folds < self.planned else ""]))

    @property
    def notes(self) -> dict[str, list[str]]:
        """What a reader should know, and the models of which it is true."""
        found: dict[str, list[str]] = {}
        said = [(row.note, row.model) for row in self.rows]
        for note, model in [*said, *((c.reason, model) for model, c in self.comparisons.items())]:
            if note:
                found.setdefault(note, []).append(model)
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
    def comparisons(self) -> dict[str, Comparison]:
        """Each model beside the best of the others; intervals hold for all models at once.

        `echelon.metrics.best_comparison` says how. Empty for a single model, and if `sizes` are not
        known.
        """
        found = compare_rows(self)
        return {row.model: one for row, one in zip(self.rows, found, strict=True)} if found else {}

    @property
    def margin_(self) -> float:
        """Largest difference between equivalent models, in units of the measure."""
        return self.margin * abs(self.best.mean(self.measure))

    @property
    def stopped(self) -> tuple[str, ...]:
        """Models that stopped early, with too little for a verdict."""
        unknown = self.with_verdict("undecided")
        return tuple(r.model for r in self.rows if r.behind is not None and r.model in unknown)

    def with_verdict(self, verdict: Verdict) -> tuple[str, ...]:
        """Models that are better, equivalent, worse or undecided, in the order of the rows."""
        return tuple(model for model, c in self.comparisons.items() if c.verdict == verdict)

    @property
    def contenders(self) -> tuple[str, ...]:
        """The best model and those that are not known to be worse than another."""
        worse = set(self.with_verdict("worse")) - {row.model for row in self.rows[:1]}
        return tuple(row.model for row in self.rows if row.model not in worse)

    @property
    def chosen(self) -> LeaderboardRow:
        """The best model, or the simplest or fastest of those that are equivalent to it."""
        if self.prefer == "best":
            return self.best
        equal = [self.best.model, *self.with_verdict("equivalent")]
        rows = [row for row in self.rows if row.model in equal]
        if self.prefer == "fast":
            return min(rows, key=lambda row: row.fit_seconds)
        return min(rows, key=lambda row: row.complexity)

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
        `comparisons` as the test.

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
        """A flat dictionary per model: figures with errors, verdict, seconds, settings."""
        measures = [*(["cost"] if "cost" in self.measures else []), *SHOWN]
        return [
            {
                "model": row.model,
                **{
                    f"{measure}{end}": getattr(row.summary(measure), part)
                    for measure in measures
                    for end, part in (("", "mean"), ("_se", "se"))
                },
                **self._comparison_record(row.model),
                "fit_seconds": row.fit_seconds,
                "folds": row.n_folds,
                "settings": settings_text(row.usual_settings),
                "note": row.note,
            }
            for row in self.rows
        ]

    def _comparison_record(self, model: str) -> dict[str, Any]:
        found = self.comparisons.get(model, Comparison())
        return {
            "verdict": found.verdict if self.comparisons else "",
            "difference": found.difference,
            "difference_low": found.low,
            "difference_high": found.high,
        }

    def lines(self, *, compared: bool = True) -> list[list[str]]:
        """Heading and rows as text cells, with or without how the models compare."""
        with_folds = any(row.n_folds < self.planned for row in self.rows)
        compared = compared and bool(self.comparisons)
        beside = ["difference (95 %)", "verdict"] if compared else []
        shorts = [MEASURES[measure].short for measure in self.measures]
        head = ["model", *shorts[:1], *beside, *shorts[1:], "fit s"]
        return [
            [*head, "folds"] if with_folds else head,
            *(self._cells(row, compared, with_folds) for row in self.rows),
        ]

    def _cells(self, row: LeaderboardRow, compared: bool, with_folds: bool) -> list[str]:
        means = [_figure(row.mean(measure)) for measure in self.measures]
        folds = [f"{row.n_folds}/{self.planned}"] if with_folds else []
        beside = comparison_cells(self.comparisons[row.model]) if compared else []
        if beside and row.model in self.stopped:
            beside = [_figure(float(row.behind or 0.0)), "stopped"]
        return [row.model, *means[:1], *beside, *means[1:], f"{row.fit_seconds:.2f}", *folds]

    def to_frame(self, backend: Any = "pandas") -> Any:
        """A row per model with the same columns as the files, as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or module, default="pandas"
            The library of the frame, which must be installed.
        """
        records = self.records()
        names = list(records[0]) if records else ["model"]
        return make_frame({name: [record[name] for record in records] for name in names}, backend)

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
        words = _word_columns(head)
        rule = ["---" if j in words else "---:" for j in range(len(head))]
        rows = [[markdown_cell(cell) for cell in row] for row in rows]
        return "".join(f"| {' | '.join(line).strip()} |\n" for line in (head, rule, *rows))

    def __str__(self) -> str:
        lines = self.lines()
        return "\n".join(aligned(lines, _word_columns(lines[0]), gap=" "))

    def _repr_html_(self) -> str:
        head, *rows = self.lines()
        cells = [[escape(printable(cell)) for cell in row] for row in rows]
        return html_table(head, cells, "", _word_columns(head))


def comparison_cells(found: Comparison) -> list[str]:
    """Difference with its interval, and verdict.

    Examples
    --------
    >>> comparison_cells(Comparison(0.0123, -0.004, 0.0291, "undecided"))
    ['0.012 (-0.004, 0.029)', 'undecided']
    """
    if math.isnan(found.difference):
        return ["–", found.verdict]
    ends = ", ".join(_figure(end) for end in (found.low, found.high))
    return [f"{_figure(found.difference)} ({ends})", found.verdict]


def _figure(value: float) -> str:
    # A zero from below is a zero.
    return "–" if math.isnan(value) else f"{round(value, 3) + 0.0:.3f}"


def _word_columns(head: Sequence[str]) -> tuple[int, ...]:
    """Columns of words, which are aligned to the left."""
    return tuple(j for j, title in enumerate(head) if title in ("model", "verdict"))


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in one line, without the names of the steps they belong to.

    Examples
    --------
    >>> settings_text({"model__C": 1.0, "model__estimator__gamma": 0.5})
    'C=1.0, gamma=0.5'
    """
    return ", ".join(f"{name.rpartition('__')[2]}={value}" for name, value in settings.items())


def _usual_folds(rows: Sequence[LeaderboardRow]) -> float:
    """Median number of folds of models that did not stop early; baselines always run all."""
    went_on = [row for row in rows if row.behind is None]
    folds = [row.n_folds for row in went_on if row.group != "baseline"]
    folds = folds or [row.n_folds for row in went_on]
    return float(np.median(folds)) if folds else 0.0
