"""Published tables and plots measured again: the harness behind ``make reproduce``.

Modules: `published` (the figures, as TOML in ``tables/``), `protocol` (labels, splits, scaling),
`models` (a registered builder per column, by family), `probes` (the results that the revision of a
model stands for), `measures`, `runner` (what is left to run), `store` (finished cells), `verdicts`
(tests), `rows` and `rendering` (what is shown), `ranking` and `rank_page` (all models over all data
sets), `ratings` (users and items), `drawing` (pictures), `plots` (published plots, measured and
drawn).

A new table is a TOML file in ``tables/``; a new model is a builder under `register_model`; a new
plot is a TOML file in ``plots/``.
"""

from .errors import ReproductionError
from .models import Problem, list_models, register_model
from .published import list_tables, read_table
from .ranking import make_rankings
from .rendering import markdown_page, page_files
from .rows import make_duels, make_rows
from .runner import make_plan, run
from .store import ResultStore, gather

__all__ = [
    "Problem",
    "ReproductionError",
    "ResultStore",
    "gather",
    "list_models",
    "list_tables",
    "make_duels",
    "make_plan",
    "make_rankings",
    "make_rows",
    "markdown_page",
    "page_files",
    "read_table",
    "register_model",
    "run",
]
