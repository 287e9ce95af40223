"""One user's ratings from those of others."""

import gzip

import numpy as np
import pytest

from reproduction import ReproductionError, ratings
from reproduction.ratings import Ratings, rating_problem, read_ratings


@pytest.fixture
def made_up():
    """Six users and nine items; user 4 has rated the most."""
    rng = np.random.default_rng(0)
    full = np.argwhere(np.ones((6, 9)))
    there = (rng.random(len(full)) < 0.5) | (full[:, 0] == 4)
    users, items = full[there].T
    order = rng.permutation(len(users))
    values = np.round(rng.uniform(0.0, 5.0, len(users)), 2)
    return Ratings(users[order], items[order], values[order])


@pytest.mark.parametrize("choice", ["most", "random"])
def test_every_rating_is_in_its_place(made_up, choice):
    problem = rating_problem(made_up, inputs=3, choice=choice, cuts=[1.0, 3.0], seed=1)
    assert problem.user == 4 and problem.X.shape == (9, 3) and problem.classes == (1, 2, 3)
    known = {
        (user, item): value
        for user, item, value in zip(made_up.users, made_up.items, made_up.values, strict=True)
    }
    counts = {user: np.sum(made_up.users == user) for user in (0, 1, 2, 3, 5)}
    if choice == "most":
        chosen = sorted(sorted(counts, key=lambda user: (-counts[user], user))[:3])
    else:
        chosen = sorted(np.random.default_rng(1).choice([0, 1, 2, 3, 5], 3, replace=False))
    expected = [[known.get((user, item), np.nan) for user in chosen] for item in range(9)]
    np.testing.assert_array_equal(problem.X, expected)
    targets = np.array([known[4, item] for item in range(9)])
    np.testing.assert_array_equal(problem.y, 1 + (targets > 1.0) + (targets > 3.0))
    assert problem.observed == pytest.approx(1.0 - np.isnan(expected).mean())


def test_another_choice_is_one_sentence(made_up):
    with pytest.raises(ReproductionError, match="choice must be most or random; found 'few'"):
        rating_problem(made_up, inputs=3, choice="few", cuts=[1.0], seed=0)


def test_ratings_are_read_from_a_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ECHELON_DATA", str(tmp_path))
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ReproductionError, match="'jester5k' is in no data folder and cannot be do"):
        read_ratings("jester5k")
    with pytest.raises(ReproductionError, match="no ratings 'films'; there are insteval, jester"):
        read_ratings("films")
    (tmp_path / "ranking").mkdir()
    with gzip.open(tmp_path / "ranking" / "jester5k.csv.gz", "wt") as file:
        file.write("user,joke,y\n3,1,-1.5\n3,2,4.0\n")
    with pytest.raises(ReproductionError, match="is not the jester5k set: its content checksum"):
        read_ratings("jester5k")
    checksum = "f" * 64
    facts = ratings.RatingFacts("user", "joke", checksum)
    monkeypatch.setitem(ratings.RATINGS, "jester5k", facts)
    monkeypatch.setattr("echelon.datasets.ranking_sets.content_checksum", lambda *args: checksum)
    found = read_ratings("jester5k")
    assert (found.users.tolist(), found.items.tolist()) == ([3, 3], [1, 2])
    assert found.values.tolist() == [-1.5, 4.0]
