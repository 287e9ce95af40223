"""What every kind of plot gives once it is measured: tables of figures and a drawing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ReproductionError
from ..models import get_model
from .catalogue import Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

#: Colours of Okabe and Ito, told apart with any kind of colour vision.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY = "#E69F00", "#CC79A7", "#56B4E9"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Sheet:
    """A table of measured figures with a sentence above it."""

    caption: str
    headings: tuple[str, ...]
    rows: list[list[str]]


class Exhibit(ABC):
    """Everything that was measured for a plot."""

    #: how it was measured, in a sentence or two
    setting: str

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Inches; a class variable where it is always the same."""

    @abstractmethod
    def sheets(self) -> list[Sheet]:
        """The measured figures; the first table is the summary."""

    def notes(self, plot: Plot) -> list[tuple[str, str]]:
        """The models and what each is; by default those that the settings name."""
        return [(name, get_model(name).about) for name in plot.settings["models"]]

    @abstractmethod
    def draw(self, canvas: Canvas) -> None:
        """Draw on an empty figure of matplotlib."""


_KINDS: dict[str, Callable[..., Exhibit]] = {}


def register_kind(
    name: str,
) -> Callable[[Callable[..., Exhibit]], Callable[..., Exhibit]]:
    """Register the decorated function of the settings, and of ``tell``, as a kind of plot."""

    def keep(function: Callable[..., Exhibit]) -> Callable[..., Exhibit]:
        if name in _KINDS:
            raise ValueError(f"The kind {name!r} is registered already.")
        _KINDS[name] = function
        return function

    return keep


def list_kinds() -> list[str]:
    """Names of the kinds of plots."""
    from . import (  # noqa: F401 - they register themselves
        completion,
        contours,
        peers,
        regions,
        roster,
        scaling,
        selection,
        techniques,
    )

    return sorted(_KINDS)


def measure(plot: Plot, effort: str, tell: Tell = lambda text: None) -> Exhibit:
    """Measure all that a plot shows; ``tell`` hears where the work stands."""
    if plot.kind not in list_kinds():
        raise ReproductionError(
            f"kind of {plot.name} must be one of {', '.join(list_kinds())}; found {plot.kind!r}."
        )
    settings: dict[str, Any] = plot.settings_for(effort)
    return _KINDS[plot.kind](tell=tell, **settings)
