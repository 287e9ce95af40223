"""Small data sets with what breaks estimators: few rows, ties, gaps, scales, odd containers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Rng = np.random.Generator
Numbers = npt.NDArray[np.float64]
CONTAINERS = ("array", "array", "array", "Fortran", "single", "list", "pandas", "polars", "sparse")


@dataclass(frozen=True)
class Awkward:
    """Rows as they are passed, plain rows for predictions, labels and what goes with them."""

    X: Any
    new: Any
    y: Any
    classes: list[Any] | None
    weights: Any
    qid: Any
    pairs: Any
    words: str


def draw_data(rng: Rng, largest: int = 60) -> Awkward:
    """One data set; ``words`` say what is odd about it."""
    n = int(rng.integers(2, 9)) if rng.random() < 0.25 else int(rng.integers(9, largest))
    d, K = int(rng.integers(1, 7)), int(rng.integers(2, 13))
    plain, kind = _inputs(rng, n, d)
    codes, shape = _codes(rng, plain, K)
    gaps = rng.random() < 0.15
    if gaps:
        plain[rng.random(plain.shape) < rng.choice([0.05, 0.5])] = np.nan
    container = str(rng.choice(CONTAINERS))
    labels, classes, text = _labels(rng, codes, K)
    weights, weight_kind = _weights(rng, n)
    words = f"n={n} d={d} K={K} {kind} {shape} {text} {weight_kind} {container} gaps={gaps}"
    far = np.vstack([plain[: min(n, 5)], np.nan_to_num(plain[:1]) * 3.0, np.zeros((1, d))])
    return Awkward(
        X=contain(plain, container),
        new=contain(far, container),
        y=labels,
        classes=classes,
        weights=weights,
        qid=None if rng.random() < 0.4 else rng.integers(0, max(1, n // 4), n),
        pairs=_pairs(rng, n),
        words=words,
    )


def contain(X: Numbers, container: str) -> Any:
    """The rows in another container."""
    if container == "pandas":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    if container == "polars":
        import polars as pl

        return pl.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    plain = {
        "Fortran": lambda: np.asfortranarray(X),
        "single": lambda: np.clip(X, -1e38, 1e38).astype(np.float32),
        "list": X.tolist,
        "sparse": lambda: sp.csr_array(X),
    }
    return plain.get(container, lambda: X)()


# How often inputs are of each kind, and how they come from normal ones.
KINDS: dict[str, tuple[float, Callable[[Rng, Numbers], Numbers]]] = {
    "plain": (0.2, lambda rng, X: X),
    "tied": (0.15, lambda rng, X: np.round(X)),
    "binary": (0.08, lambda rng, X: (X > 0.0).astype(float)),
    "scaled": (0.12, lambda rng, X: X * 10.0 ** rng.uniform(-12, 12)),
    "mixed scales": (0.12, lambda rng, X: X * 10.0 ** rng.uniform(-9, 9, X.shape[1])),
    "far": (0.1, lambda rng, X: X + 10.0 ** rng.uniform(3, 10)),
    "heavy": (0.08, lambda rng, X: rng.standard_cauchy(X.shape) ** 3),
    "copies": (0.1, lambda rng, X: X[rng.integers(0, max(1, len(X) // 3), len(X))]),
    "extreme": (0.05, lambda rng, X: X * rng.choice([1e300, 1e49, 1e30, 1e-160, 1e-300])),
}


def _inputs(rng: Rng, n: int, d: int) -> tuple[Numbers, str]:
    kind = str(rng.choice(list(KINDS), p=[share for share, _ in KINDS.values()]))
    X = KINDS[kind][1](rng, rng.normal(size=(n, d)))
    if rng.random() < 0.2:
        X[:, int(rng.integers(d))] = rng.choice([0.0, 1.0, -7e5])
        kind += "+constant"
    if d > 1 and rng.random() < 0.2:
        X[:, -1] = X[:, 0]
        kind += "+duplicate"
    return X, kind


def _codes(rng: Rng, X: Numbers, K: int) -> tuple[npt.NDArray[np.intp], str]:
    n = len(X)
    shape = str(rng.choice(["signal", "noise", "separable", "rare", "two"]))
    scale = np.abs(X).max(initial=0.0) or 1.0
    score = (X / scale) @ rng.normal(size=X.shape[1])
    if shape == "noise":
        score = rng.normal(size=n)
    elif shape != "separable":
        score = score + 0.3 * np.std(score) * rng.normal(size=n)
    places = np.argsort(np.argsort(score, kind="stable"), kind="stable") / n
    if shape == "rare":
        places = places**6
    codes = np.minimum((places * K).astype(np.intp), K - 1)
    return (np.where(codes > K // 2, K - 1, 0) if shape == "two" else codes), shape


def _labels(rng: Rng, codes: npt.NDArray[np.intp], K: int) -> tuple[Any, list[Any] | None, str]:
    text = str(rng.choice(["codes", "large", "floats", "words", "pandas", "polars", "list"]))
    if text == "large":
        names: list[Any] = [2**63 + 7 * k for k in range(K)]
        return np.array([names[c] for c in codes], dtype=np.uint64), None, text
    if text == "floats":
        return codes / 2.0 - 1.0, None, text
    if text == "list":
        return codes.tolist(), None, text
    if text == "codes":
        stated = list(range(K)) if rng.random() < 0.5 else None
        return codes, stated, text
    names = [f"level {k}" for k in rng.permutation(K)]
    if text == "words":
        return np.array(names)[codes], names, text
    if text == "pandas":
        import pandas as pd

        return pd.Series(pd.Categorical.from_codes(codes, names, ordered=True)), None, text
    import polars as pl

    return pl.Series([names[c] for c in codes], dtype=pl.Enum(names)), None, text


def _weights(rng: Rng, n: int) -> tuple[Any, str]:
    kind = str(rng.choice(["none", "none", "counts", "real", "zeros", "wide", "huge", "tiny"]))
    if kind == "none":
        return None, "unweighted"
    kinds: dict[str, Callable[[], Any]] = {
        "counts": lambda: rng.integers(0, 4, n).astype(float),
        "real": lambda: rng.exponential(size=n),
        "zeros": lambda: (rng.random(n) < 0.6) * 1.0,
        "wide": lambda: 10.0 ** rng.uniform(-9, 9, n),
        "huge": lambda: np.where(rng.random(n) < 0.3, rng.choice([1e20, 1e45, 1e300]), 1.0),
        "tiny": lambda: np.full(n, rng.choice([1e-20, 1e-160, 1e-300])),
    }
    return kinds[kind](), f"weights: {kind}"


def _pairs(rng: Rng, n: int) -> Any:
    if rng.random() < 0.75:
        return None
    first = rng.integers(0, n, 20)
    return np.column_stack([first, (first + rng.integers(1, n, 20)) % n]) if n > 1 else None
