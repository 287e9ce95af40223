"""Finished folds on disk, one JSON object per line, so that a comparison can go on later.

A line belongs to an experiment (data, labels, folds, seed, cost) and to an entry (parameters, grid,
versions), both by content. Lines of others are left alone, and one that a killed process left
unfinished is dropped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from .._utils.append_log import AppendLog
from .._utils.versions import package_versions
from ..ordinal.labels import read_scale
from .experiment import Entry, Experiment, Outcome
from .tuning import SEARCH_FOLDS

_PACKAGES = ("echelon", "scikit-learn", "numpy", "scipy", "lightgbm")


class OutcomeStore:
    """The results file of experiments.

    Parameters
    ----------
    path : path
        Made, with its folder, when the first outcome is kept.
    experiment : Experiment
        What is being run.
    """

    def __init__(self, path: Path | str, experiment: Experiment) -> None:
        self._log = AppendLog(path)
        self.path = self._log.path
        self._experiment = experiment_key(experiment)
        self._entries = {name: _entry_key(e) for name, e in experiment.entries.items()}

    def read(self) -> tuple[list[Outcome], int]:
        """Outcomes of this experiment and its entries, and how many lines belong to others."""
        found, others = {}, 0
        for line in self._log.lines():
            outcome = self._parse(line)
            if outcome is None:
                others += 1
            else:
                found[outcome.model, outcome.fold] = outcome
        return list(found.values()), others

    def clear(self) -> None:
        """Forget everything."""
        self._log.clear()

    def append(self, outcome: Outcome) -> None:
        """Keep an outcome, on disk before this returns."""
        keys = {"experiment": self._experiment, "entry": self._entries[outcome.model]}
        self._log.append({**keys, "outcome": asdict(outcome)})

    def _parse(self, line: bytes) -> Outcome | None:
        try:
            content = json.loads(line)
            outcome = Outcome(**content["outcome"])
            ours = (self._experiment, self._entries.get(outcome.model))
        except (ValueError, TypeError, KeyError):
            return None
        return outcome if (content.get("experiment"), content.get("entry")) == ours else None


def experiment_key(experiment: Experiment) -> str:
    """Digest of everything but the entries: data, labels and their order, folds, seed, cost."""
    digest = hashlib.sha256()
    for part in (
        *_input_parts(experiment.X),
        read_scale(experiment.y, experiment.classes)[1],
        json.dumps([str(label) for label in experiment.classes]),
        *(rows for fold in experiment.splits for rows in fold),
        "" if experiment.cost is None else np.asarray(experiment.cost),
        str(experiment.random_state),
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


def _entry_key(entry: Entry) -> str:
    content = (entry.estimator, sorted(_plain(entry.settings).items()), SEARCH_FOLDS)
    return str(joblib.hash((content, sorted(package_versions(_PACKAGES).items()))))


def _plain(settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in settings.items()}
