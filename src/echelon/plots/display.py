"""What all displays share: axes that fit, how they are drawn, and how an estimator becomes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .._utils.types import EstimatorLike, LabelsLike, MatrixLike, VectorLike
from . import style
from .reading import classes_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Picture:
    """Something to be drawn on axes of a size that fits it."""

    ax_: Axes
    figure_: Figure | SubFigure

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return self._size()

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, 3.3

    def _start(
        self,
        ax: Axes | None,
        *,
        grid: style.Grid | None = None,
        left: bool = True,
        bottom: bool = True,
    ) -> Axes:
        """Keep the axes given, or those of a new figure that fits, and dress them."""
        if ax is None:
            ax = style.require_pyplot().subplots(figsize=self.size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid=grid, left=left, bottom=bottom)
        return ax


class Display(Picture):
    """A picture that needs nothing but axes to be drawn."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; those of a new figure that fits by default.

        Returns
        -------
        display : object
            This object.
        """
        self._draw(ax)
        return self

    def _draw(self, ax: Axes | None) -> None:
        raise NotImplementedError

    def _draw_rows(self, ax: Axes | None, names: list[str], most: int) -> Axes:
        """Axes for a chart with a named row for each thing, the first at the top."""
        ax = self._start(ax, grid="x", left=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
        style.name_ticks(ax.yaxis, range(len(names)), names, most=most)
        return ax


class RowsDisplay(Display):
    """A display of labelled rows and what a model predicts for them."""

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: MatrixLike,
        y: LabelsLike,
        *,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Predict for labelled rows with a fitted estimator and draw.

        Parameters
        ----------
        estimator : fitted ordinal classifier, ranker, or pipeline that ends in one
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional
        **options
            Other keyword arguments of `from_predictions`.

        Returns
        -------
        display : object
        """
        options.setdefault("classes", classes_of(estimator, y))
        return cls.from_predictions(
            y,
            **cls._predictions(estimator, X, options["classes"]),
            sample_weight=sample_weight,
            name=name_of(estimator, name),
            ax=ax,
            **options,
        )

    @classmethod
    def from_predictions(cls, *args: Any, **options: Any) -> Self:
        """Draw predictions that are known."""
        raise NotImplementedError

    @classmethod
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        """What `from_predictions` is told of the rows, by the name of its parameter."""
        raise NotImplementedError
