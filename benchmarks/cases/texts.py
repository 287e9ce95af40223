"""Reviews made ready by their words and pairs of words, beside scikit-learn's vectorizer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

WORDS = 100
VOCABULARY = 50_000
CLASSES = 5
# Letters of a review of so many words, on average; what the memory is measured by.
LETTERS = 5.3 * WORDS


class Data(NamedTuple):
    """Texts as a frame of one column and as a list, codes 0 … K−1, and whether one is high."""

    frame: Any
    texts: list[str]
    y: np.ndarray
    is_high: np.ndarray


def build(n: int) -> Data:
    """Words by Zipf's law, some of them as they usually follow; words raise or lower the label."""
    import pandas as pd

    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, size=(n, WORDS), p=share / share.sum())
    usual = rng.choice(VOCABULARY, size=VOCABULARY, p=share / share.sum())
    follows = np.flatnonzero(rng.random(WORDS - 1) < 0.3) + 1
    drawn[:, follows] = usual[drawn[:, follows - 1]]
    worth = rng.normal(size=VOCABULARY)
    latent = worth[drawn].mean(axis=1) + 0.05 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(latent, np.arange(1, CLASSES) / CLASSES), latent)
    names = np.array([_name(number) for number in range(VOCABULARY)])
    texts = [" ".join(row) for row in names[drawn]]
    return Data(pd.DataFrame({"review": texts}), texts, y, y >= CLASSES // 2)


def _name(number: int) -> str:
    """A word of one to eight letters, shorter where it is frequent."""
    syllables = ("e", "ta", "on", "i", "ner", "shi", "ro", "du", "la", "gem", "k", "vo")
    found = syllables[number % 12]
    while number:
        number //= 12
        found += syllables[number % 12][0]
    return found


def prepare(data: Data) -> Any:
    """All that a command does from a data frame to what a linear model is given."""
    from echelon.model_selection import prepare
    from echelon.model_selection.text_memo import MEMO
    from echelon.tables import Schema

    MEMO.clear()
    schema = Schema.of(data.frame)
    return prepare(schema, "linear").fit_transform(schema.apply(data.frame), data.y)


def ours(data: Data) -> Any:
    from echelon import LinearSVOR

    return LinearSVOR().fit(prepare(data), data.y)


def vectorize(data: Data) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(data.texts)


def linear_svc(data: Data) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC().fit(vectorize(data), data.is_high)


CASES = (
    Case(
        "texts/fit",
        sizes=(20_000,),
        quick_sizes=(2_000,),
        build=build,
        ours=ours,
        peers=(
            Peer("scikit-learn TfidfVectorizer and LinearSVC", "sklearn", linear_svc, target=2.0),
        ),
        rounds=3,
        memory=True,
    ),
    Case(
        "texts/terms",
        sizes=(20_000,),
        quick_sizes=(5_000,),
        build=build,
        ours=prepare,
        peers=(Peer("scikit-learn TfidfVectorizer", "sklearn", vectorize),),
        rounds=3,
        memory=True,
        memory_target=lambda n: 4.0 * LETTERS * n,
    ),
)
