"""Columns of text as numbers: how much each row says of each term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import cell_blocks, names_or_numbers
from .._utils.messages import require_choice
from .._utils.state import require_state
from .._utils.types import Index, LabelsLike, Matrix, Vector
from ..base.estimator import BaseEstimator, TransformerMixin
from ..base.validation import all_or_nothing
from ..ordinal.arrays import require_count
from ..ordinal.labels import read_scale
from ..tables.terms import UNITS, TermIndex, Tokens, find_terms, split_term, stacked, tokens_of
from .text_memo import MEMO, digest

_LONGEST = {"word": 2, "character": 4}
# Below this share of all words those that repeat are too few to learn from.
_REPEATED = 0.5


class TextTerms(TransformerMixin, BaseEstimator):
    """Weights of the terms of texts, and how long each text is.

    A term is a word or two consecutive words, or up to four characters where words hardly repeat.
    A term that stands c times in a row and in m of the n training rows weighs (1 + ln c)·(1 +
    ln((1 + n) / (1 + m))), and the weights of a row have length one. The length of a text, ln(1 +
    number of words or characters), has mean zero and variance one. A missing text has no words.

    Parameters
    ----------
    reduce : {None, "select", "svd"}, default=None
        None gives all terms as a sparse matrix. "select" gives, for the terms whose weight is most
        correlated with the rank of the label, 1 where a row has the term and 0 where not. "svd"
        gives the coordinates of the weights on their first singular vectors.
    size : int, default=100
        Terms to select, or singular vectors.
    min_rows : int, default=5
        Rows that a term must stand in.
    max_terms : int, default=50000
        The most frequent terms of a column that are kept.
    unit : {"auto", "word", "character"}, default="auto"
        What terms are made of; by default characters where less than half of the words are ones
        that stand in `min_rows` rows.
    stop_words : sequence of str, default=()
        Words that are left out, as if they had not been written.
    classes : sequence, optional
        The labels from lowest to highest, for "select"; by default as their type orders them.

    Attributes
    ----------
    terms_ : list of list of str
        Of each column.
    idf_ : list of ndarray
        1 + ln((1 + n) / (1 + m)) of each term.
    units_ : list of str
    lengths_ : ndarray of shape (d, 2)
        Mean and standard deviation of the length of texts.
    components_ : list of ndarray of shape (k, terms), or None
        Singular vectors of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> texts = pd.DataFrame({"review": ["good", "not good", "bad", None, "really bad"]})
    >>> terms = TextTerms(min_rows=2).fit(texts)
    >>> terms.get_feature_names_out().tolist()
    ['review: good', 'review: bad', 'review: length']
    >>> terms.transform(texts)[:, :2].toarray().tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        reduce: str | None = None,
        size: int = 100,
        *,
        min_rows: int = 5,
        max_terms: int = 50_000,
        unit: str = "auto",
        stop_words: Sequence[str] = (),
        classes: LabelsLike | None = None,
    ) -> None:
        self.reduce = reduce
        self.size = size
        self.min_rows = min_rows
        self.max_terms = max_terms
        self.unit = unit
        self.stop_words = stop_words
        self.classes = classes

    @all_or_nothing
    def fit(self, X: Any, y: LabelsLike | None = None) -> Self:
        """Find the terms of every column.

        Parameters
        ----------
        X : data frame or array of shape (n, d)
            Columns of text, None or NaN where there is none.
        y : array-like of shape (n,), optional
            Labels, needed for ``reduce="select"``.

        Returns
        -------
        self : TextTerms
        """
        self._learn(X, y)
        return self

    @all_or_nothing
    def fit_transform(self, X: Any, y: LabelsLike | None = None) -> Any:
        """Find the terms of every column, and give the rows in terms of them.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        weights : CSR array or ndarray of shape (n, terms)
        """
        return _joined(self._learn(X, y))

    def transform(self, X: Any) -> Any:
        """Rows in terms of the terms that were found.

        Parameters
        ----------
        X : data frame or array of shape (n, d)

        Returns
        -------
        weights : CSR array or ndarray of shape (n, terms)
        """
        check_is_fitted(self)
        _, columns = _texts(X, self.n_features_in_)
        tokens = [self._tokens(c, u) for c, u in zip(columns, self.units_, strict=True)]
        return _joined([self._block(j, found) for j, found in enumerate(tokens)])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the inputs, by default those that were seen in `fit`.
        """
        check_is_fitted(self)
        inputs = self.feature_names_in_ if input_features is None else input_features
        return np.array(
            [
                f"{name}: {part}"
                for j, name in enumerate(inputs)
                for part in (*self._parts(j), "length")
            ],
            dtype=object,
        )

    def presence(self, j: int, texts: Sequence[Any]) -> sp.csr_array:
        """1 where a text of column j has a term.

        Parameters
        ----------
        j : int
        texts : sequence of str or None
        """
        tokens = self._tokens(Texts(texts), self.units_[j])
        found = TermIndex(self.terms_[j], self.units_[j]).counts(tokens)
        found.data[:] = 1.0
        return found

    def without(self, j: int, text: str, term: str) -> str:
        """A text of column j as it would be without a term.

        Parameters
        ----------
        j : int
        text, term : str
        """
        split, between = UNITS[self.units_[j]]
        left_out = set(self.stop_words)
        tokens = [token for token in split(text) if token not in left_out]
        parts, kept, place = split_term(term, self.units_[j]), [], 0
        while place < len(tokens):
            if tokens[place : place + len(parts)] == parts:
                place += len(parts)
            else:
                kept.append(tokens[place])
                place += 1
        return between.join(kept)

    def check_state(self) -> None:
        """Raise an error for attributes that no fit can have left."""
        if not hasattr(self, "terms_"):
            return
        d = len(self.terms_)
        lists = (self.idf_, self.units_, self.lengths_)
        require_state(all(len(found) == d for found in lists), "its columns are others")
        for terms, idf, unit in zip(self.terms_, self.idf_, self.units_, strict=True):
            texts = all(type(term) is str and term for term in terms)
            require_state(texts and len(set(terms)) == len(terms), "its terms are none")
            require_state(isinstance(idf, np.ndarray) and idf.shape == (len(terms),), "no weights")
            require_state(np.isfinite(idf) & (idf > 0), "its weights are none")
            require_state(unit in UNITS, "its terms are of nothing")
        lengths = self.lengths_
        require_state(isinstance(lengths, np.ndarray) and lengths.shape == (d, 2), "no lengths")
        require_state(np.isfinite(lengths) & (lengths[:, 1:] > 0), "its lengths are none")
        if self.components_ is not None:
            require_state(len(self.components_) == d, "its columns are others")
            for vectors, terms in zip(self.components_, self.terms_, strict=True):
                fits = isinstance(vectors, np.ndarray) and vectors.ndim == 2
                require_state(fits and vectors.shape[1] == len(terms), "no singular vectors")
                require_state(np.isfinite(vectors), "its singular vectors are none")

    def _learn(self, X: Any, y: Any) -> list[Any]:
        self._check_parameters()
        names, columns = _texts(X)
        ranks = None
        if self.reduce == "select":
            if y is None:
                raise ValueError('y must hold the labels for reduce="select"; found none.')
            ranks = _ranks(y, self.classes)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        self.terms_: list[list[str]] = []
        self.idf_: list[Vector] = []
        self.units_: list[str] = []
        self.components_: list[Matrix] | None = [] if self.reduce == "svd" else None
        self.lengths_ = np.ones((len(names), 2))
        return [self._learn_column(j, texts, ranks) for j, texts in enumerate(columns)]

    def _learn_column(self, j: int, texts: Texts, ranks: Vector | None) -> Any:
        name = digest(texts)
        unit = "word" if self.unit == "auto" else self.unit
        tokens = self._tokens(texts, unit, name)
        if self.unit == "auto" and not self._repeats(tokens, name):
            unit, tokens = "character", self._tokens(texts, "character", name)
        terms, counts = self._find(tokens, name, unit, _LONGEST[unit], self.max_terms)
        length = _length(tokens)
        self.lengths_[j] = length.mean(), length.std() or 1.0
        self.terms_.append(list(terms))
        self.idf_.append(1.0 + np.log((1.0 + len(length)) / (1.0 + counts)))
        self.units_.append(unit)
        weights = None
        if ranks is not None:
            chosen = most_correlated(self._weights(j, tokens), ranks, self.size)
            self.terms_[j] = [terms[place] for place in chosen]
            self.idf_[j] = self.idf_[j][chosen]
        if self.components_ is not None:
            weights = self._stacked(j, tokens, int(counts.sum()))
            self.components_.append(_singular_vectors(weights, self.size))
        return self._block(j, tokens, weights, int(counts.sum()))

    def _check_parameters(self) -> None:
        require_choice("reduce", self.reduce, (None, "select", "svd"))
        require_choice("unit", self.unit, ("auto", *UNITS))
        for name in ("size", "min_rows", "max_terms"):
            require_count(name, getattr(self, name))

    def _left_out(self, unit: str) -> frozenset[str]:
        return frozenset(self.stop_words if unit == "word" else ())

    def _tokens(self, texts: Texts, unit: str, name: bytes | None = None) -> Tokens:
        """The tokens of texts, which other models are likely to ask for if they have a name."""
        left_out = self._left_out(unit)
        key = digest(texts) if name is None else name, unit, left_out
        return MEMO.get(key, lambda: tokens_of(texts, unit, left_out), at_once=name is not None)

    def _find(
        self, tokens: Tokens, name: bytes, unit: str, longest: int, most: int
    ) -> tuple[list[str], Index]:
        how = unit, longest, self.min_rows, most
        key = name, self._left_out(unit), how
        return MEMO.get(key, lambda: find_terms(tokens, *how))

    def _repeats(self, tokens: Tokens, name: bytes) -> bool:
        """Whether most of what is written are words that stand in several rows."""
        if not len(tokens.codes):
            return True
        frequent, _ = self._find(tokens, name, "word", 1, len(tokens.names))
        return float((tokens.among(frequent) >= 0)[tokens.codes].mean()) >= _REPEATED

    def _weights(self, j: int, tokens: Tokens) -> Iterator[sp.csr_array]:
        """Weights of the terms of column j, each row of length one, some rows at a time."""
        idf = self.idf_[j]
        for found in TermIndex(self.terms_[j], self.units_[j]).parts(tokens):
            found.data = (1.0 + np.log(found.data)) * idf[found.indices]
            rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
            squares = np.bincount(rows, found.data**2, minlength=found.shape[0])
            found.data /= np.sqrt(squares)[rows]
            yield found

    def _stacked(self, j: int, tokens: Tokens, size: int = 0) -> sp.csr_array:
        return stacked(self._weights(j, tokens), len(tokens.starts) - 1, len(self.terms_[j]), size)

    def _block(
        self, j: int, tokens: Tokens, weights: sp.csr_array | None = None, size: int = 0
    ) -> Any:
        """What column j gives; its weights, or how many there are, need not be known before."""
        mean, scale = self.lengths_[j]
        length = (_length(tokens) - mean) / scale
        n, n_terms = len(length), len(self.terms_[j])
        if self.components_ is not None:
            if weights is None:
                weights = self._stacked(j, tokens)
            return np.hstack([weights @ self.components_[j].T, length[:, None]])
        if self.reduce == "select":
            found, row = np.empty((n, n_terms + 1)), 0
            for part in TermIndex(self.terms_[j], self.units_[j]).parts(tokens):
                below = row + part.shape[0]
                found[row:below, :-1] = np.minimum(part.toarray(), 1.0)
                row = below
            found[:, -1] = length
            return found
        size = size + n if size else 0
        return stacked(_with_last(self._weights(j, tokens), length), n, n_terms + 1, size)

    def _parts(self, j: int) -> Sequence[str]:
        if self.components_ is None:
            return self.terms_[j]
        return [f"component {place + 1}" for place in range(len(self.components_[j]))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags


def _ranks(y: Any, classes: Any) -> Vector:
    """Ranks of labels, which a model around the preparation may have turned into codes."""
    try:
        return read_scale(y, classes)[1].astype(np.float64)
    except ValueError:
        return read_scale(y)[1].astype(np.float64)


def find_text_terms(before: Sequence[Any]) -> TextTerms | None:
    """The step of a preparation that reads texts; None if there is none."""
    for step in before:
        inner = [part for _, part, _ in getattr(step, "transformers_", ())]
        for part in (step, *inner):
            if isinstance(part, TextTerms):
                return part
    return None


class TermColumn(NamedTuple):
    """What a column of prepared inputs says of a text: a term, or with none its length.

    Parameters
    ----------
    text, term : str
    unit : {"word", "character"}
    mean, scale : float
        Of ln(1 + words or characters), which the length is given in.
    """

    text: str
    term: str
    unit: str
    mean: float
    scale: float

    def length(self, prepared: float) -> float:
        """Words or characters of a text, of what the column gives for it."""
        return float(np.expm1(prepared * self.scale + self.mean))


def term_columns(before: Sequence[Any]) -> dict[int, TermColumn]:
    """Columns that a preparation gives of texts, where it is the only step and tells terms."""
    if len(before) != 1:
        return {}
    found, whole = find_text_terms(before), before[0]
    if found is None or found.components_ is not None:
        return {}
    start = 0
    for name, part, _ in getattr(whole, "transformers_", ()):
        if part is found:
            start = whole.output_indices_[name].start
    columns = [
        TermColumn(str(text), term, found.units_[j], *found.lengths_[j].tolist())
        for j, text in enumerate(found.feature_names_in_)
        for term in (*found.terms_[j], "")
    ]
    return dict(enumerate(columns, start))


class Texts:
    """The cells of a column of text, None where there is none, to be gone through many times."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __iter__(self) -> Iterator[str | None]:
        for cells in cell_blocks(self._column):
            yield from (cell if isinstance(cell, str) else None for cell in cells)


def _texts(X: Any, expected: int | None = None) -> tuple[list[str], list[Texts]]:
    """Names and cells of columns of text."""
    if hasattr(X, "columns"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        names, columns = list(map(str, frame.columns)), list(frame.iter_columns())
    else:
        array = np.asarray(X, dtype=object)
        if array.ndim != 2:
            raise ValueError(f"X must have rows and columns of text; found shape {array.shape}.")
        names = names_or_numbers(None, array.shape[1])
        columns = list(array.T)
    if expected is not None and len(names) != expected:
        raise ValueError(f"X must have {expected} columns of text; found {len(names)}.")
    return names, [Texts(column) for column in columns]


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    whole = sp.hstack(parts, format="csr") if sp.issparse(parts[0]) else np.hstack(parts)
    return whole


def _length(tokens: Tokens) -> Vector:
    return np.log1p(np.diff(tokens.starts).astype(np.float64))


def _with_last(parts: Iterable[sp.csr_array], column: Vector) -> Iterator[sp.csr_array]:
    """Blocks of rows with one column more."""
    row = 0
    for part in parts:
        below = row + part.shape[0]
        yield sp.hstack([part, sp.csr_array(column[row:below, None])], format="csr")
        row = below


def most_correlated(parts: Iterable[sp.csr_array], ranks: Vector, size: int) -> list[int]:
    """Places of the columns that are most correlated with the ranks, in ascending order.

    Parameters
    ----------
    parts : iterable of CSR array
        Blocks of rows, of at least one row in all.
    ranks : ndarray
    size : int
    """
    n, row, sums = len(ranks), 0, np.zeros((3, 1))
    apart = ranks - ranks.mean()
    for part in parts:
        below, width = row + part.shape[0], part.shape[1]
        squares = np.bincount(part.indices, part.data**2, minlength=width)
        sums = sums + np.stack([part.sum(axis=0), squares, part.T @ apart[row:below]])
        row = below
    mean, squares, covariance = sums / n
    spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
    covariance = np.abs(covariance)
    correlation = np.divide(covariance, spread, out=np.zeros_like(spread), where=spread > 0.0)
    return sorted(np.argsort(-correlation, kind="stable")[:size].tolist())


def _singular_vectors(weights: sp.csr_array, size: int) -> Matrix:
    rank = min(size, *weights.shape)
    if rank == 0:
        return np.zeros((0, weights.shape[1]), dtype=np.float32)
    vectors = randomized_svd(weights, rank, random_state=0)[2]
    return np.asarray(vectors, dtype=np.float32)
