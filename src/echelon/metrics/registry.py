"""Makes the scorers' names known to scikit-learn, as far as it lets us."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sklearn.metrics import _scorer


def register(scorers: Mapping[str, Any]) -> list[str]:
    """Add scorers to scikit-learn's registry and return the names that it now has from us.

    A name that scikit-learn has already is left alone. The registry is private: if it is not where
    it is today, nothing is added, and the names work through ``echelon.metrics.get_scorer`` only.
    """
    registry = getattr(_scorer, "_SCORERS", None)
    if not isinstance(registry, dict):
        return []
    ours = [name for name in scorers if name not in registry or registry[name] is scorers[name]]
    registry.update({name: scorers[name] for name in ours})
    for accepted in _accepted_names():
        accepted.update(ours)
    return ours


def _accepted_names() -> Iterator[set[str]]:
    """Sets of names that modules imported before us check ``scoring`` against.

    Such a module copied the names of the registry when it was imported, so it would refuse ours.
    """
    for module in _modules_with_a_copy():
        for thing in list(vars(module).values()):
            for constraint in _scoring_constraints(thing):
                options = getattr(constraint, "options", None)
                if isinstance(options, set) and "accuracy" in options:
                    yield options


def _modules_with_a_copy() -> list[Any]:
    return [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("sklearn.") and "get_scorer_names" in getattr(module, "__dict__", {})
    ]


def _scoring_constraints(thing: Any) -> Iterable[Any]:
    """Checks of the parameter ``scoring`` of an estimator class or a validated function."""
    for attribute in ("_parameter_constraints", "_skl_parameter_constraints"):
        constraints = getattr(thing, attribute, None)
        if isinstance(constraints, dict):
            found = constraints.get("scoring", ())
            return found if isinstance(found, (list, tuple)) else ()
    return ()
