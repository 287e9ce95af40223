"""What holds for every metric: the scale, the weights, the errors."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echelon import metrics
from echelon.ordinal.labels import LabelOrderWarning

GRADES = ["poor", "fair", "good", "best"]
TRUTH = np.array([0, 1, 2, 2, 3, 0, 3, 1])
CODES = np.array([0, 1, 1, 3, 3, 2, 3, 0])


def in_pandas(codes, labels):
    return pd.Categorical.from_codes(codes, labels, ordered=True)


def in_pandas_series(codes, labels):
    return pd.Series(in_pandas(codes, labels), index=np.arange(len(codes))[::-1])


def in_polars(codes, labels):
    names = [str(label) for label in labels]
    return pl.Series([names[code] for code in codes], dtype=pl.Enum(names))


def in_pyarrow(codes, labels):
    indices = pa.array(np.asarray(codes, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, list(labels), ordered=True)


CONTAINERS = [in_pandas, in_pandas_series, in_polars, in_pyarrow]


def on_codes(case, **kwargs):
    """Value of a metric on the plain codes, the reference for every other spelling."""
    levels = range(len(GRADES))
    return case.value(TRUTH, case.response(CODES, levels), classes=levels, **kwargs)


def test_every_metric_has_the_two_keywords(all_metrics):
    for name in all_metrics:
        parameters = inspect.signature(getattr(metrics, name)).parameters
        for keyword in ("classes", "sample_weight"):
            assert parameters[keyword].kind is inspect.Parameter.KEYWORD_ONLY
            assert parameters[keyword].default is None


@pytest.mark.parametrize("container", CONTAINERS)
def test_ordered_categories_keep_their_order(any_case, container):
    truth = container(TRUTH, GRADES)
    np.testing.assert_array_equal(
        any_case.value(truth, any_case.response(CODES, GRADES)), on_codes(any_case)
    )


@pytest.mark.parametrize("truth_in", [*CONTAINERS, lambda codes, labels: np.array(labels)[codes]])
@pytest.mark.parametrize("predicted_in", CONTAINERS)
def test_predictions_may_come_in_any_container(label_case, truth_in, predicted_in):
    truth, predicted = truth_in(TRUTH, GRADES), predicted_in(CODES, GRADES)
    np.testing.assert_array_equal(label_case.value(truth, predicted), on_codes(label_case))


def test_an_order_that_is_not_the_order_of_numbers(any_case):
    levels = [10, 5, 1]
    truth, codes = np.array([0, 1, 2, 2, 0]), np.array([0, 2, 2, 1, 1])
    expected = any_case.value(truth, any_case.response(codes, range(3)), classes=range(3))
    category = in_pandas(truth, levels)
    np.testing.assert_array_equal(
        any_case.value(category, any_case.response(codes, levels)), expected
    )
    np.testing.assert_array_equal(
        any_case.value(np.array(levels)[truth], any_case.response(codes, levels), classes=levels),
        expected,
    )


def test_classes_win_over_the_category(label_case):
    backwards = GRADES[::-1]
    truth, predicted = in_pandas(3 - TRUTH, backwards), in_pandas(3 - CODES, backwards)
    np.testing.assert_array_equal(
        label_case.value(truth, predicted, classes=GRADES), on_codes(label_case)
    )


def test_numbers_sort_by_value_over_both_columns(label_case):
    np.testing.assert_array_equal(
        label_case.value([1, 1, 3], [2, 1, 3]),
        label_case.value([1, 1, 3], [2, 1, 3], classes=[1, 2, 3]),
    )


def test_plain_text_warns_of_its_order(any_case):
    labels = np.array(["a", "b", "c", "d"])
    response = any_case.response(CODES, labels)
    with pytest.warns(LabelOrderWarning, match="y_true"):
        found = any_case.value(labels[TRUTH], response)
    np.testing.assert_array_equal(found, on_codes(any_case))


def test_fortran_and_read_only_arrays(any_case):
    table = np.asfortranarray(np.stack([TRUTH, CODES, 1.0 + TRUTH], axis=1))
    table.flags.writeable = False
    response = any_case.response(CODES, range(4))
    if response.ndim == 2:
        response = np.asfortranarray(response)
    response.flags.writeable = False
    np.testing.assert_allclose(
        any_case.value(table[:, 0], response, sample_weight=table[:, 2]),
        on_codes(any_case, sample_weight=1.0 + TRUTH),
        rtol=1e-14,
    )


@st.composite
def weighted_rows(draw):
    n_classes = draw(st.integers(2, 5))
    n = draw(st.integers(1, 25))
    codes = st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return n_classes, np.array(draw(codes)), np.array(draw(codes)), np.array(weights)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=weighted_rows())
def test_integer_weights_equal_repeated_rows(any_case, rows):
    n_classes, truth, codes, weights = rows
    levels = np.arange(n_classes) * 2
    response = any_case.response(codes, levels)
    for classes in (levels, None):
        if classes is None and response.ndim == 2:
            continue
        weighted = any_case.value(levels[truth], response, classes=classes, sample_weight=weights)
        repeated = any_case.value(
            np.repeat(levels[truth], weights), np.repeat(response, weights, axis=0), classes=classes
        )
        np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=weighted_rows(), factor=st.sampled_from([0.125, 3.0, 1e6]))
def test_only_relative_weights_matter(number_case, rows, factor):
    n_classes, truth, codes, weights = rows
    levels = range(n_classes)
    response = number_case.response(codes, levels)
    np.testing.assert_allclose(
        number_case.value(truth, response, classes=levels, sample_weight=factor * weights),
        number_case.value(truth, response, classes=levels, sample_weight=weights),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 7, r"sample_weight must have shape \(8,\)"),
        ([[1.0]] * 8, r"sample_weight must have shape \(8,\)"),
        ([-1.0] + [1.0] * 7, "sample_weight must not be negative; found -1"),
        ([0.0] * 8, "sample_weight must have a positive entry"),
        ([np.nan] + [1.0] * 7, "sample_weight must hold finite numbers"),
        ([np.inf] + [1.0] * 7, "sample_weight must hold finite numbers"),
        (["heavy"] * 8, "sample_weight must hold numbers"),
    ],
)
def test_bad_weights(any_case, weights, message):
    response = any_case.response(CODES, range(4))
    with pytest.raises(ValueError, match=message):
        any_case.metric(TRUTH, response, sample_weight=weights)


def test_lengths_must_match(any_case):
    with pytest.raises(ValueError, match="as many rows as y_true; found 8 rows for 7 labels"):
        any_case.metric(TRUTH[:-1], any_case.response(CODES, range(4)), classes=range(4))


def test_no_rows(any_case):
    with pytest.raises(ValueError, match="y_true must have at least one label; found none"):
        any_case.metric([], any_case.response(CODES, range(4))[:0], classes=range(4))


def test_missing_labels_are_named(any_case):
    truth = TRUTH.astype(np.float64)
    truth[3] = np.nan
    with pytest.raises(ValueError, match=r"y_true has 1 missing labels .* row 3"):
        any_case.metric(truth, any_case.response(CODES, range(4)))


def test_missing_predictions_are_named(label_case):
    predicted = CODES.astype(np.float64)
    predicted[5:] = np.nan
    with pytest.raises(ValueError, match=r"y_pred has 3 missing labels .* row 5"):
        label_case.metric(TRUTH, predicted)


def test_a_label_outside_the_scale(any_case):
    levels = range(3)
    with pytest.raises(ValueError, match=r"y_true has labels outside the scale: 3; .* 0 < 1 < 2"):
        any_case.metric(TRUTH, any_case.response(CODES % 3, levels), classes=levels)


def test_a_prediction_outside_the_scale(label_case):
    with pytest.raises(ValueError, match="y_pred has labels outside the scale: 9"):
        label_case.metric(TRUTH, CODES + 6 * (CODES == 3), classes=range(4))


def test_text_and_numbers_do_not_mix(label_case):
    with pytest.raises(ValueError, match="mixes text and numbers"):
        label_case.metric([1, 2, 3], ["1", "2", "3"])


def test_continuous_predictions_are_refused(label_case):
    with pytest.raises(ValueError, match="looks continuous"):
        label_case.metric(np.arange(40) % 4, np.linspace(0.0, 3.0, 40))


def test_two_columns_are_refused(label_case):
    with pytest.raises(ValueError, match="y_pred must be one column of labels"):
        label_case.metric(TRUTH, np.stack([CODES, CODES], axis=1))


def test_zero_weight_rows_are_absent_even_from_the_scale():
    truth, predicted = [1, 2, 3], [3, 2, 3]
    assert metrics.mean_absolute_rank_error(truth, predicted) == pytest.approx(2 / 3)
    assert metrics.mean_absolute_rank_error(truth, predicted, sample_weight=[1, 0, 1]) == 0.5


@pytest.mark.parametrize("name", ["zero_one_error", "kendall_tau_b", "ordinal_report"])
def test_metrics_made_from_formulas_show_the_arguments_they_take(name):
    metric = getattr(metrics, name)
    assert list(inspect.signature(metric).parameters) == [
        "y_true", "y_pred", "classes", "sample_weight"
    ]  # fmt: skip
    assert pickle.loads(pickle.dumps(metric)) is metric
