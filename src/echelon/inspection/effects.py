"""How predictions move with one input while the others stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from .._utils.types import (
    Index,
    LabelsLike,
    Mask,
    Matrix,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..base.scores import heavy_tails
from ..ordinal.arrays import check_weights, require_count
from ..ordinal.reduction import expected_rank
from .table import Feature, Response, Table, draw_rows, read_feature, shown_value

_BARS = 20
# Share of all ups and downs that goes one way, of a curve that is said to rise or to fall.
_MOSTLY = 0.75


@dataclass(frozen=True, eq=False)
class Effect:
    """Partial dependence of the predictions on one column, from `feature_effects`.

    Parameters
    ----------
    feature : str
    kind : {"number", "category", "date"}
        A boolean is a category.
    values : list of length p
        Values of the column at which predictions were taken, all of which occur.
    expected_rank : ndarray of shape (p,)
        Mean over the rows of the expected rank, counted from 0 for the lowest class; of the latent
        score if `unit` is "score".
    cumulative : ndarray of shape (p, K−1), or None
        Mean of P(y ≤ k); None for a model without probabilities.
    histogram : tuple of two ndarrays
        Edges and counts of the values of a number or a date (in days since 1970); positions of
        `values` and their counts for a category, or sums of weights. Missing and infinite values
        are in neither.
    unit : {"ranks", "score"}
    classes : ndarray of shape (K,)
    linear_width : float or None
        For a number with heavy tails, the size up to which an axis of it should be linear, and
        logarithmic beyond; the histogram has even steps on that axis, asinh(value / width).
    error : ndarray of shape (p,), or None
        Standard errors of ``expected_rank``, where somebody has found them.
    """

    feature: str
    kind: str
    values: list[Any]
    expected_rank: Vector
    cumulative: Matrix | None
    histogram: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    unit: str
    classes: npt.NDArray[Any]
    linear_width: float | None = None
    error: Vector | None = None

    @property
    def span(self) -> float:
        """Greatest difference that the column makes."""
        return float(np.ptp(self.expected_rank))

    @property
    def direction(self) -> str:
        """Where the prediction mostly goes along the values, "up" or "down"; else "".

        Examples
        --------
        >>> counts = np.array([0.0, 1.0, 2.0]), np.array([3, 4])
        >>> rank = np.array([0.5, 1.5, 1.4])
        >>> Effect("size", "number", [1, 5, 9], rank, None, counts, "ranks", None).direction
        'up'
        """
        steps = np.diff(self.expected_rank)
        ways = np.abs(steps).sum()
        if not ways > 0.0 or abs(steps.sum()) < _MOSTLY * ways:
            return ""
        return "up" if steps.sum() > 0.0 else "down"

    def sentence(self) -> str:
        """The effect in words.

        Examples
        --------
        >>> rank, counts = np.array([0.5, 2.0]), (np.array([0.0, 1.0, 2.0]), np.array([3, 4]))
        >>> print(Effect("size", "number", [1, 9], rank, None, counts, "ranks", None).sentence())
        size: 1.50 ranks higher at 9 than at 1
        """
        if round(self.span, 2) == 0.0:
            return f"{self.feature}: no effect"
        low, high = int(np.argmin(self.expected_rank)), int(np.argmax(self.expected_rank))
        unit = " ranks" if self.unit == "ranks" else " of score"
        return (
            f"{self.feature}: {self.span:.2f}{unit} higher at {shown_value(self.values[high])} "
            f"than at {shown_value(self.values[low])}"
        )


def feature_effects(
    model: Any,
    X: MatrixLike,
    *,
    features: Sequence[Any] | None = None,
    method: str = "partial",
    n_points: int = 20,
    max_rows: int | None = 500,
    bulk: float = 1.0,
    sample_weight: VectorLike | None = None,
    random_state: RandomStateLike = 0,
    classes: LabelsLike | None = None,
    kinds: Mapping[str, str] | None = None,
) -> list[Effect]:
    """How the expected rank and cumulative probabilities move with each column.

    Partial dependence gives all rows the same value of the column, averages the predictions, and
    goes on to another value. Where columns depend on each other, some of these rows could not
    occur; accumulated local effects change the column of each row only to the values next to its
    own, and add these changes up.

    Parameters
    ----------
    model : fitted estimator, pipeline or trained model
    X : data frame or array-like of shape (n, d)
    features : sequence of names or positions, optional
        Columns to show; by default all that have more than one value and are no texts.
    method : {"partial", "accumulated"}, default="partial"
        Partial dependence, or accumulated local effects of numbers and dates, centred at the mean
        prediction. Levels of a category have no neighbours, so theirs is always partial dependence.
    n_points : int, default=20
        Most values of a number or date, at even quantiles; the most frequent levels of a category.
    max_rows : int, optional, default=500
        Most rows to average over, drawn at random. Values are sought among all rows.
    bulk : float, default=1.0
        Central share of the values of a number or date to show: 0.98 leaves one per cent of the
        rows out at each end.
    sample_weight : array-like of shape (n,), optional
        What each row counts in the averages.
    random_state : int, default=0
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.
    kinds : mapping from str to str, optional
        What columns of numbers are: "boolean" for 0 and 1, "date" for days since 1970; by default
        as the schema of a trained model has it.

    Returns
    -------
    effects : list of Effect

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True, as_frame=True)
    >>> effect = feature_effects(ProportionalOdds().fit(X, y), X, features=["in3"])[0]
    >>> bool((np.diff(effect.expected_rank) > 0).all())
    True
    """
    require_count("n_points", n_points, 2)
    require_choice("method", method, ("partial", "accumulated"))
    if not 0.0 < bulk <= 1.0:
        raise ValueError(f"bulk must be a share above 0 and at most 1; found {bulk!r}.")
    response = Response(model, classes, kinds=kinds)
    table = response.table(X)
    rows = draw_rows(table.n_rows, max_rows, random_state)
    every = None if sample_weight is None else check_weights(sample_weight, table.n_rows)
    weights = np.ones(len(rows)) if every is None else every[rows]
    effects = []
    for j in _positions(table, features):
        feature = read_feature(table.names[j], table.column(j), table.kinds.get(table.names[j]))
        grid = _grid(feature, n_points, bulk)
        if features is None and (len(grid) < 2 or feature.kind == "text"):
            continue
        if feature.kind == "text":
            raise ValueError(
                f"features must not hold texts; the words of {feature.name} are told by "
                "word_effects."
            )
        if not len(grid):
            raise ValueError(f"features must hold columns with values; {feature.name} has none.")
        probe = _Probe(response, table, rows, weights, j)
        effects.append(_effect(probe, feature, grid, method, every))
    return effects


def _positions(table: Table, features: Sequence[Any] | None) -> list[int]:
    if features is None:
        return list(range(table.n_columns))
    names = table.names
    found = []
    for feature in features:
        known = feature in names if isinstance(feature, str) else 0 <= feature < len(names)
        if not known:
            raise ValueError(
                f"features must be columns of X, {', '.join(names[:12])}; found {feature!r}."
            )
        found.append(names.index(feature) if isinstance(feature, str) else int(feature))
    return found


def _grid(feature: Feature, n_points: int, bulk: float) -> Index:
    """Rows whose values of the column are shown, by rising value."""
    present = np.flatnonzero(feature.present)
    if bulk < 1.0 and len(present) and feature.kind in ("number", "date"):
        values, tail = feature.numbers[present], 0.5 * (1.0 - bulk)
        low, high = np.quantile(values, [tail, 1.0 - tail], method="closest_observation")
        present = present[(values >= low) & (values <= high)]
    distinct, first, counts = np.unique(
        feature.numbers[present], return_index=True, return_counts=True
    )
    if len(distinct) <= n_points:
        return present[first]
    if feature.kind in ("category", "boolean"):
        return present[first[np.sort(np.argsort(-counts, kind="stable")[:n_points])]]
    levels = np.linspace(0.0, 1.0, n_points)
    chosen = np.quantile(feature.numbers[present], levels, method="closest_observation")
    return present[first[np.searchsorted(distinct, np.unique(chosen))]]


@dataclass(frozen=True)
class _Probe:
    """What the model says of rows whose column j is changed."""

    response: Response
    table: Table
    rows: Index
    weights: Vector
    j: int

    def outputs(self, rows: Index, values: Index) -> Matrix:
        """Value and cumulative probabilities of rows with the column taken from other rows."""
        return self.response.batched(self.table, rows, {self.j: values}, self._answers)

    def _answers(self, X: Any) -> Matrix:
        p = self.response.probabilities(X)
        if p is None:
            return self.response.values(X)[:, None]
        return np.column_stack([expected_rank(p), np.cumsum(p, axis=1)[:, :-1]])

    def partial(self, grid: Index) -> Matrix:
        """Mean outputs with the same value of the column in all rows, for each value."""
        n = len(self.rows)
        found = self.outputs(np.tile(self.rows, len(grid)), np.repeat(grid, n))
        return np.average(found.reshape(len(grid), n, -1), axis=1, weights=self.weights)

    def accumulated(self, grid: Index, numbers: Vector) -> Matrix:
        """Sums of the mean changes from one value to the next, of rows between the two."""
        counted = ~np.isnan(numbers[self.rows]) & (self.weights > 0)
        rows, weights = self.rows[counted], self.weights[counted]
        if not len(rows):
            return self.partial(grid)
        upper = np.clip(np.searchsorted(numbers[grid], numbers[rows]), 1, len(grid) - 1)
        change = self.outputs(rows, grid[upper]) - self.outputs(rows, grid[upper - 1])
        count = np.bincount(upper, weights, minlength=len(grid))[:, None]
        sums = np.zeros((len(grid), change.shape[1]))
        np.add.at(sums, upper, weights[:, None] * change)
        curve = np.cumsum(np.divide(sums, count, out=np.zeros_like(sums), where=count > 0), axis=0)
        centre = np.average(0.5 * (curve[upper] + curve[upper - 1]), axis=0, weights=weights)
        return curve - centre + np.average(self.outputs(rows, rows), axis=0, weights=weights)


def _effect(
    probe: _Probe, feature: Feature, grid: Index, method: str, weights: Vector | None
) -> Effect:
    categorical = feature.kind in ("category", "boolean")
    if method == "accumulated" and not categorical and len(grid) > 1:
        found = probe.accumulated(grid, feature.numbers)
    else:
        found = probe.partial(grid)
    width = _linear_width(feature, grid)
    return Effect(
        feature.name,
        "category" if categorical else feature.kind,
        probe.table.cells(probe.j, grid),
        found[:, 0],
        found[:, 1:] if probe.response.has_probabilities else None,
        _histogram(feature, grid, width, weights),
        probe.response.unit(),
        probe.response.classes,
        width,
    )


def _is_shown(feature: Feature, grid: Index) -> Mask:
    """Rows with finite values from the lowest to the highest that is shown."""
    ends, values = feature.numbers[grid], feature.numbers
    return np.isfinite(values) & (values >= ends.min()) & (values <= ends.max())


def _linear_width(feature: Feature, grid: Index) -> float | None:
    """Where a logarithmic axis of a column with heavy tails begins; None for any other column."""
    values = feature.numbers[_is_shown(feature, grid)]
    if feature.kind != "number" or not heavy_tails(values[:, None])[0]:
        return None
    sizes = np.abs(values[values != 0.0])
    # Amounts differ by factors down to the small ones; around a zero in the middle they do not.
    return float(np.quantile(sizes, 0.05 if (values >= 0.0).all() else 0.5))


def _histogram(
    feature: Feature, grid: Index, width: float | None, weights: Vector | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    kept = feature.present
    if feature.kind not in ("category", "boolean"):
        kept = _is_shown(feature, grid)
    values = feature.numbers[kept]
    own = None if weights is None else weights[kept]
    if feature.kind in ("category", "boolean"):
        by_level = np.bincount(values.astype(np.intp), own, minlength=len(feature.levels))
        return np.arange(len(grid)), by_level[feature.numbers[grid].astype(np.intp)]
    if width is None:
        counts, edges = np.histogram(values, bins=_BARS, weights=own)
        return edges, counts
    counts, edges = np.histogram(np.arcsinh(values / width), bins=_BARS, weights=own)
    return width * np.sinh(edges), counts
