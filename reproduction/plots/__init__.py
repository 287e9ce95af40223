"""Published plots measured and drawn again.

Modules: `catalogue` (the plots, as TOML files beside it), `exhibit` (what every kind of plot
gives), `completion`, `contours`, `peers`, `regions`, `scaling`, `selection` and `techniques` (the
kinds), `trials` (errors over trials, for the kinds that repeat), `page` (picture and page).

A new plot of a known kind is a TOML file; a new kind is a function under `register_kind`.
"""

from ..drawing import require_matplotlib
from .catalogue import Plot, list_plots, read_plot
from .exhibit import Exhibit, Sheet, measure, register_kind
from .page import picture, plot_page

__all__ = [
    "Exhibit",
    "Plot",
    "Sheet",
    "list_plots",
    "measure",
    "picture",
    "plot_page",
    "read_plot",
    "register_kind",
    "require_matplotlib",
]
