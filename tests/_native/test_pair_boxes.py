"""Sums by boxes and Chebyshev moments against double loops over the pairs."""

import numpy as np
import pytest
from scipy.special import expit

from echelon.pairs.logistic import _fields
from echelon.pairs.misranking import ScoreSorter
from echelon.pairs.pair_set import PairSet


def slow_twin(order, charges, *, second):
    """Fields of winners and losers, the loss of each query, and the sizes of the fields' sums."""
    n = len(charges)
    won, lost = np.zeros(n), np.zeros(n)
    won_size, lost_size = np.zeros(n), np.zeros(n)
    values = np.zeros(len(order.n_levels))
    for q in range(len(values)):
        part = slice(order.bounds[q], order.bounds[q + 1])
        level, f, z = order.levels[part], order.scores[part], charges[part]
        m = np.subtract.outer(f, f)
        wins = np.greater.outer(level, level)
        field = np.where(wins, expit(-m) * (expit(m) if second else 1.0), 0.0)
        won[part], lost[part] = field @ z, field.T @ z
        won_size[part], lost_size[part] = field @ abs(z), field.T @ abs(z)
        values[q] = z @ np.where(wins, np.logaddexp(0.0, -m), 0.0) @ z
    if second:
        return won + lost, won + lost, None, won_size + lost_size, won_size + lost_size
    return won, lost, values, won_size, lost_size


SCORES = {
    "one box": lambda rng, n: rng.random(n),
    "unit spread": lambda rng, n: rng.normal(size=n),
    "negative": lambda rng, n: -20.0 - rng.exponential(4.0, n),
    "edges of boxes": lambda rng, n: rng.integers(-3, 3, n) * 1.0,
    "out of reach": lambda rng, n: rng.choice([-90.0, 0.0, 50.0], n) + rng.random(n),
    "at the reach": lambda rng, n: rng.choice([0.0, 36.0, 37.0, 38.0, 75.0], n) + rng.random(n),
    "sparse": lambda rng, n: rng.normal(size=n) * 1e4,
    "clump and stragglers": lambda rng, n: np.where(
        rng.random(n) < 0.8, rng.random(n), 60.0 * rng.normal(size=n)
    ),
    "huge": lambda rng, n: rng.choice([-1e300, 0.0, 1e16, 1e300], n),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("n_levels", [2, 3, 7, 300])
@pytest.mark.parametrize("second", [False, True])
def test_fields_equal_the_double_loop(kind, n_levels, second, rng):
    n = 300
    pairs = PairSet.from_labels(rng.integers(0, n_levels, n), (np.arange(n) > 250) * 1).implied
    order = ScoreSorter(pairs).sort(SCORES[kind](rng, n))
    n = len(order.rows)
    charges = rng.normal(size=n) if second else rng.random(n)
    won, lost, values, won_size, lost_size = slow_twin(order, charges, second=second)
    found_won, found_lost, found_values = _fields(order, charges, second=second)
    # e^−m of a margin in the hundreds keeps fewer digits of m.
    tolerance = 1e-12 if kind == "sparse" else 1e-14
    np.testing.assert_array_less(abs(found_won - won), tolerance * won_size + 1e-300)
    np.testing.assert_array_less(abs(found_lost - lost), tolerance * lost_size + 1e-300)
    if not second:
        np.testing.assert_allclose(found_values, values, rtol=1e-14)
