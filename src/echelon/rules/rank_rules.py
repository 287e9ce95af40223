"""RankRules: readable ensembles of rules for ordered labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._utils.entries import require_moderate
from .._utils.frames import one_row
from .._utils.messages import require_choice, warn_caller
from .._utils.state import are_indices, require_state
from .._utils.types import (
    ClassWeightLike,
    Codes,
    LabelArray,
    LabelsLike,
    Matrix,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin
from ..base.pair_explanations import PairExplanation
from ..base.rounds import StagedMixin, take_rows
from ..base.validation import one_column
from ..ordinal.arrays import (
    LARGEST_SEED,
    check_weights,
    moderate_weights,
    require_count,
    require_positive,
)
from ..ordinal.data import OrdinalData, class_factors
from ..ordinal.reduction import decode, exceedance_to_probabilities
from ..ordinal.thresholds import all_levels, margins
from ..solvers.boosting.bins import bin_inputs, check_max_bins
from ..solvers.linear.calibration import Calibration, calibrate_by_exponential
from ..solvers.rules.losses import AbsoluteLoss, RankLoss, RuleLoss, ThresholdLoss, measure
from ..solvers.rules.rank_rules import ClassWeights, boost_rules
from ..solvers.rules.search import TECHNIQUES, RuleSearch
from .columns import as_positions, learn_columns
from .ensemble import (
    GrowingScores,
    Levels,
    Pruning,
    RuleEnsemble,
    RuleModel,
    Stage,
    beside,
    carried_on,
    kept_rules,
)
from .explanations import ReadableRulesMixin, explain_rule_pair

# Added to W_> and W_<, as a share of the loss, before their ratio gives the response of a rule.
_SMOOTHING = 1e-4
_CHOICES = {
    "loss": ("rank", "threshold", "binary", "absolute"),
    "technique": (None, *TECHNIQUES),
    "pair_weight": ("per_threshold", "once"),
}
# Of the conditions of the optimum, above which a refit is said not to have converged.
_LARGEST_VIOLATION = 1e-4


def _has_one_score(model: RankRules) -> bool:
    if model.loss == "binary":
        raise AttributeError(
            "RankRules with loss='binary' has a score for every threshold and no latent score; "
            "use decision_function."
        )
    return True


class RankRules(ReadableRulesMixin, StagedMixin, ThresholdModelMixin, BaseEstimator):
    """Boosting of rules into one score with thresholds, readable rule by rule.

    A rule is a conjunction of conditions on single inputs, such as "income ≥ 3200 and age ≤ 34",
    and adds its response to the score of the rows that satisfy it. Inputs may be a data frame and
    may have missing values, which satisfy no condition.

    Parameters
    ----------
    n_rules : int, default=500
        Most rules; with ``loss="binary"``, for every threshold.
    loss : {"rank", "threshold", "binary", "absolute"}, default="rank"
        What the rules descend: the exponential loss over pairs of rows of different classes
        (RankRules), which for two classes is a bound of 1 − AUC; the exponential loss at all
        thresholds (ORDER); the same for every threshold by itself, each with rules of its own,
        whose probabilities are then reconciled (Ordinal ENDER); or the absolute error of a score
        that is meant to be the rank (ENDER with absolute error).
    technique : {"simultaneous", "gradient", "gradient_boosting", "constant_step"}, optional
        How conditions are measured. The measures differ in how many rows a rule should cover:
        "gradient" makes the most general rules, "constant_step" more specific ones the greater
        `beta`, and "simultaneous" makes specific rules that descend the loss fastest. By default
        "simultaneous", or "gradient" with the absolute error, which has no simultaneous form.
    beta : float, default=0.2
        Length of the step for "constant_step".
    shrinkage : float, default=0.1
        ν in (0, 1], a factor of every response; smaller needs more rules and generalises better.
    subsample : float, default=0.5
        ζ in (0, 1], share of the rows that the conditions of a rule are sought on, drawn anew for
        every rule. Responses are always found on all rows.
    pair_weight : {"per_threshold", "once"}, default="per_threshold"
        With the rank loss, whether a pair counts once for every threshold between its classes, as
        in the experiments of [DK09], or once, as in its definitions.
    max_conditions : int, optional
        Most conditions of a rule; by default a rule grows while its measure improves. Two cuts of
        one input count twice and read as one interval.
    max_bins : int, optional
        Cut inputs at most between so many bins of about equal weight, 2 to 255, for large data;
        by default anywhere between two values.
    nominal : "from_dtype", None, or list of columns, default="from_dtype"
        Columns whose values are categories without order, to be tested by =, ≠ and membership in
        sets. By default the columns of a data frame that are categories, text or booleans; ordered
        categories are cut like numbers. A list gives names or indices; None takes all columns as
        numbers.
    n_iter_no_change : int, optional
        Stop when the error on held-out rows has not fallen for so many rules, and keep the rules up
        to its least value; by default all rows train. The error is the ranked probability score,
        which changes with every rule where labels seldom do, or with the absolute loss that loss.
    validation_fraction : float, default=0.1
        Share of the rows to hold out; whole groups, or the latest rows, where `fit` is given groups
        or times.
    tol : float, default=0.0
        Least fall of the held-out error that counts.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`. It may name levels that `y`
        lacks.
    n_jobs : int, optional
        Threads over inputs, as in joblib; results do not depend on it.
    verbose : int, default=0
        Above zero, print the loss now and then.
    random_state : int, RandomState or None, default=None
        For the rows drawn and held out.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    rules_ : list of Rule
        The rules, each body once, in the order in which they were found. A rule has its
        ``conditions``, ``response``, ``coverage``, ``class_histogram`` and ``importance``.
    thresholds_ : ndarray of shape (K−1,)
        On the scale of the score, ascending; −∞ or +∞ next to classes without rows. Neither they
        nor ``predict_latent``, which gives the score f(x), are there with ``loss="binary"``.
    loss_ : ndarray of shape (M,)
        Mean loss after every round, over pairs or rows; it never rises. With "binary", the mean
        over thresholds.
    coverages_ : ndarray of shape (M,)
        Share of the weight of the training rows that the rule of each round covers; with "binary",
        (M, K−1), and NaN where a threshold has no rules left to find.
    feature_importances_ : ndarray of shape (d,)
        Importance of the rules that use each input, shared equally among the inputs of a rule;
        they sum to one.
    validation_costs_ : ndarray
        Error on the held-out rows after every rule that was tried; only with `n_iter_no_change`.

    Notes
    -----
    The score is f(x) = Σ_m ν·α_m·Φ_m(x) with Φ_m(x) = 1 where x satisfies the conditions of rule m.
    The rank loss is

        R(f) = Σ_{y_i > y_j} m(y_i, y_j)·s_i·s_j·exp(−(f(x_i) − f(x_j))),

    with m = y_i − y_j or 1 and s the sample weights. Given Φ, only the pairs that Φ splits change:
    with W_> the weight of those whose higher row it covers and W_< that of the others, R is least
    for α = ½ ln(W_>/W_<). Φ is grown greedily, see ``echelon.solvers.rules.search`` for the
    measures, and a rule is found in time linear in the rows, O(K) for each, although the loss has a
    term for every pair. Thresholds minimise the exponential threshold loss for the final score in
    closed form, see ``echelon.solvers.rules.losses``. [DK09] misprints the signs of the measures,
    the thresholds and the way pairs are counted.

    Probabilities are the link of the exponential loss, P(y > k) = 1/(1 + exp(−2(f − θ_k))), which
    grows too sure of itself over many rules on few rows; with the absolute error f is first scaled
    to the least exponential threshold loss on the training rows.

    References
    ----------
    K. Dembczyński and W. Kotłowski, Decision Rule-based Algorithm for Ordinal Classification based
    on Rank Loss Minimization, 2009, [DK09].

    Examples
    --------
    >>> from echelon import RankRules
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = RankRules(100, random_state=0).fit(X, y)
    >>> bool((model.loss_[1:] <= model.loss_[:-1]).all())
    True
    """

    pruning_: Pruning
    _calibration: Calibration | None
    _takes_missing = True
    _most_rounds = "n_rules"
    _step_factor = "shrinkage"

    def __init__(
        self,
        n_rules: int = 500,
        *,
        loss: str = "rank",
        technique: str | None = None,
        beta: float = 0.2,
        shrinkage: float = 0.1,
        subsample: float = 0.5,
        pair_weight: str = "per_threshold",
        max_conditions: int | None = None,
        max_bins: int | None = None,
        nominal: str | npt.ArrayLike | None = "from_dtype",
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 0.0,
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_rules = n_rules
        self.loss = loss
        self.technique = technique
        self.beta = beta
        self.shrinkage = shrinkage
        self.subsample = subsample
        self.pair_weight = pair_weight
        self.max_conditions = max_conditions
        self.max_bins = max_bins
        self.nominal = nominal
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.class_weight = class_weight
        self.classes = classes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> OrdinalData:
        self._columns = learn_columns(X, self.nominal)
        data = super()._validated(as_positions(X, self._columns), y, sample_weight)
        return replace(data, sample_weight=moderate_weights(data.sample_weight))

    def _learn(self, data: OrdinalData, groups: Any = None, time: Any = None) -> None:
        rng = check_random_state(self.random_state)
        rows, held = self._hold_out(data, rng, groups, time)
        train = take_rows(data, rows)
        self._levels = self._levels_of(train)
        losses = self._losses(train, self._levels.observed)
        starts = [loss.thresholds for loss in losses]
        held_out = None if held is None else self._held_out_error(take_rows(data, held), starts)
        stages = self._grow(
            self._boost(losses, train, rng),
            held_out,
            lambda _: f"loss {np.mean([loss.value for loss in losses]):.6g}",
        )
        self.__dict__.pop("pruning_", None)
        rounds = list(zip(*stages, strict=True)) if stages else [()] * len(starts)
        self._keep(rounds, starts, train)

    def _check_parameters(self) -> None:
        self._check_rounds()
        for name, choices in _CHOICES.items():
            require_choice(name, getattr(self, name), choices)
        if self.loss == "absolute" and self.technique == "simultaneous":
            raise ValueError(
                "technique must be 'gradient', 'gradient_boosting' or 'constant_step' with "
                "loss='absolute', whose best response has no closed form; found 'simultaneous'."
            )
        for name in ("shrinkage", "subsample"):
            require_positive(name, getattr(self, name))
            if getattr(self, name) > 1.0:
                raise ValueError(f"{name} must be at most 1; found {getattr(self, name)!r}.")
        require_positive("beta", self.beta)
        if self.max_conditions is not None:
            require_count("max_conditions", self.max_conditions)
        check_max_bins(self.max_bins)

    @property
    def _technique(self) -> str:
        default = "gradient" if self.loss == "absolute" else "simultaneous"
        return self.technique or default

    def _levels_of(self, data: OrdinalData) -> Levels:
        """The levels that losses are about: those that occur, or all where ranks are numbers."""
        whole = self.loss == "absolute"
        observed = np.arange(data.n_classes) if whole else np.unique(data.codes)
        return Levels(observed, data.n_classes, joint=self.loss != "binary")

    def _losses(self, data: OrdinalData, observed: Codes) -> list[RuleLoss]:
        """One loss, or with "binary" one for each threshold between levels that occur."""
        codes, K, weights = data.codes, data.n_classes, data.sample_weight
        if self.loss == "absolute":
            technique, step = self._technique, self.beta
            return [AbsoluteLoss(codes, K, weights, technique=technique, step_size=step)]
        present, K = np.searchsorted(observed, codes), len(observed)
        if self.loss == "binary":
            sides = [(present > k).astype(np.intp) for k in range(K - 1)]
            return [ThresholdLoss(side, 2, weights, smoothing=_SMOOTHING) for side in sides]
        if self.loss == "threshold":
            return [ThresholdLoss(present, K, weights, smoothing=_SMOOTHING)]
        count = self.pair_weight == "per_threshold"
        return [RankLoss(present, K, weights, per_threshold=count, smoothing=_SMOOTHING)]

    def _search(self, data: OrdinalData) -> RuleSearch:
        """A search over the rows of the data."""
        known = zip(self._columns.categories, self._columns.nominal, strict=True)
        sizes = [len(names) if names is not None and sets else 0 for names, sets in known]
        max_bins = check_max_bins(self.max_bins)
        technique, gains = measure(self.loss, self._technique, self.beta)
        return RuleSearch(
            bin_inputs(data.X, max_bins, data.sample_weight, sizes),
            data.n_classes,
            technique,
            step_gains=gains,
            nominal=self._columns.nominal,
            exact=max_bins is None,
            max_conditions=self.max_conditions,
            n_threads=effective_n_jobs(self.n_jobs),
        )

    def _boost(
        self,
        losses: list[RuleLoss],
        data: OrdinalData,
        rng: np.random.RandomState,
    ) -> Iterator[Stage]:
        search = self._search(data)
        weigh = ClassWeights(data.codes, data.n_classes, data.sample_weight)
        runs = [
            boost_rules(
                loss,
                search,
                weigh,
                n_rules=self.n_rules,
                shrinkage=self.shrinkage,
                subsample=self.subsample,
                rng=np.random.default_rng(rng.randint(LARGEST_SEED)),
            )
            for loss in losses
        ]
        return zip_longest(*runs)

    def _held_out_error(
        self, data: OrdinalData, starts: Sequence[Vector]
    ) -> Callable[[Stage], float]:
        """The error on held-out rows with one more rule in each ensemble."""
        grown, codes = GrowingScores(data.X, starts), data.codes

        def error(stage: Stage) -> float:
            G = self._levels.margins(grown.add(stage))
            if self.loss == "absolute":
                # The thresholds lie midway between ranks, so a margin is a rank but for a constant.
                errors = np.abs(G[:, 0] + 0.5 - codes)
            else:
                above = codes[:, None] > np.arange(G.shape[1])
                errors = ((expit(2.0 * G) - above) ** 2).mean(axis=1)
            return float(np.average(errors, weights=data.sample_weight))

        return error

    def _keep(self, rounds: Sequence[Stage], starts: Sequence[Vector], data: OrdinalData) -> None:
        mass = np.bincount(data.codes, data.sample_weight, data.n_classes).astype(np.float64)
        self._ensembles = [
            RuleEnsemble.of(found, start, mass) for found, start in zip(rounds, starts, strict=True)
        ]
        self.loss_ = carried_on([part.losses for part in self._ensembles]).mean(axis=1)
        covered = beside([part.class_shares.sum(axis=1) for part in self._ensembles])
        self.coverages_ = covered[:, 0] if self._levels.joint else covered
        self.__dict__.pop("thresholds_", None)
        self._calibration = None
        if self._levels.joint:
            found, observed = self._ensembles[0].thresholds, self._levels.observed
            self.thresholds_ = all_levels(found, observed, self._levels.n_classes)
        if self.loss == "absolute":
            scores = self._ensembles[0].table(data.X)
            self._calibration = calibrate_by_exponential(
                scores, data.codes, data.n_classes, data.sample_weight
            )
        self._keep_for_names(data, mass)

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if not hasattr(self, "_ensembles"):
            return
        levels, parts, d = self._levels, self._ensembles, self.n_features_in_
        require_state(levels.n_classes == len(self.classes_), "its levels are other ones")
        wanted = 1 if levels.joint else len(levels.observed) - 1
        require_state(len(parts) == wanted, "its rules are not as many as thresholds")
        cuts = len(levels.observed) - 1 if levels.joint else 1
        for part in parts:
            require_state(isinstance(part, RuleEnsemble), "its rules are something else")
            require_state(len(part.start) == cuts, "its rules have other thresholds")
            require_state(
                part.class_shares.shape[1] == levels.n_classes, "its rules have other labels"
            )
            require_state(
                are_indices(sorted(part.features), d), "a rule asks about an input that is none"
            )
        columns = (self._columns.categories, self._columns.ordered)
        listed = all(isinstance(c, tuple) and len(c) == d for c in columns)
        require_state(listed, "its columns are not as many as its inputs")

    def prune(
        self, n: int, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None
    ) -> Self:
        """A model with few rules, chosen and weighed anew.

        The rules are chosen along the path of an L1 penalty on their responses, and those kept are
        fitted to the loss without it, but for a slight ridge; the conditions stay as they are.

        Parameters
        ----------
        n : int
            Most rules; with ``loss="binary"``, for every threshold.
        X : array-like or data frame of shape (n, d)
            Rows to choose by, such as those of ``fit``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        pruned : RankRules
            A copy with fewer rules, the most important first; ``pruning_`` tells what was lost.

        Examples
        --------
        >>> from echelon import RankRules
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> few = RankRules(200, random_state=0).fit(X, y).prune(12, X, y)
        >>> len(few.rules_)
        12
        >>> print(few.pruning_)  # doctest: +ELLIPSIS
        12 of ... rules; mean absolute error ... with all and ... with those kept.
        """
        require_count("n", n)
        data = self._read_again(X, y, sample_weight)
        # Rows held out at ``fit`` may have brought levels that no row trained.
        levels = self._levels_of(data) if self._levels.joint else self._levels
        losses = self._losses(data, levels.observed)
        parts = [
            kept_rules(part, loss, n, data)
            for part, loss in zip(self._ensembles, losses, strict=True)
        ]
        pruned = copy(self)
        pruned._levels = levels
        pruned._keep([part.rounds for part in parts], [part.start for part in parts], data)
        pruned.pruning_ = report = Pruning(
            len(self.rules_),
            len(pruned.rules_),
            -self.score(X, y, sample_weight),
            -pruned.score(X, y, sample_weight),
            max(part.violation for part in parts),
            max(part.selection_violation for part in parts),
        )
        if report.violation > _LARGEST_VIOLATION:
            warn_caller(
                f"The refit of the rules stopped at a violation of {report.violation:.1g} of the "
                "conditions of its optimum; weights that differ by many orders can cause this.",
                ConvergenceWarning,
            )
        return pruned

    def _read_again(self, X: Any, y: Any, sample_weight: Any) -> OrdinalData:
        """Rows of positive weight, with all levels that the model was fitted to."""
        X = self._positions(X)
        codes = self._scale.encode(one_column(y))
        check_consistent_length(X, codes)
        weights = check_weights(sample_weight, len(codes))
        require_moderate(weights, "sample_weight")
        if self.class_weight is not None:
            weights = weights * class_factors(self.class_weight, codes, self._scale, weights)[codes]
        data = OrdinalData(X, codes, self._scale, moderate_weights(weights))
        data = take_rows(data, np.flatnonzero(weights))
        lacking = np.setdiff1d(self._levels.observed, data.codes)
        if len(lacking) and self.loss != "absolute":
            raise ValueError(
                f"y must have every class that the model was fitted to; it lacks "
                f"{self.classes_[lacking].tolist()[0]!r}."
            )
        return data

    def _latent(self, X: Any) -> Matrix:
        return self._ensembles[0].table(self._positions(X))

    def _margins(self, X: Any) -> Matrix:
        if self._levels.joint:
            return super()._margins(X)
        X = self._positions(X)
        return self._levels.margins(np.hstack([part.margins(X) for part in self._ensembles]))

    predict_latent = available_if(_has_one_score)(ThresholdModelMixin.predict_latent)

    @available_if(_has_one_score)
    def explain_pair(self, a: MatrixLike, b: MatrixLike) -> PairExplanation:
        """Why one row has a greater score than another: the rules that only one of them satisfies.

        Not with ``loss="binary"``.

        Parameters
        ----------
        a, b : data frame or array-like of shape (1, d), or of shape (d,)
            The rows to compare.

        Returns
        -------
        explanation : PairExplanation
            Its terms sum to score(a) − score(b); ``print`` writes them as a table.
        """
        first, second = (self.explain(one_row(row))[0] for row in (a, b))
        return explain_rule_pair(first, second)

    def _probabilities(self, X: Any) -> Matrix:
        return self._margins_and_probabilities(X)[1]

    def predict_with_proba(self, X: MatrixLike) -> tuple[LabelArray, Matrix]:
        """Labels and class probabilities at the cost of one of them.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)

        Returns
        -------
        labels : array of shape (n,)
        probabilities : ndarray of shape (n, K)
        """
        check_is_fitted(self)
        G, probabilities = self._margins_and_probabilities(X)
        return self._scale.decode(decode(G)), probabilities

    def _margins_and_probabilities(self, X: Any) -> tuple[Matrix, Matrix]:
        if self._calibration is None:
            G = self._margins(X)
            return G, exceedance_to_probabilities(expit(2.0 * G))
        slope, thresholds = self._calibration
        scores = self._latent(X)
        above = expit(slope * scores[:, None] - thresholds)
        return margins(scores, self.thresholds_), exceedance_to_probabilities(above)

    def _staged_codes(self, X: Any) -> Iterator[Codes]:
        grown = GrowingScores(self._positions(X), [part.start for part in self._ensembles])
        for stage in zip_longest(*(part.rounds() for part in self._ensembles)):
            yield decode(self._levels.margins(grown.add(stage)))

    def calibration(self) -> Calibration | None:
        """Slope and thresholds of probabilities with ``loss="absolute"``; else None.

        The probabilities are otherwise those that twice the margins are the log-odds of.
        """
        check_is_fitted(self)
        return self._calibration

    def rule_model(self) -> RuleModel:
        """The rules, levels and input columns that predictions are computed from."""
        check_is_fitted(self)
        return RuleModel(self._ensembles, self._levels, self._columns)
