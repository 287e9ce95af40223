"""Terms of texts beside a plain count of every run of tokens."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from echelon.tables import terms as module
from echelon.tables.terms import (
    UNITS,
    TermIndex,
    characters_of,
    find_terms,
    stacked,
    tokens_of,
    words_of,
)

LONGEST = {"word": 3, "character": 4}
TEXTS = st.lists(
    st.one_of(st.none(), st.text("ab c'é,1\n", max_size=12), st.just("so good so good")),
    max_size=12,
)


def runs(text, unit, longest):
    """Every run of tokens of a text, as often as it stands there."""
    split, between = UNITS[unit]
    tokens = split(text or "") if text is not None else []
    return Counter(
        between.join(tokens[start : start + length])
        for length in range(1, longest + 1)
        for start in range(len(tokens) - length + 1)
    )


@given(TEXTS, st.sampled_from(sorted(UNITS)), st.integers(1, 3), st.sampled_from([1, 4, 1 << 17]))
def test_terms_and_counts_are_those_of_a_plain_count(texts, unit, fewest, block):
    longest = LONGEST[unit]
    counted = [runs(text, unit, longest) for text in texts]
    in_rows = Counter(term for row in counted for term in row)
    expected = {term: rows for term, rows in in_rows.items() if rows >= fewest}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        tokens = tokens_of(texts, unit)
        found, rows = find_terms(tokens, unit, longest, fewest, 10_000)
        counts = TermIndex(found, unit).counts(tokens).toarray()
    assert dict(zip(found, rows.tolist(), strict=True)) == expected
    assert (np.diff(rows) <= 0).all()
    assert counts.shape == (len(texts), len(found))
    assert counts.tolist() == [[row[term] for term in found] for row in counted]


def test_buckets_that_many_runs_share_lose_none(monkeypatch):
    texts = ["one two three", "two three four", "three four one two"] * 2
    whole = find_terms(tokens_of(texts), "word", 2, 3, 100)
    monkeypatch.setattr(module, "_BUCKET_BITS", 1)
    again = find_terms(tokens_of(texts), "word", 2, 3, 100)
    assert whole[0] == again[0] and whole[1].tolist() == again[1].tolist()


def test_the_most_frequent_terms_are_kept_with_their_parts():
    found, rows = find_terms(tokens_of(["a b", "a b", "b c", "b"]), "word", 2, 1, 3)
    assert found == ["b", "a", "a b"] and rows.tolist() == [4, 2, 2]


def test_a_term_is_found_where_its_beginning_is_no_term():
    index = TermIndex(["not good", "good"])
    assert index.counts(tokens_of(["not so good", "not good"])).toarray().tolist() == [
        [0.0, 1.0],
        [1.0, 1.0],
    ]


def test_words_and_characters():
    assert words_of("Don’t PANIC_now, 4½!") == ["don’t", "panic", "now", "4½"]
    assert characters_of(" A\t b ") == [" ", "a", " ", "b", " "]


def test_left_out_words_join_their_neighbours():
    tokens = tokens_of(["not at all good", None, "all"], left_out=["at", "all"])
    assert tokens.starts.tolist() == [0, 2, 2, 2]
    assert find_terms(tokens, "word", 2, 1, 9)[0] == ["not", "good", "not good"]


def test_no_texts_at_all():
    tokens = tokens_of([None, "", "  "])
    assert find_terms(tokens, "word", 2, 1, 9)[0] == []
    assert TermIndex([]).counts(tokens).shape == (3, 0)


@given(st.lists(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), max_size=4)))
def test_stacked_blocks_are_those_that_were_given(blocks):
    parts = [sp.csr_array(np.array(block, dtype=float).reshape(-1, 3)) for block in blocks]
    n = sum(map(len, blocks))
    found = stacked(iter(parts), n, 3)
    assert found.shape == (n, 3) and found.toarray().tolist() == [r for b in blocks for r in b]
    assert found.indices.dtype == found.indptr.dtype == np.int32


def test_numbers_of_tokens_take_few_bytes():
    words = [f"w{i}" for i in range(300)]
    assert tokens_of(["a b"]).codes.dtype == np.uint8
    assert tokens_of([" ".join(words)]).codes.dtype == np.uint16
    terms, _ = find_terms(tokens_of([" ".join(words)] * 2), "word", 2, 2, 1000)
    assert terms == [*words, *(f"{a} {b}" for a, b in pairwise(words))]
