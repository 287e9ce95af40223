"""From preferences to an order: the book's identities, exactly and by simulation."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.pairs.preference_order import BudgetExceeded, order_by, quicksort, sort_by_degree

CHANCES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 1.0])


def matrix(upper, n):
    H = np.full((n, n), 0.5)
    H[np.triu_indices(n, 1)] = upper
    return np.triu(H, 1) + np.tril(1.0 - H.T, -1) + 0.5 * np.eye(n)


@st.composite
def preferences(draw, most=5):
    n = draw(st.integers(2, most))
    upper = draw(st.lists(CHANCES, min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    return matrix(upper, n)


def order_loss(order, better):
    """(10.23) without its factor: pairs in the wrong order; better[v, u] if v should be above u."""
    return sum(better[v, u] for i, u in enumerate(order) for v in order[i + 1 :])


def function_loss(H, better):
    """(10.24) without its factor."""
    return float((H * better.T).sum())


def bipartite(labels):
    labels = np.asarray(labels)
    return (labels[:, None] > labels[None, :]).astype(float)


def exact_orders(H, items):
    """Chance of every order: all pivots and all outcomes, enumerated by recursion."""
    if len(items) <= 1:
        return {tuple(items): 1.0}
    chances = {}
    for pivot in items:
        others = [item for item in items if item != pivot]
        for goes_above in product([True, False], repeat=len(others)):
            chance = 1.0 / len(items)
            for item, above in zip(others, goes_above, strict=True):
                chance *= H[item, pivot] if above else H[pivot, item]
            if chance == 0.0:
                continue
            top = [item for item, above in zip(others, goes_above, strict=True) if above]
            bottom = [item for item, above in zip(others, goes_above, strict=True) if not above]
            for a, p in exact_orders(H, top).items():
                for b, q in exact_orders(H, bottom).items():
                    order = (*a, pivot, *b)
                    chances[order] = chances.get(order, 0.0) + chance * p * q
    return chances


def expected_loss(H, better):
    orders = exact_orders(H, list(range(len(H))))
    return sum(chance * order_loss(order, better) for order, chance in orders.items())


def simulated_orders(H, copies, **options):
    """Many independent runs as groups of one call."""
    n = len(H)
    groups = np.repeat(np.arange(copies), n)
    result = quicksort(lambda u, v: H[u % n, v % n], copies * n, groups=groups, **options)
    return result.order.reshape(copies, -1) % n, result


@pytest.mark.parametrize("decide", ["sample", "majority"])
def test_orders_come_with_the_chances_of_the_books_recursion(decide):
    H = matrix([0.9, 0.3, 0.5, 0.7, 0.2, 0.6], 4)
    orders, _ = simulated_orders(H, 40_000, decide=decide, rng=1)
    rounded = np.where(H > 0.5, 1.0, np.where(H < 0.5, 0.0, 0.5))
    exact = exact_orders(H if decide == "sample" else rounded, [0, 1, 2, 3])
    seen, counts = np.unique(orders, axis=0, return_counts=True)
    assert {tuple(order) for order in seen.tolist()} <= set(exact)
    expected = 40_000 * np.array([exact[tuple(order)] for order in seen.tolist()])
    assert expected.sum() == pytest.approx(40_000)
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    # Mean and standard deviation of chi squared are its degrees of freedom and √(2·that).
    freedom = len(seen) - 1
    assert chi_squared < freedom + 4 * np.sqrt(2 * freedom)


@given(preferences(most=4), st.data())
def test_quicksort_keeps_the_loss_of_h_on_two_levels(H, data):
    """(10.33), exactly."""
    labels = data.draw(st.lists(st.integers(0, 1), min_size=len(H), max_size=len(H)))
    better = bipartite(labels)
    assert expected_loss(H, better) == pytest.approx(function_loss(H, better), abs=1e-12)


def test_quicksort_keeps_the_loss_of_h_on_two_levels_by_simulation(rng):
    n = 12
    H = matrix(rng.random(n * (n - 1) // 2), n)
    better = bipartite([1, 0] * (n // 2))
    orders, _ = simulated_orders(H, 4_000, rng=2)
    losses = np.array([order_loss(order, better) for order in orders])
    error = losses.std() / np.sqrt(len(losses))
    assert abs(losses.mean() - function_loss(H, better)) < 4 * error


@given(preferences(most=4))
def test_quicksort_at_most_doubles_the_loss_of_h_in_general(H):
    """(10.35), for every target order."""
    for target in permutations(range(len(H))):
        level = -np.argsort(target)
        better = bipartite(level)
        assert expected_loss(H, better) <= 2 * function_loss(H, better) + 1e-12


@given(preferences(most=7), st.data())
def test_degree_at_most_doubles_the_loss_of_h_on_two_levels(H, data):
    """(10.30)."""
    labels = data.draw(st.lists(st.integers(0, 1), min_size=len(H), max_size=len(H)))
    better = bipartite(labels)
    order = sort_by_degree(H).order
    assert order_loss(order, better) <= 2 * function_loss(H, better) + 1e-9


def test_a_cycle_costs_every_fixed_order_twice_the_loss_of_h_and_quicksort_once():
    """Theorem 10.5."""
    cycle = matrix([1.0, 0.0, 1.0], 3)
    targets = [bipartite(labels) for labels in ([0, 0, 1], [0, 1, 0], [1, 0, 0])]
    targets += [bipartite(labels) for labels in ([0, 1, 1], [1, 0, 1], [1, 1, 0])]
    for order in (sort_by_degree(cycle).order, *permutations(range(3))):
        # The adversary answers each order with the target that h does best against.
        assert max(order_loss(order, t) / function_loss(cycle, t) for t in targets) == 2.0
    for target in targets:
        assert function_loss(cycle, target) == 1.0
        assert expected_loss(cycle, target) == pytest.approx(1.0)


def test_quicksort_asks_as_many_pairs_as_theory_expects(rng):
    n, copies = 100, 400
    strength = rng.permutation(n)
    H = (strength[:, None] > strength[None, :]).astype(float) + 0.5 * np.eye(n)
    orders, result = simulated_orders(H, copies, rng=3)
    np.testing.assert_array_equal(orders, np.tile(np.argsort(-strength), (copies, 1)))
    harmonic = (1.0 / np.arange(1, n + 1)).sum()
    expected = 2 * (n + 1) * harmonic - 4 * n
    # The standard deviation of one run is about 0.65·n.
    assert abs(result.n_calls / copies - expected) < 4 * 0.65 * n / np.sqrt(copies)
    assert result.n_calls / copies < 2 * n * np.log(n)
    _, best = simulated_orders(H, copies, top_k=1, rng=4)
    assert best.n_calls / copies == pytest.approx(2 * (n - harmonic), rel=0.1)


@pytest.mark.parametrize("decide", ["sample", "majority"])
def test_ten_best_of_a_hundred_thousand_take_few_pairs(decide, rng):
    n = 100_000
    strength = rng.normal(size=n)
    calls = []
    for seed in range(6):
        result = quicksort(
            lambda u, v: strength[u] > strength[v], n, top_k=10, decide=decide, rng=seed
        )
        np.testing.assert_array_equal(result.order, np.argsort(-strength)[:10])
        assert result.n_batches < 100
        calls.append(result.n_calls)
    assert np.mean(calls) <= 4e5


def test_equal_chances_do_not_make_quicksort_quadratic():
    for decide in ("sample", "majority"):
        result = quicksort(lambda u, v: np.full(len(u), 0.5), 3000, decide=decide, rng=0)
        assert sorted(result.order) == list(range(3000))
        assert result.n_calls < 4 * 3000 * np.log(3000)


def test_a_deep_sort_needs_no_recursion():
    class First(np.random.Generator):
        """Draws the worst pivots."""

        def integers(self, low, high):
            return np.zeros_like(high)

    result = quicksort(lambda u, v: u < v, 1500, rng=First(np.random.PCG64(0)))
    np.testing.assert_array_equal(result.order, np.arange(1500))
    assert result.n_batches == 1499
    assert result.n_calls == 1500 * 1499 // 2


@given(preferences(most=6), st.integers(0, 5), st.sampled_from(["quicksort", "degree"]))
def test_matrix_and_function_agree_and_seeds_reproduce(H, seed, method):
    a = order_by(method, H, len(H), rng=seed)
    b = order_by(method, lambda u, v: H[u, v], len(H), rng=np.random.default_rng(seed))
    np.testing.assert_array_equal(a.order, b.order)
    assert (a.n_calls, a.n_batches, a.complete) == (b.n_calls, b.n_batches, True)
    assert sorted(a.order) == list(range(len(H)))


@pytest.mark.parametrize("method", ["quicksort", "degree"])
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_batches_are_bounded_and_no_pair_is_asked_twice(method, batch_size, rng):
    strength = rng.normal(size=23)
    sizes, asked = [], []

    def h(u, v):
        sizes.append(len(u))
        asked.extend(frozenset(pair) for pair in zip(u.tolist(), v.tolist(), strict=True))
        return strength[u] > strength[v]

    result = order_by(method, h, 23, batch_size=batch_size, rng=0)
    np.testing.assert_array_equal(result.order, np.argsort(-strength))
    assert max(sizes) <= batch_size
    assert (result.n_calls, result.n_batches) == (sum(sizes), len(sizes))
    assert len(set(asked)) == len(asked)
    assert all(len(pair) == 2 for pair in asked)
    if method == "degree":
        assert result.n_calls == 23 * 22 // 2


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 4), st.booleans())
def test_groups_are_sorted_apart(groups, top_k, by_degree):
    groups = np.array(groups, dtype=np.intp)
    strength = np.random.default_rng(len(groups)).permutation(len(groups))

    def h(u, v):
        assert (groups[u] == groups[v]).all()
        return strength[u] > strength[v]

    result = order_by(
        "degree" if by_degree else "quicksort", h, len(groups), groups=groups, top_k=top_k, rng=0
    )
    expected = np.lexsort((-strength, groups))
    place = np.array([(groups[expected[:i]] == groups[g]).sum() for i, g in enumerate(expected)])
    np.testing.assert_array_equal(result.order, expected[place < top_k] if len(groups) else [])


@pytest.mark.parametrize("method", ["quicksort", "degree"])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_items(method, n):
    result = order_by(method, lambda u, v: u > v, n, rng=0)
    assert result.order.tolist() == list(range(n))[::-1]
    assert result.n_calls == result.n_batches == n // 2
    assert result.complete


@pytest.mark.parametrize("sort", [quicksort, sort_by_degree])
def test_inconsistent_preferences_are_refused_or_averaged(sort):
    H = matrix([0.9, 0.8, 0.7], 3)
    biased = H**0.5
    with pytest.raises(ValueError, match=r"h\(u, v\) \+ h\(v, u\) must be 1; found 0.94"):
        sort(biased)
    with pytest.raises(ValueError, match="consistency='symmetrize'"):
        sort(lambda u, v: biased[u, v], 3, consistency="check")
    expected = sort(
        0.5 + 0.5 * (biased - biased.T), **({} if sort is sort_by_degree else {"rng": 0})
    )
    options = {} if sort is sort_by_degree else {"rng": 0}
    for h in (biased, lambda u, v: biased[u, v]):
        result = sort(h, 3, consistency="symmetrize", **options)
        np.testing.assert_array_equal(result.order, expected.order)
        assert result.n_calls == 2 * expected.n_calls
    assert sort(lambda u, v: H[u, v], 3, consistency="check", **options).n_calls % 2 == 0


@pytest.mark.parametrize(
    ("h", "n", "options", "message"),
    [
        ([[0.5, 0.4], [0.4, 0.5]], None, {}, "must be 1; found 0.4 \\+ 0.4 for items 0 and 1"),
        ([[0.5, 0.4]], None, {}, r"matrix of shape \(1, 1\); found shape \(1, 2\)"),
        ([[0.5, 1.4], [-0.4, 0.5]], None, {}, "probabilities between 0 and 1; found 1.4"),
        (lambda u, v: np.full(len(u), np.nan), 3, {}, "between 0 and 1; found nan"),
        (lambda u, v: 0.5, 3, {}, r"one probability for each of 2 pairs; found shape \(\)"),
        (lambda u, v: u > v, None, {}, "n must be the number of items"),
        (lambda u, v: u > v, 3, {"decide": "toss"}, "decide must be 'sample' or 'majority'"),
        (lambda u, v: u > v, 3, {"top_k": 0}, "top_k must be an integer of at least 1; found 0"),
        (lambda u, v: u > v, 3, {"consistency": "hope"}, "consistency must be 'assume'"),
        (lambda u, v: u > v, 3, {"batch_size": 0}, "batch_size must be at least 1; found 0"),
        (lambda u, v: u > v, 3, {"groups": [0, 1]}, "groups must be 3 whole numbers from 0"),
    ],
)
def test_errors_say_what_was_found(h, n, options, message):
    with pytest.raises(ValueError, match=message):
        quicksort(h, n, **options)


def limited(h, budget):
    """A function that ends after so many answers."""
    left = [budget]

    def ask(u, v):
        afford = min(left[0], len(u))
        left[0] -= afford
        if afford < len(u):
            raise BudgetExceeded("enough", h(u[:afford], v[:afford]))
        return h(u, v)

    return ask


@pytest.mark.parametrize("method", ["quicksort", "degree"])
def test_a_budget_buys_a_better_order(method, rng):
    n = 60
    strength = rng.normal(size=n)
    better = bipartite(strength)
    full = order_by(method, lambda u, v: strength[u] > strength[v], n, rng=0).n_calls
    losses = []
    for budget in (0, full // 8, full // 2, full - 1, full):
        ask = limited(lambda u, v: strength[u] > strength[v], budget)
        result = order_by(method, ask, n, rng=0)
        assert sorted(result.order) == list(range(n))
        assert result.n_calls == budget
        assert result.complete == (budget == full)
        losses.append(order_loss(result.order, better))
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == order_loss(np.arange(n), better) > losses[1] > losses[2] > 0 == losses[-1]


def test_what_a_budget_leaves_open_stays_around_the_pivot():
    seen = {}

    def h(u, v):
        seen["pivot"] = int(v[0])
        raise BudgetExceeded("enough", [1.0, 0.0])

    order = quicksort(h, 6, rng=5).order.tolist()
    others = [item for item in range(6) if item != seen["pivot"]]
    middle = sorted([*others[2:], seen["pivot"]])
    assert order == [others[0], *middle, others[1]]


def test_both_directions_within_a_budget():
    strength = np.arange(9.0)
    ask = limited(lambda u, v: strength[u] > strength[v], 7)
    result = quicksort(ask, 9, consistency="symmetrize", rng=0)
    assert sorted(result.order) == list(range(9))
    assert (result.n_calls, result.complete) == (7, False)


def test_both_directions_count_where_h_is_made_consistent():
    H = np.array([[0.5, 0.6], [0.8, 0.5]])
    assert sort_by_degree(H, consistency="symmetrize").order.tolist() == [1, 0]
    assert sort_by_degree(H[::-1, ::-1], consistency="symmetrize").order.tolist() == [0, 1]


@pytest.mark.parametrize("consistency", ["check", "symmetrize"])
def test_both_directions_fit_in_a_batch(consistency):
    sizes = []

    def h(u, v):
        sizes.append(len(u))
        return u > v

    sort_by_degree(h, 9, consistency=consistency, batch_size=4)
    assert max(sizes) == 4


def test_nothing_behind_the_first_is_asked():
    # After two questions the best of three is known unless the worst was the pivot.
    calls = [quicksort(lambda u, v: u < v, 3, top_k=1, rng=seed).n_calls for seed in range(300)]
    assert 2.2 < np.mean(calls) < 2.47
