"""RankBoost on a list of all pairs, written down as the book has it."""

import numpy as np
from scipy.optimize import brentq

LARGEST = 0.5 * np.log(1e10)


def listed(pairs):
    """All pairs of a set: winners, losers and weights."""
    return tuple(np.concatenate(column) for column in zip(*pairs.blocks(), strict=True))


def base_rankers(X, rows, missing="best_side"):
    """(feature, threshold, value of missing inputs, h) of every question [x > θ], in order."""
    for j in range(X.shape[1]):
        column = X[:, j]
        there = ~np.isnan(column)
        seen = np.unique(column[rows][there[rows]])
        cuts = (seen[1:] + seen[:-1]) / 2
        some_missing = not there[rows].all()
        if missing == "best_side" and some_missing:
            cuts, sides = np.r_[-np.inf, cuts], (0.0, 1.0)
        else:
            sides = (0.5,)
        for cut in cuts:
            for side in sides:
                yield j, cut, side, np.where(there, column > cut, side)


def slow_rounds(X, pairs, n_rounds, missing="best_side", step=None):
    """Rounds as dicts, by figure 10.1 on the list of all pairs; `step` replaces its line 5."""
    winners, losers, c = listed(pairs)
    candidates = list(base_rankers(X, np.unique(np.r_[winners, losers]), missing))
    D = c / c.sum()
    f, total = np.zeros(len(X)), 0.0
    for _ in range(n_rounds):
        edges = np.array([D @ (h[winners] - h[losers]) for *_, h in candidates])
        sizes = np.abs(edges)
        if sizes.max(initial=0.0) <= 1e-8:
            return
        best = int(np.argmax(sizes >= sizes.max() * (1 - 1e-9)))
        j, cut, side, h = candidates[best]
        direction = 1 if edges[best] > 0 else -1
        if direction < 0:
            h, side = 1 - h, 1 - side
        gain = h[winners] - h[losers]
        perfect = gain.min() > 0
        alpha = _best_step(D, gain) if step is None else step(D, h, winners, losers)
        if perfect:
            alpha = (1.0 + total) / gain.min()
        Z = float(D @ np.exp(-alpha * gain))
        f, total = f + alpha * h, total + alpha
        D = D * np.exp(-alpha * gain) / Z
        margin = f[winners] - f[losers]
        yield {
            "feature": j, "threshold": cut, "direction": direction, "missing": side,
            "perfect": perfect, "edge": float(sizes[best]), "alpha": alpha, "Z": Z, "f": f,
            "wrong": float(c[margin <= 0].sum() / c.sum()), "loss": float(c @ np.exp(-margin)),
        }  # fmt: skip
        if perfect:
            return


def _best_step(D, gain):
    if gain[D > 0].min() >= 0:
        return LARGEST
    if set(gain) <= {-1.0, 0.0, 1.0}:
        return min(LARGEST, 0.5 * np.log(D[gain == 1].sum() / D[gain == -1].sum()))
    slope = lambda a: D @ (gain * np.exp(-a * gain))  # noqa: E731 - a formula
    return LARGEST if slope(LARGEST) > 0 else brentq(slope, 0, LARGEST, xtol=1e-15, rtol=1e-15)
