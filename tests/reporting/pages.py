"""Small tables and pages for the tests of reports."""

import functools
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from echelon import ProportionalOdds
from echelon.model_selection.leaderboard import Leaderboard, LeaderboardRow
from echelon.reporting import Report, report

NASTY = '<script>alert("x")</script>'
LABELS = ["poor", "$5 & <b>up</b>", 'a "good" one', NASTY]
COLUMNS = ["size", '"><img src=x onerror=alert(1)>', "cost in $ or $$", "colour"]

_VOID = {"meta", "br", "img", "input", "hr", "link"}


class Reader(HTMLParser):
    """Checks that tags are balanced, and keeps elements, text and ids."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.ids = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))
        self.ids += [value for key, value in attributes if key == "id"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))
        self.ids += [value for key, value in attributes if key == "id"]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [attributes for found, attributes, _ in self.elements if found == tag]


def table(n=160, seed=0):
    """Mixed columns with awkward names, and four ordered labels with awkward names."""
    rng = np.random.default_rng(seed)
    size, noise, price = rng.normal(size=(3, n))
    colour = rng.choice(["red", "<i>green</i>", "blue & grey"], n)
    latent = 1.5 * size + price + (colour == "red") + rng.logistic(size=n)
    codes = np.searchsorted(np.quantile(latent, [0.25, 0.5, 0.8]), latent)
    X = pd.DataFrame({COLUMNS[0]: size, COLUMNS[1]: noise, COLUMNS[2]: price, COLUMNS[3]: colour})
    y = pd.Series(pd.Categorical.from_codes(codes, LABELS, ordered=True), name="<em>verdict</em>")
    return X, y


def pipeline():
    """A model for that table."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (StandardScaler(), COLUMNS[:3]), (OneHotEncoder(handle_unknown="ignore"), COLUMNS[3:])
    )
    return make_pipeline(columns, ProportionalOdds(alpha=1.0))


def board():
    """Four models: the second close to the first, the third with fewer folds, no RPS for the last.

    In the order of MAE, the times of fits fall and the models' names are out of order.
    """
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.02, 10)
    rows = []
    for i, name in enumerate(["delta", "alpha", NASTY, "beta $x_{$"]):
        mae = 0.4 + [0.0, 0.002, 0.1, 0.3][i] + noise + rng.normal(0, 0.01, 10)
        folds = {"mae": mae, "zero_one": mae - 0.05, "qwk": 1 - mae, "rps": mae / 5}
        if i == 2:
            folds = {key: np.where(np.arange(10) < 7, v, np.nan) for key, v in folds.items()}
        if i == 3:
            folds["rps"] = np.full(10, np.nan)
        rows.append(LeaderboardRow(name, folds, 12.0 / (i + 1), ({"model__C": 0.1 * i},)))
    return Leaderboard.of(rows, sizes=(144, 16), planned=10)


def hotels(n=120):
    """A labelled table with a number, a truth value, a date and a category that matter."""
    from echelon.tables import labelled_table

    rng = np.random.default_rng(5)
    stars, wifi = rng.integers(1, 6, n), rng.random(n) < 0.5
    days, town = rng.integers(0, 4000, n), rng.choice(["Oslo", "Rio"], n)
    score = stars + 2.0 * wifi + days / 1000 + 2 * (town == "Rio") + rng.logistic(0, 0.3, n)
    codes = np.searchsorted(np.quantile(score, [0.3, 0.7]), score)
    frame = pd.DataFrame(
        {
            "stars": stars,
            "wifi": wifi,
            "opened": pd.Timestamp("2010-03-01") + pd.to_timedelta(days, unit="D"),
            "town": town,
            "verdict": np.array(["poor", "fair", "good"])[codes],
        }
    )
    return labelled_table(frame, "verdict", "poor<fair<good")


@functools.cache
def full_page() -> Report:
    """A page with a leaderboard and a model, on the awkward table."""
    return report(pipeline(), *table(), leaderboard=board(), title=f"All of {NASTY}")
