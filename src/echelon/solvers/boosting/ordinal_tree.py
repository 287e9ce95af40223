"""Binary trees that part coded inputs for signed weights V, a rank of least cost in every leaf.

With A_k and B_k the weight of a node's rows above and not above threshold k, the *gini* impurity of
the node is Σ_k A_k·B_k / (A_k + B_k), which for two classes is Gini's, and its *cost* is that of
its best rank, min_r Σ_{k<r} B_k + Σ_{k≥r} A_k. A parting is chosen by the sum over both sides: the
least impurity, or the least cost and among equals the least impurity. A node that some rank fits
without cost is a leaf; other nodes are parted as far as the limits allow, even where the sum stays
the same, because parting again may lower it. Where the gini sees only one side of every threshold
although no rank fits (zero-one costs do not tell the lowest class from the highest), the cost
decides.

Equally good partings differ by less than 1e-10 of the node's weight; the first one met stays:
features ascend, or come in random order where only some are looked at, cuts ascend, and missing
values are tried above the cut before below. A cut between two neighbouring codes of the node is put
at the middle one of the edges between them, so the tree does not change when a feature is
transformed by an increasing function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..._native._trees import Grower, find_leaves, find_leaves_by_code
from ..._utils.state import are_indices, require_state
from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.reduction import decode
from .bins import BinnedInputs

Integers = npt.NDArray[np.int32]

CRITERIA = ("gini", "cost")
# Rows times features between two returns to Python, so that Ctrl-C is heard.
_WORK = 10_000_000
# Costs that differ by less than this share of the weight are equal.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class TreeLimits:
    """How a tree is grown.

    Parameters
    ----------
    criterion : {"gini", "cost"}
    max_depth : int, optional
    min_samples_split, min_samples_leaf : int
        Least number of rows, of those with weight, of a node that is parted and of a leaf.
    min_share_leaf : float
        Least share of the weight Σ|V| of all rows that a leaf has.
    max_features : {"sqrt"}, int or float, optional
        Features to look at in every node, of those that vary: their square root, so many, or such
        a share of them; all by default.
    """

    criterion: str = "gini"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_share_leaf: float = 0.0
    max_features: str | float | None = None

    def features_of(self, n_features: int) -> int:
        """Number of features to look at, of so many."""
        if self.max_features is None:
            return n_features
        if self.max_features == "sqrt":
            return max(1, math.isqrt(n_features))
        if isinstance(self.max_features, float):
            return max(1, int(self.max_features * n_features))
        return min(int(self.max_features), n_features)


@dataclass(frozen=True)
class OrdinalTree:
    """A tree of P partings and P + 1 leaves, both numbered depth first, lower side first.

    Parameters
    ----------
    feature : ndarray of shape (P,)
    edge : ndarray of shape (P,)
        Rows with ``x <= edge`` go to the lower side; +∞ parts values from missing ones.
    cut : ndarray of shape (P,)
        The same as a code: ``code <= cut``.
    children : ndarray of shape (P, 2)
        Lower and upper side: the number of a parting, or ``~leaf``.
    missing_low : ndarray of bool, shape (P,)
        Whether missing values go to the lower side.
    gain : ndarray of shape (P,)
        By how much the parting lowered the criterion, in units of weight.
    margins : ndarray of shape (P + 1, K−1)
        For every leaf and threshold, how much cheaper its best rank above the threshold is than
        its best rank below, per weight. Positive as often as the rank of least cost is high.
    leaf_ranks : ndarray of shape (P + 1,)
        Rank of least cost, the lowest among equals.
    depth : int
    saw_missing : bool
        Whether any value of the inputs was missing.
    class_mass : ndarray of shape (P + 1, K), optional
        Weight of every class in the leaves, see `count_classes`.
    """

    feature: Integers
    edge: Vector
    cut: Integers
    children: Integers
    missing_low: npt.NDArray[np.uint8]
    gain: Vector
    margins: Matrix
    leaf_ranks: Codes
    depth: int
    saw_missing: bool
    class_mass: Matrix | None = None

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_ranks)

    def check_state(self) -> None:
        """Raise an error unless every row of any inputs comes to a leaf."""
        P = len(self.feature)
        columns = {
            "feature": np.int32,
            "edge": np.float64,
            "cut": np.int32,
            "missing_low": np.uint8,
            "gain": np.float64,
        }
        for name, dtype in columns.items():
            require_state(_is_array(getattr(self, name), dtype, (P,)), f"{name} is no column")
        children, place = self.children, np.arange(P)[:, None]
        require_state(_is_array(children, np.int32, (P, 2)), "the children of a node are not two")
        inner = children >= 0
        require_state((children > place)[inner], "the children of a node do not come after it")
        require_state(are_indices(children[inner], P), "a child is no node")
        require_state(are_indices(~children[~inner], P + 1), "a child is no leaf")
        require_state(~np.isnan(self.edge), "a node parts at no number")
        K = self.margins.shape[1] + 1 if self.margins.ndim == 2 else 0
        require_state(
            _is_array(self.margins, np.float64, (P + 1, K - 1)) and np.isfinite(self.margins).all(),
            "the leaves have no margins",
        )
        ranks = self.leaf_ranks
        require_state(_is_array(ranks, np.intp, (P + 1,)), "the leaves have no ranks")
        require_state(are_indices(ranks, K), "the rank of a leaf is none")
        mass = self.class_mass
        require_state(
            mass is None
            or (_is_array(mass, np.float64, (P + 1, K)) and bool((mass.sum(axis=1) > 0.0).all())),
            "the leaves have no weights of classes",
        )

    def ranks(self, X: npt.NDArray[np.float64]) -> Codes:
        """Rank of every row of X."""
        return self.leaf_ranks[self.apply(X)]

    def apply(self, X: npt.NDArray[np.float64]) -> Integers:
        """Leaf of every row of X; missing values as NaN."""
        leaves = np.empty(len(X), dtype=np.int32)
        X = np.ascontiguousarray(X, dtype=np.float64)
        find_leaves(X, self.feature, self.edge, self.children, self.missing_low, leaves)
        return leaves

    def apply_codes(self, bins: BinnedInputs) -> Integers:
        """Leaf of every row of inputs with the edges that the tree was grown with."""
        leaves = np.empty(bins.codes.shape[1], dtype=np.int32)
        n_bins = bins.n_bins.astype(np.int32)
        find_leaves_by_code(
            bins.codes, n_bins, self.feature, self.cut, self.children, self.missing_low, leaves
        )
        return leaves

    def count_classes(
        self, leaves: Integers, codes: Codes, weights: Vector, n_classes: int
    ) -> OrdinalTree:
        """The same tree with the weight of every class in its leaves, of rows that fell there."""
        cells = leaves.astype(np.intp) * n_classes + codes
        mass = np.bincount(cells, weights, minlength=self.n_leaves * n_classes).astype(np.float64)
        return replace(self, class_mass=mass.reshape(self.n_leaves, n_classes))

    def probabilities(self, X: Matrix) -> Matrix:
        """Share of every class in the leaf of each row of X, after `count_classes`."""
        if self.class_mass is None:
            raise ValueError("The classes in the leaves are not counted.")
        shares = self.class_mass / self.class_mass.sum(axis=1, keepdims=True)
        return np.asarray(shares[self.apply(X)])

    def importances(self, n_features: int) -> Vector:
        """Share of the gains that each feature has; zeros if nothing was gained."""
        total = np.bincount(self.feature, self.gain, minlength=n_features).astype(np.float64)
        whole = total.sum()
        return total / whole if whole > 0.0 else total


def _is_array(value: object, dtype: type, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape


class TreeLearner:
    """Trees on the same inputs for other and other weights.

    Parameters
    ----------
    bins : BinnedInputs
    limits : TreeLimits, optional

    Examples
    --------
    >>> from echelon.solvers.boosting.bins import bin_inputs
    >>> learner = TreeLearner(bin_inputs(np.array([[1.0], [2.0], [4.0]])))
    >>> tree, _ = learner.grow(np.array([[-1.0], [1.0], [1.0]]))
    >>> tree.edge, tree.ranks(np.array([[0.0], [3.0]]))
    (array([1.5]), array([0, 1]))
    """

    def __init__(self, bins: BinnedInputs, limits: TreeLimits | None = None) -> None:
        self.bins = bins
        self.limits = TreeLimits() if limits is None else limits
        self._n_bins = bins.n_bins.astype(np.int32)
        self._saw_missing = bool(bins.has_missing.any())
        # Features that are the same in all rows stay out, so that they change no random choice.
        self._features = np.flatnonzero(self._n_bins + bins.has_missing > 1).astype(np.int32)

    def grow(self, V: Matrix, seed: int = 0) -> tuple[OrdinalTree, Integers]:
        """Grow a tree for weights V.

        Parameters
        ----------
        V : ndarray of shape (n, K−1)
            Signed weights; rows of zeros are not looked at.
        seed : int
            For the choice of features; without effect if all are looked at.

        Returns
        -------
        tree : OrdinalTree
        leaves : ndarray of shape (n,)
            Leaf of every row, −1 for rows that were not looked at.
        """
        sizes, thresholds = np.abs(V), V.shape[1]
        if (sizes[:, 1:] == sizes[:, :1]).all():
            # One column is enough where they are the same at all thresholds.
            sizes = sizes[:, :1]
        stats = np.hstack([V, sizes])
        rows = np.flatnonzero(stats[:, thresholds:].any(axis=1)).astype(np.int32)
        if not len(rows):
            # Nothing costs anything: one leaf with the lowest rank.
            rows = np.arange(len(V), dtype=np.int32)
        limits = self.limits
        grower = Grower(
            stats,
            thresholds,
            rows,
            self._features,
            self._n_bins,
            by_cost=limits.criterion == "cost",
            max_depth=len(rows) if limits.max_depth is None else limits.max_depth,
            min_split=limits.min_samples_split,
            min_leaf=limits.min_samples_leaf,
            min_share=limits.min_share_leaf,
            max_features=limits.features_of(len(self._features)),
            seed=seed,
        )
        while grower.advance(self.bins.codes, _WORK):
            pass
        return self._tree(grower, thresholds), grower.leaf_of_row

    def _tree(self, grower: Grower, thresholds: int) -> OrdinalTree:
        splits = grower.n_splits
        feature, cut = grower.feature[:splits].copy(), grower.cut[:splits].copy()
        stats = grower.leaf_stats[: grower.n_leaves]
        margins = _leaf_margins(stats[:, :thresholds], stats[:, thresholds:].mean(axis=1))
        return OrdinalTree(
            feature=feature,
            edge=self._edges(feature, cut),
            cut=cut,
            children=grower.children[:splits].copy(),
            missing_low=grower.missing_left[:splits].copy(),
            gain=grower.gain[:splits].copy(),
            margins=margins,
            leaf_ranks=decode(margins),
            depth=grower.depth,
            saw_missing=self._saw_missing,
        )

    def _edges(self, feature: Integers, cut: Integers) -> Vector:
        edges = np.empty(len(feature))
        for j in np.unique(feature):
            here = feature == j
            edges[here] = np.append(self.bins.edges[j], np.inf)[cut[here]]
        return edges


def _leaf_margins(signed: Matrix, weight: Vector) -> Matrix:
    """Least cost at or below each threshold minus least cost above, per weight.

    The cost of rank r is a constant minus Σ_{k<r} S_k for the signed sums S of the leaf.
    """
    saved = np.zeros((len(signed), signed.shape[1] + 1))
    np.cumsum(signed, axis=1, out=saved[:, 1:])
    below = np.maximum.accumulate(saved, axis=1)[:, :-1]
    above = np.maximum.accumulate(saved[:, ::-1], axis=1)[:, -2::-1]
    margins = (above - below) / np.where(weight > 0.0, weight, 1.0)[:, None]
    margins[np.abs(margins) <= _ROUNDING] = 0.0
    return np.asarray(margins)
