"""How everything was computed, so that it can be checked and made again."""

from __future__ import annotations

import platform
from inspect import signature
from typing import Any

import numpy as np

from ..._utils.packages import package_versions
from ...base.wrappers import last_step
from ..content import Pairs, Section, Sentences, count
from ..facts import Facts
from ..rows import MOST_ROWS
from ..study import PARTS

_PACKAGES = ("echelon", "numpy", "scipy", "scikit-learn", "matplotlib")


def appendix(facts: Facts, left_out: list[tuple[str, str]]) -> Section:
    """Versions, settings, seeds, and how the figures were computed."""
    parts: list[Any] = [Pairs(_subject(facts), "This report")]
    settings = _settings(_described(facts))
    if settings:
        parts.append(Pairs(settings, "Settings that differ from the defaults"))
    if facts.trained is not None and facts.trained.notes:
        parts.append(Sentences([(note, "") for note in facts.trained.notes]))
    versions = [("python", platform.python_version()), *package_versions(_PACKAGES).items()]
    parts.append(Pairs(versions, "Versions"))
    parts.append(Pairs(_methods(facts), "How figures were computed"))
    if left_out:
        parts.append(Pairs(left_out, "Left out"))
    lead = "Versions, settings, seed and method, enough to make every figure again."
    return Section("appendix", "Technical appendix", lead, parts)


def _subject(facts: Facts) -> list[tuple[str, str]]:
    settings, rows = facts.settings, facts.rows
    found = [("Table", facts.source)] if facts.source else []
    found += [] if _described(facts) is None else [("Model", facts.name)]
    found.append(("Seed", str(settings.random_state)))
    if rows is not None:
        found += [("Labels, lowest first", ", ".join(rows.labels[:40]))]
        found += [("Rows", f"{len(rows):,}"), ("Cost", settings.cost_words)]
    if facts.trained is not None:
        found.append(("Trained", str(facts.trained.created)))
    return found


def _described(facts: Facts) -> Any:
    """The model that the page is about, if there is one."""
    if facts.study is not None:
        return facts.study.model
    return None if facts.trained is None else facts.trained.estimator


def _settings(model: Any) -> list[tuple[str, str]]:
    """Parameters of the estimators inside, other than their defaults."""
    if model is None:
        return []
    before, last = last_step(model)
    found = []
    for part in (*before, last):
        if not hasattr(part, "get_params"):
            continue
        defaults = _defaults(type(part))
        for name, value in sorted(part.get_params(deep=False).items()):
            # The scale stands above, and the report itself tells it to the model.
            if name != "classes" and name in defaults and not _same(value, defaults[name]):
                found.append((f"{type(part).__name__}: {name}", _text(value)))
    return found


def _defaults(kind: type) -> dict[str, Any]:
    parameters = signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return np.array_equal(value, default)
    try:
        return bool(value is default or value == default)
    except ValueError:
        return False


def _text(value: Any) -> str:
    text = " ".join(str(value).split())
    # Addresses of objects differ from run to run.
    return "an object" if " at 0x" in text else text if len(text) <= 160 else text[:159] + "…"


def _methods(facts: Facts) -> list[tuple[str, str]]:
    found = []
    if facts.board is not None:
        sizes = facts.board.sizes
        split = "" if sizes is None else f", {sizes[0]:,} rows to train and {sizes[1]:,} to test"
        planned = facts.board.planned or max((r.n_folds for r in facts.board.rows), default=0)
        found.append(
            (
                "Leaderboard",
                f"Cross-validation, {facts.board.how or count(planned, 'fold')}{split}; settings "
                "are searched inside the training part only. Standard errors treat folds as "
                "independent; the corrected resampled t-test does not.",
            )
        )
    study = facts.study
    if study is None:
        return found
    design = study.rows.design
    if design.weights is not None:
        weight = study.rows.role("weight", "the weights given")
        found.append(
            ("Weights", f"Every figure of a model counts rows by {weight}; only ratios matter.")
        )
    if design.groups is not None:
        n = count(len(np.unique(design.groups)), "group")
        found.append(("Groups", f"{n} of {study.rows.role('group', 'the group column')}."))
    how = f"By the model as given, on {study.how}."
    if study.evaluated is not None:
        how = f"Each row by a model that was fitted without it: {study.how}."
    found += [
        ("Predictions", how),
        ("Score, importance, single rows", f"On {study.trial.how}."),
        (
            "Importance",
            f"Rise of the mean cost over 5 shuffles of a column, at most {MOST_ROWS:,} rows.",
        ),
        (
            "Effects",
            "Partial dependence: some rows all get the same value, and predictions are averaged; "
            f"standard errors by the jackknife over {PARTS} parts, where fits are quick.",
        ),
        (
            "Single rows",
            "Shapley values against rows drawn from the table; they add up to the prediction.",
        ),
    ]
    return found
