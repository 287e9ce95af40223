"""Published plots as data: TOML files beside this module, one per plot.

A file states what the plot shows, where it is published and what the paper says about it, which
kind of plot it is, and the settings that this kind wants; ``[effort.quick]`` and
``[effort.paper]`` hold settings that depend on the effort.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..errors import ReproductionError
from ..runner import EFFORTS


@dataclass(frozen=True)
class Plot:
    """A published plot: what it shows, its kind, and settings for each effort."""

    name: str
    title: str
    source: str
    kind: str
    published: str
    settings: Mapping[str, Any]
    effort: Mapping[str, Mapping[str, Any]]

    def settings_for(self, effort: str) -> dict[str, Any]:
        """Settings of an effort; a plot without efforts has the same for any."""
        if effort not in EFFORTS:
            raise ReproductionError(
                f"effort must be one of {', '.join(EFFORTS)}; found {effort!r}."
            )
        return {**self.settings, **self.effort.get(effort, {})}


def list_plots() -> list[str]:
    """Names of the published plots that can be reproduced.

    Examples
    --------
    >>> list_plots()[:4]
    ['cg05-figure2', 'cg05-figure3', 'cg05-figure4', 'ck07-figure3']
    """
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in resources.files(__package__).iterdir()
        if entry.name.endswith(".toml")
    )


def read_plot(name: str) -> Plot:
    """Read a published plot.

    Examples
    --------
    >>> read_plot("ck07-figure4").settings_for("quick")["repeats"]
    1
    """
    if name not in list_plots():
        raise ReproductionError(f"There is no plot {name!r}; there are {', '.join(list_plots())}.")
    text = (resources.files(__package__) / f"{name}.toml").read_text("utf-8")
    return parse_plot(name, tomllib.loads(text))


def parse_plot(name: str, content: Mapping[str, Any]) -> Plot:
    """Make a plot of what its TOML file holds."""
    return Plot(name=name, **{"effort": {}, **content})
