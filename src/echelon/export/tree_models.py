"""Stumps, trees, and what is made of many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.types import Matrix, Vector
from ..ensemble import AdaBoostOR, ORBoost, OrdinalBagging
from ..ensemble.cost_learner import ConstantRanker
from ..ordinal.reduction import side_matrix
from ..ordinal.thresholds import level_of_threshold
from ..ranking import RankBoost
from ..rules import RankRules
from ..rules.columns import InputColumns
from ..rules.ensemble import Levels, RuleEnsemble
from ..solvers.boosting.ordinal_tree import OrdinalTree
from ..tree import ORStump, ORTree
from .columns import (
    KINDS,
    NUMBER,
    ORDINAL,
    RANKERS,
    TEXT,
    Columns,
    ExportError,
    convert,
    holds_texts,
    positions,
    registered,
    unsupported,
)
from .decoding import (
    Ordinal,
    decode,
    fall_probabilities,
    margins_of,
    monotone_exceedance,
    running_minimum,
    sigmoid,
    threshold_model,
    untilted_probabilities,
    vote_margins,
)
from .graph import Value
from .tree_ensembles import leaf_numbers, places_between_cuts, rule_coverage


@registered(ORDINAL, ORStump)
def stump(model: ORStump, columns: Columns) -> Ordinal:
    """One feature with thresholds; a missing value has its own rank."""
    scores = columns.matrix().column(model.feature_).flat() * float(model.direction_)
    sides = _sides(model.missing_rank_, len(model.classes_))
    margins = scores.is_missing().upright().where(sides, margins_of(scores, model.thresholds_))
    latent = scores.is_missing().where(model.missing_score_, scores)
    return Ordinal(decode(margins), margins, latent)


@registered(ORDINAL, ORTree)
def tree(model: ORTree, columns: Columns) -> Ordinal:
    """Margins and class shares of the leaf."""
    leaves = _leaves([model], [range(len(columns))], columns).flat()
    margins = columns.graph.constant(model.tree_.margins).take(leaves, axis=0)
    shares = columns.graph.constant(_class_shares(model.tree_)).take(leaves, axis=0)
    return Ordinal(decode(margins), margins, None, shares)


@registered(ORDINAL, OrdinalBagging)
def bagging(model: OrdinalBagging, columns: Columns) -> Ordinal:
    """Votes and mean probabilities of the members."""
    K, members, places = len(model.classes_), model.estimators_, model.estimators_features_
    weights = np.ones(len(members))
    above, votes = _votes(members, weights, places, columns, K)
    if votes is None:
        shares = np.concatenate([_class_shares(member.tree_) for member in members])
        total = _looked_up(_leaves(members, places, columns), shares)
    else:
        total = _sum([_probabilities(vote, K) for vote in votes])
    margins = vote_margins(above, float(len(members)))
    return Ordinal(decode(margins), margins, None, total / float(len(members)))


@registered(ORDINAL, AdaBoostOR)
def adaboost(model: AdaBoostOR, columns: Columns) -> Ordinal:
    """Weighted votes."""
    K, weights, tables = len(model.classes_), model.estimator_weights_, model.step_tables()
    if tables is not None:
        above = _step_functions(columns, [(t.feature, t.cuts, t.values) for t in tables])
    else:
        places = [range(len(columns))] * len(weights)
        above, _ = _votes(model.estimators_, weights, places, columns, K)
    total = float(weights.sum())
    margins = vote_margins(above, total)
    shares = running_minimum(sigmoid(2.0 * total * margins), K - 1)
    probabilities = untilted_probabilities(shares, model.probability_link().weights)
    return Ordinal(decode(margins), margins, None, probabilities)


@registered(ORDINAL, ORBoost)
def orboost(model: ORBoost, columns: Columns) -> Ordinal:
    """A score that is a sum of weak learners, with thresholds."""
    weights, tables = model.estimator_weights_, model.step_tables()
    if not len(weights):
        latent = _no_score(columns.matrix())
    elif tables is None:
        coefs = np.array([member.coef for member in model.estimators_]).T
        planes = columns.matrix() @ coefs + np.array([m.intercept for m in model.estimators_])
        soft = model.estimators_[0].soft
        answers = planes.apply("Tanh") if soft else (planes > 0.0).where(1.0, -1.0)
        latent = (answers @ weights[:, None]).flat()
    else:
        steps = _step_functions(columns, [(t.feature, t.cuts, t.values[:, :1]) for t in tables])
        latent = 2.0 * steps.flat() - float(weights.sum())
    link = model.probability_link()
    above = sigmoid(2.0 * margins_of(latent, link.thresholds))
    margins = margins_of(latent, model.thresholds_)
    probabilities = untilted_probabilities(above, link.weights)
    return Ordinal(decode(margins), margins, latent, probabilities)


@registered(RANKERS, RankBoost)
def rank_boost(model: RankBoost, columns: Columns) -> Value:
    """A sum of step functions of single inputs."""
    tables = model.step_tables()
    if tables is None:
        raise unsupported("RankBoost with a base ranker of its own (estimator=…)")
    if not tables:
        return _no_score(columns.matrix())
    return _step_functions(columns, [(t.feature, t.cuts, t.values) for t in tables]).flat()


def _votes(
    members: Sequence[Any], weights: Vector, places: Sequence[Any], columns: Columns, n_classes: int
) -> tuple[Value, list[Ordinal] | None]:
    """Weight of the votes above each threshold; and what members say, unless all are trees."""
    thresholds = np.arange(n_classes - 1)
    if all(type(member) is ORTree for member in members):
        by_leaf = [
            weight * (member.tree_.leaf_ranks[:, None] > thresholds)
            for member, weight in zip(members, weights, strict=True)
        ]
        leaves = _leaves(members, places, columns)
        return _looked_up(leaves, np.concatenate(by_leaf).astype(np.float64)), None
    votes = [
        _member(member, columns.take(chosen), n_classes)
        for member, chosen in zip(members, places, strict=True)
    ]
    above = [
        (vote.codes.upright() > thresholds).cast("float64") * float(weight)
        for vote, weight in zip(votes, weights, strict=True)
    ]
    return _sum(above), votes


def _step_functions(columns: Columns, tables: Sequence[tuple[int, Vector, Matrix]]) -> Value:
    """Σ over features of the table's row at the place of x between its cuts."""
    graph, X = columns.graph, columns.matrix()
    features = np.array([feature for feature, _, _ in tables])
    places = places_between_cuts(graph, X, [(feature, cuts) for feature, cuts, _ in tables])
    last = np.array([[len(cuts) + 1 for _, cuts, _ in tables]])
    places = X.take(features).is_missing().where(last, places)
    return _sum(
        [
            graph.constant(values).take(places.column(number).flat(), axis=0)
            for number, (_, _, values) in enumerate(tables)
        ]
    )


def _leaves(members: Sequence[ORTree], places: Sequence[Any], columns: Columns) -> Value:
    trees = [member.tree_ for member in members]
    return leaf_numbers(columns.graph, columns.matrix(), trees, places)


def _looked_up(leaves: Value, table: Matrix) -> Value:
    """Sum over trees of what their leaves hold."""
    return leaves.graph.constant(table).take(leaves, axis=0).sum(axis=1)


def _class_shares(tree: OrdinalTree) -> Matrix:
    mass = np.asarray(tree.class_mass)
    return mass / mass.sum(axis=1, keepdims=True)


def _sides(rank: int, n_classes: int) -> Matrix:
    return side_matrix(np.array([rank]), n_classes).astype(np.float64)


def _member(member: Any, columns: Columns, n_classes: int) -> Ordinal:
    """A member fitted on codes 0 … K−1."""
    if not isinstance(member, ConstantRanker):
        return convert(ORDINAL, member, columns)
    margins = _no_score(columns.matrix()).upright() + _sides(member.rank, n_classes)
    return Ordinal(decode(margins), margins)


def _probabilities(part: Ordinal, n_classes: int) -> Value:
    if part.probabilities is not None:
        return part.probabilities
    return part.codes.upright().equals(np.arange(n_classes)).cast("float64")


def _sum(values: Sequence[Value]) -> Value:
    return sum(values[1:], start=values[0])


def _no_score(X: Value) -> Value:
    """Zero for every row, whatever the inputs."""
    return X.column(0).is_missing().cast("float64").flat() * 0.0


_MISSING = -1


@registered(ORDINAL, RankRules)
def rules(model: RankRules, columns: Columns) -> Ordinal:
    """Sums of responses, with thresholds; or one sum for every threshold."""
    parts = model.rule_model()
    X, K = _positions(parts.columns, columns), len(model.classes_)
    scores = [_score(part, X, len(columns)) for part in parts.ensembles]
    calibration = model.calibration()
    if calibration is not None:
        return threshold_model(scores[0], model.thresholds_, calibration)
    if parts.levels.joint:
        margins = margins_of(scores[0], model.thresholds_)
    else:
        pairs = zip(scores, parts.ensembles, strict=True)
        found = [margins_of(score, part.thresholds) for score, part in pairs]
        margins = _whole_scale(parts.levels, columns.graph.concat(found))
    probabilities = fall_probabilities(sigmoid(2.0 * margins), K)
    latent = scores[0] if parts.levels.joint else None
    return Ordinal(decode(margins), margins, latent, probabilities)


@registered(KINDS, RankRules)
def rule_inputs(model: RankRules, width: int) -> list[str]:
    """Columns of categories that are texts."""
    known = model.rule_model().columns.categories[:width]
    return [TEXT if holds_texts(categories or ()) else NUMBER for categories in known]


def _score(ensemble: RuleEnsemble, X: Value, width: int) -> Value:
    if not ensemble.bodies:
        return _no_score(X)
    covered = rule_coverage(X.graph, X, width, ensemble.bodies)
    return (covered @ ensemble.responses[:, None]).flat()


def _positions(known: InputColumns, columns: Columns) -> Value:
    """Inputs as numbers, categories as their positions."""
    if all(categories is None for categories in known.categories):
        return columns.matrix()
    read = []
    for j, categories in enumerate(known.categories):
        column = columns.column(j)
        if categories is None:
            read.append(column)
            continue
        unseen = _MISSING if known.ordered[j] else len(categories)
        kinds = str if holds_texts(categories) else int | float | np.number | np.bool_
        if not all(isinstance(category, kinds) for category in categories):
            raise ExportError(
                f"Column {known.shown_name(j)} holds categories that are neither texts nor "
                "numbers, which ONNX does not have; turn them into texts before fit."
            )
        place = positions(column, categories, unseen, _MISSING)
        read.append((place < np.int64(0)).where(np.nan, place.cast("float64")))
    return columns.graph.concat(read)


def _whole_scale(levels: Levels, found: Value) -> Value:
    """Margins of separate thresholds made to fall, for all levels of the scale."""
    K, n_found = levels.n_classes, len(levels.observed) - 1
    above = monotone_exceedance(sigmoid(2.0 * found), n_found)
    margins = 0.5 * (above / (1.0 - above)).apply("Log")
    if len(levels.observed) == K:
        return margins
    ends = margins.column(0) * 0.0
    ends = ends.is_missing().where(0.0, ends)
    framed = margins.graph.concat([ends + np.inf, margins, ends - np.inf])
    return framed.take(level_of_threshold(levels.observed, K))
