"""What is kept of texts between models: found again, bounded, and seen nowhere else."""

import pickle

import numpy as np
import pandas as pd
import pytest

from echelon.model_selection import TextTerms, text_memo, text_terms
from echelon.model_selection.text_memo import MEMO, Memo, digest
from echelon.tables.terms import tokens_of

TEXTS = pd.DataFrame({"review": ["so good", "not good", None, "so bad", "bad", "so so"] * 8})
LABELS = [2, 0, 1, 0, 0, 1] * 8


@pytest.fixture(autouse=True)
def empty():
    MEMO.clear()
    yield
    MEMO.clear()


@pytest.fixture
def read(monkeypatch):
    """Texts that were read, one entry for each time."""
    found = []

    def reading(texts, *how):
        found.append(how)
        return tokens_of(texts, *how)

    monkeypatch.setattr(text_terms, "tokens_of", reading)
    return found


def test_models_of_a_fold_read_its_texts_once(read):
    training, test = TEXTS[:36], TEXTS[36:]
    for reduce in (None, "select", "svd", None):
        TextTerms(reduce, 3).fit(training, LABELS[:36]).transform(test)
    # What is transformed is kept when it comes again, because most of it never does.
    assert len(read) == 3
    TextTerms(stop_words=["so"]).fit(training)
    assert len(read) == 4


@pytest.mark.parametrize("reduce", [None, "select", "svd"])
def test_what_is_kept_changes_no_answer(reduce):
    def answer():
        found = TextTerms(reduce, 3).fit_transform(TEXTS, LABELS)
        return found if reduce == "svd" or reduce == "select" else found.toarray()

    first = answer()
    TextTerms(reduce, 3, max_terms=2).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(answer(), first)
    MEMO.clear()
    np.testing.assert_array_equal(answer(), first)


def test_a_model_holds_and_changes_nothing_that_is_kept():
    first, second = TextTerms().fit(TEXTS), TextTerms().fit(TEXTS)
    assert pickle.dumps(first) == pickle.dumps(second)
    assert len(pickle.dumps(first)) < 3000
    first.terms_[0].clear()
    assert second.terms_[0] and TextTerms().fit(TEXTS).terms_[0] == second.terms_[0]


def test_other_texts_have_other_digests():
    texts = [
        ["ab", "c"],
        ["a", "bc"],
        ["abc"],
        ["", None],
        [None, ""],
        [None],
        [],
        ["-"],
        ["\ud800"],
    ]
    assert len({digest(t) for t in texts}) == len(texts)


def test_the_latest_values_are_kept_within_the_bytes(monkeypatch):
    monkeypatch.setattr(text_memo, "_TEXT_BYTES", 1)
    memo, made = Memo(10), []

    def ask(key, size, **how):
        return memo.get(key, lambda: made.append(key) or [("a",) * size], **how)

    for key in "abab":
        ask(key, 4)
    assert made == ["a", "b"]
    ask("c", 4)
    ask("b", 4)
    ask("a", 4)
    assert made == ["a", "b", "c", "a"]
    ask("large", 6)
    ask("large", 6)
    assert made[-2:] == ["large"] * 2
    for _ in range(3):
        ask("later", 1, at_once=False)
    assert made[-3:] == ["large", "later", "later"]
