"""The table of measures: what each is called, computes and needs, and which way is better.

Leaderboards, reports, model files, commands and scorers read it, so that a figure has one name and
one direction everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from . import agreement, error, probability
from .ranking import first_hit, misranking, retrieval

Need = Literal["labels", "probabilities", "scores", "intervals", "queries"]


@dataclass(frozen=True)
class Measure:
    """A measure of predictions.

    Parameters
    ----------
    key : str
        By which files and programs know it, such as "mae".
    function : callable
        ``function(y_true, response, *, classes=..., ...)``; of a ranking
        ``function(y_true, scores, *, qid=..., ...)``.
    heading : str
        What it is called in words.
    short : str
        The same where there is little room, such as above a column.
    needs : {"labels", "probabilities", "scores", "intervals", "queries"}
        What it is computed from beside the true labels: predicted labels, class probabilities, one
        score per row, intervals of labels, or scores of rows in queries.
    greater_is_better : bool, default=False
    unit : str, default=""
        "ranks"; "%" for a share that pages show in per cent.
    about : str, default=""
        What it tells, in a few words.
    places : {"never", "may", "must"}, default="never"
        Whether a number of places may or must follow the key, as in "ndcg@10".
    options : mapping
        Further keyword arguments of the function.
    """

    key: str
    function: Callable[..., float]
    heading: str
    short: str
    needs: Need = "labels"
    greater_is_better: bool = False
    unit: str = ""
    about: str = ""
    places: Literal["never", "may", "must"] = "never"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sign(self) -> int:
        """1 if greater is better, else −1."""
        return 1 if self.greater_is_better else -1

    @property
    def scorer(self) -> str:
        """Name of its scorer: the function's, negated errors with ``neg_``; the key of a ranking's.

        Examples
        --------
        >>> find_measure("mae").scorer, find_measure("ndcg@5").scorer
        ('neg_mean_absolute_rank_error', 'ndcg@5')
        """
        if self.needs == "queries":
            return self.key
        return f"{'' if self.greater_is_better else 'neg_'}{self.function.__name__}"

    def at(self, places: int) -> Measure:
        """The measure of the first `places` of each query.

        Examples
        --------
        >>> MEASURES["ndcg"].at(7).short
        'NDCG@7'
        """
        return replace(
            self,
            key=f"{self.key}@{places}",
            heading=f"{self.heading}@{places}",
            short=f"{self.short}@{places}",
            options={"k": places},
        )


_gain = partial(Measure, greater_is_better=True)

# An entry in a line or two.
# fmt: off
_TABLE: tuple[Measure, ...] = (
    Measure("cost", error.mean_cost, "mean cost", "cost", about="mean cost of the predictions"),
    Measure("mae", error.mean_absolute_rank_error, "mean absolute error", "MAE", unit="ranks",
            about="mean absolute difference of ranks"),
    Measure("zero_one", error.zero_one_error, "mean zero-one error", "zero-one", unit="%",
            about="share of rows with a wrong label"),
    _gain("within_one", error.within_one_accuracy, "accuracy within one rank", "within one",
          unit="%", about="share of rows that are right or one rank off"),
    _gain("qwk", agreement.quadratic_weighted_kappa, "quadratic weighted kappa", "QWK",
          about="1 is perfect agreement, 0 is chance"),
    Measure("rps", probability.ranked_probability_score, "ranked probability score", "RPS",
            "probabilities", about="0 is perfect"),
    Measure("log_loss", probability.ordinal_log_loss, "log loss", "log loss", "probabilities",
            about="mean of −ln P(y), 0 is perfect"),
    _gain("interval_coverage", probability.interval_coverage, "interval coverage", "coverage",
          "intervals", unit="%", about="share of labels in their intervals"),
    Measure("interval_width", probability.interval_width, "mean interval width", "width",
            "intervals", unit="labels", about="mean number of labels in an interval"),
    Measure("macro_mae", error.macro_mean_absolute_error, "macro mean absolute error", "macro MAE",
            unit="ranks", about="mean over classes of their mean absolute errors"),
    Measure("maximum_mae", error.maximum_mean_absolute_error, "maximum mean absolute error",
            "maximum MAE", unit="ranks", about="mean absolute error of the worst class"),
    _gain("lwk", agreement.linear_weighted_kappa, "linear weighted kappa", "LWK"),
    _gain("kendall", agreement.kendall_tau_b, "Kendall's tau-b", "tau-b"),
    _gain("spearman", agreement.spearman_correlation, "Spearman's correlation", "Spearman"),
    _gain("concordance", agreement.concordance_index, "concordance index", "C index", "scores"),
    _gain("pairwise_accuracy", misranking.pairwise_accuracy, "pairwise accuracy",
          "pairwise accuracy", "queries", about="share of pairs of one query in the right order"),
    _gain("ndcg", retrieval.ndcg_score, "NDCG", "NDCG", "queries", places="may"),
    _gain("mean_average_precision", retrieval.average_precision, "mean average precision", "MAP",
          "queries", places="may"),
    _gain("mean_reciprocal_rank", first_hit.reciprocal_rank, "mean reciprocal rank", "MRR",
          "queries", places="may"),
    # These mean little without a number of places, and two of them are scikit-learn's for classes.
    _gain("precision", retrieval.precision_at, "precision", "precision", "queries", places="must"),
    _gain("recall", retrieval.recall_at, "recall", "recall", "queries", places="must"),
    _gain("hit_rate", first_hit.hit_rate, "hit rate", "hit rate", "queries", places="must"),
)
# fmt: on

#: Every measure by its key, in the order in which figures are told.
MEASURES: Mapping[str, Measure] = {measure.key: measure for measure in _TABLE}


def find_measure(key: str) -> Measure:
    """A measure by its key, which of a ranking may end in a number of places.

    Examples
    --------
    >>> find_measure("mae").heading
    'mean absolute error'
    >>> find_measure("ndcg@10").options
    {'k': 10}
    """
    found = _look_up(key)
    if found is None:
        raise ValueError(
            f"key must be one of {', '.join(MEASURES)}, some of which take a number of places "
            f"after @; found {key!r}."
        )
    return found


def _look_up(key: str) -> Measure | None:
    base, at, places = key.partition("@")
    found = MEASURES.get(base)
    if found is None or found.places == ("never" if at else "must"):
        return None
    if not at:
        return found
    return found.at(int(places)) if places.isdecimal() and int(places) > 0 else None


def known_measures(keys: Iterable[str]) -> list[Measure]:
    """Those of the keys that are measures, in the order of the table.

    Examples
    --------
    >>> [measure.short for measure in known_measures(["ndcg@10", "qwk_se", "qwk", "mae"])]
    ['MAE', 'QWK', 'NDCG@10']
    """
    order = {key: place for place, key in enumerate(MEASURES)}
    found = [measure for key in keys if (measure := _look_up(key)) is not None]
    return sorted(found, key=lambda measure: order[measure.key.partition("@")[0]])


def measure_responses(
    keys: Iterable[str], y_true: Any, responses: Mapping[Need, Any], **options: Any
) -> dict[str, float]:
    """Figures of a model by key, as far as it gives what the measures need.

    Parameters
    ----------
    keys : iterable of str
    y_true : label column
    responses : mapping from what measures need to what the model says
    **options : dict
        Keyword arguments of all measures, such as ``classes``.

    Examples
    --------
    >>> measure_responses(["mae", "rps"], [1, 2, 3], {"labels": [1, 3, 3]})
    {'mae': 0.3333333333333333}
    """
    measures = [find_measure(key) for key in keys]
    return {
        measure.key: float(
            measure.function(y_true, responses[measure.needs], **measure.options, **options)
        )
        for measure in measures
        if measure.needs in responses
    }
