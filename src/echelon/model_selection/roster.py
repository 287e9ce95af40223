"""Models worth a try on any table of ordered labels, each with a few settings to search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal

from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from ..ensemble.adaboost_or import AdaBoostOR
from ..ensemble.bagging import OrdinalBagging
from ..ensemble.orboost import ORBoost
from ..gaussian_process.gpor import GPOR
from ..linear.linear_svor import LinearSVOR
from ..linear.prank import PRank
from ..linear.proportional_odds import ProportionalOdds
from ..meta import OrdinalReduction, RoundedRegressor
from ..rules.rank_rules import RankRules
from ..svm.svor import SVOR
from ..tree.tree import ORTree

#: Rows from which on larger models are worth a search.
LARGE = 5000


@dataclass(frozen=True)
class Candidate:
    """A model that enters a contest.

    Parameters
    ----------
    name : str
    estimator : estimator
        An ordinal estimator for columns of numbers, without preparation.
    settings : mapping from parameter to values
        A small grid that is searched on training rows only; empty if nothing is searched.
    group : {"ordinal", "outsider", "baseline"}
    about : str
        What it is, in one line.
    inputs : {"any", "scaled", "linear", "table"}
        What of its inputs the model depends on: on their order at most, on their scale too, or on
        a weighted sum of them. The preparation's settings are searched for these two where a table
        has columns to which they matter. With "table" it prepares the columns itself.
    decision : {"inner", "cost"}
        Where the model has no probabilities and gets them from `OrdinalCalibrator`: whether its
        own labels count, or those of least expected cost.
    large : mapping from parameter to values
        The grid in place of `settings` where there are at least `LARGE` rows; empty if it is the
        same.
    """

    name: str
    estimator: Any
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    group: str = "ordinal"
    about: str = ""
    inputs: Literal["any", "scaled", "linear", "table"] = "any"
    decision: Literal["inner", "cost"] = "inner"
    large: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def grid(self, n: int) -> Mapping[str, Sequence[Any]]:
        """What is searched where there are n rows.

        Examples
        --------
        >>> few, many = (find_candidate("ExtraTrees").grid(n) for n in (500, 50_000))
        >>> few["regressor__min_samples_leaf"], many["regressor__min_samples_leaf"]
        ((1, 5), (3, 20))
        """
        return self.large if self.large and n >= LARGE else self.settings

    @property
    def complexity(self) -> int:
        """How much there is to explain; less is simpler.

        0 for a constant, 1 for a weighted sum of the inputs, 2 for a sum of rules or of cuts of
        single inputs, 3 for all others.
        """
        if self.group == "baseline":
            return 0
        return 1 if self.inputs == "linear" else 2 if self.name in _SUMS_OF_CUTS else 3


_SUMS_OF_CUTS = ("AdaBoostOR stumps", "RankRules")


def candidates(random_state: int = 0) -> dict[str, Candidate]:
    """All candidates by name: ordinal models, outsiders, and the median label.

    Parameters
    ----------
    random_state : int
        Seed of the models that draw numbers.

    Returns
    -------
    roster : dict
        The models that learn fastest come first. LightGBM is among them if it is installed.

    Examples
    --------
    >>> roster = candidates()
    >>> roster["LinearSVOR"].settings
    {'C': (0.01, 0.1, 1.0, 10.0)}
    >>> roster["median label"].group
    'baseline'
    """
    return {candidate.name: candidate for candidate in _roster(random_state)}


def default_models(random_state: int = 0) -> dict[str, Any]:
    """Models for a first look at ordered labels, and outsiders to measure them against.

    Parameters
    ----------
    random_state : int
        Seed of the models that draw numbers.

    Returns
    -------
    models : dict
        Unfitted estimators of the `candidates` by name, for inputs that are numbers.

    Examples
    --------
    >>> default_models()["SVOR explicit"]
    SVOR(constraints='explicit')
    """
    return {name: candidate.estimator for name, candidate in candidates(random_state).items()}


def find_candidate(name: str, random_state: int = 0) -> Candidate:
    """The candidate of that name, whatever its case, spaces and hyphens.

    Parameters
    ----------
    name : str
        A name, or the beginning of one that no other candidate shares.
    random_state : int
        Seed of the models that draw numbers.

    Examples
    --------
    >>> find_candidate("svor-implicit").name
    'SVOR implicit'
    >>> find_candidate("gp").name
    'GPOR'
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a candidate; found {name!r}.")
    roster = candidates(random_state)
    wanted = _plain(name)
    found = [known for known in roster if _plain(known) == wanted]
    if not found and wanted:
        found = [known for known in roster if _plain(known).startswith(wanted)]
    if len(found) == 1:
        return roster[found[0]]
    if found:
        raise ValueError(f"{name!r} is the beginning of several models: {', '.join(found)}.")
    raise ValueError(f"There is no model {name!r}; there are {', '.join(roster)}.")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _roster(seed: int) -> Iterator[Candidate]:
    """The candidates, those that learn fastest first: name, estimator, what it is, settings."""
    outsider = partial(_candidate, group="outsider")
    calibrated = partial(outsider, decision="cost")
    # An entry in a few lines.
    # fmt: off
    yield _candidate(
        "median label", RoundedRegressor(DummyRegressor(strategy="median")),
        "The same label for every row: the median of the training labels.", group="baseline")
    yield outsider(
        "RoundedRegressor ridge", RoundedRegressor(Ridge()),
        "Ridge regression on the ranks, rounded.", inputs="linear",
        regressor__alpha=(1.0, 30.0, 1000.0))
    yield _candidate(
        "ProportionalOdds logit", ProportionalOdds("logit", alpha=1.0),
        "Cumulative link model with the logit link, by penalised likelihood.",
        inputs="linear", alpha=(0.01, 0.1, 1.0, 10.0, 100.0, 1000.0))
    yield _candidate(
        "LinearSVOR", LinearSVOR(), "Support vector ordinal regression with a linear score.",
        inputs="linear", C=(0.01, 0.1, 1.0, 10.0))
    yield _candidate(
        "PRank", PRank(200, random_state=seed),
        "The perceptron with thresholds, averaged over its steps.", inputs="linear")
    yield _candidate(
        "OrdinalReduction logistic", OrdinalReduction(LogisticRegression(max_iter=500)),
        "A logistic regression for each threshold.", inputs="linear",
        estimator__C=(0.1, 1.0, 10.0))
    for constraints in ("implicit", "explicit"):
        yield _candidate(
            f"SVOR {constraints}", SVOR(constraints=constraints),
            f"Support vector ordinal regression, {constraints} constraints, Gaussian kernel.",
            inputs="scaled", C=(1.0, 10.0), gamma=(0.03, 0.15, 0.7))
    yield _candidate(
        "AdaBoostOR stumps", AdaBoostOR(learning_rate=0.3, random_state=seed),
        "Boosted ordinal stumps.", n_estimators=(100, 400))
    yield _candidate(
        "RankRules", RankRules(200, max_conditions=2, random_state=seed),
        "Boosted rules that can be read as sentences.",
        n_rules=(100, 400), max_conditions=(2, 4))
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier, LGBMRegressor

        drawn = {"subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.8}
        quiet = {"n_jobs": 1, "verbose": -1, "random_state": seed}
        known: dict[str, Any] = {"n_estimators": 300, "learning_rate": 0.05, **drawn, **quiet}
        yield calibrated(
            "LightGBM calibrated", RoundedRegressor(LGBMRegressor(**known)),
            "LightGBM's gradient boosting on the ranks, with thresholds learnt out of fold.",
            regressor__num_leaves=(4, 8, 31), regressor__n_estimators=(100, 300),
            large={"regressor__num_leaves": (31, 127)})
        yield _candidate(
            "OrdinalReduction LightGBM",
            OrdinalReduction(LGBMClassifier(**known), mode="joint"),
            "LightGBM's gradient boosting for the thresholds together, each an input.",
            estimator__num_leaves=(8, 31), estimator__n_estimators=(100, 300),
            large={"estimator__num_leaves": (31, 127)})
    else:
        boosting = HistGradientBoostingRegressor(
            learning_rate=0.05, max_iter=300, early_stopping=False, random_state=seed)
        yield calibrated(
            "HistGradientBoosting calibrated", RoundedRegressor(boosting),
            "scikit-learn's gradient boosting on the ranks, with thresholds learnt out of fold.",
            regressor__max_leaf_nodes=(4, 8, 31), regressor__max_iter=(100, 300),
            large={"regressor__max_leaf_nodes": (31, 127)})
    trees = ORTree(max_features=0.5, min_samples_leaf=5)
    yield _candidate(
        "OrdinalBagging trees", OrdinalBagging(trees, random_state=seed),
        "Ordinal trees grown on drawn rows and columns, by vote.",
        estimator__min_samples_leaf=(1, 5), estimator__max_features=(0.3, 0.6))
    forest = ExtraTreesRegressor(100, min_samples_leaf=5, max_features=0.7, random_state=seed)
    yield calibrated(
        "ExtraTrees calibrated", RoundedRegressor(forest),
        "Extremely randomised trees on the ranks, with thresholds learnt out of fold.",
        regressor__min_samples_leaf=(1, 5), regressor__max_features=(0.3, 0.7),
        large={"regressor__min_samples_leaf": (3, 20), "regressor__max_features": (0.3, 0.7)})
    yield _candidate(
        "ORBoost", ORBoost(200, random_state=seed), "A boosted score with thresholds.",
        base=("perceptron", "stump"))
    yield _candidate(
        "GPOR", GPOR(cost="absolute", n_inducing=200, random_state=seed),
        "Gaussian process with thresholds; it sets its parameters by evidence.",
        inputs="scaled")
    # fmt: on


def _candidate(
    name: str,
    estimator: Any,
    about: str,
    *,
    group: str = "ordinal",
    inputs: Literal["any", "scaled", "linear"] = "any",
    decision: Literal["inner", "cost"] = "inner",
    large: Mapping[str, Sequence[Any]] | None = None,
    **settings: Sequence[Any],
) -> Candidate:
    return Candidate(name, estimator, settings, group, about, inputs, decision, large or {})
