"""How good predictions are on labelled rows, with intervals by the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.frames import aligned
from .._utils.types import (
    Codes,
    KeysLike,
    LabelsLike,
    Matrix,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..metrics._labels import LabelPairs, class_sums, require_fraction
from ..metrics.agreement import kappa_of
from ..metrics.error import ratio
from ..metrics.measures import MEASURES, known_measures
from ..metrics.probability import (
    row_coverage,
    row_log_losses,
    row_ranked_probability_scores,
    row_widths,
)
from ..metrics.report import OrdinalReport, ordinal_report
from ..ordinal.arrays import check_weights, require_count
from ..ordinal.costs import cost_matrix
from ..ordinal.intervals import hidden_classes
from ..ordinal.labels import OrdinalScale
from ..pairs.queries import query_codes
from .table import Response

# Beyond so many rows in all draws together fewer draws are made; intervals are narrow by then.
_MOST_DRAWN = 200_000_000
_FEWEST_DRAWS = 200


@dataclass(frozen=True)
class Figure:
    """A measure with a confidence interval.

    Parameters
    ----------
    name : str
        Such as "mae".
    title : str
        The same in words.
    value, low, high : float
    """

    name: str
    title: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of predictions on labelled rows, from `evaluate_predictions`.

    Parameters
    ----------
    rows : int
    classes : ndarray of shape (K,)
    confidence : float
        Of the intervals of the figures.
    figures : dict from str to Figure
        ``mae``, ``zero_one``, ``within_one``, ``qwk``; with probabilities ``rps`` and
        ``log_loss``; with intervals
        ``interval_coverage`` and ``interval_width``; with a cost ``cost``.
    confusion : ndarray of shape (K, K)
        Rows by true (down) and predicted label (across).
    by_class : OrdinalReport
    coverage_by_class : ndarray of shape (K,) or None
        With intervals: the share of the rows of each true label whose interval holds it.
    """

    rows: int
    classes: npt.NDArray[Any]
    confidence: float
    figures: dict[str, Figure]
    confusion: npt.NDArray[np.intp]
    by_class: OrdinalReport
    coverage_by_class: Vector | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and numbers, None for what is not finite."""
        report = self.by_class
        return {
            "rows": self.rows,
            "classes": self.classes.tolist(),
            "confidence": self.confidence,
            "figures": {
                name: {"value": _plain(f.value), "low": _plain(f.low), "high": _plain(f.high)}
                for name, f in self.figures.items()
            },
            "confusion": self.confusion.tolist(),
            "by_class": [
                {
                    "label": label,
                    "rows": int(report.n[k]),
                    "mae": _plain(report.mean_absolute_error[k]),
                    "recall": _plain(report.recall[k]),
                    "precision": _plain(report.precision[k]),
                    "within_one": _plain(report.within_one[k]),
                    "signed_error": _plain(report.mean_signed_error[k]),
                    **(
                        {}
                        if self.coverage_by_class is None
                        else {"interval_coverage": _plain(self.coverage_by_class[k])}
                    ),
                }
                for k, label in enumerate(self.classes.tolist())
            ],
        }

    def __str__(self) -> str:
        head = ["", "value", f"{self.confidence:.0%} interval"]
        lines = [
            [f.title, f"{f.value:.4f}", f"{f.low:.4f} to {f.high:.4f}"]
            for f in self.figures.values()
        ]
        return "\n".join(
            [
                *aligned([head, *lines]),
                "",
                self.confusion_text(),
                "",
                str(self.by_class),
                *self._coverage_lines(),
            ]
        )

    def _coverage_lines(self) -> list[str]:
        if self.coverage_by_class is None:
            return []
        rows = [
            [str(label), f"{n:.0f}", "–" if np.isnan(share) else f"{share:.3f}"]
            for label, n, share in zip(
                self.classes.tolist(), self.by_class.n, self.coverage_by_class, strict=True
            )
        ]
        return ["", *aligned([["", "n", "interval coverage"], *rows])]

    def hidden_classes(self, confidence: float) -> str | None:
        """A sentence on labels that intervals of this confidence hold too seldom, if any."""
        if self.coverage_by_class is None:
            return None
        covered = np.nan_to_num(self.coverage_by_class) * self.by_class.n
        return hidden_classes(self.classes, covered.round(), self.by_class.n, confidence)

    def confusion_text(self) -> str:
        """Table of true and predicted labels on the ordered scale."""
        labels = [str(label) for label in self.classes.tolist()]
        rows = [["true / predicted", *labels]]
        for label, counts in zip(labels, self.confusion.tolist(), strict=True):
            rows.append([label, *("·" if count == 0 else str(count) for count in counts)])
        return "\n".join(aligned(rows))


def evaluate_model(
    model: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    cost: str | npt.ArrayLike | None = None,
    confidence: float = 0.95,
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    n_draws: int = 1000,
    random_state: RandomStateLike = 0,
    classes: LabelsLike | None = None,
) -> Evaluation:
    """Evaluate a fitted model on labelled rows.

    Parameters
    ----------
    model : fitted estimator, pipeline or trained model
        With ``predict_proba`` its probabilities are judged too, and with ``predict_interval`` its
        intervals of labels.
    X : data frame or array-like of shape (n, d)
    y : label column of shape (n,)
    cost, confidence, sample_weight, groups, n_draws, random_state
        As in `evaluate_predictions`.
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.

    Returns
    -------
    evaluation : Evaluation
    """
    response = Response(model, classes, y)
    table, truth = response.labelled(X, y)
    X, intervals = table.native, None
    # A trained model always has the method, and says whether it works.
    if getattr(model, "can", partial(hasattr, model))("predict_interval"):
        low, high = model.predict_interval(X)
        encode = partial(response.scale.encode, name="predict_interval")
        intervals = encode(low), encode(high)
    return evaluate_predictions(
        truth,
        response.codes(X),
        response.probabilities(X),
        intervals,
        classes=response.classes,
        cost=cost,
        confidence=confidence,
        sample_weight=sample_weight,
        groups=groups,
        n_draws=n_draws,
        random_state=random_state,
    )


def evaluate_predictions(
    truth: Codes,
    codes: Codes,
    probabilities: Matrix | None = None,
    intervals: tuple[Codes, Codes] | None = None,
    *,
    classes: npt.NDArray[Any],
    cost: str | npt.ArrayLike | None = None,
    confidence: float = 0.95,
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    n_draws: int = 1000,
    random_state: RandomStateLike = 0,
) -> Evaluation:
    """Measures of predicted codes, probabilities and intervals, each with its uncertainty.

    Intervals of the figures are percentiles over draws of as many rows, or groups, with
    replacement.

    Parameters
    ----------
    truth, codes : ndarray of shape (n,)
        True and predicted labels as positions in `classes`.
    probabilities : ndarray of shape (n, K), optional
    intervals : two ndarrays of shape (n,), optional
        Lowest and highest label that each row is held to have, as positions.
    classes : sequence of length K
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), optional
        A further cost to measure.
    confidence : float, default=0.95
        Of the intervals of the figures.
    sample_weight : array-like of shape (n,), optional
        What each row counts in every figure; only ratios matter.
    groups : sequence of shape (n,), optional
        What each row belongs to; whole groups are drawn, as rows of one group are alike.
    n_draws : int, default=1000
        Draws of rows; fewer, but at least 200, for very many rows.
    random_state : int, default=0

    Returns
    -------
    evaluation : Evaluation

    Examples
    --------
    >>> truth, codes = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    >>> evaluation = evaluate_predictions(truth, codes, classes=["low", "mid", "high"])
    >>> evaluation.figures["mae"].value
    0.25
    >>> print(evaluation.confusion_text())
    true / predicted  low  mid  high
    low                 1    1     ·
    mid                 ·    1     ·
    high                ·    ·     1
    """
    require_count("n_draws", n_draws)
    require_fraction("confidence", confidence)
    if not len(truth):
        raise ValueError("truth must have at least one row; found none.")
    labels = np.asarray(classes)
    K, n = len(labels), len(truth)
    by_row = _row_measures(truth, codes, probabilities, intervals, cost, K)
    cells = truth * K + codes
    draws = min(n_draws, max(_FEWEST_DRAWS, _MOST_DRAWN // n))
    rng = np.random.default_rng(random_state)
    share = check_weights(sample_weight, n)
    share = share / share.mean()
    units, ids = (np.arange(n), range(n)) if groups is None else query_codes(groups, n)
    drawn = np.array(
        [_measures(by_row, cells, K, w) for w in _drawn(units, len(ids), share, draws, rng)]
    )
    values = _measures(by_row, cells, K, share)
    tail = (1.0 - confidence) / 2.0
    # Order statistics, not between two of them: the difference of two infinite losses is no number.
    ends = np.quantile(drawn, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
    names = [*by_row, "qwk"]
    figures = {
        name: Figure(name, MEASURES[name].heading, *map(float, (values[j], *ends[:, j])))
        for j, name in enumerate(names)
    }
    return Evaluation(
        rows=n,
        classes=labels,
        confidence=confidence,
        figures={m.key: figures[m.key] for m in known_measures(figures)},
        confusion=np.bincount(cells, minlength=K * K).reshape(K, K),
        by_class=ordinal_report(labels[truth], labels[codes], classes=labels, sample_weight=share),
        coverage_by_class=None
        if intervals is None
        else ratio(
            *(class_sums(truth, w * share, K) for w in (by_row["interval_coverage"], np.ones(n)))
        ),
    )


def _drawn(
    units: Codes, n_units: int, weights: Vector, draws: int, rng: np.random.Generator
) -> Iterator[Vector]:
    """What rows count in each draw of as many units; a draw without weight is drawn again."""
    for _ in range(draws):
        while True:
            often = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)
            drawn = often[units] * weights
            if drawn.any():
                break
        yield drawn


def _row_measures(
    truth: Codes,
    codes: Codes,
    probabilities: Matrix | None,
    intervals: tuple[Codes, Codes] | None,
    cost: Any,
    K: int,
) -> dict[str, Vector]:
    """A number per row for every measure that is a mean over rows."""
    distance = np.abs(truth - codes)
    measures: dict[str, npt.NDArray[Any]] = {
        "mae": distance,
        "zero_one": distance > 0,
        "within_one": distance <= 1,
    }
    if cost is not None:
        measures["cost"] = cost_matrix(cost, K)[truth, codes]
    if probabilities is not None:
        measures["rps"] = row_ranked_probability_scores(truth, probabilities) / (K - 1)
        measures["log_loss"] = row_log_losses(truth, probabilities)
    if intervals is not None:
        low, high = intervals
        measures["interval_coverage"] = row_coverage(truth, low, high)
        measures["interval_width"] = row_widths(low, high)
    return {name: np.asarray(values, dtype=np.float64) for name, values in measures.items()}


def _measures(
    by_row: dict[str, Vector], cells: Codes, K: int, weight: npt.NDArray[Any]
) -> list[float]:
    drawn = weight > 0
    share = weight[drawn] / weight.sum()
    means = [float(share @ values[drawn]) for values in by_row.values()]
    mass = class_sums(cells, weight, K * K)
    used = np.flatnonzero(mass)
    pairs = LabelPairs(used // K, used % K, mass[used], OrdinalScale(np.arange(K)))
    return [*means, kappa_of(pairs, "quadratic")]


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
