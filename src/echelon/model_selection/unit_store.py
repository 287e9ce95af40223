"""Finished units on disk, one JSON object per line, so that a contest can go on later.

A line belongs to a contest (data, labels, folds, seed, cost) and to an entrant (parameters, grid,
versions), both by content. Lines of others are left alone, and one that a killed process left
unfinished is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from ..ordinal.labels import read_scale
from .tuning import SEARCH_FOLDS
from .units import Arena, Entrant, Outcome

_PACKAGES = ("echelon", "scikit-learn", "numpy", "scipy", "lightgbm")


class UnitStore:
    """The results file of contests.

    Parameters
    ----------
    path : path
        Made, with its folder, when the first outcome is kept.
    arena : Arena
        The contest that is being run.
    """

    def __init__(self, path: Path | str, arena: Arena) -> None:
        self.path = Path(path)
        self._contest = contest_key(arena)
        self._entrants = {name: _entrant_key(e) for name, e in arena.entrants.items()}
        self._tail_checked = False

    def read(self) -> tuple[list[Outcome], int]:
        """Outcomes of this contest and its entrants, and how many lines belong to others."""
        if not self.path.exists():
            return [], 0
        *lines, _unfinished = self.path.read_bytes().split(b"\n")
        found, others = {}, 0
        for line in lines:
            outcome = self._parse(line)
            if outcome is None:
                others += 1
            else:
                found[outcome.model, outcome.fold] = outcome
        return list(found.values()), others

    def clear(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def append(self, outcome: Outcome) -> None:
        """Keep an outcome, on disk before this returns."""
        content = {
            "contest": self._contest,
            "entrant": self._entrants[outcome.model],
            "outcome": asdict(outcome),
        }
        line = json.dumps(content, default=_to_python) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._tail_checked:
            self._drop_unfinished_line()
        # One write to a file opened for appending: lines of two processes do not mix.
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())
            os.fsync(file.fileno())

    def _parse(self, line: bytes) -> Outcome | None:
        try:
            content = json.loads(line)
            outcome = Outcome(**content["outcome"])
            ours = (self._contest, self._entrants.get(outcome.model))
        except (ValueError, TypeError, KeyError):
            return None
        return outcome if (content.get("contest"), content.get("entrant")) == ours else None

    def _drop_unfinished_line(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            if not content.endswith(b"\n"):
                os.truncate(self.path, content.rfind(b"\n") + 1)
        self._tail_checked = True


def contest_key(arena: Arena) -> str:
    """Digest of everything but the entrants: data, labels and their order, folds, seed, cost."""
    digest = hashlib.sha256()
    for part in (
        *_input_parts(arena.X),
        read_scale(arena.y, arena.classes)[1],
        json.dumps([str(label) for label in arena.classes]),
        *(rows for fold in arena.splits for rows in fold),
        "" if arena.cost is None else np.asarray(arena.cost),
        str(arena.random_state),
    ):
        digest.update(_as_bytes(part))
        digest.update(b"\0")
    return digest.hexdigest()


def _input_parts(X: Any) -> list[Any]:
    if hasattr(X, "iloc"):
        from pandas.util import hash_pandas_object

        types = [f"{name}: {dtype}" for name, dtype in X.dtypes.items()]
        return [json.dumps(types), hash_pandas_object(X, index=False).to_numpy()]
    return [joblib.hash(X)]


def _as_bytes(part: Any) -> bytes:
    if isinstance(part, str):
        return part.encode()
    return f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes()


def _entrant_key(entrant: Entrant) -> str:
    content = (entrant.estimator, sorted(_plain(entrant.settings).items()), SEARCH_FOLDS)
    return str(joblib.hash((content, _versions())))


def _plain(settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in settings.items()}


def _versions() -> list[str]:
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def _to_python(value: Any) -> Any:
    """NumPy scalars as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"A setting of type {type(value).__name__} cannot be kept as JSON.")
