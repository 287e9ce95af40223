"""Supports of concave functions: neither too short nor too long, in few steps."""

import numpy as np
import pytest

from echelon.ordinal.panels import MODE_GAP, concave_support

DEPTH = 40.0


def softplus_wells(slopes, sharpness, centres):
    """−t²/2 − s·ln(1 + e^{q(t − c)})/q: a parabola that a smooth wall of slope s cuts off."""

    def function(rows, t):
        s, q, c = slopes[rows], sharpness[rows], centres[rows]
        inside = 0.5 * (1.0 + np.tanh(0.5 * q * (t - c)))
        value = -0.5 * t * t - s * np.logaddexp(0.0, q * (t - c)) / q
        return value, -t - s * inside, -1.0 - s * q * inside * (1.0 - inside)

    return function


def drawn_wells(rng, n_rows):
    slopes = 10.0 ** rng.uniform(-3, 6, n_rows)
    sharpness = 10.0 ** rng.uniform(-2, 4, n_rows)
    return softplus_wells(slopes, sharpness, rng.normal(0.0, 30.0, n_rows))


def crossing(function, row, inside, outside, level):
    """Where one function meets a level, by halving."""
    for _ in range(200):
        middle = 0.5 * (inside + outside)
        above = function(np.array([row]), np.array([middle]))[0][0] > level
        inside, outside = (middle, outside) if above else (inside, middle)
    return inside


def test_supports_are_the_level_sets_give_or_take_a_tenth(rng):
    n_rows = 60
    function = drawn_wells(rng, n_rows)
    top, left, right = concave_support(function, n_rows, DEPTH)
    rows = np.arange(n_rows)
    for row in rows:
        grid = np.linspace(left[row], right[row], 20_001)
        values = function(np.full(len(grid), row), grid)[0]
        best = grid[np.argmax(values)]
        assert values.max() <= top[row] + MODE_GAP + 1e-9 * abs(top[row])
        level = top[row] - 0.9 * DEPTH
        for end, sign in ((left[row], -1.0), (right[row], 1.0)):
            exact = crossing(function, row, best, best + sign * 1e3, level)
            assert sign * (end - exact) >= -1e-9 * max(1.0, abs(exact))
    for end in (left, right):
        assert np.all(function(rows, end)[0] >= top - 1.1 * DEPTH - 1e-6)


@pytest.mark.parametrize("slope", [1.0, 1e3, 1e6])
def test_a_steep_wall_takes_few_steps(slope):
    calls = []
    well = softplus_wells(np.array([slope]), np.array([1e3]), np.array([-5.0]))

    def counted(rows, t):
        calls.append(len(rows))
        return well(rows, t)

    concave_support(counted, 1, DEPTH)
    assert len(calls) < 45
