"""What the words of texts do to predictions: each is left out, and the model asked again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._utils.types import Index, LabelsLike, MatrixLike, RandomStateLike
from ..base.wrappers import last_step
from ..model_selection.text_terms import TextTerms, find_text_terms, most_correlated
from ..ordinal.arrays import require_count
from .table import Response, Table, draw_rows

# Terms that are looked at, and texts that each of them is left out of.
_MOST_TERMS = 200
_TEXTS_EACH = 20
_FEWEST_TEXTS = 5
_MOST_OF_ROW = 80


class WordEffect(NamedTuple):
    """Mean change of the value of texts by a term that they have.

    Parameters
    ----------
    column, term : str
    rows : int
        Texts with the term among those looked at.
    change : float
        Mean value of such texts less that of the same texts without the term.
    unit : {"ranks", "score"}
        What the value is counted in: the expected rank, or the latent score.
    """

    column: str
    term: str
    rows: int
    change: float
    unit: str


def word_effects(
    model: Any,
    X: MatrixLike,
    *,
    n_terms: int = 20,
    max_rows: int = 2000,
    random_state: RandomStateLike = 0,
    classes: LabelsLike | None = None,
) -> list[WordEffect]:
    """The terms of texts that move predictions most, in both directions.

    A term is left out of texts that have it, and the mean change is what it does. Of all terms
    those are looked at whose presence goes most with the predictions.

    Parameters
    ----------
    model : fitted pipeline or trained model
        With a preparation that has `TextTerms`.
    X : data frame or array-like of shape (n, d)
    n_terms : int, default=20
        Most terms of each direction and column.
    max_rows : int, default=2000
        Most rows to look at, drawn at random.
    random_state : int, default=0
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.

    Returns
    -------
    effects : list of WordEffect
        Of each column from what raises most to what lowers most; empty for a model without texts.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from echelon import ProportionalOdds
    >>> from echelon.model_selection import TextTerms
    >>> X = pd.DataFrame({"review": ["good film", "bad film", "a film"] * 10})
    >>> model = make_pipeline(TextTerms(), ProportionalOdds(alpha=0.1)).fit(X, [3, 1, 2] * 10)
    >>> change = {effect.term: effect.change for effect in word_effects(model, X)}
    >>> print(f"good {change['good']:+.1f} ranks, bad {change['bad']:+.1f} ranks")
    good +0.9 ranks, bad -0.9 ranks
    """
    require_count("n_terms", n_terms)
    response = Response(model, classes)
    table = response.table(X)
    table = table.take(draw_rows(table.n_rows, max_rows, random_state))
    values = response.values(table.native)
    found: list[WordEffect] = []
    for place, j, terms in text_columns(model, table):
        texts = table.cells(j, np.arange(table.n_rows))
        present = terms.presence(place, texts)
        frequent = np.flatnonzero(present.sum(axis=0) >= min(_FEWEST_TEXTS, table.n_rows))
        telling = most_correlated([present[:, frequent]], values, _MOST_TERMS)
        chosen = frequent[telling]
        columns = present[:, chosen].tocsc()
        having = [columns[:, [k]].indices for k in range(len(chosen))]
        rows = np.concatenate([h[:_TEXTS_EACH] for h in having]) if having else np.zeros(0, np.intp)
        which = np.repeat(np.arange(len(chosen)), [len(h[:_TEXTS_EACH]) for h in having])
        change = _changes(response, table, j, place, terms, rows, chosen[which])
        means = np.bincount(which, change, minlength=len(chosen)) / np.bincount(
            which, minlength=len(chosen)
        )
        names = [terms.terms_[place][t] for t in chosen]
        unit = response.unit()
        effects = [
            WordEffect(table.names[j], name, len(rows_with), float(mean), unit)
            for name, rows_with, mean in zip(names, having, means, strict=True)
        ]
        effects.sort(key=lambda effect: -effect.change)
        raising = [effect for effect in effects if effect.change > 0][:n_terms]
        lowering = [effect for effect in effects if effect.change < 0][-n_terms:]
        found += [*raising, *lowering]
    return found


def row_words(response: Response, row: Table, value: str = "auto") -> list[WordEffect]:
    """What each term of a row does to its value, the largest changes first."""
    found = []
    for place, j, terms in text_columns(response.model, row):
        text = row.cells(j, np.arange(1))
        weights = terms.presence(place, text)
        chosen = weights.indices[:_MOST_OF_ROW].astype(np.intp)
        rows = np.zeros(len(chosen), dtype=np.intp)
        change = _changes(response, row, j, place, terms, rows, chosen, value)
        found += [
            WordEffect(row.names[j], terms.terms_[place][t], 1, float(by), response.unit(value))
            for t, by in zip(chosen, change, strict=True)
        ]
    return sorted(found, key=lambda effect: -abs(effect.change))


def text_columns(model: Any, table: Table) -> Iterator[tuple[int, int, TextTerms]]:
    """Columns that a model reads as text: their places among texts and in the table."""
    terms = find_text_terms(last_step(model)[0])
    if terms is None:
        return
    places = {name: j for j, name in enumerate(table.names)}
    for place, name in enumerate(terms.feature_names_in_):
        if name in places:
            yield place, places[name], terms


def _changes(
    response: Response,
    table: Table,
    j: int,
    place: int,
    terms: TextTerms,
    rows: Index,
    chosen: Index,
    value: str = "auto",
) -> Any:
    """Value of rows less that of the same rows without a term each."""
    if not len(rows):
        return np.zeros(0)
    whole = table.take(rows)
    texts = whole.cells(j, np.arange(len(rows)))
    names = [terms.terms_[place][t] for t in chosen]
    without = [terms.without(place, text, t) for text, t in zip(texts, names, strict=True)]
    before = response.values(whole.native, value)
    return before - response.values(whole.replaced(j, without).native, value)
