"""Sets of pairs: what they hold, whatever form they came in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.pairs import PairSet, query_codes


def listed(pairs):
    """All pairs with their weights, sorted."""
    rows = []
    for winners, losers, weights in pairs.blocks(size=7):
        rows += zip(winners.tolist(), losers.tolist(), weights.tolist(), strict=True)
    return sorted(rows)


def brute_force(labels, qid, weights, scales):
    rows = []
    codes = {}
    for query in qid:
        codes.setdefault(query, len(codes))
    for i in range(len(labels)):
        for j in range(len(labels)):
            if qid[i] == qid[j] and labels[i] > labels[j]:
                weight = scales[codes[qid[i]]] * weights[i] * weights[j]
                if weight > 0:
                    rows.append((i, j, weight))
    return sorted(rows)


QUERY_IDS = st.sampled_from(["a", 1, (1, 2), 2.5, "1", (1, "x")])


@st.composite
def tables(draw):
    n = draw(st.integers(1, 25))
    labels = draw(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=n, max_size=n))
    qid = draw(st.lists(QUERY_IDS, min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    n_queries = len(set(qid))
    scales = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=n_queries, max_size=n_queries))
    return labels, qid, weights, scales


@given(tables())
def test_labels_imply_a_pair_of_every_two_rows_of_a_query_that_differ(table):
    expected = brute_force(*table)
    pairs = PairSet.from_labels(*table)
    assert listed(pairs) == expected
    assert pairs.n_pairs == len(expected)
    assert pairs.total_weight == sum(weight for _, _, weight in expected)


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table, random):
    labels, qid, weights, _ = table
    places = list(range(len(labels)))
    random.shuffle(places)
    pairs = PairSet.from_labels(labels, qid, weights)
    shuffled = PairSet.from_labels(
        [labels[k] for k in places], [qid[k] for k in places], [weights[k] for k in places]
    )
    back = sorted((places[i], places[j], w) for i, j, w in listed(shuffled))
    assert back == listed(pairs)


@given(tables())
def test_segments_and_their_sums(table):
    part = PairSet.from_labels(*table).implied
    if part is None:
        return
    totals = np.arange(1.0, part.n_segments + 1)
    below = np.zeros(part.n_segments)
    for s in range(part.n_segments):
        for r in range(part.n_segments):
            if part.segment_queries[s] == part.segment_queries[r]:
                below[s] += totals[r] * (r < s)
    np.testing.assert_array_equal(part.below(totals), below)
    assert part.most_levels == part.levels.max() + 1
    assert len(part.ids) == len(part.scales) == part.n_queries


def test_sums_over_more_levels_than_go_by_passes():
    part = PairSet.from_labels([*range(100), 0, 1], ["a"] * 100 + ["b"] * 2).implied
    below = part.below(np.ones(102))
    np.testing.assert_array_equal(below, [*range(100), 0, 1])


@pytest.mark.parametrize(
    ("qid", "ids"),
    [
        (None, [None]),
        (["b", "a", "b"], ["b", "a"]),
        ([(1, 2), (1, 3), (1, 2)], [(1, 2), (1, 3)]),
        ([1, "1", 1], [1, "1"]),
        ([2**63, -1, 2**63], [2**63, -1]),
        ([2**63 + 1, -1, 2**63 + 1], [2**63 + 1, -1]),
        ([2**80, 1, 2**80], [2**80, 1]),
        (np.array([3, 1, 3]), [3, 1]),
        (np.array([127, -128, 127], dtype=np.int8), [127, -128]),
        (np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64), [2**64 - 1, 2**64 - 2]),
        (np.array(["x", "y", "x"]), ["x", "y"]),
        (pd.Series(["x", "y", "x"], index=[7, 8, 9]), ["x", "y"]),
        (pd.Series(["x", "y", "x"]).astype("category"), ["x", "y"]),
        (pl.Series(["x", "y", "x"]), ["x", "y"]),
        (pl.Series([5, 4, 5]), [5, 4]),
        (pa.array(["x", "y", "x"]), ["x", "y"]),
        ([True, False, True], [True, False]),
    ],
)
def test_query_codes_by_first_appearance(qid, ids):
    codes, found = query_codes(qid, 3)
    assert found == ids
    assert codes.tolist() == ([0, 0, 0] if qid is None else [0, 1, 0])


def test_distinct_texts_and_dates_stay_distinct():
    assert query_codes(["a", "a\x00"], 2)[0].tolist() == [0, 1]
    days = pd.Series(pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-02"]))
    codes, ids = query_codes(days, 3)
    assert codes.tolist() == [0, 1, 0]
    assert ids[1] == np.datetime64("2024-01-01")


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([1, 2], "qid must have one entry per row, 3; found 2"),
        ([[1], [2], [3]], "qid must hold hashable ids"),
        ([1, None, 2], "qid must not be missing"),
        ([1.0, float("nan"), 2.0], "qid must not be missing; found NaN"),
        (pd.Series([1, pd.NA, 2], dtype="Int64"), "qid must not be missing"),
        (pd.Series(pd.to_datetime(["2024-01-02", None, None])), "qid must not be missing"),
        (np.zeros((3, 2)), r"qid must be one-dimensional; found shape \(3, 2\)"),
    ],
)
def test_bad_queries(qid, message):
    with pytest.raises(ValueError, match=message):
        query_codes(qid, 3)


def test_rows_without_a_partner_are_left_out():
    pairs = PairSet.from_labels(
        [1, 0, 3, 2, 2, 9], ["a", "a", "b", "c", "c", "a"], [1, 1, 1, 1, 1, 0]
    )
    assert pairs.implied.rows.tolist() == [1, 0]
    assert pairs.kind == "bipartite"
    empty = PairSet.from_labels([1, 1, 2], ["a", "a", "b"])
    assert empty.implied is None and empty.kind == "empty"
    assert empty.n_pairs == 0 and empty.total_weight == 0.0 and list(empty.blocks()) == []
    assert PairSet.from_labels([]).n_pairs == 0


def test_pairs_are_counted_beyond_32_bits_without_being_listed():
    n = 300_000
    pairs = PairSet.from_labels(np.arange(n) % 2)
    assert pairs.n_pairs == (n // 2) ** 2 > 2**32
    assert pairs.total_weight == (n // 2) ** 2
    assert PairSet.from_labels(np.arange(n) + 0.5).n_pairs == n * (n - 1) // 2


def test_kinds():
    labels = PairSet.from_labels([0, 1, 2, 0])
    stated = PairSet.from_pairs([[0, 1]], 4)
    assert [labels.kind, stated.kind, (labels + stated).kind] == ["k-partite", "listed", "mixed"]
    assert PairSet.from_labels([False, True]).kind == "bipartite"


def test_union_is_the_sum_of_both():
    labels, stated = PairSet.from_labels([0, 1, 1]), PairSet.from_pairs([[0, 1]], 3, [2.0])
    both = labels + stated + PairSet.from_pairs([[0, 1], [2, 1]], 3)
    assert listed(both) == sorted([*listed(labels), (0, 1, 2.0), (0, 1, 1.0), (2, 1, 1.0)])
    assert both.n_pairs == 5 and both.total_weight == 6.0
    assert listed(stated + labels) == listed(labels + stated)
    assert listed(PairSet(3) + stated) == listed(stated)
    with pytest.raises(ValueError, match="same rows; found 3 and 4"):
        labels + PairSet(4)
    with pytest.raises(ValueError, match="Only one of two"):
        labels + labels
    with pytest.raises(TypeError):
        labels + 1


def test_pairs_of_weight_zero_are_dropped():
    pairs = PairSet.from_pairs([[0, 1], [1, 2]], 3, [0.0, 2.0])
    assert listed(pairs) == [(1, 2, 2.0)]
    assert PairSet.from_pairs([[0, 1]], 3, [0.0]).kind == "empty"
    assert PairSet.from_pairs([], 3).kind == "empty"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 3]], 3), "pairs must name rows 0 to 2; found 0 to 3"),
        (([[-1, 1]], 3), "found -1 to 1"),
        (([[1, 1]], 3), "found row 1 with itself"),
        (([[0.0, 1.0]], 3), "whole numbers of shape"),
        (([0, 1], 3), "whole numbers of shape"),
        (([[0, 1]], 3, [-1.0]), "pair weights must be 1 finite numbers, none negative; found -1.0"),
        (([[0, 1]], 3, [np.nan]), "found nan"),
        (([[0, 1]], 3, [1.0, 2.0]), r"found shape \(2,\)"),
    ],
)
def test_bad_pairs(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairSet.from_pairs(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"],), "labels must be one column of numbers"),
        (([[1, 2]],), r"found shape \(1, 2\)"),
        (([1.0, np.nan],), "labels must not be missing"),
        (([1, 2], None, [1.0]), r"weights must be 2 finite numbers.*found shape \(1,\)"),
        (([1, 2], None, [1.0, -2.0]), r"none negative; found -2\.0"),
        (([1, 2], None, None, [np.inf]), "query_scales must be 1 finite numbers.*found inf"),
        (([1, 2], None, None, [1.0, 1.0]), r"query_scales.*found shape \(2,\)"),
    ],
)
def test_bad_labels(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairSet.from_labels(*arguments)


JUDGED = {"left": ["x", "y", "z"], "right": ["z", "z", "x"], "label": [1, -1, 0]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "label",
    [[1, -1, 0], [0.5, -2.5, 0.0], ["left", "right", "tie"]],
)
def test_judgements_from_any_frame(make, label):
    frame = make(JUDGED | {"label": label, "times": [2.0, 3.0, 4.0]})
    pairs = PairSet.from_frame(frame, items=["x", "y", "z"], weights="times")
    assert listed(pairs) == [(0, 2, 2.0), (2, 1, 3.0)]
    assert listed(PairSet.from_frame(frame, ["x", "y", "z"], weights=[1, 5, 1])) == [
        (0, 2, 1.0),
        (2, 1, 5.0),
    ]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_booleans_and_what_zero_means(make):
    items = pd.Index(["x", "y", "z"])
    expected = [(0, 2, 1.0), (2, 1, 1.0), (2, 0, 1.0)]
    assert listed(PairSet.from_frame(make(JUDGED | {"label": [True, False, True]}), items)) == (
        sorted(expected)
    )
    zeros = make(JUDGED | {"label": [1, 0, 1]})
    assert listed(PairSet.from_frame(zeros, items, zero="right")) == sorted(expected)
    assert listed(PairSet.from_frame(zeros, items, zero="tie")) == [(0, 2, 1.0), (2, 0, 1.0)]
    with pytest.raises(ValueError, match="unclear whether 0 means a tie"):
        PairSet.from_frame(zeros, items)


@pytest.mark.parametrize("kind", ["boolean", "Int64"])
def test_labels_of_columns_that_may_be_missing(kind):
    frame = pd.DataFrame(JUDGED | {"label": pd.Series([1, 1, 1]).astype(kind)})
    assert PairSet.from_frame(frame, ["x", "y", "z"]).n_pairs == 3


def test_ids_may_be_tuples_and_mixed():
    items = [(1, 2), "b", 3]
    frame = {"left": [(1, 2), 3], "right": ["b", (1, 2)], "label": [1, 1]}
    assert listed(PairSet.from_frame(frame, items, zero="tie")) == [(0, 1, 1.0), (2, 0, 1.0)]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"left": ["x", "y", "?"]}, {}, r"Column 'left' must hold ids of items; found '\?'"),
        ({"left": ["x", "y", []]}, {}, "Column 'left' must hold hashable ids"),
        ({"label": ["left", "up", "tie"]}, {}, "found 'up'"),
        ({"label": [1.0, np.nan, -1.0]}, {}, "none missing"),
        ({"label": [1, -1]}, {}, "equal lengths; found 3, 3 and 2"),
        ({"right": ["x", "z", "x"]}, {}, "found row 0 with itself"),
        ({}, {"zero": "left"}, "zero must be 'tie' or 'right'; found 'left'"),
        ({}, {"weights": "no"}, "a column 'no'; found none"),
        ({}, {"items": ["x", "y", "x"]}, "items must be distinct ids; found 'x' twice"),
        ({}, {"items": ["x", "y", None]}, "items must not be missing"),
    ],
)
def test_bad_judgements(change, options, message):
    arguments = {"items": ["x", "y", "z"]} | options
    with pytest.raises(ValueError, match=message):
        PairSet.from_frame(JUDGED | change, **arguments)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_columns(make):
    frame = make({"left": ["x"], "right": ["y"]})
    with pytest.raises(ValueError, match="a column 'label'; found none"):
        PairSet.from_frame(frame, ["x", "y"])


def test_it_tells_what_it_is():
    pairs = PairSet.from_labels(np.arange(2000), np.repeat(["a", "b"], 1000))
    assert repr(pairs) == "PairSet(2,000 rows, 999,000 pairs, k-partite)"
    assert repr(PairSet(3)) == "PairSet(3 rows, 0 pairs, empty)"


def test_query_scales_by_id():
    labels, qid = [1, 0, 1, 0], ["x", "x", "y", "y"]
    by_id = PairSet.from_labels(labels, qid, query_scales={"y": 3.0, "x": 2.0, "other": 9.0})
    in_order = PairSet.from_labels(labels, qid, query_scales=[2.0, 3.0])
    np.testing.assert_array_equal(by_id.implied.scales, in_order.implied.scales)
    with pytest.raises(ValueError, match="must have a number for every query; found none for 'y'"):
        PairSet.from_labels(labels, qid, query_scales={"x": 1.0})


def test_all_pairs_written_out():
    pairs = PairSet.from_labels([2, 1, 0]) + PairSet.from_pairs([[2, 0]], 3, [5.0])
    listed = pairs.to_listed()
    found = dict(zip(zip(listed.winners, listed.losers, strict=True), listed.weights, strict=True))
    assert found == {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0, (2, 0): 5.0}
    assert len(PairSet(4).to_listed().winners) == 0


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_tables_of_winners_and_losers(make):
    games = make({"winner": ["x", "z"], "loser": ["z", "y"], "times": [2.0, 1.0]})
    names = {"left": "winner", "right": "loser"}
    pairs = PairSet.from_frame(games, ["x", "y", "z"], **names, label=None, weights="times")
    assert pairs.listed.winners.tolist() == [0, 2]
    assert pairs.listed.losers.tolist() == [2, 1]
    assert pairs.listed.weights.tolist() == [2.0, 1.0]
    with pytest.raises(ValueError, match="frame must have a column 'label'; found none"):
        PairSet.from_frame(games, ["x", "y", "z"], **names)
