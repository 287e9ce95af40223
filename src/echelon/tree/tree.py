"""The ordinal decision tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import input_names
from .._utils.messages import require_choice
from .._utils.state import are_indices, require_state
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    LabelsLike,
    Matrix,
    MatrixLike,
    RandomStateLike,
    Vector,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ProbabilityMixin, SignedLearnerMixin
from ..base.rounds import take_rows
from ..base.validation import validate_inputs
from ..ordinal.arrays import LARGEST_SEED, require_count
from ..ordinal.data import OrdinalData
from ..solvers.boosting.bins import bin_inputs, check_max_bins
from ..solvers.boosting.ordinal_tree import CRITERIA, OrdinalTree, TreeLearner, TreeLimits


class ORTree(SignedLearnerMixin, ProbabilityMixin, BaseEstimator):
    """Decision tree for ordered labels, with the rank of least cost in every leaf.

    Parameters
    ----------
    max_depth : int, optional
        Most questions between the root and a leaf; unlimited by default.
    criterion : {"gini", "cost"}, default="gini"
        What a split makes as small as possible, summed over both sides: the impurity, or the cost
        of the best rank and among equals the impurity.
    min_samples_split : int, default=2
        Least number of rows of a node that is split. Rows without weight do not count.
    min_samples_leaf : int, default=1
        Least number of rows of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight of all rows that a leaf has, 0 to 0.5; a row weighs as in the
        notes below.
    max_features : "sqrt", int or float, optional
        How many features are looked at in every node, drawn anew from those that vary in the
        training data: their square root, so many, or such a share of them. Features that do not
        vary in the node are drawn in addition, and so are more features if none can be split. By
        default all.
    max_bins : int, optional
        Cut features at most between so many bins of about equal weight, 2 to 255, for large data;
        by default anywhere between two values.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost to minimise.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.
    random_state : int, RandomState instance, optional
        For the choice of features; without effect if all are looked at.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    tree_ : OrdinalTree
        The tree as arrays.
    n_leaves_ : int
        Number of leaves.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in what all splits lowered of the criterion.

    Notes
    -----
    A split asks x_j ≤ s. Rows whose value is missing go to the side that is better; where no row of
    the node lacked the value, missing values go to the heavier side later.

    With A_k and B_k the weight of a node's rows above and not above threshold k, where a row weighs
    |cost[y, k+1] − cost[y, k]| times its sample weight, the impurity is Σ_k A_k·B_k / (A_k + B_k).
    For two classes this is Gini's, and for the absolute cost it is the mean ranked probability
    score of the node's class shares. A node is a leaf if some rank fits all of its rows, if no
    split is possible, or at the limits above.

    ``predict_proba`` gives the shares of the classes, by weight, among the training rows of the
    leaf. ``decision_function`` gives, for each threshold, the mean cost of the leaf's best rank
    below minus that of its best rank above.

    Examples
    --------
    >>> from echelon import ORTree
    >>> model = ORTree().fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 3])
    >>> print(model.to_text(["size"]))
    size <= 1.5
    |   1, weight 2
    size > 1.5
    |   size <= 2.5
    |   |   2, weight 1
    |   size > 2.5
    |   |   3, weight 1
    """

    _takes_missing = True

    def __init__(
        self,
        max_depth: int | None = None,
        *,
        criterion: str = "gini",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = None,
        cost: CostLike = "absolute",
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.max_depth = max_depth
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.cost = cost
        self.class_weight = class_weight
        self.classes = classes
        self.random_state = random_state

    def _fit_signed(self, data: OrdinalData, V: Matrix) -> None:
        rows = np.flatnonzero(data.sample_weight)
        if len(rows) < len(V):
            data, V = take_rows(data, rows), V[rows]
        tree, _ = self._signed_learner(data, 1, check_random_state(self.random_state))(V)
        self._adopt(tree)

    def _signed_learner(
        self, data: OrdinalData, n_threads: int, rng: np.random.RandomState
    ) -> Callable[[Matrix], tuple[OrdinalTree, Codes]]:
        bins = bin_inputs(data.X, check_max_bins(self.max_bins), data.sample_weight)
        learner = TreeLearner(bins, self._limits(len(bins.edges)))

        def learn(V: Matrix) -> tuple[OrdinalTree, Codes]:
            tree, leaves = learner.grow(V, rng.randint(LARGEST_SEED))
            if (leaves < 0).any():
                leaves = tree.apply_codes(bins)
            tree = tree.count_classes(leaves, data.codes, data.sample_weight, data.n_classes)
            return tree, tree.leaf_ranks[leaves]

        return learn

    def _limits(self, n_features: int) -> TreeLimits:
        """The parameters, checked."""
        require_choice("criterion", self.criterion, CRITERIA)
        if self.max_depth is not None:
            require_count("max_depth", self.max_depth)
        require_count("min_samples_split", self.min_samples_split, 2)
        require_count("min_samples_leaf", self.min_samples_leaf)
        if not 0.0 <= self.min_weight_fraction_leaf <= 0.5:
            raise ValueError(
                "min_weight_fraction_leaf must be a number from 0 to 0.5; found "
                f"{self.min_weight_fraction_leaf!r}."
            )
        return TreeLimits(
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_share_leaf=self.min_weight_fraction_leaf,
            max_features=_check_max_features(self.max_features, n_features),
        )

    def _adopt(self, tree: OrdinalTree) -> None:
        self.tree_ = tree
        self.n_leaves_ = tree.n_leaves

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if not hasattr(self, "tree_"):
            return
        require_state(isinstance(self.tree_, OrdinalTree), "its tree is something else")
        require_state(hasattr(self, "classes_"), "its tree has no labels")
        of_inputs = are_indices(self.tree_.feature, self.n_features_in_)
        require_state(of_inputs, "its tree looks at a feature that is none")
        K = len(self.classes_)
        require_state(self.tree_.margins.shape[1] == K - 1, "its tree has other labels")

    def _ranks(self, X: Matrix) -> Codes:
        return self.tree_.ranks(X)

    @property
    def feature_importances_(self) -> Vector:
        """Share of each feature in what all splits lowered of the criterion."""
        check_is_fitted(self)
        return self.tree_.importances(self.n_features_in_)

    def get_depth(self) -> int:
        """Most questions between the root and a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def apply(self, X: MatrixLike) -> npt.NDArray[np.int32]:
        """Number of the leaf that each row falls into, from 0.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        leaves : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self.tree_.apply(validate_inputs(self, X))

    def _probabilities(self, X: Any) -> Matrix:
        return self.tree_.probabilities(self._inputs(X))

    def to_text(self, feature_names: Sequence[str] | None = None) -> str:
        """The tree as indented lines, a question or a leaf in each.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the column names seen at ``fit``, else x0, x1, ….

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        names = input_names(self) if feature_names is None else list(feature_names)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names must have a name for each of {self.n_features_in_} features; "
                f"found {len(names)}."
            )
        return "\n".join(_lines(self.tree_, names, self.classes_))

    def _margins(self, X: Any) -> Matrix:
        return self.tree_.margins[self.apply(X)]


def _check_max_features(value: Any, n_features: int) -> Any:
    if value is None or (isinstance(value, str) and value == "sqrt"):
        return value
    if isinstance(value, Integral) and value is not True and 1 <= int(value) <= n_features:
        return int(value)
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return value
    raise ValueError(
        f"max_features must be None, 'sqrt', an integer from 1 to the number of features, "
        f"{n_features}, or a share above 0 and at most 1.0; found {value!r}."
    )


def _lines(tree: OrdinalTree, names: list[str], classes: Any) -> list[str]:
    # Every fit counts the classes in the leaves.
    assert tree.class_mass is not None
    lines = []
    waiting = [(0 if len(tree.feature) else -1, 0, "")]
    while waiting:
        node, depth, question = waiting.pop()
        if question:
            lines.append("|   " * (depth - 1) + question)
        if node < 0:
            weight = tree.class_mass[~node].sum()
            label = classes[tree.leaf_ranks[~node]]
            lines.append("|   " * depth + f"{label}, weight {weight:.6g}")
            continue
        for side in (1, 0):
            text = _question(tree, node, side, names[tree.feature[node]])
            waiting.append((int(tree.children[node, side]), depth + 1, text))
    return lines


def _question(tree: OrdinalTree, node: int, side: int, name: str) -> str:
    edge = tree.edge[node]
    if edge == np.inf:
        return f"{name} is {'missing' if side else 'not missing'}"
    missing = tree.saw_missing and bool(tree.missing_low[node]) == (side == 0)
    return f"{name} {'>' if side else '<='} {edge:.6g}{' or missing' if missing else ''}"
