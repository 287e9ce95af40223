"""The diagram says what the tests say, and nothing on it collides."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

from echelon.metrics import nemenyi_test
from echelon.plots import CriticalDifferenceDisplay
from echelon.plots.style import ACCENT


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def made_up(k, n=40):
    return np.random.default_rng(k).normal(size=(n, k)) + 0.25 * np.arange(k)


def labels(display):
    """Texts with the boxes that they take in the picture, in pixels."""
    renderer = display.figure_.canvas.get_renderer()
    return {text.get_text(): text.get_window_extent(renderer) for text in display.ax_.texts}


def bars(display):
    return [line for line in display.ax_.lines if line.get_color() == ACCENT]


@pytest.mark.parametrize("k", [2, 3, 7, 15])
@pytest.mark.parametrize("length", [1, 12, 40])
def test_names_lie_within_the_figure_and_do_not_overlap(k, length):
    names = [f"{j:02d} {'m' * length}" for j in range(k)]
    display = CriticalDifferenceDisplay.from_scores(made_up(k), names)
    boxes = labels(display)
    assert sum(name in text for name in names for text in boxes) == k
    width, height = display.figure_.canvas.get_width_height()
    for box in boxes.values():
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
    for one, other in combinations(boxes.values(), 2):
        assert not one.overlaps(other)


def test_long_names_in_small_axes_are_made_smaller():
    names = [f"a model with a rather long name {j}" for j in range(15)]
    _, ax = plt.subplots(figsize=(6.5, 4.0))
    display = CriticalDifferenceDisplay.from_scores(made_up(15), names, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    own = CriticalDifferenceDisplay(display.result).plot()
    sizes = [min(t.get_fontsize() for t in d.ax_.texts) for d in (display, own)]
    assert sizes[0] < 0.8 * sizes[1]
    frame = ax.get_window_extent()
    boxes = labels(display)
    assert all(box.x0 >= frame.x0 and box.x1 <= frame.x1 for box in boxes.values())
    for one, other in combinations(boxes.values(), 2):
        assert not one.overlaps(other)


def test_lines_start_at_the_ranks_and_bars_span_the_groups():
    scores = made_up(9)
    result = nemenyi_test(scores)
    display = CriticalDifferenceDisplay.from_scores(scores)
    assert display.result.groups == result.groups and len(result.groups) > 1
    starts = [line.get_xdata()[0] for line in display.ax_.lines if len(line.get_xdata()) == 3]
    np.testing.assert_allclose(sorted(starts), sorted(result.average_ranks))
    rank = dict(zip(result.names, result.average_ranks, strict=True))
    for bar, group in zip(bars(display), result.groups, strict=True):
        low, high = min(bar.get_xdata()), max(bar.get_xdata())
        within = {name for name in result.names if low <= rank[name] <= high}
        assert set(group) <= within
        assert low <= rank[group[0]] <= low + 0.17 and high - 0.17 <= rank[group[-1]] <= high
    # the best rank is on the right, and bars at one height do not touch
    left, right = display.ax_.get_xlim()
    assert left > 9 and right < 1
    for one, other in combinations(bars(display), 2):
        if one.get_ydata()[0] == other.get_ydata()[0]:
            assert max(one.get_xdata()) < min(other.get_xdata())


def test_the_critical_difference_is_drawn_to_scale():
    display = CriticalDifferenceDisplay.from_scores(made_up(6))
    difference = display.result.critical_difference
    assert f"CD = {difference:.2f}" in labels(display)
    lengths = [abs(np.subtract(*line.get_xdata()[:2])) for line in display.ax_.lines]
    assert any(length == pytest.approx(difference) for length in lengths)
    few = CriticalDifferenceDisplay.from_scores(made_up(4, n=2))
    assert few.result.critical_difference > 3
    assert max(abs(np.subtract(*line.get_xdata()[[0, -1]])) for line in few.ax_.lines) <= 3.2


def test_names_of_a_frame_and_names_given():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(made_up(3), columns=["A", "B", "C"])
    display = CriticalDifferenceDisplay.from_scores(frame)
    assert any(text.startswith("B (") for text in labels(display))
    again = CriticalDifferenceDisplay.from_scores(frame, names=["x", "y", "z"], alpha=0.1)
    assert again.result.names == ("x", "y", "z") and again.result.alpha == 0.1
    assert {name for group in again.result.groups for name in group} <= {"x", "y", "z"}
    with pytest.raises(ValueError, match="names must be 3 different names"):
        CriticalDifferenceDisplay.from_scores(frame, names=["x", "y", "y"])
    with pytest.raises(ValueError, match="names must be 3 different names"):
        CriticalDifferenceDisplay.from_scores(frame, names=["x", "y"])


def test_scores_where_higher_is_better():
    up = CriticalDifferenceDisplay.from_scores(-made_up(4), lower_is_better=False)
    down = CriticalDifferenceDisplay.from_scores(made_up(4))
    np.testing.assert_array_equal(up.result.average_ranks, down.result.average_ranks)


def test_a_dollar_sign_starts_no_formula():
    names = ["beta $x_{$", "$", "plain"]
    table = np.array([[1.0, 2.0, 3.0]] * 4)
    display = CriticalDifferenceDisplay.from_scores(table, names=names)
    display.figure_.canvas.draw()
    shown = {text.get_text() for text in display.ax_.texts}
    assert {"beta $x_{$ (1.00)", "$ (2.00)"} <= shown
