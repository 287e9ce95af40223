"""Which labels are taken for which, on their ordered scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix

from .._utils.messages import require_choice
from .._utils.types import ClassesLike, LabelsLike, VectorLike
from ..metrics import OrdinalReport, ordinal_report
from ..metrics._labels import read_labels
from . import style
from .display import RowsDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: most classes whose cells have room for numbers
_MOST_NUMBERS = 12
#: opacity of the cell with the largest share
_STRONGEST = 0.6


class OrdinalConfusionDisplay(RowsDisplay):
    """Shares of predicted labels in each true class, with errors ever stronger off the diagonal.

    Right labels are blue; errors are orange, and the farther off, the stronger. At the right
    stand the number of rows of each class and their mean absolute error in ranks.

    Parameters
    ----------
    matrix : ndarray of shape (K, K)
        Weight of rows by true class (row) and predicted class (column).
    report : OrdinalReport
        What `echelon.metrics.ordinal_report` gives for the same labels.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    shares : ndarray of shape (K, K)
        `matrix` by row; NaN for a class without rows.
    ax_, figure_ : matplotlib axes and figure
    cells_ : matplotlib collection
        The coloured cells, row by row.
    text_ : ndarray of shape (K, K) of matplotlib texts or None
    """

    def __init__(
        self, matrix: npt.NDArray[np.float64], report: OrdinalReport, *, name: str | None = None
    ) -> None:
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.report = report
        self.name = name
        rows = self.matrix.sum(axis=1, keepdims=True)
        self.shares = np.where(rows > 0, self.matrix / np.where(rows > 0, rows, 1.0), np.nan)

    @classmethod
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        return {"y_pred": estimator.predict(X)}

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        *,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
        values: str = "share",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw predictions that are known.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            True and predicted labels.
        classes : sequence, optional
            The labels from lowest to highest.
        sample_weight : array-like of shape (n,), optional
        values : {"share", "count"}, default="share"
        name : str, optional
        ax : matplotlib axes, optional

        Returns
        -------
        display : OrdinalConfusionDisplay

        Examples
        --------
        >>> display = OrdinalConfusionDisplay.from_predictions([1, 1, 2, 3], [1, 2, 2, 3])
        >>> display.shares
        array([[0.5, 0.5, 0. ],
               [0. , 1. , 0. ],
               [0. , 0. , 1. ]])
        """
        pairs = read_labels(y_true, y_pred, classes, sample_weight)
        levels = pairs.scale.classes
        matrix = confusion_matrix(
            pairs.truth,
            pairs.predicted,
            labels=np.arange(len(levels)),
            sample_weight=pairs.weights,
        )
        report = ordinal_report(y_true, y_pred, classes=levels, sample_weight=sample_weight)
        return cls(matrix, report, name=name).plot(ax=ax, values=values)

    def _size(self) -> tuple[float, float]:
        side = min(max(0.45 * len(self.matrix), 2.4), 4.6)
        return side + 2.0, side + 0.95

    def plot(self, ax: Axes | None = None, *, values: str = "share") -> Self:
        """Draw the matrix, the lowest class at the top and at the left.

        Parameters
        ----------
        ax : matplotlib axes, optional
        values : {"share", "count"}, default="share"
            Numbers in the cells: percent of the row, or weight of rows.

        Returns
        -------
        display : OrdinalConfusionDisplay
            This object.
        """
        require_choice("values", values, ("share", "count"))
        n = len(self.matrix)
        ax = self._start(ax, left=False, bottom=False)
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)
        self._draw_cells()
        self._write_cells(values)
        labels = self.report.classes.tolist()
        style.name_ticks(ax.xaxis, range(n), labels)
        style.name_ticks(ax.yaxis, range(n), labels)
        told = n <= _MOST_NUMBERS and values == "share"
        style.name_axes(ax, f"predicted{', percent of the row' if told else ''}", "true", self.name)
        self._write_margin()
        return self

    def _draw_cells(self) -> None:
        from matplotlib.collections import PatchCollection
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        n = len(self.matrix)
        inner = 0.47 if n <= _MOST_NUMBERS else 0.5
        boxes, fills = [], []
        for i in range(n):
            for j in range(n):
                boxes.append(Rectangle((j - inner, i - inner), 2 * inner, 2 * inner))
                fills.append(to_rgba(*self._fill(i, j)))
        self.cells_ = PatchCollection(boxes, facecolors=fills, linewidths=0)
        self.ax_.add_collection(self.cells_)
        for i in range(n):
            frame = Rectangle((i - inner, i - inner), 2 * inner, 2 * inner)
            frame.set(facecolor="none", edgecolor=style.SECOND, clip_on=False)
            frame.set_linewidth(0.9 if n <= 16 else 0.5)
            self.ax_.add_patch(frame)

    def _fill(self, i: int, j: int) -> tuple[str, float]:
        share = float(np.nan_to_num(self.shares[i, j]) / max(np.nanmax(self.shares), 1e-300))
        if i == j:
            return style.SECOND, _STRONGEST * share
        # The square root keeps rare errors visible; distance from the diagonal adds to it.
        far = 1.0 + (abs(i - j) - 1) / max(len(self.matrix) - 2, 1)
        return style.ACCENT, _STRONGEST * min(1.0, np.sqrt(share) * 0.5 * far)

    def _write_cells(self, values: str) -> None:
        n = len(self.matrix)
        self.text_ = np.full((n, n), None, dtype=object)
        if n > _MOST_NUMBERS:
            return
        size, bold = style.FONT if n <= 8 else style.SMALL, ("normal", "bold")
        for i in range(n):
            for j in range(n):
                if self.matrix[i, j] > 0:
                    weight = f"{self.matrix[i, j]:,.6g}"
                    cell = _percent(self.shares[i, j]) if values == "share" else weight
                    self.text_[i, j] = style.write(
                        self.ax_, cell, (j, i), size=size, ha="center", fontweight=bold[i == j]
                    )

    def _write_margin(self) -> None:
        """Rows and mean absolute error of each class, as two columns at the right."""
        n = len(self.matrix)
        shown = style.thinned(n, style.points(self.ax_)[1], 1.3 * style.SMALL)
        figures = [
            ("n", [f"{value:,.6g}" for value in self.report.n]),
            ("MAE", [_figure(value) for value in self.report.mean_absolute_error]),
        ]
        beside, offset = partial(style.write, self.ax_, right_of_axes=True, ha="right"), 8.0
        for heading, column in figures:
            width = max(style.text_width(text) for text in [heading, *column])
            offset += width
            places = [(-0.5, heading, 9), *((i, column[i], 0) for i in shown)]
            for y, text, rise in places:
                color = style.FAINT if rise else style.INK
                beside(text, (1.0, y), move=(offset, rise), color=color)
            offset += 8.0


def _percent(share: float) -> str:
    return "<1" if share < 0.005 else f"{100.0 * share:.0f}"


def _figure(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"
