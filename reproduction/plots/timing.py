"""CPU seconds of fits, and how they grow with the number of rows."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..protocol import Split

#: A measurement takes at least this many seconds; shorter fits are repeated within it.
SHORTEST = 0.05


def fit_seconds(model: Any, split: Split) -> float:
    """CPU seconds of one fit to the training part, in one thread."""
    calls = 0
    with threadpool_limits(1):
        start = time.process_time()
        while True:
            model.fit(split.X_train, split.y_train)
            calls += 1
            spent = time.process_time() - start
            if spent >= SHORTEST:
                return spent / calls


def power_law(
    sizes: Sequence[int], seconds: Sequence[float], smallest: int = 0
) -> tuple[float, float]:
    """Slope and intercept of ln seconds on ln size, by least squares; NaN for one size.

    Examples
    --------
    >>> slope, _ = power_law([100, 200, 400], [1.0, 2.0, 4.0])
    >>> round(slope, 6)
    1.0
    """
    pairs = [(n, s) for n, s in zip(sizes, seconds, strict=True) if n >= smallest]
    if len(pairs) < 2:
        return np.nan, np.nan
    x, y = np.log(np.asarray(pairs, dtype=np.float64)).T
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(intercept)


def machine() -> str:
    """System and processors, for beside the seconds."""
    return f"{platform.system()} {platform.machine()} with {os.cpu_count()} processors"


def seconds_text(value: float) -> str:
    """Three digits, or whole seconds from a hundred on."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
