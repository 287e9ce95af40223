"""Damaged and crafted model files, through everything that reads one.

A file that was damaged is refused, or answers as before. A file that somebody made up is refused,
or is a model like any other: its answers are labels of its card and probabilities. Neither opens,
imports, starts or leaves behind anything, and a signed file that was touched is refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from echelon.trained import TrainedModel, load_model, make_keys
from echelon.trained.model import read_card
from fuzz.campaign import ANSWERED, REFUSED, Case, judge
from fuzz.model_damage import CRAFT, DAMAGE, SIGNATURE, archive_of, members, with_sums
from fuzz.model_zoo import factories, specimen
from fuzz.watch import Watch

# Seeds that follow each other and spoil the same model.
BLOCK = 20
# Kilobytes that reading one small file may take.
_MOST_MEMORY = 700_000
_WATCH = Watch()


# Gone with the process, unless that is killed.
_PLACE = tempfile.TemporaryDirectory(prefix="echelon-fuzz-")


def _folder() -> Path:
    return Path(_PLACE.name)


def environment() -> dict[str, str]:
    """Variables by which glibc looks at every block that is freed, if it is the library here.

    What writes beside a block is then found in its own case, and not by chance in a later one.
    """
    library = "libc_malloc_debug.so.0"
    with contextlib.suppress(OSError):
        ctypes.CDLL(library)
        return {"LD_PRELOAD": library, "MALLOC_CHECK_": "3"}
    return {}


@cache
def _keys() -> tuple[tuple[Path, Path], tuple[Path, Path]]:
    return make_keys(_folder() / "own"), make_keys(_folder() / "strange")


def case(seed: int) -> Case:
    """One spoilt file of one model through every reader."""
    rng = np.random.default_rng([seed, 9])
    names = list(factories())
    whole = specimen(names[seed // BLOCK % len(names)])
    _warm(whole.name)
    name = str(
        rng.choice([*DAMAGE, *CRAFT, "signed"], p=[0.1, 0.05, 0.05, 0.1, 0.3, 0.3, 0.05, 0.05])
    )
    path = _folder() / "model.echelon"
    trusted: list[Path] | None = None
    if name == "signed":
        content, trusted = _signed(whole.content, rng), [_keys()[0][1]]
    else:
        content = {**DAMAGE, **CRAFT}[name](whole.content, rng)
    path.write_bytes(content)
    crafted = name in CRAFT
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with _WATCH.during(path, *(trusted or ())), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome, detail = _read(path, trusted, whole, crafted)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    detail = f"{whole.name}: {detail}"
    if _WATCH.noted:
        return Case(name, "harm", f"{detail} | {_WATCH.noted[:3]}")
    if grown > _MOST_MEMORY:
        return Case(name, "harm", f"{detail} | {grown} kB of memory")
    return Case(name, outcome, detail)


@cache
def _warm(name: str) -> None:
    """Read the whole file once, so that what it needs is imported."""
    path = _folder() / "whole.echelon"
    path.write_bytes(specimen(name).content)
    found = load_model(path)
    found.predict_frame(specimen(name).rows)
    _shown(path, None)


def _signed(content: bytes, rng: np.random.Generator) -> bytes:
    """A signed file that was touched, or one that nobody or a stranger has signed."""
    (own, _), (strange, _) = _keys()
    how = int(rng.integers(4))
    if how == 0:
        return content
    path = _folder() / "signed.echelon"
    path.write_bytes(content)
    load_model(path).save(path, key=strange if how == 1 else own)
    touched = path.read_bytes()
    if how == 1:
        return touched
    signature = members(touched)[SIGNATURE]
    spoiler = CRAFT[str(rng.choice(["other nodes", "other numbers", "other card"]))]
    spoilt = members(spoiler(content, rng))
    kept = spoilt if how == 2 else with_sums(spoilt)
    return archive_of({**kept, SIGNATURE: signature})


def _read(path: Path, trusted: list[Path] | None, whole: Any, crafted: bool) -> tuple[str, str]:
    """How the readers end: the card alone, the words about it, and the model with its answers."""
    refusals = []
    for reader in (_shown, _answered):
        try:
            found = reader(path, trusted) if reader is _shown else _answered(path, trusted, whole)
        except Exception as error:
            outcome, detail = judge(error)
            if outcome != REFUSED:
                return outcome, f"{reader.__name__}: {detail[:300]}"
            refusals.append(detail)
    if len(refusals) > 0:
        return REFUSED, refusals[-1][-200:]
    return _compared(found, whole, crafted)


def _shown(path: Path, trusted: list[Path] | None) -> None:
    from echelon.cli.info import describe
    from echelon.cli.views import json_text

    card = read_card(path, trusted_keys=trusted)
    describe(card)
    json_text(card.card())


def _answered(path: Path, trusted: list[Path] | None, whole: Any) -> tuple[TrainedModel, Any]:
    model = load_model(path, trusted_keys=trusted)
    answers = model.predict_frame(whole.rows)
    _look_around(model, whole.rows)
    return model, answers


def _look_around(model: TrainedModel, rows: pd.DataFrame) -> None:
    """Other ways into what was loaded: they may raise, but not crash."""
    last = model.estimator[-1] if hasattr(model.estimator, "steps") else model.estimator
    codes = np.arange(len(rows)) % max(2, len(model.classes))
    labels = [model.classes[code] for code in codes] if model.classes else codes
    looks: tuple[Callable[[], Any], ...] = (
        lambda: last.feature_importances_,
        lambda: last.to_text(),
        lambda: last.explain(model.estimator[:-1].transform(model.inputs(rows))),
        lambda: last.partial_fit(model.estimator[:-1].transform(model.inputs(rows)), labels),
    )
    for look in looks:
        with contextlib.suppress(Exception):
            look()


def _compared(found: Any, whole: Any, crafted: bool) -> tuple[str, str]:
    model, answers = found
    if not crafted:
        same = answers.equals(whole.answers)
        return (ANSWERED, "") if same else ("different", "another answer of a damaged file")
    if model.task == "ranking":
        return _finite(answers)
    labels = set(answers["predicted"].tolist()) <= set(model.classes)
    if not labels:
        return "different", "a label that is none of the card's"
    return _finite(answers.filter(like="p_"))


def _finite(answers: pd.DataFrame) -> tuple[str, str]:
    finite = np.isfinite(answers.to_numpy(np.float64)).all()
    return (ANSWERED, "") if finite else ("not finite", "an answer")
