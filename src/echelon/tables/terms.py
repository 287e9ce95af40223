"""Terms of texts: runs of consecutive words, or of characters, counted by rows.

A run occurs in no more rows than any part of it. So runs are sought among those of frequent parts
alone, one token longer each time, and all but the tokens themselves are arrays of numbers.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._utils.types import Index

# Letters and digits, with an apostrophe inside.
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Tokens that are looked at together, which bounds the memory that this takes.
_BLOCK = 1 << 17
_BUCKET_BITS = 20
_BUCKETS = 1 << _BUCKET_BITS

Numbers = npt.NDArray[np.int32]


def words_of(text: str) -> list[str]:
    """Words of a text in lower case.

    Examples
    --------
    >>> words_of("It doesn't work, 2 of 5!")
    ['it', "doesn't", 'work', '2', 'of', '5']
    """
    return _WORD.findall(text.lower())


def characters_of(text: str) -> list[str]:
    """Characters of a text in lower case, one blank for any white space and at both ends.

    Examples
    --------
    >>> "".join(characters_of("Not  bad"))
    ' not bad '
    """
    return list(f" {' '.join(text.lower().split())} ")


#: How texts are taken apart, and what stands between the tokens of a term.
UNITS: dict[str, tuple[Callable[[str], list[str]], str]] = {
    "word": (words_of, " "),
    "character": (characters_of, ""),
}


def split_term(term: str, unit: str) -> list[str]:
    """The tokens of a term."""
    between = UNITS[unit][1]
    return term.split(between) if between else list(term)


class Block(NamedTuple):
    """Some whole texts: where their tokens are, the text of each from 0, and how many texts."""

    place: slice
    rows: Index
    n_rows: int


@dataclass(frozen=True)
class Tokens:
    """Tokens of texts as numbers, one text after the other.

    Parameters
    ----------
    names : list of str
        The token of each number.
    codes : ndarray of int32
        −1 for a token that is not named.
    starts : ndarray of shape (n + 1,)
        Where each text begins, and the end of the last.
    """

    names: list[str]
    codes: Numbers
    starts: Index

    def blocks(self) -> Iterator[Block]:
        """The texts, some at a time."""
        first, n = 0, len(self.starts) - 1
        while first < n:
            most = self.starts[first] + _BLOCK
            last = max(int(np.searchsorted(self.starts, most, side="right")) - 1, first + 1)
            lengths = np.diff(self.starts[first : last + 1])
            place = slice(int(self.starts[first]), int(self.starts[last]))
            yield Block(place, np.repeat(np.arange(last - first), lengths), last - first)
            first = last

    def without(self, left_out: Iterable[str]) -> Tokens:
        """The tokens as if some had never stood there."""
        unwanted = set(left_out)
        kept = np.array([name not in unwanted for name in self.names] + [True])[self.codes]
        ends = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Tokens(self.names, self.codes[kept], ends)

    def renumbered(self, names: list[str]) -> Tokens:
        """The same tokens by other numbers, −1 for those that are not among the names."""
        place = {name: number for number, name in enumerate(names)}
        table = np.array([place.get(name, -1) for name in self.names] + [-1], dtype=np.int32)
        return Tokens(names, table[self.codes], self.starts)


def tokens_of(texts: Iterable[str | None], unit: str = "word") -> Tokens:
    """Tokens of texts, numbered as they come.

    Examples
    --------
    >>> tokens_of(["so good", None, "good"]).codes.tolist()
    [0, 1, 1]
    """
    split, codes, starts = UNITS[unit][0], array("i"), array("q", [0])
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    for text in texts:
        if text is not None:
            codes.extend(map(numbers.__getitem__, split(text)))
        starts.append(len(codes))
    return Tokens(list(numbers), np.asarray(codes, np.int32), np.asarray(starts, np.intp))


def find_terms(
    tokens: Tokens, unit: str, longest: int, fewest_rows: int, most: int
) -> tuple[list[str], Index]:
    """Terms that occur in enough rows, the most frequent ones, and in how many rows they do.

    Parameters
    ----------
    tokens : Tokens
    unit : {"word", "character"}
    longest : int
        Tokens of a term, at most.
    fewest_rows : int
    most : int
        Terms to keep; of equally frequent ones the shorter, then the one that came first.

    Returns
    -------
    terms : list of str
        By falling number of rows.
    counts : ndarray

    Examples
    --------
    >>> texts = ["so good", "not so good", "not bad"]
    >>> terms, counts = find_terms(tokens_of(texts), "word", 2, 2, 10)
    >>> dict(zip(terms, counts.tolist(), strict=True))
    {'so': 2, 'good': 2, 'not': 2, 'so good': 2}
    """
    between = UNITS[unit][1]
    names, runs = tokens.names, tokens.codes
    terms: list[str] = []
    found: list[Index] = []
    for length in range(1, longest + 1):
        kept, counts = _frequent(runs, tokens, length, fewest_rows)
        starts, ends = np.divmod(kept, len(tokens.names) or 1)
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        if length == 1:
            names = [tokens.names[end] for _, end in pairs]
        else:
            names = [f"{names[start]}{between}{tokens.names[end]}" for start, end in pairs]
        terms += names
        found.append(counts)
        if length < longest:
            runs = _numbered(runs, tokens, length, kept)
    whole = np.concatenate(found)
    order = np.argsort(-whole, kind="stable")[:most]
    return [terms[place] for place in order.tolist()], whole[order]


class TermIndex:
    """Terms, found among tokens.

    Parameters
    ----------
    terms : sequence of str
        In the order of the columns.
    unit : {"word", "character"}

    Examples
    --------
    >>> index = TermIndex(["good", "not good"])
    >>> index.counts(tokens_of(["not good", "good, very good"])).toarray()
    array([[1., 1.],
           [2., 0.]])
    """

    def __init__(self, terms: Sequence[str], unit: str = "word") -> None:
        self.n_terms = len(terms)
        parts = [tuple(split_term(term, unit)) for term in terms]
        self.tokens = list(dict.fromkeys(token for term in parts for token in term))
        numbers = {token: number for number, token in enumerate(self.tokens)}
        column_of = {
            tuple(numbers[token] for token in term): column for column, term in enumerate(parts)
        }
        # Of each length the runs that terms begin with, and the column of those that are terms.
        self._runs: list[Index] = []
        self._columns: list[Index] = []
        places: dict[tuple[int, ...], int] = {}
        for length in range(1, max(map(len, column_of), default=0) + 1):
            starts = {term[:length] for term in column_of if len(term) >= length}
            keys = {
                (0 if length == 1 else places[start[:-1]]) * len(numbers) + start[-1]: start
                for start in starts
            }
            kept = np.sort(np.fromiter(keys, np.int64, len(keys)))
            ordered = [keys[key] for key in kept.tolist()]
            places = {start: place for place, start in enumerate(ordered)}
            self._runs.append(kept)
            self._columns.append(np.array([column_of.get(s, -1) for s in ordered], dtype=np.intp))

    def counts(self, tokens: Tokens) -> sp.csr_array:
        """How often each term stands in each text."""
        known = tokens.renumbered(self.tokens)
        parts = [self._counts(known.codes[block.place], block) for block in known.blocks()]
        stored = sum(part.nnz for part in parts)
        found = sp.csr_array((len(tokens.starts) - 1, self.n_terms))
        found.data, found.indices = np.empty(stored), np.empty(stored, dtype=np.int32)
        indptr, row, place = np.zeros(found.shape[0] + 1, dtype=np.int32), 0, 0
        # Parts go one by one, so that all of them and the whole are never there together.
        for part in iter(lambda: parts.pop(0) if parts else None, None):
            end = place + part.nnz
            found.data[place:end], found.indices[place:end] = part.data, part.indices
            indptr[row : row + part.shape[0] + 1] = part.indptr + place
            row, place = row + part.shape[0], end
        found.indptr = indptr
        return found

    def _counts(self, codes: Numbers, block: Block) -> sp.csr_array:
        runs, rows, columns = codes, [block.rows[:0]], [block.rows[:0]]
        for length, (kept, column) in enumerate(zip(self._runs, self._columns, strict=True), 1):
            runs = _places(kept, _keys(runs, codes, block.rows, len(self.tokens), length))
            column_here = np.append(column, -1)[runs]
            there = column_here >= 0
            rows.append(block.rows[there])
            columns.append(column_here[there])
        where = (np.concatenate(rows), np.concatenate(columns))
        shape = (block.n_rows, self.n_terms)
        ones = np.ones(len(where[0]), dtype=np.float32)
        return sp.csr_array(sp.coo_array((ones, where), shape=shape))


def _keys(runs: Numbers, codes: Numbers, rows: Index, n_names: int, length: int) -> Index:
    """A number for the run of a length that begins at each token of a block; −1 for none.

    `runs` has the runs that are one token shorter, or the tokens for single ones.
    """
    keys = np.full(len(codes), -1, dtype=np.int64)
    if length == 1:
        keys[:] = codes
        return keys
    n, ahead = max(len(codes) - length + 1, 0), length - 1
    there = (runs[:n] >= 0) & (codes[ahead:] >= 0) & (rows[:n] == rows[ahead:])
    keys[:n][there] = runs[:n][there] * np.int64(n_names) + codes[ahead:][there]
    return keys


def _frequent(runs: Numbers, tokens: Tokens, length: int, fewest_rows: int) -> tuple[Index, Index]:
    """Runs that begin in enough texts, in ascending order, and in how many they do."""

    def found() -> Iterator[tuple[Index, Index]]:
        for block in tokens.blocks():
            here, n_names = block.place, len(tokens.names)
            keys = _keys(runs[here], tokens.codes[here], block.rows, n_names, length)
            yield keys[keys >= 0], block.rows[keys >= 0]

    # Most runs are rare. Those that are shows in a table that is much smaller than their list.
    heavy = np.zeros(_BUCKETS, dtype=np.int64)
    for keys, _ in found():
        heavy += np.bincount(_bucket(keys), minlength=_BUCKETS)
    known, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for keys, rows in found():
        maybe = heavy[_bucket(keys)] >= fewest_rows
        distinct, place = np.unique(keys[maybe], return_inverse=True)
        # A run counts once in each text.
        base = np.int64(len(distinct) or 1)
        once = np.unique(rows[maybe] * base + place) % base
        known, place = np.unique(np.concatenate([known, distinct]), return_inverse=True)
        more = np.bincount(once, minlength=len(distinct))
        counts = np.bincount(place, np.concatenate([counts, more])).astype(np.int64)
    enough = counts >= fewest_rows
    return known[enough], counts[enough]


def _bucket(keys: Index) -> Index:
    """A small number for each key, spread evenly by a multiplication that overflows."""
    spread = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (spread >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)


def _places(kept: Index, keys: Index) -> Numbers:
    """Place of each key among those that are kept, −1 for one that is not."""
    if not len(kept):
        return np.full(len(keys), -1, dtype=np.int32)
    place = np.searchsorted(kept, keys)
    place[place == len(kept)] = 0
    return np.where(kept[place] == keys, place, -1).astype(np.int32)


def _numbered(runs: Numbers, tokens: Tokens, length: int, kept: Index) -> Numbers:
    """Numbers of the kept runs of a length, where they begin."""
    found = np.empty_like(runs)
    for block in tokens.blocks():
        here = block.place
        keys = _keys(runs[here], tokens.codes[here], block.rows, len(tokens.names), length)
        found[here] = _places(kept, keys)
    return found
