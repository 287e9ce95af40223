"""Items ranked by asking a judge of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from .._utils.choices import require_choice
from .._utils.types import RandomStateLike
from ..ordinal.arrays import LARGEST_SEED, require_count
from ..pairs.preference_order import order_by
from ..pairs.preference_panel import BudgetExceeded
from .oracles import Judge


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
        Answers taken from the judge; what was cached is not counted.
    n_batches : int
        Rounds of questions.
    complete : bool
        Whether the budget was enough; if not, what it left open stands as the items came.
    """

    items: list[Any]
    order: npt.NDArray[np.intp]
    n_calls: int
    n_batches: int
    complete: bool


def rank_by_preference(
    items: Iterable[Any],
    judge: Any,
    *,
    method: str = "quicksort",
    decide: str = "majority",
    top_k: int | None = None,
    budget: int | None = None,
    on_budget: str = "partial",
    batched: bool = False,
    random_state: RandomStateLike = None,
) -> PreferenceOrder:
    """Rank items of any kind by a judge of pairs: a person, a language model, a match.

    Parameters
    ----------
    items : iterable
        What is to be ranked, such as texts.
    judge : callable, Judge, or array-like of shape (n, n)
        Function of two items that gives the probability, or says, that the first is to stand above
        the second; it may be async. A `Judge` has more settings and keeps its answers for further
        rankings. A matrix holds the probabilities of all pairs.
    method : {"quicksort", "degree"}, default="quicksort"
        `quicksort` asks about 2n ln n pairs; `sort_by_degree` asks all n(n − 1)/2.
    decide : {"sample", "majority"}, default="majority"
        Whether QuickSort takes the side of a pivot that is more probable, or draws it.
    top_k : int, optional
        Return the first so many; QuickSort then asks about 2n pairs.
    budget : int, optional
        Most answers to take from the judge.
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
    if not callable(judge):
        if batched or budget is not None:
            raise ValueError("batched and budget must not be given where judge is a matrix.")
        found = order_by(method, judge, len(items), top_k=top_k, decide=decide, rng=rng)
    else:
        judge = _read_judge(judge, batched, budget)
        before = judge.n_calls
        with judge:
            found = order_by(
                method, judge.over(items), len(items), top_k=top_k, decide=decide, rng=rng
            )
        found = replace(found, n_calls=judge.n_calls - before)
    ranked = [items[i] for i in found.order]
    result = PreferenceOrder(ranked, found.order, found.n_calls, found.n_batches, found.complete)
    if on_budget == "raise" and not result.complete:
        raise BudgetExceeded(
            f"The budget ended after {result.n_calls} answers; the order so far is in result.",
            result=result,
        )
    return result


def _read_judge(judge: Any, batched: bool, budget: int | None) -> Judge:
    if not isinstance(judge, Judge):
        return Judge(judge, batched=batched, budget=budget)
    if batched or budget is not None:
        raise ValueError(
            "batched and budget must not be given where judge is a Judge: it has them."
        )
    return judge
