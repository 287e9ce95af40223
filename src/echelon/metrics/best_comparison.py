r"""How much worse is each of many models than the best one, on the same folds?

The problem: M models have expected losses μ_1, …, μ_M on a new row, after learning from a new draw
of as many rows as a fold has for training. Nobody knows which is least, and the one that looks
best does so partly by luck. For every model we want an interval for

    δ_i = μ_i − min_{j≠i} μ_j,

its distance to the best of the others: negative for the best model alone, by how much it leads
(Hsu, 1984). All M intervals shall hold at once with probability 1 − α, whichever model is best.

Since δ_i = max_{j≠i} (μ_i − μ_j), intervals for all differences that hold at once give

    max_j (D_ij − c·s_ij) ≤ δ_i ≤ max_j (D_ij + c·s_ij),

with D_ij the mean difference over the rows that both models were tested on, s_ij its standard
error, and c the 1 − α quantile of max_ij |T_ij| for the joint distribution of the
T_ij = (D_ij − E D_ij)/s_ij. Nothing is chosen before, so that the choice of the best on the same
folds needs no further correction.

The variance has two parts. *Test rows*: with e_u what unit u (a row, or a group of rows, whose
losses depend on each other) adds to D_ij − E D_ij, over all repeats together, Σ_u e_u²·G/(G − 1)
for G units. *Training rows*: what a row does to the two models that learn from it is seen in no
fold alone (Bengio and Grandvalet, 2004). A row is taken to change D_ij in training as much as it
does in a test; as J random parts of n of N rows share their rows, the means of n_tested units of
variance σ² and of the training parts have variances

    σ²/n_tested   and   σ²·(1/(J·n) + (1 − 1/J)/N),

about the same for k folds, so that the correction doubles the variance. How far that is from the
truth is measured by `benchmarks/null_contests.py`. A model that fails in a fold now and then varies
more than its rows tell, so the variance is no less than that of independent folds, S²/J.

For measures that are no means over rows the units are folds: the variance over folds with the
correction of Nadeau and Bengio (2003), and Student's t with J − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from .._utils.types import Array, Codes, Index, Matrix, Vector

Verdict = Literal["better", "equivalent", "worse", "undecided"]

#: Level of all intervals together.
LEVEL = 0.05
#: Largest share of the best figure by which equivalent models differ.
MARGIN = 0.02
#: Fewest units in common that a difference is looked at with.
FEWEST = {"rows": 20, "groups": 5, "folds": 5}
#: Why a model has no interval.
TOO_LITTLE = "It has too little in common with the best to be compared with it."
# Draws of the joint distribution, and sums of units that its correlations are taken from.
_DRAWS, _BLOCKS = 5_000, 400


@dataclass(frozen=True)
class Comparison:
    """A model beside the best of the others.

    Parameters
    ----------
    difference : float
        How much worse it is; negative if it is better. NaN where nothing is known.
    low, high : float
        Interval of the difference, which holds for all models at once.
    verdict : {"better", "equivalent", "worse", "undecided"}
        *better* than all others if the interval is below zero; *equivalent* if it says that no
        other model is better by more than the margin; *worse* if it is above zero otherwise.
    reason : str
        Why there is no interval.
    """

    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    verdict: Verdict = "undecided"
    reason: str = ""


@dataclass(frozen=True, eq=False)
class PairDifferences:
    """Differences of losses between all pairs of models that can be compared.

    Parameters
    ----------
    n_models : int
    pairs : ndarray of shape (P, 2)
        First and second model of each pair.
    estimates, errors : ndarray of shape (P,)
        Mean of first minus second, and its standard error.
    residuals : ndarray of shape (P, B)
        What parts of the data that are independent of each other add to each difference.
    freedom : float
        Degrees of freedom of the errors.
    """

    n_models: int
    pairs: Index
    estimates: Vector
    errors: Vector
    residuals: Matrix
    freedom: float

    def critical_value(self, level: float = LEVEL) -> float:
        """Quantile of the largest |difference| / error of all pairs, if no models differ.

        Examples
        --------
        For two models it is that of Student's t, but for the draws.

        >>> one = PairDifferences(2, np.array([[0, 1]]), np.ones(1), np.ones(1), np.ones((1, 9)), 8)
        >>> abs(one.critical_value() - 2.306) < 0.05
        True
        """
        lengths = np.sqrt((self.residuals**2).sum(axis=1))
        if not lengths.any():
            return 0.0
        parts = self.residuals[lengths > 0.0] / lengths[lengths > 0.0, None]
        rng = np.random.default_rng(0)
        largest = np.empty(_DRAWS)
        for part in np.array_split(np.arange(_DRAWS), 10):
            drawn = rng.standard_normal((len(part), parts.shape[1])) @ parts.T
            scale = np.sqrt(rng.chisquare(self.freedom, len(part)) / self.freedom)
            largest[part] = np.abs(drawn).max(axis=1) / scale
        return float(np.quantile(largest, 1.0 - level))

    def to_best(
        self,
        leader: int,
        margin: float,
        level: float = LEVEL,
        rivals: npt.NDArray[np.bool_] | None = None,
    ) -> list[Comparison]:
        """Every model beside the best of the others.

        Parameters
        ----------
        leader : int
            The model with the best figure. One that cannot be compared with it has no interval
            and takes no part in those of others.
        margin : float
            Largest difference of equivalent models.
        level : float
            Probability that any of the intervals is wrong.
        rivals : ndarray of bool of shape (n_models,), optional
            Models with which those behind the leader are compared; all by default. A model that
            was given up early is known too little to be one.
        """
        estimates, errors = self._square(self.estimates), np.abs(self._square(self.errors))
        estimates[np.tril_indices(self.n_models, -1)] *= -1.0
        known = np.isfinite(estimates[leader])
        known[leader] = known.any()
        rivals = known if rivals is None else known & rivals
        estimates[~known], estimates[:, ~known] = np.nan, np.nan
        estimates[np.ix_(np.arange(self.n_models) != leader, ~rivals)] = np.nan
        known &= np.isfinite(estimates).any(axis=1)
        half = self.critical_value(level) * errors
        return [
            _compared(estimates[i], half[i], margin) if known[i] else Comparison(reason=TOO_LITTLE)
            for i in range(self.n_models)
        ]

    def _square(self, values: Vector) -> Matrix:
        """Values of pairs (i, j) at i, j and j, i; NaN elsewhere."""
        found = np.full((self.n_models, self.n_models), np.nan)
        first, second = self.pairs.T
        found[first, second] = found[second, first] = values
        return found


def _compared(estimates: Vector, half: Vector, margin: float) -> Comparison:
    """A model whose differences to the others are known up to these half widths."""
    low, high = (float(np.nanmax(ends)) for ends in (estimates - half, estimates + half))
    verdict: Verdict = "undecided"
    if high < 0.0:
        verdict = "better"
    elif high <= margin:
        verdict = "equivalent"
    elif low > 0.0:
        verdict = "worse"
    return Comparison(float(np.nanmax(estimates)), low, high, verdict)


def row_differences(
    losses: Sequence[Sequence[Vector | None]],
    tests: Sequence[Index],
    n_training: float,
    *,
    weights: Vector | None = None,
    groups: Codes | None = None,
) -> PairDifferences:
    """Differences of means over folds of losses of rows.

    Parameters
    ----------
    losses : sequence of shape (n_models, n_folds)
        Losses of the test rows of each fold, greater is worse; None for a fold that was not run.
    tests : sequence of ndarray
        Test rows of each fold.
    n_training : float
        Rows that a fold learns from.
    weights, groups : ndarray of shape (n,), optional
        What each row counts, and groups of rows that depend on each other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> tests = np.arange(1000).reshape(5, 200)
    >>> losses = [[rng.normal(0.4 + worse, 0.1, 200) for _ in tests] for worse in (0.0, 0.1)]
    >>> row_differences(losses, tests, 800).to_best(0, margin=0.01)[1].verdict
    'worse'
    """
    n = 1 + max(int(rows.max()) for rows in tests)
    units = np.arange(n) if groups is None else groups
    counted = np.ones(n) if weights is None else weights
    run = [
        frozenset(f for f, part in enumerate(of_model) if part is not None) for of_model in losses
    ]
    blocks = np.random.default_rng(0).permutation(int(units.max()) + 1) % _BLOCKS
    tables: dict[frozenset[int], _Table] = {}
    fewest = FEWEST["rows" if groups is None else "groups"]

    def measured() -> Iterator[_Pair]:
        for pair in combinations(range(len(losses)), 2):
            common = run[pair[0]] & run[pair[1]]
            if not common:
                continue
            if common not in tables:
                able = {m for m, folds in enumerate(run) if common <= folds}
                parts = {m: {f: losses[m][f] for f in common} for m in able}
                tables[common] = _Table.of(parts, tests, counted, units, blocks, n_training)
            table = tables[common]
            if table.n_units >= fewest:
                yield table.pair(*pair)

    return _gathered(len(losses), list(measured()))


def fold_differences(figures: npt.ArrayLike, training: float, test: float) -> PairDifferences:
    """Differences of means of figures of folds.

    Parameters
    ----------
    figures : array-like of shape (n_models, n_folds)
        Greater is worse; NaN for a fold that was not run.
    training, test : float
        Rows of the two parts of a fold.
    """
    values = np.asarray(figures, dtype=np.float64)
    least = max(2, min(FEWEST["folds"], values.shape[1]))
    found = []
    for i, j in combinations(range(len(values)), 2):
        apart = values[i] - values[j]
        common = np.isfinite(apart)
        J = int(common.sum())
        if least > J:
            continue
        mean = float(apart[common].mean())
        residuals = np.where(common, apart - mean, 0.0)
        variance = float(residuals @ residuals) / (J - 1) * (1.0 / J + test / training)
        found.append(_Pair(i, j, mean, math.sqrt(variance), residuals, J - 1))
    return _gathered(len(values), found)


@dataclass(frozen=True, eq=False)
class _Pair:
    first: int
    second: int
    estimate: float
    error: float
    residuals: Vector
    freedom: int


def _gathered(n_models: int, found: Sequence[_Pair]) -> PairDifferences:
    residuals: Array = np.stack([p.residuals for p in found]) if found else np.empty((0, 1))
    return PairDifferences(
        n_models,
        np.array([(p.first, p.second) for p in found], dtype=np.intp).reshape(-1, 2),
        np.array([p.estimate for p in found]),
        np.array([p.error for p in found]),
        residuals,
        min((p.freedom for p in found), default=1),
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """Models on folds that all of them have: means, and what each unit adds to them.

    `folds` holds the means of each fold, `cross` the sums over units of products of what they add
    for two models, and `blocks` what random sets of units add.
    """

    place: dict[int, int]
    folds: Matrix
    cross: Matrix
    blocks: Matrix
    n_units: int
    training: float

    @classmethod
    def of(
        cls,
        losses: dict[int, dict[int, Vector | None]],
        tests: Sequence[Index],
        weights: Vector,
        units: Codes,
        blocks: Codes,
        n_training: float,
    ) -> _Table:
        place = {model: k for k, model in enumerate(losses)}
        folds = list(next(iter(losses.values())))
        shares, sums = np.zeros(len(blocks)), np.zeros((len(place), len(blocks)))
        means = np.empty((len(place), len(folds)))
        for number, fold in enumerate(folds):
            rows = tests[fold]
            share = weights[rows] / (len(folds) * weights[rows].sum())
            np.add.at(shares, units[rows], share)
            for model, k in place.items():
                added = share * losses[model][fold]
                means[k, number] = added.sum() * len(folds)
                sums[k] += np.bincount(units[rows], added, len(blocks))
        residuals = sums - means.mean(axis=1, keepdims=True) * shares
        summed = np.zeros((int(blocks.max()) + 1, len(place)))
        np.add.at(summed, blocks, residuals.T)
        tested = len(np.unique(np.concatenate([tests[fold] for fold in folds])))
        N, J = n_training + float(np.mean([len(tests[fold]) for fold in folds])), len(folds)
        return cls(
            place,
            means,
            residuals @ residuals.T,
            summed.T,
            int(np.count_nonzero(shares)),
            tested * (1.0 / (J * n_training) + (1.0 - 1.0 / J) / N),
        )

    def pair(self, first: int, second: int) -> _Pair:
        i, j = self.place[first], self.place[second]
        apart, J = self.folds[i] - self.folds[j], self.folds.shape[1]
        scale = self.cross[i, i] + self.cross[j, j]
        total = scale - 2.0 * self.cross[i, j]
        # Models that say the same differ by rounding only.
        by_rows = total * self.n_units / (self.n_units - 1) if total > 1e-12 * scale else 0.0
        by_folds = float(apart.var(ddof=1)) / J if J > 1 else 0.0
        return _Pair(
            first,
            second,
            float(apart.mean()),
            math.sqrt(max(by_rows * (1.0 + self.training), by_folds)),
            self.blocks[i] - self.blocks[j],
            self.n_units - 1,
        )
