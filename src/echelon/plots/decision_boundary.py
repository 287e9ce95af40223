"""The plane of two inputs, cut into classes by the thresholds of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from .._utils.frames import make_frame
from .._utils.types import ClassesLike, EstimatorLike, LabelsLike, Matrix, MatrixLike, Vector
from ..base.wrappers import known_inputs
from ..ordinal.arrays import require_count
from ..ordinal.labels import OrdinalScale
from . import style
from .display import Picture, classes_of, labelling_model, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


_ROOM = 0.06
_MARKS = "o^sDvP<*>Xd"
#: most classes in the legend
_MOST_NAMES = 10


class DecisionBoundaryDisplay(Picture):
    """Regions of the classes over two inputs, with a line f(x) = b_k at each threshold.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (r, r)
        The grid.
    codes : ndarray of shape (r, r)
        Position of the predicted label in `classes`.
    classes : sequence of length K
        The labels from lowest to highest.
    margins : ndarray of shape (r, r, K−1), optional
        Margins on the grid; lines are drawn where they are zero. Without them, lines are where the
        predicted label changes.
    input_names : sequence of two str
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    surface_ : matplotlib image
        The regions.
    lines_ : list of matplotlib contour sets
        One for each threshold that crosses the picture.
    points_ : list of matplotlib lines
        The rows of each class.
    """

    def __init__(
        self,
        xx0: Matrix,
        xx1: Matrix,
        codes: npt.ArrayLike,
        classes: ClassesLike,
        *,
        margins: npt.ArrayLike | None = None,
        input_names: Sequence[str] = ("x₁", "x₂"),
        name: str | None = None,
    ) -> None:
        self.xx0, self.xx1 = xx0, xx1
        self.codes = np.asarray(codes, dtype=np.intp)
        self.classes = list(classes)
        self.margins = None if margins is None else np.asarray(margins, dtype=np.float64)
        self.input_names, self.name = list(input_names), name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: MatrixLike,
        y: LabelsLike | None = None,
        *,
        grid_resolution: int = 150,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Evaluate a fitted estimator on a grid over its two inputs and draw.

        Parameters
        ----------
        estimator : fitted ordinal classifier of two inputs, or pipeline
        X : array-like or data frame of shape (n, 2)
            Rows that say where the grid lies.
        y : array-like of shape (n,), optional
            Their labels, to draw the rows too.
        grid_resolution : int, default=150
            Points along each input.
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : DecisionBoundaryDisplay

        Examples
        --------
        >>> from echelon import ProportionalOdds
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> model = ProportionalOdds().fit(X[:, :2], y)
        >>> display = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], y)
        >>> len(display.classes)
        9
        """
        require_count("grid_resolution", grid_resolution, 2)
        classes = None if y is None else classes_of(estimator, y)
        model = labelling_model(estimator, classes)
        if model is None:
            raise ValueError(
                "estimator must be a classifier of ordered labels; found "
                f"{type(estimator).__name__}."
            )
        values = np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != 2:
            raise ValueError(f"X must have two columns; found shape {values.shape}.")
        axes = (_axis(column, grid_resolution) for column in values.T)
        xx0, xx1 = np.meshgrid(*axes)
        grid = known_inputs(estimator, _like(X, np.column_stack([xx0.ravel(), xx1.ravel()])))
        margins = model.margins(grid)
        names = getattr(X, "columns", None)
        display = cls(
            xx0,
            xx1,
            model.codes(grid).reshape(xx0.shape),
            model.scale.classes,
            margins=None if margins is None else margins.reshape(*xx0.shape, -1),
            input_names=("x₁", "x₂") if names is None else list(map(str, names)),
            name=name_of(estimator, name),
        )
        return display.plot(values, y, ax=ax)

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, 4.0

    def plot(
        self, X: MatrixLike | None = None, y: LabelsLike | None = None, *, ax: Axes | None = None
    ) -> Self:
        """Draw regions, lines, and rows if there are any.

        Parameters
        ----------
        X : array-like of shape (n, 2), optional
        y : array-like of shape (n,), optional
            Rows to draw, and their labels.
        ax : matplotlib axes, optional

        Returns
        -------
        display : DecisionBoundaryDisplay
            This object.
        """
        ax = self._start(ax)
        self._draw_regions()
        ax.locator_params(nbins=6)
        self._draw_lines()
        self.points_: list[Line2D] = []
        if y is not None:
            self._draw_rows(
                np.asarray(X, dtype=np.float64),
                OrdinalScale(np.asarray(self.classes)).encode(y, name="y"),
            )
        self._name_classes()
        across, upwards = self.input_names
        style.name_axes(ax, across, upwards, self.name)
        return self

    def _draw_regions(self) -> None:
        from matplotlib.colors import ListedColormap

        n = len(self.classes)
        extent = (self.xx0[0, 0], self.xx0[0, -1], self.xx1[0, 0], self.xx1[-1, 0])
        self.surface_ = self.ax_.imshow(
            self.codes,
            extent=extent,
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(style.class_colors(n)),
            vmin=-0.5,
            vmax=n - 0.5,
            alpha=0.35,
        )

    def _draw_lines(self) -> None:
        self.lines_ = []
        for k in range(len(self.classes) - 1):
            heights = self.codes - k - 0.5 if self.margins is None else self.margins[..., k]
            if np.nanmin(heights) < 0.0 < np.nanmax(heights):
                look: Any = {"colors": style.INK, "linewidths": 1.1, "linestyles": "solid"}
                self.lines_.append(self.ax_.contour(self.xx0, self.xx1, heights, [0.0], **look))

    def _draw_rows(self, X: Matrix, codes: npt.NDArray[np.intp]) -> None:
        for k, color in enumerate(style.class_colors(len(self.classes))):
            rows = X[codes == k]
            if len(rows):
                self.points_ += self.ax_.plot(
                    *rows.T,
                    linestyle="none",
                    marker=_MARKS[k % len(_MARKS)],
                    markersize=5,
                    markerfacecolor=color,
                    markeredgecolor=style.PAPER,
                    markeredgewidth=0.6,
                )

    def _name_classes(self) -> None:
        """A patch of colour per class at the right, the highest at the top."""
        from matplotlib.patches import Patch

        n = len(self.classes)
        colors = style.class_colors(n)
        shown = style.thinned(n, _MOST_NAMES, 1.0)[::-1]
        style.legend(
            self.ax_,
            [Patch(facecolor=colors[k], alpha=0.6, linewidth=0) for k in shown],
            style.kept_apart([self.classes[k] for k in shown], 22),
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            handlelength=1.0,
        )


def _axis(values: Vector, n: int) -> Vector:
    """Equal steps over the range of an input and a little beyond."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = _ROOM * (high - low) or 1.0
    return np.linspace(low - room, high + room, n)


def _like(X: Any, grid: Matrix) -> Any:
    """The grid as a data frame of the same library and columns, if X is one."""
    if not hasattr(X, "columns"):
        return grid
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    columns = dict(zip(frame.columns, grid.T, strict=True))
    return make_frame(columns, frame.implementation)
