"""Weighted misranking L_ω: equal to its definition, and axioms that are really checked."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.metrics.ranking import emphasis
from echelon.metrics.ranking.auc import auc_score
from echelon.metrics.ranking.emphasis import check_emphasis, preference_loss, weighted_misranking

TIES = {"half": 0.5, "error": 1.0, "correct": 0.0}


def ranks_of(y):
    return [1 + sum(other > label for other in y) for label in y]


def by_definition(y, s, omega, ties="half"):
    n, ranks, total = len(y), ranks_of(y), 0.0
    for u in range(n):
        for v in range(n):
            if ranks[v] < ranks[u]:
                error = TIES[ties] if s[u] == s[v] else float(s[u] > s[v])
                total += float(omega(ranks[v], ranks[u])) * error
    return 2.0 * total / (n * (n - 1))


def natural(y):
    """ω of the k-partite loss as a function of ranks."""
    n = len(y)
    n_pairs = sum(a > b for a in y for b in y)
    return lambda i, j: n * (n - 1) / (2 * n_pairs) * (np.asarray(i) != j)


items = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=2, max_size=14)


@given(items, st.integers(1, 6), st.sampled_from(sorted(TIES)))
def test_named_emphases_equal_their_definition(drawn, k, ties):
    y, s = zip(*drawn, strict=True)
    uniform = by_definition(y, s, lambda i, j: 1.0, ties)
    assert weighted_misranking(y, s, ties=ties) == pytest.approx(uniform)
    top = by_definition(y, s, lambda i, j: i <= k or j <= k, ties)
    assert weighted_misranking(y, s, omega="top_k", k=k, ties=ties) == pytest.approx(top)
    if len({*y}) > 1:
        whole = by_definition(y, s, natural(y), ties)
        assert weighted_misranking(y, s, omega="k_partite", ties=ties) == pytest.approx(whole)


@given(items, st.sampled_from(sorted(TIES)), st.booleans())
def test_an_emphasis_of_ones_own_equals_its_definition(drawn, ties, as_matrix):
    y, s = zip(*drawn, strict=True)
    ranks = np.arange(1, len(y) + 1)
    distance = np.abs(ranks[:, None] - ranks)
    omega = distance if as_matrix else lambda i, j: np.abs(i - j)
    expected = by_definition(y, s, lambda i, j: abs(i - j), ties)
    assert weighted_misranking(y, s, omega=omega, ties=ties) == pytest.approx(expected)


def test_blocks_of_pairs_leave_none_out(monkeypatch):
    generator = np.random.default_rng(0)
    y, s = generator.integers(0, 9, 60), generator.integers(0, 30, 60)
    whole = by_definition(y, s, lambda i, j: abs(i - j))
    for size in (1, 7, 64):
        monkeypatch.setattr(emphasis, "_BLOCK", size)
        assert weighted_misranking(y, s, omega=lambda i, j: np.abs(i - j)) == pytest.approx(whole)


@given(items, st.sampled_from(sorted(TIES)))
def test_the_auc_choice_is_one_less_the_auc(drawn, ties):
    y, s = [label > 2 for label, _ in drawn], [score for _, score in drawn]
    found = weighted_misranking(y, s, omega="auc", ties=ties)
    assert found == pytest.approx(1.0 - auc_score(y, s, ties=ties), abs=1e-12, nan_ok=True)


def test_losses_of_queries_are_averaged():
    generator = np.random.default_rng(1)
    y, s, q = generator.integers(0, 4, 40), generator.normal(size=40), generator.integers(0, 5, 40)
    parts = [by_definition(y[q == c], s[q == c], lambda i, j: abs(i - j)) for c in range(5)]
    weights = np.arange(5) + 1.0
    found = weighted_misranking(
        y, s, qid=q, omega=lambda i, j: np.abs(i - j), query_weight=dict(enumerate(weights))
    )
    assert found == pytest.approx(np.average(parts, weights=weights))


def test_ranks_begin_anew_in_every_query():
    loss = weighted_misranking(
        [2, 1, 1, 0], [1, 2, 1, 2], qid=[0, 0, 1, 1], omega=lambda i, j: abs(i - j)
    )
    assert loss == 1.0


def test_queries_of_one_row_are_left_out_or_count_as_told():
    y, s, q = [1, 0, 5], [0.0, 1.0, 2.0], ["a", "a", "b"]
    assert weighted_misranking(y, s, qid=q) == 1.0
    assert weighted_misranking(y, s, qid=q, empty=0.0) == 0.5
    heavy = [[0, 8], [8, 0]]
    assert weighted_misranking(y, s, qid=q, omega=heavy, empty=2.0) == 5.0
    assert math.isnan(weighted_misranking([3], [1.0]))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.integers(1, 4), st.integers(0, 99))
def test_the_loss_of_a_preference_equals_its_definition(y, k, seed):
    generator = np.random.default_rng(seed)
    n, ranks = len(y), ranks_of(y)
    h = generator.random((n, n))
    h = np.where(np.tri(n, k=-1), h, 1.0 - h.T)
    emphases = {"uniform": lambda i, j: 1.0, "top_k": lambda i, j: i <= k or j <= k}
    if len({*y}) > 1:
        emphases["k_partite"] = natural(y)
    for name, omega in emphases.items():
        expected = sum(
            h[u, v] * float(omega(ranks[v], ranks[u]))
            for u in range(n)
            for v in range(n)
            if ranks[v] < ranks[u]
        )
        options = {"k": k} if name == "top_k" else {}
        for preference in (h, lambda u, v: h[u, v]):
            found = preference_loss(y, preference, omega=name, **options)
            assert found == pytest.approx(2.0 * expected / (n * (n - 1)))


def test_preferences_in_single_precision_are_consistent():
    H = np.float32([[0.5, 0.1, 0.7], [0.9, 0.5, 0.2], [0.3, 0.8, 0.5]])
    assert ((H + H.T).astype(float) == 1.0).all()
    H[0, 1] = np.nextafter(H[0, 1], np.float32(1))
    H[1, 0] = np.nextafter(H[1, 0], np.float32(1))
    assert preference_loss([3, 2, 1], H) == pytest.approx((0.9 + 0.3 + 0.8) / 3, abs=1e-6)


@given(items)
def test_scores_are_the_preference_that_they_induce(drawn):
    y, s = np.array(drawn).T
    h = np.where(s[:, None] == s, 0.5, s[:, None] > s)
    for omega in ("uniform", lambda i, j: np.abs(i - j)):
        loss = weighted_misranking(y, s, omega=omega)
        assert preference_loss(y, h, omega=omega) == pytest.approx(loss)


def test_theorem_10_5_the_cycle_costs_a_third_and_any_order_of_it_two_thirds():
    u, v, w = range(3)
    h = np.full((3, 3), 0.5)
    for worse, better in ((u, v), (v, w), (w, u)):
        h[better, worse], h[worse, better] = 1.0, 0.0
    # The order u, v, w is answered by the target in which w alone is positive.
    assert preference_loss([0, 0, 1], h) == pytest.approx(1 / 3)
    assert weighted_misranking([0, 0, 1], [3, 2, 1]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("omega", "words"),
    [
        (lambda i, j: i + 0.0 * j, r"symmetric; found ω\(1, 2\) = 1 and ω\(2, 1\) = 2"),
        (lambda i, j: 1.0 / (1.0 + np.abs(i - j)), r"must not fall .* ω\(1, 2\) = 0.5 > ω\(1, 3\)"),
        (lambda i, j: (i - j) ** 2.0, r"triangle .* ω\(1, 3\) = 4 > ω\(1, 2\) \+ ω\(2, 3\) = 2"),
        (lambda i, j: -np.abs(i - j), "not negative"),
        (lambda i, j: np.full(np.broadcast_shapes(i.shape, j.shape), np.nan), "finite"),
        (lambda i, j: np.ones(2), r"one number for each pair of ranks"),
        (np.ones((3, 3)), "a row for each of 5 ranks"),
    ],
)
def test_a_bad_emphasis_is_refused_with_what_is_wrong(omega, words):
    with pytest.raises(ValueError, match=words):
        weighted_misranking([5, 4, 3, 2, 1], [1, 2, 3, 4, 5], omega=omega)


def test_the_check_can_be_left_out():
    found = weighted_misranking([3, 2, 1], [1, 2, 3], omega=lambda i, j: (i - j) ** 2, check=False)
    assert found == 2.0


def brute_force_axioms(values):
    n = len(values)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if len({i, j, k}) < 3:
                    continue
                if values[i, j] != values[j, i] or values[i, j] > values[i, k] + values[k, j]:
                    return False
                if (i < j < k or i > j > k) and values[i, j] > values[i, k]:
                    return False
    return True


@given(st.integers(3, 5).flatmap(lambda n: st.tuples(
    st.just(n), st.lists(st.integers(0, 3), min_size=n * n, max_size=n * n), st.booleans()
)))  # fmt: skip
def test_the_check_passes_exactly_what_obeys_the_axioms(drawn):
    n, entries, mirrored = drawn
    values = np.array(entries, dtype=float).reshape(n, n)
    if mirrored:
        values = np.triu(values) + np.triu(values, 1).T
        values = np.maximum.accumulate(np.triu(values, 1), axis=1)
        values = values + values.T
    if brute_force_axioms(values):
        check_emphasis(values, n)
    else:
        with pytest.raises(ValueError, match="omega must"):
            check_emphasis(values, n)


@pytest.mark.parametrize(
    "omega",
    [
        lambda i, j: (i != j) * 1.0,
        lambda i, j: ((i <= 3) | (j <= 3)) & (i != j),
        lambda i, j: (i // 4 != j // 4) * 2.5,
        lambda i, j: np.abs(1.0 / i - 1.0 / j),
    ],
)
def test_good_emphases_pass_also_on_many_ranks(omega):
    check_emphasis(omega, 40)
    check_emphasis(omega, 5000)


def test_the_diagonal_says_nothing():
    for diagonal in (-9.0, 9.0, math.nan):
        omega = np.ones((4, 4))
        np.fill_diagonal(omega, diagonal)
        check_emphasis(omega, 4)


def test_every_pair_of_some_hundred_ranks_is_checked():
    ranks = np.arange(300)
    omega = np.abs(ranks[:, None] - ranks)
    omega[288, 299] = omega[299, 288] = 50
    with pytest.raises(ValueError, match=r"omega must not fall as ranks move apart"):
        check_emphasis(omega, 300)


def test_a_violation_on_many_ranks_is_found_and_named():
    with pytest.raises(ValueError, match="triangle"):
        check_emphasis(lambda i, j: np.abs(i - j) ** 1.5, 100_000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"omega": "top"}, "omega must be 'uniform'"),
        ({"omega": "top_k"}, "k must be an integer"),
        ({"omega": "auc"}, "at most two labels; found 3"),
        ({"k": 3}, "k is for omega='top_k' only"),
        ({"ties": "none"}, "ties must be"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        weighted_misranking([0, 1, 2], [1, 2, 3], **options)


@pytest.mark.parametrize(
    ("h", "words"),
    [
        (np.zeros((2, 3)), r"shape \(2, 2\)"),
        (np.full((2, 2), 0.4), "= 1"),
        (lambda u, v: np.full(len(u), 1.5), "between 0 and 1; found 1.5"),
        (lambda u, v: 0.5, "a probability for each of 1 pairs"),
    ],
)
def test_bad_preferences_are_refused(h, words):
    with pytest.raises(ValueError, match=words):
        preference_loss([0, 1], h)
