"""Items ranked by asking a preference oracle: a person or a language model that compares pairs.

Answers may come one by one, in batches or from coroutines, which are waited for from ordinary code,
also where an event loop runs already; they are cached and counted against a budget.
"""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from .._utils.messages import require_choice
from .._utils.types import Index, RandomStateLike, Vector
from ..ordinal.arrays import LARGEST_SEED, require_count
from ..pairs.preference_order import BudgetExceeded, order_by
from .event_loops import EventLoop, Receiver, close_all


class PreferenceOracle:
    """A preference function on items of any kind that costs something to ask.

    Parameters
    ----------
    function : callable
        ``function(a, b)`` gives the probability that item `a` is preferred to item `b`, or a
        boolean. With `batched` it takes two lists of items and gives as many answers. It may be
        async either way.
    batched : bool, default=False
        Whether `function` takes many pairs at once.
    cache : bool, default=True
        Whether no pair is asked twice, in either order: h(b, a) = 1 − h(a, b).
    budget : int, optional
        Most answers to take from `function`, over all uses of the oracle. What is in the cache is
        free.
    batch_size : int, optional
        Most pairs in one call of a batched `function`; all that are needed at a time by default.
    max_concurrency : int, default=8
        Most calls of an async `function` under way at once.
    both_orders : bool, default=False
        Whether a pair is asked in both orders and the answers are averaged,
        ½(f(a, b) + 1 − f(b, a)): twice the cost, for one that favours what it sees first.

    Attributes
    ----------
    n_calls : int
        Answers taken from `function` so far.

    Notes
    -----
    Answers that came before an error are kept in the cache, so that ranking again after a failure
    asks only for the rest. Items are compared by equality if they can be hashed, else by identity.
    Two equal items have preference ½ and are not asked.

    An async function runs in one event loop for as long as a ranking takes, or a ``with oracle:``
    block around several; this works within a running loop too, as in notebooks. A client that it
    keeps between calls must be made inside the function.

    Examples
    --------
    >>> from echelon.ranking import PreferenceOracle
    >>> oracle = PreferenceOracle(lambda a, b: len(a) > len(b))
    >>> oracle(["pear", "fig"], ["fig", "pear"]).tolist(), oracle.n_calls
    ([1.0, 0.0], 1)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        batched: bool = False,
        cache: bool = True,
        budget: int | None = None,
        batch_size: int | None = None,
        max_concurrency: int = 8,
        both_orders: bool = False,
    ) -> None:
        if not callable(function):
            raise ValueError(f"function must be callable; found {type(function).__name__}.")
        if budget is not None:
            require_count("budget", budget, least=0)
        if batch_size is not None:
            require_count("batch_size", batch_size)
            if not batched:
                raise ValueError("batch_size needs batched=True; a function of one pair has none.")
        require_count("max_concurrency", max_concurrency)
        self.function = function
        self.batched = batched
        self.cache = cache
        self.budget = budget
        self.batch_size = batch_size
        self.max_concurrency = max_concurrency
        self.both_orders = both_orders
        self.n_calls = 0
        self._numbers: dict[Any, int] = {}
        self._unhashable: dict[int, Any] = {}
        self._answers: dict[Any, float] = {}
        self._loop = EventLoop()
        self._depth = 0

    def __enter__(self) -> Self:
        """Keep one event loop for an async function until the end of the outermost block."""
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._loop.close()

    def over(self, items: Sequence[Any]) -> Callable[[Index, Index], Vector]:
        """Take positions in `items` for the items themselves.

        Parameters
        ----------
        items : sequence

        Returns
        -------
        preference : callable
            What `quicksort` and `sort_by_degree` ask.
        """
        return lambda u, v: self([items[i] for i in u], [items[j] for j in v])

    def __call__(self, first: Sequence[Any], second: Sequence[Any]) -> Vector:
        """Preferences for the items of `first` over those of `second`.

        Parameters
        ----------
        first, second : sequence of items, of equal length

        Returns
        -------
        probabilities : ndarray

        Raises
        ------
        BudgetExceeded
            If there is not enough left for all pairs; it has the answers to the first ones.
        """
        pairs = [self._pair(p, a, b) for p, (a, b) in enumerate(zip(first, second, strict=True))]
        # Without a cache every pair is a question of its own.
        known = self._answers if self.cache else {}
        unanswered, n_answered = self._unanswered(pairs, known)
        self._ask(unanswered, known)
        answers = np.full(n_answered, 0.5)
        for place, pair in enumerate(pairs[:n_answered]):
            if pair.key is not None:
                answers[place] = 1.0 - known[pair.key] if pair.turned else known[pair.key]
        if n_answered < len(pairs):
            raise BudgetExceeded(
                f"The budget of {self.budget} answers ended with {len(pairs) - n_answered} pairs "
                "left to compare.",
                answers,
            )
        return answers

    def _pair(self, place: int, a: Any, b: Any) -> _Pair:
        i, j = self._number(a), self._number(b)
        if i == j:
            return _Pair(a, b, None, False)
        return (
            _Pair(a, b, (min(i, j), max(i, j)), i > j) if self.cache else _Pair(a, b, place, False)
        )

    def _number(self, item: Any) -> int:
        try:
            return self._numbers.setdefault(item, len(self._numbers))
        except TypeError:
            # The item is kept, so that no other one can get its identity.
            self._unhashable.setdefault(id(item), item)
            return self._numbers.setdefault(_Identity(id(item)), len(self._numbers))

    def _unanswered(
        self, pairs: Sequence[_Pair], known: dict[Any, float]
    ) -> tuple[list[_Pair], int]:
        """The pairs to be asked, and how many of all can then be answered."""
        per_pair = 2 if self.both_orders else 1
        afford = np.inf if self.budget is None else (self.budget - self.n_calls) // per_pair
        chosen: dict[Any, _Pair] = {}
        for place, pair in enumerate(pairs):
            if pair.key is None or pair.key in known or pair.key in chosen:
                continue
            if len(chosen) >= afford:
                return list(chosen.values()), place
            chosen[pair.key] = pair
        return list(chosen.values()), len(pairs)

    def _ask(self, pairs: Sequence[_Pair], known: dict[Any, float]) -> None:
        orders = (False, True) if self.both_orders else (False,)
        questions = [
            (pair.second, pair.first) if back else (pair.first, pair.second)
            for pair in pairs
            for back in orders
        ]
        answers = np.full((len(pairs), len(orders)), np.nan)

        def receive(question: int, answer: Any) -> None:
            at, order = divmod(question, len(orders))
            answers[at, order] = _probability(answer, *questions[question])
            self.n_calls += 1
            value = answers[at, 0]
            if self.both_orders:
                value = 0.5 + 0.5 * (answers[at, 0] - answers[at, 1])
            if not np.isnan(value):
                known[pairs[at].key] = float(1.0 - value if pairs[at].turned else value)

        self._put(questions, receive)

    def _put(self, questions: list[tuple[Any, Any]], receive: Receiver) -> None:
        """Call the function, and wait where it gives something to wait for."""
        size = (self.batch_size or len(questions)) if self.batched else 1
        firsts = range(0, len(questions), max(1, size))

        def take(call: int, result: Any) -> None:
            asked = questions[firsts[call] : firsts[call] + size]
            for offset, answer in enumerate(
                _one_each(result, len(asked)) if self.batched else [result]
            ):
                receive(firsts[call] + offset, answer)

        waiting: list[Any] = []
        calls: list[int] = []
        try:
            for call, place in enumerate(firsts):
                first, second = map(list, zip(*questions[place : place + size], strict=True))
                result = (
                    self.function(first, second) if self.batched else self.function(*first, *second)
                )
                if inspect.isawaitable(result):
                    waiting.append(result)
                    calls.append(call)
                else:
                    take(call, result)
        except BaseException:
            close_all(waiting)
            raise
        if waiting:
            with self:
                self._loop.gather(waiting, self.max_concurrency, lambda k, r: take(calls[k], r))


class _Pair(NamedTuple):
    """Two items, the key of their answer (None if they are equal), and whether it is for (b, a)."""

    first: Any
    second: Any
    key: Any
    turned: bool


@dataclass(frozen=True)
class _Identity:
    """Key of an item that cannot be hashed."""

    number: int


def _one_each(result: Any, n: int) -> list[Any]:
    answers = list(result) if isinstance(result, Iterable) else [result]
    if len(answers) != n:
        raise ValueError(
            f"The oracle must give one answer for each of {n} pairs; found {len(answers)}."
        )
    return answers


def _probability(answer: Any, a: Any, b: Any) -> float:
    try:
        value = math.nan if isinstance(answer, (str, bytes)) else float(answer)
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        shown = [reprlib.repr(item) for item in (a, b)]
        raise ValueError(
            "The oracle must answer with the probability between 0 and 1 that the first item is "
            f"preferred to the second; found {answer!r} for {shown[0]} and {shown[1]}."
        )
    return value


@dataclass(frozen=True)
class PreferenceOrder:
    """Items in order, and what it took to find it.

    Parameters
    ----------
    items : list
        From best to worst.
    order : ndarray
        Their positions among the items that came in.
    n_calls : int
        Answers taken from the oracle; what was cached is not counted.
    n_batches : int
        Rounds of questions.
    complete : bool
        Whether the budget was enough; if not, what it left open stands as the items came.
    """

    items: list[Any]
    order: Index
    n_calls: int
    n_batches: int
    complete: bool


def rank_by_preference(
    items: Iterable[Any],
    oracle: Callable[..., Any] | npt.ArrayLike,
    *,
    method: str = "quicksort",
    decide: str = "majority",
    top_k: int | None = None,
    budget: int | None = None,
    on_budget: str = "partial",
    batched: bool = False,
    random_state: RandomStateLike = None,
) -> PreferenceOrder:
    """Rank items of any kind by an oracle that compares pairs: a person, a language model, a match.

    Parameters
    ----------
    items : iterable
        What is to be ranked, such as texts.
    oracle : callable, PreferenceOracle, or array-like of shape (n, n)
        Function of two items that gives the probability, or says, that the first is preferred to
        the second; it may be async. A `PreferenceOracle` has more settings and keeps its answers
        for further rankings. A matrix holds the probabilities of all pairs.
    method : {"quicksort", "degree"}, default="quicksort"
        `quicksort` asks about 2n ln n pairs; `sort_by_degree` asks all n(n − 1)/2.
    decide : {"sample", "majority"}, default="majority"
        Whether QuickSort takes the side of a pivot that is more probable, or draws it.
    top_k : int, optional
        Return the first so many; QuickSort then asks about 2n pairs.
    budget : int, optional
        Most answers to take from the oracle.
    on_budget : {"partial", "raise"}, default="partial"
        Whether a budget that ends too early gives the order that was reached, with
        ``complete=False``, or raises `BudgetExceeded` with this order as its ``result``.
    batched : bool, default=False
        Whether the function takes two lists of items and answers for all pairs at once.
    random_state : int, RandomState instance, optional
        For pivots.

    Returns
    -------
    result : PreferenceOrder

    Examples
    --------
    >>> from echelon.ranking import rank_by_preference
    >>> words = ["kiwi", "fig", "banana", "peach"]
    >>> result = rank_by_preference(words, lambda a, b: len(a) > len(b), random_state=0)
    >>> result.items, result.complete
    (['banana', 'peach', 'kiwi', 'fig'], True)
    """
    require_choice("on_budget", on_budget, ("partial", "raise"))
    if top_k is not None:
        require_count("top_k", top_k)
    items = list(items)
    rng = check_random_state(random_state).randint(LARGEST_SEED)
    if not callable(oracle):
        if batched or budget is not None:
            raise ValueError("batched and budget must not be given where oracle is a matrix.")
        found = order_by(method, oracle, len(items), top_k=top_k, decide=decide, rng=rng)
    else:
        with _read_oracle(oracle, batched, budget) as asked:
            before = asked.n_calls
            found = order_by(
                method, asked.over(items), len(items), top_k=top_k, decide=decide, rng=rng
            )
            found = replace(found, n_calls=asked.n_calls - before)
    ranked = [items[i] for i in found.order]
    result = PreferenceOrder(ranked, found.order, found.n_calls, found.n_batches, found.complete)
    if on_budget == "raise" and not result.complete:
        raise BudgetExceeded(
            f"The budget ended after {result.n_calls} answers; the order so far is in result.",
            result=result,
        )
    return result


def _read_oracle(oracle: Callable[..., Any], batched: bool, budget: int | None) -> PreferenceOracle:
    if not isinstance(oracle, PreferenceOracle):
        return PreferenceOracle(oracle, batched=batched, budget=budget)
    if batched or budget is not None:
        raise ValueError(
            "batched and budget must not be given where oracle is a PreferenceOracle: it has both."
        )
    return oracle
