"""Stumps, trees, and what is made of many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ensemble.adaboost_or import AdaBoostOR
from ..ensemble.bagging import OrdinalBagging
from ..ensemble.cost_learner import ConstantRanker
from ..ensemble.orboost import ORBoost
from ..ordinal.reduction import side_matrix
from ..ranking.rank_boost import RankBoost
from ..tree.stump import ORStump
from ..tree.tree import ORTree
from ._columns import Columns
from ._decoding import (
    Ordinal,
    decode,
    margins_of,
    running_minimum,
    sigmoid,
    threshold_model,
    untilted_probabilities,
    vote_margins,
)
from ._forests import leaf_numbers, places_between_cuts
from ._graph import Value
from ._registry import ORDINAL, RANKERS, convert_ordinal, registered, unsupported


@registered(ORDINAL, ORStump)
def stump(model: Any, columns: Columns) -> Ordinal:
    """One feature with thresholds; a missing value has its own rank."""
    latent = columns.matrix().column(model.feature_).flat() * float(model.direction_)
    sides = side_matrix(np.array([model.missing_rank_]), len(model.classes_)).astype(np.float64)
    margins = latent.is_missing().upright().where(sides, margins_of(latent, model.thresholds_))
    return Ordinal(decode(margins), margins, latent)


@registered(ORDINAL, ORTree)
def tree(model: Any, columns: Columns) -> Ordinal:
    """Margins and class shares of the leaf."""
    leaves = _leaves([model], [range(len(columns))], columns).flat()
    found = model.tree_
    margins = columns.graph.constant(found.margins).take(leaves, axis=0)
    shares = columns.graph.constant(_class_shares(found)).take(leaves, axis=0)
    return Ordinal(decode(margins), margins, None, shares)


@registered(ORDINAL, OrdinalBagging)
def bagging(model: Any, columns: Columns) -> Ordinal:
    """Votes and mean probabilities of the members."""
    K, places = len(model.classes_), model.estimators_features_
    weights = np.ones(len(model.estimators_))
    if model._of_trees:
        leaves = _leaves(model.estimators_, places, columns)
        above = _looked_up(leaves, _votes_by_leaf(model.estimators_, weights, K))
        shares = np.concatenate([_class_shares(member.tree_) for member in model.estimators_])
        total = _looked_up(leaves, shares)
    else:
        parts = [
            (weight, _member(member, columns.take(chosen), K))
            for weight, member, chosen in zip(weights, model.estimators_, places, strict=True)
        ]
        above = _votes_above(parts, K)
        total = _sum([_chances(part, K) for _, part in parts])
    margins = vote_margins(above, float(len(weights)))
    return Ordinal(decode(margins), margins, None, total / float(len(weights)))


@registered(ORDINAL, AdaBoostOR)
def adaboost(model: Any, columns: Columns) -> Ordinal:
    """Weighted votes."""
    K, weights = len(model.classes_), model.estimator_weights_
    if model._tables is not None:
        tables = [(table.feature, table.cuts, table.values) for table in model._tables]
        above = _step_functions(columns, tables)
    elif all(type(member) is ORTree for member in model.estimators_):
        everything = [range(len(columns))] * len(weights)
        leaves = _leaves(model.estimators_, everything, columns)
        above = _looked_up(leaves, _votes_by_leaf(model.estimators_, weights, K))
    else:
        members = zip(weights, model.estimators_, strict=True)
        above = _votes_above([(w, _member(member, columns, K)) for w, member in members], K)
    total = float(weights.sum())
    margins = vote_margins(above, total)
    chances = running_minimum(sigmoid(2.0 * total * margins), K - 1)
    return Ordinal(
        decode(margins), margins, None, untilted_probabilities(chances, model._link_weights)
    )


@registered(ORDINAL, ORBoost)
def orboost(model: Any, columns: Columns) -> Ordinal:
    """A score that is a sum of weak learners, with thresholds."""
    weights = model.estimator_weights_
    if not len(weights):
        latent = _no_score(columns)
    elif model._tables is None:
        coefs = np.array([member.coef for member in model.estimators_]).T
        planes = columns.matrix() @ coefs + np.array([m.intercept for m in model.estimators_])
        soft = model.estimators_[0].soft
        answers = planes.apply("Tanh") if soft else (planes > 0.0).where(1.0, -1.0)
        latent = (answers @ weights[:, None]).flat()
    else:
        tables = [(table.feature, table.cuts, table.values[:, :1]) for table in model._tables]
        latent = 2.0 * _step_functions(columns, tables).flat() - float(weights.sum())
    above = sigmoid(2.0 * margins_of(latent, model._link_thresholds))
    probabilities = untilted_probabilities(above, model._link_weights)
    return threshold_model(latent, model.thresholds_, probabilities)


@registered(RANKERS, RankBoost)
def rank_boost(model: Any, columns: Columns) -> Value:
    """A sum of step functions of single inputs."""
    if model._tables is None:
        raise unsupported("RankBoost with a base ranker of its own (estimator=…)")
    if not model._tables:
        return _no_score(columns)
    tables = [(table.feature, table.cuts, table.values) for table in model._tables]
    return _step_functions(columns, tables).flat()


def _step_functions(columns: Columns, tables: Sequence[tuple[int, Any, Any]]) -> Value:
    """Σ over features of the table's row at the place of x between its cuts."""
    graph, X = columns.graph, columns.matrix()
    features = np.array([feature for feature, _, _ in tables])
    places = places_between_cuts(graph, X, [(feature, cuts) for feature, cuts, _ in tables])
    last = np.array([[len(cuts) + 1 for _, cuts, _ in tables]])
    places = X.take(features).is_missing().where(last, places)
    total = None
    for number, (_, _, values) in enumerate(tables):
        found = graph.constant(values).take(places.column(number).flat(), axis=0)
        total = found if total is None else total + found
    assert total is not None
    return total


def _leaves(members: Sequence[Any], places: Sequence[Any], columns: Columns) -> Value:
    trees = [member.tree_ for member in members]
    return leaf_numbers(columns.graph, columns.matrix(), trees, [np.asarray(p) for p in places])


def _looked_up(leaves: Value, table: Any) -> Value:
    """Sum over trees of what their leaves hold."""
    return leaves.graph.constant(table).take(leaves, axis=0).sum(axis=1)


def _votes_by_leaf(members: Sequence[Any], weights: Any, n_classes: int) -> Any:
    thresholds = np.arange(n_classes - 1)
    votes = [
        weight * (member.tree_.leaf_ranks[:, None] > thresholds)
        for member, weight in zip(members, weights, strict=True)
    ]
    return np.concatenate(votes).astype(np.float64)


def _class_shares(found: Any) -> Any:
    return found.class_mass / found.class_mass.sum(axis=1, keepdims=True)


def _member(member: Any, columns: Columns, n_classes: int) -> Ordinal:
    """A member fitted on codes 0 … K−1."""
    if not isinstance(member, ConstantRanker):
        return convert_ordinal(member, columns)
    sides = side_matrix(np.array([member.rank]), n_classes).astype(np.float64)
    margins = _no_score(columns).upright() + sides
    return Ordinal(decode(margins), margins)


def _votes_above(parts: Sequence[tuple[float, Ordinal]], n_classes: int) -> Value:
    thresholds = np.arange(n_classes - 1)
    return _sum(
        [
            (part.codes.upright() > thresholds).cast("float64") * float(weight)
            for weight, part in parts
        ]
    )


def _chances(part: Ordinal, n_classes: int) -> Value:
    if part.probabilities is not None:
        return part.probabilities
    return part.codes.upright().equals(np.arange(n_classes)).cast("float64")


def _sum(values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _no_score(columns: Columns) -> Value:
    """Zero for every row, whatever the inputs."""
    return columns.matrix().column(0).is_missing().cast("float64").flat() * 0.0
