"""ORBoost beside the authors' code, which skordinal wraps: same rounds, same kind of learner."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..registry import Case, Peer
from .adaboost_or import Data, absolute_errors, house

ROUNDS = 200


def scaled_house(n: int) -> Data:
    """Rows of house_16H, standardised: the peer's perceptrons need it."""
    data = house(n)
    mean, deviation = data.X.mean(axis=0), data.X.std(axis=0)
    return data._replace(X=(data.X - mean) / deviation, X_test=(data.X_test - mean) / deviation)


def ours(base: str, data: Data) -> Any:
    from echelon import ORBoost

    return ORBoost(ROUNDS, base=base, random_state=0).fit(data.X, data.y)


def skordinal(base: str, data: Data) -> Any:
    from skordinal.classifiers import ORBoost

    return ORBoost(ROUNDS, loss_form="full", base_learner=base).fit(data.X, data.y)


def _case(base: str) -> Case:
    peer = Peer(
        "skordinal ORBoost",
        "skordinal.classifiers",
        partial(skordinal, base),
        agreement=absolute_errors,
    )
    return Case(
        f"orboost/{base}",
        sizes=(2_000,),
        quick_sizes=(300,),
        build=scaled_house,
        ours=partial(ours, base),
        peers=(peer,),
        rounds=2,
    )


CASES = (_case("perceptron"), _case("stump"))
