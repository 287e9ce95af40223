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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._utils.sparse import csr_of
from .._utils.types import Index

# Letters and digits, with an apostrophe inside.
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Tokens that are looked at together, which bounds the memory that this takes.
_BLOCK = 1 << 13
_BUCKET_BITS = 22
# Tokens that are coded together, in arrays large enough to be given back to the system.
_CODED = 1 << 18
# Counts stop here, so that one takes a byte.
_MANY = 255

Numbers = npt.NDArray[np.integer[Any]]


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
    codes : ndarray of integers
        In as few bytes as their names need.
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

    def among(self, names: Iterable[str]) -> Numbers:
        """Place of each token among some names, by its code: −1 for one that is not there."""
        place = {name: number for number, name in enumerate(names)}
        return np.array([place.get(name, -1) for name in self.names] + [-1], dtype=np.int32)


def tokens_of(
    texts: Iterable[str | None], unit: str = "word", left_out: Iterable[str] = ()
) -> Tokens:
    """Tokens of texts, numbered as they come, as if those that are left out had never stood there.

    Examples
    --------
    >>> tokens_of(["so good", None, "good"]).codes.tolist()
    [0, 1, 1]
    """
    split, lengths = UNITS[unit][0], array("q", [0])
    unwanted = frozenset(left_out)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    latest, codes = array("i"), list[Numbers]()
    for text in texts:
        before = len(latest)
        if text is not None:
            tokens = split(text)
            if unwanted:
                tokens = [token for token in tokens if token not in unwanted]
            latest.extend(map(numbers.__getitem__, tokens))
        lengths.append(len(latest) - before)
        if len(latest) > _CODED:
            codes.append(np.array(latest, np.min_scalar_type(len(numbers))))
            latest = array("i")
    # Its own method would keep it in memory.
    numbers.default_factory = None
    codes.append(np.array(latest, np.min_scalar_type(len(numbers))))
    return Tokens(list(numbers), np.concatenate(codes), np.cumsum(lengths, dtype=np.intp))


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
        self.tokens, tokens, starts = _split_terms(terms, unit)
        first, sizes = starts[:-1], np.diff(starts)
        # Of each length the runs that terms begin with, and the column of those that are terms.
        self._runs: list[Index] = []
        self._columns: list[Numbers] = []
        places = np.zeros(self.n_terms, dtype=np.int64)
        for length in range(1, int(sizes.max(initial=0)) + 1):
            there = np.flatnonzero(sizes >= length)
            keys = tokens[first[there] + length - 1]
            if length > 1:
                keys += places[there] * len(self.tokens)
            kept, places[there] = np.unique(keys, return_inverse=True)
            # The last is that of no run, at place −1.
            columns = np.full(len(kept) + 1, -1, dtype=np.int32)
            whole = np.flatnonzero(sizes == length)
            columns[places[whole]] = whole
            self._runs.append(kept)
            self._columns.append(columns)

    def counts(self, tokens: Tokens) -> sp.csr_array:
        """How often each term stands in each text."""
        return stacked(self.parts(tokens), len(tokens.starts) - 1, self.n_terms)

    def parts(self, tokens: Tokens) -> Iterator[sp.csr_array]:
        """What `counts` gives, some texts at a time."""
        known = tokens.among(self.tokens)
        return (self._counts(known[tokens.codes[block.place]], block) for block in tokens.blocks())

    def _counts(self, codes: Numbers, block: Block) -> sp.csr_array:
        runs, rows, columns = codes, [block.rows[:0]], [codes[:0]]
        for length, (kept, column) in enumerate(zip(self._runs, self._columns, strict=True), 1):
            runs = _places(kept, _keys(runs, codes, block.rows, len(self.tokens), length))
            column_here = column[runs]
            there = column_here >= 0
            rows.append(block.rows[there])
            columns.append(column_here[there])
        where = (np.concatenate(rows), np.concatenate(columns))
        shape = (block.n_rows, self.n_terms)
        return sp.csr_array(sp.coo_array((np.ones(len(where[0])), where), shape=shape))


def _split_terms(terms: Sequence[str], unit: str) -> tuple[list[str], Index, Index]:
    """The tokens of terms, each of which is taken as it is written, as `Tokens` has them."""
    codes, starts, numbers = array("i"), array("q", [0]), dict[str, int]()
    for term in terms:
        codes.extend(numbers.setdefault(t, len(numbers)) for t in split_term(term, unit))
        starts.append(len(codes))
    return list(numbers), np.asarray(codes, np.int64), np.asarray(starts, np.intp)


def stacked(
    parts: Iterable[sp.csr_array], n_rows: int, n_columns: int, size: int = 0
) -> sp.csr_array:
    """Blocks of rows, one below the other, in arrays that are made once if their size is known.

    Lists of all blocks, or of what is found in them, would be in memory beside the whole.

    Parameters
    ----------
    parts : iterable of CSR array
    n_rows, n_columns : int
        Of the whole.
    size : int
        Entries of the whole, where they are known; else the arrays grow with the blocks.

    Examples
    --------
    >>> stacked([sp.csr_array([[1.0, 0.0]]), sp.csr_array([[0.0, 2.0]])], 2, 2).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    data, indices = np.empty(size), np.empty(size, dtype=np.int32)
    indptr, row, place = np.zeros(n_rows + 1, dtype=np.int64), 0, 0
    for part in parts:
        end, below = place + part.nnz, row + part.shape[0]
        if end > len(data):
            # What the rows so far make likely, by small steps.
            size = max(end, min(9 * end // 8, int(1.01 * end * n_rows / below)))
            data.resize(size, refcheck=False)
            indices.resize(size, refcheck=False)
        data[place:end], indices[place:end] = part.data, part.indices
        indptr[row + 1 : below + 1] = part.indptr[1:] + np.int64(place)
        row, place = below, end
    data.resize(place, refcheck=False)
    indices.resize(place, refcheck=False)
    if place <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return csr_of(data, indices, indptr, n_columns)


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
    heavy = np.zeros(1 << _BUCKET_BITS, dtype=np.uint8)
    for keys, _ in found():
        buckets, often = _counted(_bucket(keys))
        heavy[buckets] = np.minimum(heavy[buckets] + often, _MANY)
    maybe = np.greater_equal(heavy, min(fewest_rows, _MANY), out=heavy.view(np.bool_))
    known, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for keys, rows in found():
        there = maybe[_bucket(keys)]
        distinct, place = np.unique(keys[there], return_inverse=True)
        # A run counts once in each text.
        base = np.int64(len(distinct) or 1)
        once = _counted(rows[there] * base + place)[0] % base
        more = np.bincount(once, minlength=len(distinct))
        before = _places(known, distinct)
        old = before >= 0
        counts[before[old]] += more[old]
        new = np.searchsorted(known, distinct[~old])
        known = np.insert(known, new, distinct[~old])
        counts = np.insert(counts, new, more[~old])
    enough = counts >= fewest_rows
    return known[enough], counts[enough]


def _counted(numbers: Index) -> tuple[Index, Index]:
    """Distinct numbers in ascending order, and how often each is there; sorts them in place.

    NumPy's own function looks each one up in a table first, which is far slower.
    """
    numbers.sort()
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return numbers[first], np.diff(first, append=len(numbers))


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
    found = np.empty(len(runs), dtype=np.int32)
    for block in tokens.blocks():
        here = block.place
        keys = _keys(runs[here], tokens.codes[here], block.rows, len(tokens.names), length)
        found[here] = _places(kept, keys)
    return found
