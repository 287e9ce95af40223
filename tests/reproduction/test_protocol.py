"""Splits and scaling."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from echelon import datasets
from reproduction import ReproductionError
from reproduction.protocol import (
    PROTOCOL_VERSION,
    Dataset,
    Population,
    Protocol,
    draw_split,
    load,
    load_splits,
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


def test_the_protocol_is_that_of_its_version():
    # Where these change, so do results: raise PROTOCOL_VERSION.
    assert PROTOCOL_VERSION == 1
    assert split_rows(12, 8, seed=0, index=3)[1].tolist() == [1, 5, 0, 10]
    population = Population("make_nonlinear_ordinal", 6, tuple(range(1, 11)))
    drawn = draw_split(population, 6, seed=0, index=2)
    assert drawn.y_test.tolist() == [3, 4, 5, 9, 5, 2]
    np.testing.assert_allclose(drawn.X_train[0, :3], [-1.788162, -0.081269, 1.315511], atol=1e-6)


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


@pytest.fixture
def published(monkeypatch):
    """Two published splits of ten made-up rows, and the names they were asked for by."""
    rng = np.random.default_rng(2)
    bunch = Bunch(
        data=rng.normal(4.0, 2.0, (10, 3)),
        target=1 + np.arange(10) % 3,
        train=np.array([np.arange(10) < 6, np.arange(10) % 5 > 1]),
        classes=np.array([1, 2, 3, 4]),
    )
    asked = []

    def fetch(collection, name):
        asked.append((collection, name))
        return bunch

    monkeypatch.setattr(datasets, "fetch_splits", fetch)
    return bunch, asked


def test_published_splits_are_taken_as_they_are(published):
    bunch, asked = published
    data = load_splits("wine", Protocol(4, splits="gpor"))
    assert asked == [("gpor", "wine_4bins")] and data.classes == (1, 2, 3, 4)
    for index, train in enumerate(bunch.train):
        split = draw_split(data, 6, seed=index, index=index)
        np.testing.assert_array_equal(split.y_train, bunch.target[train])
        np.testing.assert_array_equal(split.y_test, bunch.target[~train])
        mean, sd = bunch.data[train].mean(axis=0), bunch.data[train].std(axis=0)
        np.testing.assert_allclose(split.X_test, (bunch.data[~train] - mean) / sd)
        np.testing.assert_allclose(split.X_train.std(axis=0), 1.0)


def test_published_splits_have_their_own_number_and_size(published):
    data = load_splits("wine", Protocol(4, splits="gpor"))
    with pytest.raises(ReproductionError, match="wine_4bins has 2 published splits; found split 3"):
        draw_split(data, 6, seed=0, index=2)
    with pytest.raises(ReproductionError, match="wine_4bins train on 6 rows; found 7"):
        draw_split(data, 7, seed=0, index=0)


def test_missing_splits_are_one_sentence(monkeypatch):
    def missing(collection, name):
        raise FileNotFoundError(f"no {name} here")

    monkeypatch.setattr(datasets, "fetch_splits", missing)
    with pytest.raises(ReproductionError, match="no wine_5bins here"):
        load_splits("wine", Protocol(5, splits="gpor"))
