"""What is known of every benchmark set and of the published splits, from ``data/registry.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from .._utils.choices import require_choice


@dataclass(frozen=True)
class Benchmark:
    """One set: its size, checksums and provenance; the fields are described in the table."""

    name: str
    kind: str
    rows: int
    columns: int
    checksum: str
    target: str
    origin: str
    licence: str
    openml: int | None = None
    row_order: str | None = None
    note: str = ""
    labels: tuple[str, ...] = ()
    nominal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Place of the table below a data folder."""
        return f"{self.kind}/{self.name}.csv.gz"


@dataclass(frozen=True)
class Splits:
    """One table of published training and test splits, labels included."""

    collection: str
    name: str
    rows: int
    splits: int
    classes: int
    checksum: str

    @property
    def file(self) -> str:
        """Place of the table below a data folder."""
        return f"splits/{self.collection}/{self.name}.csv.gz"

    @property
    def benchmark(self) -> str:
        """Benchmark set that a gpor table ``<benchmark>_<bins>bins`` belongs to."""
        return self.name.rpartition("_")[0]


def list_benchmarks(kind: str | None = None) -> list[str]:
    """Names that `fetch_benchmark` knows.

    Parameters
    ----------
    kind : {"regression", "ordinal"}, optional
        Only sets with a continuous target to be cut, or only those with labels of their own.

    Examples
    --------
    >>> list_benchmarks("regression")[:3]
    ['2dplanes', 'abalone', 'auto_price']
    """
    require_choice("kind", kind, ("regression", "ordinal", None))
    sets = _registry()["benchmarks"].items()
    return [name for name, facts in sets if kind in (None, facts["kind"])]


def list_splits(collection: str) -> list[str]:
    """Names that `fetch_splits` knows in a collection.

    Examples
    --------
    >>> list_splits("orca")[:3]
    ['balance_scale', 'bondrate', 'car']
    """
    collections = _registry()["splits"]
    require_choice("collection", collection, collections)
    return list(collections[collection])


def find_benchmark(name: str) -> Benchmark:
    """Facts of a benchmark set by its name."""
    require_choice("name", name, list_benchmarks())
    return Benchmark(name, **_as_tuples(_registry()["benchmarks"][name]))


def find_splits(collection: str, name: str) -> Splits:
    """Facts of a table of splits by its collection and name."""
    require_choice(f"name in the collection {collection!r}", name, list_splits(collection))
    return Splits(collection, name, **_registry()["splits"][collection][name])


@cache
def _registry() -> Any:
    return tomllib.loads((files(__package__) / "data" / "registry.toml").read_text("utf-8"))


def _as_tuples(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: tuple(value)
        if isinstance(value, list)
        else _as_tuples(value)
        if isinstance(value, dict)
        else value
        for key, value in facts.items()
    }
