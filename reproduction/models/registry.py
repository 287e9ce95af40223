"""Models by the name of their column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn.model_selection._search import BaseSearchCV

from ..errors import ReproductionError


@dataclass(frozen=True)
class Problem:
    """What a model may know before it sees the data of a split.

    Parameters
    ----------
    classes : tuple
        All labels of the set in ascending order; a training part may lack some.
    seed : int
        For everything random in the model or its tuning; the number of the split.
    jobs : int
        Processes for the tuning.
    """

    classes: tuple[Any, ...]
    seed: int
    jobs: int = 1


@dataclass(frozen=True)
class Model:
    """A registered model; `revision` goes up when its results change, which `probes` watches."""

    name: str
    build: Callable[[Problem], Any]
    revision: int = 1

    @property
    def about(self) -> str:
        """First line of the builder's docstring."""
        return (self.build.__doc__ or self.name).strip().splitlines()[0]

    @cached_property
    def tuned(self) -> bool:
        """Whether it has anything to tune; if not, all efforts are the same."""
        return isinstance(self.build(Problem((1, 2), 0)), BaseSearchCV)


_MODELS: dict[str, Model] = {}


def register_model(
    name: str, *, revision: int = 1
) -> Callable[[Callable[[Problem], Any]], Callable[[Problem], Any]]:
    """Register the decorated builder as the model of the column `name`."""

    def keep(build: Callable[[Problem], Any]) -> Callable[[Problem], Any]:
        if name in _MODELS:
            raise ValueError(f"The model {name!r} is registered already.")
        _MODELS[name] = Model(name, build, revision)
        return build

    return keep


def list_models() -> list[str]:
    """Names of the registered models."""
    return sorted(_MODELS)


def get_model(name: str) -> Model:
    """Return a registered model by name."""
    if name not in _MODELS:
        raise ReproductionError(
            f"There is no model {name!r}; there are {', '.join(list_models())}."
        )
    return _MODELS[name]
