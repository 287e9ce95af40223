"""A per-class report of ordinal predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.frames import aligned, make_frame
from .._utils.types import Vector
from ._labels import LabelPairs, class_sums, label_metric
from .agreement import kappa_of
from .error import error_by_class, mean_by_class, ratio


@dataclass(frozen=True)
class OrdinalReport:
    """Quality of predictions class by class, from `ordinal_report`.

    ``str()`` gives an aligned text table and `to_frame` a data frame. A figure that has no rows to
    rest on, such as the recall of a class that never occurs, is NaN here and a dash in the table.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        The labels from lowest to highest.
    n : ndarray of shape (K,)
        Weight of the rows of each true class; their number without weights.
    precision, recall : ndarray of shape (K,)
        Fraction of right labels among the rows predicted to be, and truly of, the class.
    mean_absolute_error : ndarray of shape (K,)
        Mean rank error of the rows of the class.
    within_one : ndarray of shape (K,)
        Fraction of the rows of the class that are right or one rank off.
    mean_signed_error : ndarray of shape (K,)
        Mean of predicted minus true rank: above zero where the class is rated too high.
    totals : dict of str to float
        ``n``, ``accuracy``, ``mean_absolute_error``, ``macro_mean_absolute_error``,
        ``maximum_mean_absolute_error``, ``within_one``, ``mean_signed_error`` and
        ``quadratic_weighted_kappa`` of all rows.
    """

    classes: npt.NDArray[Any]
    n: Vector
    precision: Vector
    recall: Vector
    mean_absolute_error: Vector
    within_one: Vector
    mean_signed_error: Vector
    totals: dict[str, float]

    def to_frame(self, backend: Any = "pandas") -> Any:
        """One row per class, as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or module, default="pandas"
            The library of the frame, which must be installed.

        Returns
        -------
        frame : data frame of that library
        """
        columns = {"class": self.classes.tolist()}
        columns |= {name: values.tolist() for name, values in self._columns().items()}
        return make_frame(columns, backend)

    def _columns(self) -> dict[str, Vector]:
        names = ("n", "precision", "recall", "mean_absolute_error", "within_one")
        return {name: getattr(self, name) for name in (*names, "mean_signed_error")}

    def __str__(self) -> str:
        header = ["", "n", "precision", "recall", "MAE", "within one", "signed error"]
        columns = list(self._columns().values())
        rows = [
            [str(label), *_cells([column[k] for column in columns])]
            for k, label in enumerate(self.classes.tolist())
        ]
        total = self.totals
        bottom = [total["n"], total["accuracy"], total["accuracy"], total["mean_absolute_error"]]
        bottom += [total["within_one"], total["mean_signed_error"]]
        lines = aligned([header, *rows, ["all", *_cells(bottom)]])
        return "\n".join(
            [
                *lines[:-1],
                "",
                lines[-1],
                "",
                f"macro MAE {total['macro_mean_absolute_error']:.3f}, "
                f"maximum MAE {total['maximum_mean_absolute_error']:.3f}, "
                f"quadratic weighted kappa {total['quadratic_weighted_kappa']:.3f}",
            ]
        )


@label_metric
def ordinal_report(pairs: LabelPairs) -> OrdinalReport:
    """Report how well each class is predicted.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels of any ordered type: numbers, text, booleans, pandas ordered ``Categorical``,
        polars ``Enum``, ordered pyarrow dictionary.
    classes : sequence, optional
        The labels from lowest to highest. By default the order that the type of `y_true` states,
        else that of `y_pred`, else the sorted labels of both.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as two rows, a weight of 0 as none.

    Returns
    -------
    report : OrdinalReport

    Examples
    --------
    >>> report = ordinal_report([1, 1, 2, 3], [1, 2, 2, 1])
    >>> print(report)
         n  precision  recall    MAE  within one  signed error
    1    2      0.500   0.500  0.500       1.000        +0.500
    2    1      0.500   1.000  0.000       1.000        +0.000
    3    1          –   0.000  2.000       0.000        -2.000
    <BLANKLINE>
    all  4      0.500   0.500  0.750       0.750        -0.250
    <BLANKLINE>
    macro MAE 0.833, maximum MAE 2.000, quadratic weighted kappa -0.250
    >>> report.recall
    array([0.5, 1. , 0. ])
    """
    n_classes = pairs.scale.n_classes
    right, by_class = pairs.distance == 0, error_by_class(pairs)
    predicted = class_sums(pairs.predicted, pairs.weights, n_classes)
    hits = class_sums(pairs.truth, pairs.weights * right, n_classes)
    return OrdinalReport(
        classes=pairs.scale.classes,
        n=class_sums(pairs.truth, pairs.weights, n_classes),
        precision=ratio(hits, predicted),
        recall=mean_by_class(pairs, right),
        mean_absolute_error=by_class,
        within_one=mean_by_class(pairs, pairs.distance <= 1),
        mean_signed_error=mean_by_class(pairs, pairs.predicted - pairs.truth),
        totals={
            "n": float(pairs.weights.sum()),
            "accuracy": pairs.mean(right),
            "mean_absolute_error": pairs.mean(pairs.distance),
            "macro_mean_absolute_error": float(np.nanmean(by_class)),
            "maximum_mean_absolute_error": float(np.nanmax(by_class)),
            "within_one": pairs.mean(pairs.distance <= 1),
            "mean_signed_error": pairs.mean(pairs.predicted - pairs.truth),
            "quadratic_weighted_kappa": kappa_of(pairs, "quadratic"),
        },
    )


def _cells(values: list[float]) -> list[str]:
    n, *shares, signed = values
    texts = [f"{round(n, 1):.10g}", *(f"{share:.3f}" for share in shares), f"{signed:+.3f}"]
    return ["–" if np.isnan(value) else text for value, text in zip(values, texts, strict=True)]
