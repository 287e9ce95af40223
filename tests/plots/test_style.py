"""Colours that everybody tells apart, and texts that do not collide."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from echelon.plots import LearningCurveDisplay, style

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def seen(color, vision="usual"):
    """Coordinates L*, a*, b* of a colour."""
    v = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    linear = np.clip(VISION[vision] @ linear, 0.0, 1.0)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_neighbouring_classes_differ_for_every_eye(vision):
    found = [seen(color, vision) for color in style.class_colors(5)]
    assert all(np.linalg.norm(b - a) > 8 for a, b in pairwise(found))
    assert np.linalg.norm(found[-1] - found[0]) > 60


def test_the_ramp_grows_lighter_and_reads_on_light_and_dark():
    light = [seen(color)[0] for color in style.class_colors(30)]
    assert (np.diff(light) > -0.5).all()
    assert min(light) > 35 and max(light) < 75


@pytest.mark.parametrize("vision", VISION)
def test_the_first_series_differ_for_every_eye(vision):
    found = [seen(color, vision) for color in style.SERIES[:3]]
    assert min(np.linalg.norm(a - b) for a in found for b in found if a is not b) > 15


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=12),
    st.floats(0.01, 3),
    st.floats(-12, 0),
)
def test_spread_is_the_nearest_way_to_keep_apart(values, gap, low):
    high = low + gap * len(values) + 5
    found = style.spread(values, gap, low, high)
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    best = isotonic_regression(np.asarray(values)[order] - steps, y_min=low, y_max=high - steps[-1])
    np.testing.assert_allclose(found[order], best + steps, atol=1e-9)


def test_labels_are_thinned_out_only_where_they_must_be():
    assert len(style.thinned(30, 300, 10)) == 30
    assert len(style.thinned(30, 100, 10)) == 10
    assert style.thinned(30, 0.0, 10).tolist() == [0]


def test_long_names_stand_in_lines_upright_or_shortened():
    import matplotlib.pyplot as plt

    names = ["neither satisfied nor dissatisfied", "rather satisfied", "very $atis$fied"]
    _, ax = plt.subplots(figsize=(5, 3))
    ax.set_xlim(-0.5, 2.5)
    style.name_ticks(ax.xaxis, range(3), names)
    found = ax.get_xticklabels()
    assert [label.get_rotation() for label in found] == [0, 0, 0]
    assert "\n" in found[0].get_text() and found[2].get_text().startswith("very $")
    assert not found[2].get_parse_math()
    ax.set_xlim(-0.5, 29.5)
    style.name_ticks(ax.xaxis, range(30), [f"class number {k}, a long name" for k in range(30)])
    found = ax.get_xticklabels()
    assert {label.get_rotation() for label in found} == {90}
    assert all(len(label.get_text()) <= 18 for label in found)


def test_without_matplotlib_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^Plots need matplotlib; .*'echelon\[plot\]'\.$"):
        LearningCurveDisplay(None).plot()


AGREEMENT = ["strongly disagree", "disagree", "somewhat disagree", "neither"]
LIKERT = [f"{answer} with the statement that stands above" for answer in AGREEMENT]
LIKERT += [answer.replace("disagree", "agree") for answer in LIKERT[:3]]


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("inches", [1.5, 3.4, 8.0, 20.0])
def test_long_labels_that_differ_differ_when_they_are_shortened(axis, inches):
    figure = style.require_pyplot().figure(figsize=(inches, inches))
    ax = figure.subplots()
    ax.set_xlim(-0.5, 6.5)
    ax.set_ylim(-0.5, 6.5)
    named = getattr(ax, f"{axis}axis")
    style.name_ticks(named, np.arange(7.0), LIKERT, most=14)
    shown = [label.get_text() for label in named.get_ticklabels()]
    assert len(set(shown)) == len(shown) == len(named.get_ticklocs())


def test_equal_texts_stay_equal():
    assert len(set(style.kept_apart(["a long text indeed"] * 3, 8))) == 1
    apart = style.kept_apart(
        ["the same beginning A the same end", "the same beginning B the same end"], 9
    )
    assert len(set(apart)) == 2
