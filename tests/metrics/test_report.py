"""The per-class report: its numbers, its table and its frames."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import precision_recall_fscore_support

from echelon import metrics

LABELS = ["poor", "fair", "good", "best"]


@pytest.fixture
def data():
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 4, 200)
    predicted = np.clip(truth + generator.integers(-1, 3, 200), 0, 3)
    return truth, predicted, generator.random(200)


def test_precision_and_recall_agree_with_scikit_learn(data):
    truth, predicted, weights = data
    report = metrics.ordinal_report(truth, predicted, sample_weight=weights)
    precision, recall, _, _ = precision_recall_fscore_support(
        truth, predicted, sample_weight=weights
    )
    np.testing.assert_allclose(report.precision, precision, rtol=1e-12)
    np.testing.assert_allclose(report.recall, recall, rtol=1e-12)


def test_rows_are_the_metrics_of_each_class(data):
    truth, predicted, weights = data
    report = metrics.ordinal_report(truth, predicted, sample_weight=weights)
    for k in range(4):
        rows = truth == k
        arguments = {"classes": range(4), "sample_weight": weights[rows]}
        error = metrics.mean_absolute_rank_error(truth[rows], predicted[rows], **arguments)
        near = metrics.within_one_accuracy(truth[rows], predicted[rows], **arguments)
        signed = np.average((predicted - truth)[rows], weights=weights[rows])
        assert report.n[k] == pytest.approx(weights[rows].sum())
        assert report.mean_absolute_error[k] == pytest.approx(error)
        assert report.within_one[k] == pytest.approx(near)
        assert report.mean_signed_error[k] == pytest.approx(signed)


def test_totals_are_the_metrics_of_all_rows(data):
    truth, predicted, weights = data
    totals = metrics.ordinal_report(truth, predicted, sample_weight=weights).totals
    arguments = (truth, predicted)
    w = {"sample_weight": weights}
    assert totals == {
        "n": pytest.approx(weights.sum()),
        "accuracy": pytest.approx(1 - metrics.zero_one_error(*arguments, **w)),
        "mean_absolute_error": metrics.mean_absolute_rank_error(*arguments, **w),
        "macro_mean_absolute_error": metrics.macro_mean_absolute_error(*arguments, **w),
        "maximum_mean_absolute_error": metrics.maximum_mean_absolute_error(*arguments, **w),
        "within_one": metrics.within_one_accuracy(*arguments, **w),
        "mean_signed_error": pytest.approx(np.average(predicted - truth, weights=weights)),
        "quadratic_weighted_kappa": metrics.quadratic_weighted_kappa(*arguments, **w),
    }


def test_levels_without_rows_are_undefined_not_zero():
    report = metrics.ordinal_report(["poor", "best"], ["poor", "good"], classes=LABELS)
    assert report.classes.tolist() == LABELS
    np.testing.assert_array_equal(report.n, [1, 0, 0, 1])
    np.testing.assert_array_equal(report.precision, [1, np.nan, 0, np.nan])
    np.testing.assert_array_equal(report.recall, [1, np.nan, np.nan, 0])
    assert math.isnan(report.mean_signed_error[1])
    assert str(report).splitlines()[2].split() == ["fair", "0", *"–––––"]


def test_the_table_is_aligned(data):
    truth, predicted, weights = data
    names = np.array(LABELS)
    for w in (None, weights):
        report = metrics.ordinal_report(
            names[truth], names[predicted], classes=LABELS, sample_weight=w
        )
        table = [line for line in str(report).splitlines()[:-1] if line]
        assert len(table) == 6
        assert len({len(line) for line in table}) == 1
        assert [line.split()[0] for line in table[1:]] == [*LABELS, "all"]
    assert f"{report.totals['quadratic_weighted_kappa']:.3f}" in str(report).splitlines()[-1]


@pytest.mark.parametrize(("backend", "library"), [("pandas", pd), ("polars", pl)])
def test_frames(data, backend, library):
    truth, predicted, _ = data
    names = np.array(LABELS)
    report = metrics.ordinal_report(names[truth], names[predicted], classes=LABELS)
    frame = report.to_frame(backend)
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == [
        "class", "n", "precision", "recall", "mean_absolute_error", "within_one",
        "mean_signed_error",
    ]  # fmt: skip
    assert list(frame["class"]) == LABELS
    np.testing.assert_array_equal(frame["recall"].to_numpy(), report.recall)
    np.testing.assert_array_equal(frame["n"].to_numpy(), np.bincount(truth))
