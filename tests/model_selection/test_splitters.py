"""Folds of whole queries and of pairs."""

import pickle
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from echelon.model_selection.splitters import PairKFold, QueryKFold, QueryShuffleSplit

QIDS = st.lists(st.integers(0, 12), min_size=8, max_size=60).filter(lambda q: len(set(q)) >= 3)
SPLITTERS = [
    QueryKFold(3),
    QueryKFold(3, shuffle=True, random_state=4),
    QueryShuffleSplit(4, test_size=0.4, random_state=1),
]


def held_out(splitter, qid):
    """Queries of the test part of every split, checked to be whole and apart."""
    qid = list(qid)
    found = []
    for training, test in splitter.split(np.zeros((len(qid), 1)), qid=qid):
        assert len(np.intersect1d(training, test)) == 0
        assert (np.diff(training) > 0).all() and (np.diff(test) > 0).all()
        inside = {qid[i] for i in test}
        assert inside and inside.isdisjoint(qid[i] for i in training)
        assert [i for i, query in enumerate(qid) if query in inside] == test.tolist()
        found.append(inside)
    assert len(found) == splitter.get_n_splits()
    return found


@given(QIDS, st.randoms())
@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_queries_stay_whole_and_the_order_of_rows_is_no_matter(splitter, qid, random):
    found = held_out(splitter, qid)
    shuffled = random.sample(qid, len(qid))
    assert held_out(splitter, shuffled) == found


@given(QIDS, st.booleans())
def test_folds_part_the_queries_and_are_balanced(qid, shuffle):
    splitter = QueryKFold(3, shuffle=shuffle, random_state=0 if shuffle else None)
    found = held_out(splitter, qid)
    assert sorted(query for fold in found for query in fold) == sorted(set(qid))
    sizes = [sum(query in fold for query in qid) for fold in found]
    largest = max(qid.count(query) for query in set(qid))
    assert max(sizes) - min(sizes) <= largest


def test_a_seed_draws_other_folds_and_the_same_ones_again():
    qid = np.repeat(np.arange(20), np.arange(1, 21))
    first, second, other = (
        held_out(QueryKFold(4, shuffle=True, random_state=seed), qid) for seed in (1, 1, 2)
    )
    assert first == second and first != other
    assert first != held_out(QueryKFold(4), qid)


@pytest.mark.parametrize(
    "ids",
    [
        ["q10", "q9", "q8", "q7"],
        [("a", 1), ("a", 2), ("b", 1), ("b", 0)],
        [1, "1", 2.5, ("x",)],
        [date(2020, 1, day) for day in (3, 1, 4, 2)],
        [b"z", b"y", b"x", b"w"],
        [-1.5, 0.0, 2.25, 9.0],
    ],
    ids=["texts", "tuples", "mixed", "dates", "bytes", "floats"],
)
@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_ids_of_any_kind(splitter, ids, rng):
    places = rng.integers(4, size=30)
    places[:4] = np.arange(4)
    qid = [ids[p] for p in places]
    found = held_out(splitter, qid)
    again = [qid[i] for i in rng.permutation(30)]
    assert held_out(splitter, again) == found


def test_columns_of_frames_and_groups_are_queries_too():
    qid = pd.Series(["b", "a", "b", "c", "a", "c"], index=[9, 3, 5, 1, 0, 2])
    expected = [test.tolist() for _, test in QueryKFold(3).split(np.zeros(6), qid=qid.to_numpy())]
    for kwargs in ({"qid": qid}, {"groups": qid}):
        found = [test.tolist() for _, test in QueryKFold(3).split(np.zeros(6), **kwargs)]
        assert found == expected


def test_they_are_splitters_of_scikit_learn_without_routing(rng):
    X, y, qid = rng.normal(size=(30, 2)), rng.normal(size=30), rng.integers(6, size=30)
    search = GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 3]}, cv=QueryKFold(3))
    search.fit(X, y, groups=qid)
    assert search.n_splits_ == 3
    predicted = cross_val_predict(
        KNeighborsRegressor(1), X, y, groups=qid, cv=QueryKFold(3, shuffle=True, random_state=0)
    )
    assert predicted.shape == (30,)
    for splitter in (*SPLITTERS, PairKFold(3, disjoint="items")):
        assert repr(pickle.loads(pickle.dumps(splitter))) == repr(splitter)
        assert repr(clone(splitter, safe=False)) == repr(splitter)


def test_the_share_of_queries_can_be_stated():
    qid = np.repeat(np.arange(10), 3)
    splits = list(QueryShuffleSplit(3, random_state=0).split(qid, qid=qid))
    assert [len(test) for _, test in splits] == [6, 6, 6]
    splits = list(QueryShuffleSplit(3, train_size=5, random_state=0).split(qid, qid=qid))
    assert [(len(training), len(test)) for training, test in splits] == [(15, 15)] * 3
    splits = list(QueryShuffleSplit(1, train_size=0.3, test_size=0.2).split(qid, qid=qid))
    assert [(len(training), len(test)) for training, test in splits] == [(9, 6)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: QueryKFold(1), "n_splits must be an integer of at least 2; found 1"),
        (lambda: QueryKFold(2, random_state=0), "random_state must be None where shuffle=False"),
        (lambda: QueryShuffleSplit(0), "n_splits must be an integer of at least 1"),
        (lambda: PairKFold(disjoint="rows"), "disjoint must be 'pairs' or 'items'; found 'rows'"),
        (lambda: next(QueryKFold(2).split(np.zeros(3))), "Pass qid or groups to split, one of"),
        (
            lambda: next(QueryKFold(2).split(np.zeros(2), groups=[1, 2], qid=[1, 2])),
            "Pass qid or groups to split, one of the two; found both",
        ),
        (
            lambda: next(QueryKFold(3).split(np.zeros(3), qid=[1, 2, 1])),
            "n_splits must be at most the number of queries, 2; found 3",
        ),
        (lambda: next(QueryKFold(2).split(np.zeros(3), qid=[1, 2])), "qid must have one entry per"),
        (lambda: next(PairKFold(2).split([(1, 2, 3)])), "pairs must have two columns; found 3"),
        (lambda: next(PairKFold(2).split([])), "pairs must be a table of two columns"),
        (lambda: next(PairKFold(2).split([1, 2])), "pairs must be a table of two columns"),
        (
            lambda: next(PairKFold(2).split(np.zeros((3, 5)), pairs=[(1, 2), (2, 3)])),
            "pairs must have a row per row of X, 3; found 2",
        ),
        (
            lambda: next(PairKFold(2).split([(1, 2), (2, 1)])),
            "n_splits must be at most the number of different pairs, 1; found 2",
        ),
        (
            lambda: list(PairKFold(3, disjoint="items").split([(1, 2), (2, 3), (3, 1), (1, 4)])),
            "leaves a fold without a pair between its own items",
        ),
    ],
)
def test_errors_are_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


PAIRS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda p: p[0] != p[1]),
    min_size=4,
    max_size=50,
).filter(lambda pairs: len({frozenset(p) for p in pairs}) >= 3)


def held_out_pairs(splitter, pairs):
    """Two items and number of judgements of the test part of every fold."""
    folds = []
    for training, test in splitter.split(pairs):
        apart = [frozenset(pairs[i]) for i in training], [frozenset(pairs[i]) for i in test]
        assert set(apart[0]).isdisjoint(apart[1])
        folds.append(sorted(map(sorted, apart[1])))
    return folds


@given(PAIRS, st.booleans(), st.randoms())
def test_judgements_of_the_same_items_stay_together(pairs, shuffle, random):
    splitter = PairKFold(3, shuffle=shuffle, random_state=5 if shuffle else None)
    folds = held_out_pairs(splitter, pairs)
    assert sorted(p for fold in folds for p in fold) == sorted(map(sorted, pairs))
    most = max(folds, key=len), min(folds, key=len)
    kinds = [frozenset(p) for p in pairs]
    assert len(most[0]) - len(most[1]) <= max(kinds.count(kind) for kind in kinds)
    assert held_out_pairs(splitter, random.sample(pairs, len(pairs))) == folds


def test_items_of_test_pairs_are_unseen(rng):
    pairs = [tuple(f"item {k}" for k in rng.choice(30, 2, replace=False)) for _ in range(600)]
    splitter = PairKFold(3, disjoint="items", shuffle=True, random_state=0)
    tested = []
    for training, test in splitter.split(pairs):
        inside = {item for i in test for item in pairs[i]}
        assert inside.isdisjoint(item for i in training for item in pairs[i])
        assert len(training) > len(test) > 0
        tested += test.tolist()
    assert len(set(tested)) == len(tested) < 600
    again = [i for _, test in splitter.split(np.array(pairs)) for i in test]
    assert again == tested


def test_groups_that_pairs_do_not_connect_are_kept_whole():
    groups = [(10 * g + i, 10 * g + j) for g in range(6) for i in range(4) for j in range(i)]
    tested = [test for _, test in PairKFold(3, disjoint="items").split(groups)]
    assert sorted(np.concatenate(tested).tolist()) == list(range(len(groups)))
    assert [len(test) for test in tested] == [12, 12, 12]


def test_rows_of_pairs_may_have_inputs_of_their_own():
    X, pairs = np.zeros((4, 7)), [("x", "y"), ("y", "x"), ("x", "z"), ("y", "z")]
    expected = [test.tolist() for _, test in PairKFold(2).split(pairs)]
    assert expected == [[0, 1], [2, 3]]
    for kwargs in ({"groups": np.array(pairs)}, {"pairs": pd.DataFrame(pairs)}):
        found = [test.tolist() for _, test in PairKFold(2).split(X, **kwargs)]
        assert found == expected
    assert PairKFold(2).get_n_splits(X) == 2
