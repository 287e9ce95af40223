"""Oracles that cost something: plain, batched, async; cached, within a budget."""

import asyncio
import gc
import signal
import threading

import numpy as np
import pytest

import echelon
from echelon.ranking import BudgetExceeded, PreferenceOracle, quicksort, rank_by_preference

WORDS = ["fig", "banana", "kiwi", "clementine", "apple", "strawberries", "or", "pineapple"]
BY_LENGTH = sorted(WORDS, key=len, reverse=True)


def longer(a, b):
    return len(a) > len(b)


def longer_batch(first, second):
    return [len(a) > len(b) for a, b in zip(first, second, strict=True)]


async def longer_async(a, b):
    await asyncio.sleep(0)
    return len(a) > len(b)


async def longer_batch_async(first, second):
    await asyncio.sleep(0)
    return longer_batch(first, second)


class AsyncObject:
    async def __call__(self, a, b):
        return longer(a, b)


ORACLES = {
    "plain": (longer, False),
    "batched": (longer_batch, True),
    "async": (longer_async, False),
    "async batched": (longer_batch_async, True),
    "coroutine from a lambda": (lambda a, b: longer_async(a, b), False),
    "object with an async call": (AsyncObject(), False),
}


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("method", ["quicksort", "degree"])
@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("in_a_loop", [False, True])
def test_every_kind_of_judge(kind, method, in_a_loop):
    oracle, batched = ORACLES[kind]

    def rank():
        return rank_by_preference(WORDS, oracle, batched=batched, method=method, random_state=0)

    async def within():
        return rank()

    result = asyncio.run(within()) if in_a_loop else rank()
    assert result.items == BY_LENGTH
    assert [WORDS[i] for i in result.order] == BY_LENGTH
    assert result.complete
    if method == "degree":
        assert result.n_calls == len(WORDS) * (len(WORDS) - 1) // 2


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_async_calls_overlap_within_bounds_and_share_one_loop(in_a_loop):
    active, most, loops = 0, 0, set()

    async def oracle(a, b):
        nonlocal active, most
        active += 1
        most = max(most, active)
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        active -= 1
        return a > b

    def rank():
        return rank_by_preference(
            range(40), PreferenceOracle(oracle, max_concurrency=3), random_state=0
        )

    async def within():
        return rank()

    result = asyncio.run(within()) if in_a_loop else rank()
    assert result.items == list(range(40))[::-1]
    assert result.n_batches > 2
    assert most == 3
    assert len(loops) == 1
    assert loops.pop().is_closed()


def test_one_loop_for_several_rankings():
    loops = set()

    async def oracle(a, b):
        loops.add(asyncio.get_running_loop())
        return a > b

    with PreferenceOracle(oracle) as kept:
        assert kept([2], [1]).tolist() == [1.0]
        for n in (5, 9):
            assert rank_by_preference(range(n), kept).items == list(range(n))[::-1]
        assert not next(iter(loops)).is_closed()
    assert len(loops) == 1
    assert loops.pop().is_closed()


def test_an_oracle_outlives_its_loops():
    loops = []

    async def larger(a, b):
        loops.append(asyncio.get_running_loop())
        return a > b

    oracle = PreferenceOracle(larger, cache=False)
    for _ in range(2):
        assert rank_by_preference(range(4), oracle).items == [3, 2, 1, 0]
        assert loops[-1].is_closed()
    assert len(set(map(id, loops))) == 2


def test_there_is_one_name_for_it():
    assert echelon.PreferenceOracle is PreferenceOracle
    with pytest.raises(ImportError, match="Judge"):
        from echelon import Judge  # noqa: F401


def test_an_oracle_outside_a_ranking():
    oracle = PreferenceOracle(longer_async)
    assert oracle(["fig", "kiwi"], ["kiwi", "or"]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_answers_before_a_failure_are_kept(in_a_loop):
    asked, started = [], []

    async def oracle(a, b):
        started.append((a, b))
        await asyncio.sleep(0)
        if len(asked) == 5 and fails:
            raise ConnectionError("the line went dead")
        asked.append((a, b))
        return a > b

    fails = True
    kept = PreferenceOracle(oracle, max_concurrency=2)

    async def within():
        return rank_by_preference(range(12), kept, random_state=0)

    with pytest.raises(ConnectionError, match="went dead"):
        asyncio.run(within()) if in_a_loop else rank_by_preference(range(12), kept, random_state=0)
    assert kept.n_calls == 5
    assert len(started) <= 7
    fails = False
    again = rank_by_preference(range(12), kept, random_state=0)
    assert again.items == list(range(12))[::-1]
    assert again.n_calls == kept.n_calls - 5
    assert len({frozenset(pair) for pair in asked}) == len(asked)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of POSIX are needed")
def test_an_interrupt_ends_the_work_of_the_other_thread():
    begun, finished = [], []

    async def oracle(a, b):
        begun.append((a, b))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        await asyncio.sleep(60)
        finished.append((a, b))

    async def within():
        rank_by_preference(WORDS, PreferenceOracle(oracle, max_concurrency=1), random_state=0)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(within())
    finally:
        loop.close()
        signal.signal(signal.SIGINT, before)
    assert len(begun) == 1
    assert not finished


def test_a_cache_answers_both_directions_and_later_rankings():
    asked = []

    def oracle(a, b):
        asked.append((a, b))
        return 0.75

    cached = PreferenceOracle(oracle)
    np.testing.assert_array_equal(cached("abab", "babb"), [0.75, 0.25, 0.75, 0.5])
    assert asked == [("a", "b")]
    assert cached.n_calls == 1
    fresh = PreferenceOracle(oracle, cache=False)
    np.testing.assert_array_equal(fresh("abab", "babb"), [0.75, 0.75, 0.75, 0.5])
    assert fresh.n_calls == 3

    oracle = PreferenceOracle(longer)
    first = rank_by_preference(WORDS, oracle, random_state=0)
    second = rank_by_preference(WORDS, oracle, random_state=0)
    assert first.n_calls == oracle.n_calls > 0 == second.n_calls
    third = rank_by_preference(WORDS[::-1], oracle, method="degree")
    assert third.items == BY_LENGTH
    assert oracle.n_calls == 28 == first.n_calls + third.n_calls


def test_items_that_cannot_be_hashed():
    items = [{"size": s} for s in (3, 1, 2)]
    oracle = PreferenceOracle(lambda a, b: a["size"] > b["size"])
    for _ in range(2):
        result = rank_by_preference(items, oracle, method="degree")
        assert [item["size"] for item in result.items] == [3, 2, 1]
    assert oracle.n_calls == 3
    rows = np.array([[1.0, 5.0], [3.0, 2.0], [2.0, 9.0]])
    ranked = rank_by_preference(rows, lambda a, b: a[0] > b[0], random_state=0)
    assert ranked.order.tolist() == [1, 2, 0]


def test_asking_in_both_orders_removes_a_bias():
    strength = dict(zip("abcde", range(5), strict=True))

    def favours_the_first(a, b):
        return min(1.0, max(0.0, 0.5 + 0.1 * (strength[a] - strength[b])) ** 0.3)

    assert favours_the_first("a", "b") > 0.5
    oracle = PreferenceOracle(favours_the_first, both_orders=True)
    result = rank_by_preference("abcde", oracle, random_state=0)
    assert result.items == list("edcba")
    straight, turned = oracle("ab", "ba")
    assert straight + turned == pytest.approx(1.0)
    assert straight < 0.5
    assert oracle.n_calls == 2 * len(oracle._answers)
    scarce = PreferenceOracle(favours_the_first, both_orders=True, budget=3)
    with pytest.raises(BudgetExceeded) as ended:
        scarce("abc", "bca")
    assert ended.value.answers.tolist() == [straight]
    assert scarce.n_calls == 2


def test_batches_for_a_batched_judge():
    sizes = []

    def oracle(first, second):
        sizes.append(len(first))
        return longer_batch(first, second)

    result = rank_by_preference(
        WORDS, PreferenceOracle(oracle, batched=True, batch_size=3), random_state=0
    )
    assert result.items == BY_LENGTH
    assert max(sizes) == 3
    assert sum(sizes) == result.n_calls


@pytest.mark.parametrize("method", ["quicksort", "degree"])
def test_a_budget_that_ends(method):
    enough = rank_by_preference(WORDS, longer, method=method, random_state=0).n_calls
    exact = rank_by_preference(WORDS, longer, method=method, budget=enough, random_state=0)
    assert exact.items == BY_LENGTH
    assert exact.complete
    for oracle in (longer, longer_async):
        part = rank_by_preference(WORDS, oracle, method=method, budget=enough - 1, random_state=0)
        assert sorted(part.items) == sorted(WORDS)
        assert (part.n_calls, part.complete) == (enough - 1, False)
    with pytest.raises(BudgetExceeded, match=f"after {enough - 1} answers") as ended:
        rank_by_preference(
            WORDS, longer, method=method, budget=enough - 1, on_budget="raise", random_state=0
        )
    assert ended.value.result.items == part.items
    nothing = rank_by_preference(WORDS, longer, method=method, budget=0)
    assert nothing.items == WORDS
    assert (nothing.n_calls, nothing.n_batches, nothing.complete) == (0, 0, False)


def test_a_budget_counts_new_answers_only():
    oracle = PreferenceOracle(longer, budget=28)
    for method in ("degree", "quicksort"):
        result = rank_by_preference(WORDS, oracle, method=method, random_state=0)
        assert result.complete
    assert oracle.n_calls == 28
    assert not rank_by_preference([*WORDS, "x"], oracle, method="degree").complete


def test_top_k_and_a_matrix():
    top = rank_by_preference(WORDS, longer, top_k=3, random_state=0)
    assert top.items == BY_LENGTH[:3]
    sizes = np.array([len(word) for word in WORDS])
    beats = (1 + np.sign(sizes[:, None] - sizes[None, :])) / 2
    for method in ("quicksort", "degree"):
        result = rank_by_preference(WORDS, beats, method=method, top_k=3, random_state=0)
        assert result.items == BY_LENGTH[:3]


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("method", ["quicksort", "degree"])
def test_few_items(n, method):
    result = rank_by_preference(["a", "bb"][:n], longer, method=method, random_state=0)
    assert result.items == ["bb", "a"][2 - n :]
    assert result.n_calls == n // 2


def test_seeds_reproduce_draws():
    def toss(a, b):
        return 0.5

    orders = [
        rank_by_preference(range(30), toss, decide="sample", random_state=s).items
        for s in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("answer", [1.5, -0.1, float("nan"), None, "0.7", [0.5, 0.5]])
@pytest.mark.parametrize("in_batches", [False, True])
def test_bad_answers(answer, in_batches):
    def oracle(a, b):
        return [answer] * len(a) if in_batches else answer

    with pytest.raises(ValueError, match=r"between 0 and 1 .*found .* for 'fig' and 'banana'"):
        PreferenceOracle(oracle, batched=in_batches)(["fig"], ["banana"])


@pytest.mark.parametrize("answers", [[0.5], 0.5, [0.5] * 3])
def test_a_batch_needs_one_answer_each(answers):
    oracle = PreferenceOracle(lambda a, b: answers, batched=True)
    with pytest.raises(ValueError, match="one answer for each of 2 pairs; found"):
        oracle("ab", "bc")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PreferenceOracle(3), "function must be callable; found int"),
        (
            lambda: PreferenceOracle(longer, budget=-1),
            "budget must be an integer of at least 0; found -1",
        ),
        (lambda: PreferenceOracle(longer, batch_size=4), "batch_size needs batched=True"),
        (
            lambda: PreferenceOracle(longer, max_concurrency=0),
            "max_concurrency must be an integer of at",
        ),
        (
            lambda: rank_by_preference(WORDS, longer, method="bubble"),
            "method must be 'quick",
        ),
        (
            lambda: rank_by_preference(WORDS, longer, on_budget="cry"),
            "on_budget must be 'par",
        ),
        (lambda: rank_by_preference(WORDS, longer, top_k=0), "top_k must be an integer"),
        (
            lambda: rank_by_preference(WORDS, PreferenceOracle(longer), budget=3),
            "where oracle is a PreferenceOracle",
        ),
        (lambda: rank_by_preference("ab", np.eye(2), budget=3), "where oracle is a matrix"),
        (lambda: rank_by_preference("ab", np.eye(3)), r"shape \(2, 2\); found shape \(3, 3\)"),
    ],
)
def test_errors_say_what_was_found(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_judge_serves_the_plain_functions():
    oracle = PreferenceOracle(longer)
    result = quicksort(oracle.over(WORDS), len(WORDS), rng=0)
    assert [WORDS[i] for i in result.order] == BY_LENGTH


def test_a_failure_between_coroutines_leaves_none_behind():
    def careful(a, b):
        if "stop" in (a, b):
            raise LookupError("no such word")
        return longer_async(a, b)

    oracle = PreferenceOracle(careful)
    with pytest.raises(LookupError):
        oracle(["pear", "plum", "stop"], ["fig", "fig", "fig"])
    # A coroutine that was never awaited would warn here, which is an error.
    gc.collect()
    assert oracle.n_calls == 0
