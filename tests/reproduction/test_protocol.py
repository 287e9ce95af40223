"""Splits and scaling."""

import numpy as np
import pytest

from echelon import datasets
from echelon.reproduction import ReproductionError
from echelon.reproduction.protocol import (
    Dataset,
    Population,
    Protocol,
    draw_split,
    load,
    split_rows,
)


def test_splits_depend_on_seed_and_index_alone():
    first = split_rows(100, 60, seed=0, index=3)
    split_rows(100, 60, seed=0, index=1)
    again = split_rows(100, 60, seed=0, index=3)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], split_rows(100, 60, seed=0, index=4)[0])
    assert not np.array_equal(first[0], split_rows(100, 60, seed=1, index=3)[0])


def test_a_split_is_a_partition_of_the_right_size():
    train, test = split_rows(74, 50, seed=0, index=0)
    assert len(train) == 50 and len(test) == 24
    np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(74))
    with pytest.raises(ReproductionError, match="74 rows leaves nothing to test"):
        split_rows(74, 74, seed=0, index=0)


def test_inputs_are_standardised_by_the_training_part():
    rng = np.random.default_rng(1)
    X = np.c_[rng.normal(3.0, 9.0, 40), np.full(40, 7.0)]
    data = Dataset(X, np.arange(40) % 3, (0, 1, 2))
    split = draw_split(data, 25, seed=0, index=0)
    train, test = split_rows(40, 25, seed=0, index=0)
    mean, sd = X[train, 0].mean(), X[train, 0].std()
    np.testing.assert_allclose(split.X_test[:, 0], (X[test, 0] - mean) / sd)
    np.testing.assert_allclose(split.X_train[:, 0].std(), 1.0)
    assert not split.X_train[:, 1].any()  # a constant input becomes 0, not NaN
    np.testing.assert_array_equal(split.y_test, data.y[test])


@pytest.mark.parametrize("error", [FileNotFoundError, ValueError])
def test_missing_or_wrong_data_is_one_sentence(monkeypatch, error):
    def missing(name, **options):
        raise error("no abalone here")

    monkeypatch.setattr(datasets, "fetch_benchmark", missing)
    with pytest.raises(ReproductionError, match="no abalone here"):
        load("abalone", Protocol(5, 0))


def test_a_population_draws_rows_of_its_own_for_every_split():
    population = Population("make_nonlinear_ordinal", 40, tuple(range(1, 11)))
    first, again, other, reseeded = (
        draw_split(population, 60, seed=seed, index=index)
        for seed, index in ((0, 2), (0, 2), (0, 3), (1, 2))
    )
    np.testing.assert_array_equal(first.X_train, again.X_train)
    np.testing.assert_array_equal(first.y_test, again.y_test)
    for unlike in (other, reseeded):
        assert not np.isclose(first.X_train[:, 0], unlike.X_train[:, 0]).any()
    assert first.X_train.shape == (60, 15) and first.X_test.shape == (40, 15)
    np.testing.assert_allclose(first.X_train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(first.X_train.std(axis=0), 1.0)
    raw = population.parts(60, seed=0, index=2)
    np.testing.assert_allclose(
        first.X_test, (raw.X_test - raw.X_train.mean(axis=0)) / raw.X_train.std(axis=0)
    )
    # no row of one part is in the other
    assert not np.isclose(raw.X_train[:, :1], raw.X_test[:, 0]).any()


def test_a_population_has_the_labels_of_its_generator():
    parts = Population("make_nonlinear_ordinal", 5000, tuple(range(1, 11))).parts(
        5000, seed=0, index=0
    )
    for labels in (parts.y_train, parts.y_test):
        shares = np.bincount(labels, minlength=11)[1:] / 5000
        np.testing.assert_allclose(shares, 0.1, atol=0.02)
