"""Ratings from texts: what a contest finds beside pipelines that one would write by hand.

``python -m benchmarks.text_sets`` holds a quarter of the rows of every text set in ``ECHELON_DATA``
out. The other rows go to four pipelines of scikit-learn and LightGBM, by words and by words with
pairs of words, and to ``echelon compare --save`` within a budget. What is finished is kept in a
file and not measured again; ``--write docs/choosing.md`` puts the table into the page.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pages import Pieces, markdown_table, publish, study_parser

MEDIAN, CONTEST = "constant median", "echelon compare"
LABEL = "y"
# Pairs of words are two words long.
LONGEST = {"words": 1, "pairs": 2}


@dataclass(frozen=True)
class TextSet:
    """Rows with a rating, and nothing but texts to tell it by.

    Parameters
    ----------
    name : str
    read : callable
        Gives a frame of columns of text and the label, which is a whole number.
    """

    name: str
    read: Callable[[], pd.DataFrame]


def sets() -> Iterator[TextSet]:
    """Those text sets of the data folder that are there."""
    folder = Path(os.environ.get("ECHELON_DATA", "")) / "text"
    if "ECHELON_DATA" not in os.environ:
        return
    for name, column in (
        ("game_reviews", "text"),
        ("movie_scale", "text"),
        ("coffee_tasting", "notes"),
    ):
        path = folder / f"{name}.csv.gz"
        if path.exists():
            yield TextSet(name, lambda path=path, column=column: _read(path)[[column, LABEL]])
    if (folder / "cranfield_judgements.csv.gz").exists():
        yield TextSet("cranfield", lambda: _cranfield(folder))


def _read(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    return frame[frame[LABEL].notna()].astype({LABEL: int})


def _cranfield(folder: Path) -> pd.DataFrame:
    found = _read(folder / "cranfield_judgements.csv.gz")
    for key, column in (("query", "question"), ("document", "abstract")):
        name = "queries" if key == "query" else "documents"
        texts = pd.read_csv(folder / f"cranfield_{name}.csv.gz")[[key, "text"]]
        found = found.merge(texts.rename(columns={"text": column}), on=key)
    return found[["question", "abstract", LABEL]]


def _ridge(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    from sklearn.linear_model import Ridge

    return np.clip(np.rint(Ridge().fit(X, y).predict(new)), y.min(), y.max())


def _svc(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    from sklearn.svm import LinearSVC

    return LinearSVC().fit(X, y).predict(new)


def _logistic(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(X, y).predict(new)


def _boosted(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, random_state=0).fit(X, y).predict(new)


BY_HAND: dict[str, Callable[[Any, np.ndarray, Any], np.ndarray]] = {
    "Ridge, rounded": _ridge,
    "LinearSVC": _svc,
    "multinomial logit": _logistic,
    "LightGBM": _boosted,
}
METHODS = (MEDIAN, *(f"{name}, {unit}" for name in BY_HAND for unit in LONGEST), CONTEST)


def measure(table: TextSet, method: str, budget: str) -> dict[str, Any]:
    """MAE of a method on the rows held out."""
    frame = table.read().reset_index(drop=True)
    held = np.zeros(len(frame), dtype=bool)
    order = np.random.default_rng(0).permutation(len(frame))
    held[order[: len(frame) // 4]] = True
    training, test = frame[~held], frame[held]
    y, model = training[LABEL].to_numpy(), method
    if method == MEDIAN:
        predicted: Any = np.sort(y)[(len(y) - 1) // 2]
    elif method == CONTEST:
        predicted, model = _contest(training, test, budget)
    else:
        name, unit = method.rsplit(", ", 1)
        predicted = BY_HAND[name](*_vectors(training, test, LONGEST[unit]))
    mae = float(np.abs(test[LABEL].to_numpy() - predicted).mean())
    rows = {"rows": len(training), "held_out": len(test)}
    return {"set": table.name, "method": method, "model": model, "mae": mae, **rows}


def _vectors(training: pd.DataFrame, test: pd.DataFrame, longest: int) -> tuple[Any, Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    def texts(frame: pd.DataFrame) -> list[str]:
        parts = frame.drop(columns=LABEL).fillna("")
        return [" ".join(row) for row in parts.itertuples(index=False)]

    vectorizer = TfidfVectorizer(ngram_range=(1, longest), min_df=2, sublinear_tf=True)
    X = vectorizer.fit_transform(texts(training))
    return X, training[LABEL].to_numpy(), vectorizer.transform(texts(test))


def _contest(training: pd.DataFrame, test: pd.DataFrame, budget: str) -> tuple[np.ndarray, str]:
    """What the model predicts that ``echelon compare --save`` keeps, and its name."""
    columns = [name for name in training.columns if name != LABEL]
    with tempfile.TemporaryDirectory(prefix="echelon-texts-") as name:
        folder = Path(name)
        training.to_csv(folder / "training.csv", index=False)
        test.drop(columns=LABEL).to_csv(folder / "new.csv", index=False)
        stated = ["--target", LABEL, *(word for c in columns for word in ("--text", c))]
        kept = ["--budget", budget, "--save", "best.echelon"]
        _echelon(folder, "compare", "training.csv", *stated, *kept)
        _echelon(folder, "predict", "best.echelon", "new.csv", "--out", "predicted.csv")
        card = json.loads(_echelon(folder, "info", "best.echelon", "--json"))
        return pd.read_csv(folder / "predicted.csv")["predicted"].to_numpy(), card["name"]


def _echelon(folder: Path, *words: str) -> str:
    line = [sys.executable, "-m", "echelon.cli", *words]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def table_of(results: dict[tuple[str, str], dict[str, Any]]) -> str:
    """A line for each set of which every method is measured."""
    rows = []
    for name in dict.fromkeys(key[0] for key in results):
        if not all((name, method) in results for method in METHODS):
            continue
        here = {method: results[name, method] for method in METHODS}
        pairs = [[here[f"{m}, {unit}"]["mae"] for unit in LONGEST] for m in BY_HAND]
        ours, best = here[CONTEST], min(map(min, pairs))
        cells = [
            name,
            f"{ours['rows']:,} + {ours['held_out']:,}",
            f"{here[MEDIAN]['mae']:.3f}",
            *(f"{words:.3f} / {both:.3f}" for words, both in pairs),
            f"{ours['mae']:.3f} ({ours['model']})",
            f"{ours['mae'] / best - 1.0:+.1%}" if best else "–",
        ]
        rows.append(cells)
    head = ["set", "rows", MEDIAN, *BY_HAND, CONTEST, "beside the best by hand"]
    return markdown_table(head, rows)


def main() -> None:
    """Measure what is not in the file yet, and print or write the table."""
    parser = study_parser("text_sets", __doc__)
    parser.add_argument("--budget", default="2m", help="of each contest")
    parser.add_argument("--only", nargs="+", help="names of sets")
    options = parser.parse_args()
    if options.only is not None and options.write is not None:
        parser.error("--write takes the table of all sets; leave --only out")
    pieces = Pieces(options.store)
    known: dict[tuple[str, str], dict[str, Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in sets():
            if options.only is not None and table.name not in options.only:
                continue
            for method in METHODS:
                print(f"{table.name}: {method}", file=sys.stderr, flush=True)
                task = partial(measure, table, method, options.budget)
                known[table.name, method] = pieces.get(f"{table.name}: {method}", task)
    text = table_of(known)
    publish(text, options.write, "text sets")


if __name__ == "__main__":
    main()
