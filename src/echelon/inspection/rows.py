"""Why single rows get their predictions, in figures and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._utils.frames import one_row
from .._utils.types import Index, LabelsLike, RandomStateLike, Vector
from ..base.pair_explanations import Masks, Shares, drawn_shares, exact_shares
from ..base.wrappers import last_step, transformed
from ..ordinal.arrays import require_count
from ..ordinal.columns import is_missing
from ..rules.rule import Rule
from ..rules.words import signed
from .raw_rules import raw_rules
from .table import Response, Table, draw_rows, shown_value, stacked
from .words import WordEffect, row_words

# So many columns have few enough subsets to go through them all.
MOST_ENUMERATED = 8
_MOST_RULES = 12
# Relative rounding error of a score that is a sum over columns.
_ADDITIVE = 1e-8


class Term(NamedTuple):
    """What one column adds to the value of a row."""

    feature: str
    value: Any
    contribution: float


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """The value of a row, taken apart by columns, from `explain_rows`.

    Parameters
    ----------
    prediction : object
        Predicted label.
    probabilities : ndarray of shape (K,), or None
    base : float
        Mean value over the background rows.
    total : float
        Value of the row: the expected rank counted from 0, or the latent score.
    terms : list of Term
        Column, its value and what it adds, by falling size; they sum to total − base.
    rules : list of str
        Rules that the row satisfies, in words, if the model has rules.
    classes : ndarray of shape (K,)
        Labels from lowest to highest.
    unit : {"ranks", "score"}
        What the value is counted in.
    method : {"linear", "exact", "drawn"}
        How the terms were found: from coefficients, by all subsets of columns, or by drawn orders.
    standard_errors : ndarray, or None
        Of the contributions, in the order of the terms, where orders were drawn.
    words : list of WordEffect
        What each term of the row's texts does to the value, the largest changes first.
    """

    prediction: Any
    probabilities: Vector | None
    base: float
    total: float
    terms: list[Term]
    rules: list[str]
    classes: npt.NDArray[Any]
    unit: str
    method: str
    standard_errors: Vector | None = field(default=None)
    words: list[WordEffect] = field(default_factory=list)

    def sentence(self, n: int = 3) -> str:
        """The explanation in words: label, how sure, what pushed it up and down.

        Parameters
        ----------
        n : int, default=3
            Most columns to name for each direction.
        """
        ways = {"raises": 1.0, "lowers": -1.0}
        told = [_pushes(self, word, sign, n) for word, sign in ways.items()]
        words = self.words_sentence(n)
        return " ".join([_verdict(self), _position(self), *filter(None, [*told, words])])

    def words_sentence(self, n: int = 3) -> str:
        """What the most telling words of the row's texts do; empty if there are none.

        Parameters
        ----------
        n : int, default=3
            Most words to name for each direction.
        """
        unit = " ranks" if self.unit == "ranks" else ""
        told = []
        for word, sign in (("raise", 1.0), ("lower", -1.0)):
            moving = [w for w in self.words if sign * w.change >= 0.005][:n]
            if moving:
                listed = _listed([f"“{w.term}” by {_amount(abs(w.change))}{unit}" for w in moving])
                told.append(f"{listed} {word}{'s' if len(moving) == 1 else ''} it")
        return f"Of its words, {'; '.join(told)}." if told else ""

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain lists, numbers and texts."""
        errors = self.standard_errors
        p = self.probabilities
        return {
            "prediction": self.prediction,
            "probabilities": None if p is None else p.tolist(),
            "unit": self.unit,
            "base": self.base,
            "total": self.total,
            "method": self.method,
            "terms": [
                {
                    "feature": term.feature,
                    "value": None if is_missing(term.value) else term.value,
                    "contribution": term.contribution,
                    "standard_error": None if errors is None else float(errors[j]),
                }
                for j, term in enumerate(self.terms)
            ],
            "words": [{"column": w.column, "term": w.term, "change": w.change} for w in self.words],
            "rules": self.rules,
            "sentence": self.sentence(),
        }

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *(f"  {rule}" for rule in self.rules)])


def explain_rows(
    model: Any,
    rows: Any,
    background: Any,
    *,
    value: str = "auto",
    n_draws: int = 400,
    max_background: int = 50,
    random_state: RandomStateLike = 0,
    classes: LabelsLike | None = None,
    kinds: Mapping[str, str] | None = None,
) -> list[RowExplanation]:
    """What each column adds to the predictions of single rows.

    The contributions are interventional Shapley values: the mean change of the value as the columns
    of a background row are replaced by those of the explained one, over background rows and orders
    of columns. They sum to the value of the row less the mean over the background. A latent score
    that is linear in the columns gives w_j·(x_j − mean of x_j) at once; otherwise all subsets of up
    to 8 columns are gone through, and orders are drawn beyond that.

    Parameters
    ----------
    model : fitted estimator, pipeline or trained model
    rows : data frame or array-like of shape (m, d)
        Rows to explain; one row of a pandas frame or of an array will do.
    background : data frame or array-like of shape (n, d)
        Rows to compare with, such as the training rows.
    value : {"auto", "rank", "score"}, default="auto"
        What is explained: the expected rank, or the latent score. By default the expected rank
        for a model with probabilities, else the latent score if there is one, else the rank of the
        predicted label.
    n_draws : int, default=400
        Orders of columns for each row, rounded up to a multiple that uses every background row
        equally often and at least four times.
    max_background : int, default=50
        Most background rows, drawn at random.
    random_state : int, default=0
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.
    kinds : mapping from str to str, optional
        What columns of numbers are: "boolean" for 0 and 1, "date" for days since 1970; by default
        as the schema of a trained model has it.

    Returns
    -------
    explanations : list of RowExplanation

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True, as_frame=True)
    >>> why = explain_rows(ProportionalOdds().fit(X, y), X.iloc[[0]], X)[0]
    >>> added = sum(term.contribution for term in why.terms)
    >>> bool(abs(added - (why.total - why.base)) < 1e-9)
    True
    """
    require_count("n_draws", n_draws)
    require_count("max_background", max_background)
    response = Response(model, classes, kinds=kinds)
    unit = response.unit(value)
    shown, behind = response.table(one_row(rows)), response.table(background)
    drawn = draw_rows(behind.n_rows, max_background, random_state, "background")
    if not shown.n_rows:
        return []
    pool = stacked(shown, behind.take(drawn))
    mixed = _Mixtures(response, pool, shown.n_rows, value)
    shares = mixed.linear_shares() if unit == "score" and is_linear(model) else None
    method = "linear"
    if shares is None:
        method = "exact" if mixed.are_few else "drawn"
        rng = np.random.default_rng(random_state)
        shares = [mixed.shares(i, n_draws, rng) for i in range(shown.n_rows)]
    return _explanations(response, pool, shares, method, unit, value)


def is_linear(model: Any) -> bool:
    """Whether the last estimator has a score that is linear in what it is given."""
    _, last = last_step(model)
    return np.ndim(getattr(last, "coef_", 0.0)) == 1 and hasattr(last, "predict_latent")


@dataclass(frozen=True, eq=False)
class _Mixtures:
    """Values of rows mixed of explained rows, first in the pool, and background rows after them."""

    response: Response
    pool: Table
    n_shown: int
    value: str

    @property
    def are_few(self) -> bool:
        return self.pool.n_columns <= MOST_ENUMERATED

    def shares(self, i: int, n_draws: int, rng: np.random.Generator) -> Shares:
        n, n_background = self.pool.n_columns, self.pool.n_rows - self.n_shown

        def mixture(masks: Masks, background: Index) -> Vector:
            sources = background + self.n_shown
            return self._values(sources, {j: np.where(masks[:, j], i, sources) for j in range(n)})

        if self.are_few:
            return exact_shares(mixture, n, n_background)
        return drawn_shares(mixture, n, n_background, n_draws, rng)

    def linear_shares(self) -> list[Shares] | None:
        """Parts of a sum over columns; None if preparation mixes columns after all."""
        pool, n = self.pool, self.pool.n_rows
        origin = np.full(n, n - 1)
        start = self._values(origin[:1], {})[0]
        parts = np.column_stack(
            [self._values(origin, {j: np.arange(n)}) - start for j in range(pool.n_columns)]
        )
        rng = np.random.default_rng(0)
        anywhere = {j: rng.integers(n, size=n) for j in range(pool.n_columns)}
        sums = start + np.sum([parts[rows, j] for j, rows in anywhere.items()], axis=0)
        gap = np.abs(self._values(origin, anywhere) - sums).max()
        whole = start + parts.sum(axis=1)
        gap = max(gap, np.abs(self._values(np.arange(n), {}) - whole).max())
        if gap > _ADDITIVE * (1.0 + np.abs(parts).max()):
            return None
        mean = parts[self.n_shown :].mean(axis=0)
        base = float(start + mean.sum())
        return [Shares(parts[i] - mean, None, base, float(whole[i])) for i in range(self.n_shown)]

    def _values(self, rows: Index, other: dict[int, Index]) -> Vector:
        answer = partial(self.response.values, value=self.value)
        return self.response.batched(self.pool, rows, other, answer)


def _explanations(
    response: Response, pool: Table, shares: list[Shares], method: str, unit: str, value: str
) -> list[RowExplanation]:
    shown = np.arange(len(shares))
    X = pool.take(shown).native
    labels = response.classes[response.codes(X)].tolist()
    probabilities = response.probabilities(X)
    rules = _satisfied_rules(response, pool, X)
    cells = [pool.cells(j, shown) for j in range(pool.n_columns)]
    words = [row_words(response, pool.take(shown[i : i + 1]), value) for i in shown]
    explanations = []
    for i, share in enumerate(shares):
        order = np.argsort(-np.abs(share.values), kind="stable")
        errors = share.standard_errors
        explanations.append(
            RowExplanation(
                prediction=labels[i],
                probabilities=None if probabilities is None else probabilities[i],
                base=share.base,
                total=share.total,
                terms=[Term(pool.names[j], cells[j][i], float(share.values[j])) for j in order],
                rules=rules[i] if rules else [],
                classes=response.classes,
                unit=unit,
                method=method,
                standard_errors=None if errors is None else errors[order],
                words=words[i],
            )
        )
    return explanations


def _satisfied_rules(response: Response, pool: Table, X: Any) -> list[list[str]]:
    """Rules that each row satisfies, in words; nothing for a model without rules."""
    words = raw_rules(response.model, response.classes, pool)
    if words is None:
        return []
    before, last = last_step(response.model)
    return [
        [_rule_sentence(words.retold(rule), added) for rule, added in told.parts[:_MOST_RULES]]
        for told in last.explain(transformed(before, X))
    ]


def _rule_sentence(rule: Rule, added: float) -> str:
    text = f"{rule.text()}: {signed(added)}"
    whose = "" if rule.threshold is None else f" for being above {rule.labels[rule.threshold]}"
    return f"{text} to the score{whose}"


# A contribution below this share of the largest one is not worth a word.
_SLIGHT = 0.05


def _verdict(explanation: RowExplanation) -> str:
    label, p = str(explanation.prediction), explanation.probabilities
    if p is None:
        return f"Predicted {label}."
    labels = [str(name) for name in explanation.classes.tolist()]
    code = labels.index(label)
    near = p[max(code - 1, 0) : code + 2].sum()
    sure = f"with probability {p[code]:.2f}"
    return f"Predicted {label} {sure}" + (f" ({near:.2f} within one)." if len(p) > 2 else ".")


def _position(explanation: RowExplanation) -> str:
    difference = explanation.total - explanation.base
    place, unit = ("It stands", " ranks") if explanation.unit == "ranks" else ("Its score is", "")
    if abs(difference) < 0.005:
        return f"{place} at the mean of the rows compared with."
    side = "above" if difference > 0 else "below"
    return f"{place} {abs(difference):.2f}{unit} {side} the mean of the rows compared with."


def _pushes(explanation: RowExplanation, word: str, sign: float, n: int) -> str:
    largest = max((abs(term.contribution) for term in explanation.terms), default=0.0)
    least = _SLIGHT * largest
    pushing = [term for term in explanation.terms if sign * term.contribution > least]
    what, unit = ("it", " ranks") if explanation.unit == "ranks" else ("the score", "")
    told = [
        f"{term.feature} {shown_value(term.value)} {word} {what} by "
        f"{_amount(abs(term.contribution))}{unit}"
        for term in pushing[:n]
    ]
    return f"{_listed(told)}." if told else ""


def _amount(size: float) -> str:
    return f"{size:.2f}" if size >= 0.01 else f"{size:.1g}"


def _listed(texts: list[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last
