"""What a campaign is, what one of its cases may end in, and how ends are counted."""

from __future__ import annotations

import importlib
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ANSWERED = "answered"
REFUSED = "refused"
# How a case may end that must not happen. The first two are seen by the runner from outside.
FINDINGS = {
    "crash": "the process died",
    "hang": "no answer in time",
    "not finite": "an answer with NaN or an infinite number",
    "foreign": "an exception that is not one of ours",
    "sanitizer": "a report of AddressSanitizer or UndefinedBehaviorSanitizer",
    "different": "another answer without a word",
    "harm": "something was run, opened or left behind that must not be",
}


def not_finite(name: str, answer: Any) -> bool:
    """Whether an answer has NaN, or infinity where none may be.

    The thresholds beside labels that a model never predicts, and margins at them, are infinite.
    """
    array = np.asarray(answer)
    if array.dtype.kind != "f":
        return False
    allowed = name in ("thresholds_", "decision_function")
    return bool(np.isnan(array).any() if allowed else not np.isfinite(array).all())


def judge(error: Exception, *, checks_of_others: bool = False) -> tuple[str, str]:
    """Whether an exception is a sentence of ours, or one of scikit-learn's if that will do."""
    frames = traceback.extract_tb(error.__traceback__)
    place = Path(frames[-1].filename)
    detail = f"{type(error).__name__}: {error} ({place.name}:{frames[-1].lineno})"
    if not isinstance(error, (ValueError, TypeError)):
        return "foreign", detail
    text = str(error)
    if checks_of_others and "sklearn" in place.parts:
        return REFUSED, detail
    if "echelon" not in place.parts:
        return "foreign", detail
    if "\n" in text or not text.endswith((".", "?")):
        return "foreign", f"no sentence: {detail}"
    return REFUSED, detail


@dataclass(frozen=True)
class Case:
    """One case, or ``count`` of them that ended alike.

    ``outcome`` is ``ANSWERED``, ``REFUSED`` (a sentence of ours) or a key of ``FINDINGS``.
    """

    subject: str
    outcome: str
    detail: str = ""
    count: int = 1

    def __post_init__(self) -> None:
        if self.outcome not in (ANSWERED, REFUSED, *FINDINGS):
            raise ValueError(f"{self.outcome!r} is no way for a case to end.")


@dataclass(frozen=True)
class Campaign:
    """A module of this package: its name, its part of the time and the time one case may take."""

    name: str
    title: str
    share: float
    seconds: float = 20.0

    def load(self) -> Callable[[int], Case]:
        """``case(seed)`` of the module; the same seed is the same case."""
        return importlib.import_module(f"fuzz.{self.name}").case

    def subject(self, seed: int) -> str:
        """What the case of a seed is about, if the module can tell without running it."""
        module = importlib.import_module(f"fuzz.{self.name}")
        return str(module.subject(seed)) if hasattr(module, "subject") else "unknown"

    def environment(self) -> dict[str, str]:
        """What the module's ``environment()``, if it has one, adds to that of its workers."""
        module = importlib.import_module(f"fuzz.{self.name}")
        return module.environment() if hasattr(module, "environment") else {}


@dataclass
class Tally:
    """Cases per subject and outcome, and the first findings with the seeds that repeat them."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[dict[str, object]] = field(default_factory=list)

    def add(self, seed: int, case: Case) -> None:
        """Count a case; keep it if it must not have ended so."""
        self.counts.setdefault(case.subject, Counter())[case.outcome] += case.count
        if case.outcome in FINDINGS:
            self.findings.append({"seed": seed, **asdict(case)})

    @property
    def cases(self) -> int:
        """How many cases there were."""
        return sum(sum(c.values()) for c in self.counts.values())
