import math
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.named_rules import (
    LABELS,
    class_shares,
    name_rules,
    named_wine_rules,
    numeric,
    rules_of,
    wine_data,
)

from echelon.rules.explanations import RuleTexts, by_importance, explain_rows
from echelon.rules.rule import Naming, merge_rounds
from echelon.rules.words import level, score_ranges
from echelon.solvers.rules.bodies import Interval, Membership


@pytest.fixture
def wines():
    return wine_data()


@pytest.fixture
def wine_rules():
    return named_wine_rules()


def test_sentences(wine_rules):
    rules, naming = wine_rules
    assert [str(rule) for rule in rules] == [
        "If alcohol is at least 11 and age is at most 8, the score rises by 0.40 "
        "(covers 33 % of rows; typical label fair to good).",
        "If colour is none of red, white, the score falls by 0.050 "
        "(covers 17 % of rows; typical label fair).",
        "If size is at most medium and bio is true, the score falls by 0.20 "
        "(covers 33 % of rows; typical label poor to fair).",
    ]
    told = replace(naming, units={"alcohol": "% vol"}, target="quality")
    assert rules[0].sentence(told.units, told.target) == (
        "If alcohol is at least 11 % vol and age is at most 8, the score rises by 0.40 "
        "(covers 33 % of rows; typical quality fair to good)."
    )


def test_text_of_an_ensemble(wine_rules):
    rules, naming = wine_rules
    told = replace(naming, target="quality")
    assert RuleTexts(rules, told, np.array([-0.1, 0.25])).to_text(n=2) == (
        """\
The 2 most important of 3 rules. The rules that a row satisfies add to its score, which
starts at 0: up towards good, down towards poor. Over all rows the typical quality is
poor to good.

1. If alcohol is at least 11 and age is at most 8, the score rises by 0.40 (covers 33 %
   of rows; typical quality fair to good).
2. If size is at most medium and bio is true, the score falls by 0.20 (covers 33 % of
   rows; typical quality poor to fair).

The score decides on the quality:
  poor  up to -0.10
  fair  above -0.10, up to 0.25
  good  above 0.25"""
    )


def test_text_without_rules():
    naming = Naming(("x0",), tuple(LABELS), numeric(1))
    assert RuleTexts([], naming).to_text() == "There are no rules: every row has the score 0.\n"


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.25, 0.2501, 3.0, np.inf]), max_size=4))
def test_ranges_of_the_score_give_the_decoded_label(thresholds):
    labels = [f"L{k}" for k in range(len(thresholds) + 1)]
    for score in (-2.0, -1.0, 0.25, 0.25005, 0.2501, 1.0, 4.0):
        ranges = score_ranges(np.array(thresholds), labels, [score])
        assert [label for label, _ in ranges] == labels
        code = sum(score > threshold for threshold in thresholds)
        shown = float(level([score, *thresholds])[0])
        inside = [label for label, words in ranges if _holds(words, shown)]
        assert inside == [labels[code]]


def _holds(words, score):
    if words in ("never", "always"):
        return words == "always"
    compare = {"above": score.__gt__, "up to": score.__le__}
    parts = [part.rpartition(" ") for part in words.split(", ")]
    return all(compare[word](float(limit)) for word, _, limit in parts)


# Frames


@pytest.mark.parametrize(("backend", "library"), [("pandas", pd), ("polars", pl)])
def test_frame_of_rules(wine_rules, backend, library):
    rules, naming = wine_rules
    frame = RuleTexts(rules[::-1], naming).to_frame(backend)
    rules = by_importance(rules)
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == [
        "rule", "response", "coverage", "importance", "rounds",
        "share of poor", "share of fair", "share of good",
    ]  # fmt: skip
    assert list(frame["rule"]) == [rule.text() for rule in rules]
    assert list(frame["rounds"]) == [len(rule.rounds) for rule in rules]
    assert sorted(frame["rounds"]) == [1, 1, 2]
    np.testing.assert_allclose(frame["share of fair"], [r.class_histogram[1] for r in rules])


def test_missing_library_is_named(wine_rules, monkeypatch):
    monkeypatch.setitem(sys.modules, "modin", None)
    monkeypatch.setitem(sys.modules, "modin.pandas", None)
    with pytest.raises(ImportError, match="backend='modin' is not installed; install it"):
        RuleTexts(*wine_rules).to_frame("modin")


# Ensembles for each threshold


@pytest.fixture
def separate_rules(wines):
    X, codes, columns, features = wines
    bodies = [(Interval(0, lower=10.8),), (Interval(1, upper=3.5),), (Interval(0, lower=10.8),)]
    return rules_of(
        bodies, [0.5, -0.25, 0.75], X, codes, None, columns, features, thresholds=[0, 0, 1]
    )


def test_rules_of_thresholds(separate_rules):
    rules, naming = separate_rules
    assert RuleTexts(rules, naming).to_frame()["threshold"].tolist() == [1, 0, 0]
    text = RuleTexts(rules, naming, np.array([0.1, -0.2])).to_text()
    assert "Each adds to the score of one threshold" in text
    assert "If alcohol is at least 11, the score for being above fair rises by 0.75" in text
    assert text.endswith(
        """\
A row passes a threshold where the score for it is high enough:
  above poor  score above 0.10
  above fair  score above -0.20
The label is as many steps above poor as thresholds are passed; scores that contradict
each other are reconciled first."""
    )
    html = RuleTexts(rules, naming).to_html()
    assert html.count("above poor") == 2 and html.count("above fair") == 1


def test_explanations_with_a_score_for_each_threshold(separate_rules, wines):
    rules, naming = separate_rules
    X = wines[0]
    explanations = explain_rows(rules, naming, X, np.array([0.1, 0.8]))
    expected = np.array([sum(r.response * r.covers(X) for r in rules if r.threshold == k)
                         for k in (0, 1)]).T  # fmt: skip
    np.testing.assert_allclose([e.score for e in explanations], expected)
    assert [e.label for e in explanations] == ["poor", "poor", "poor", "fair", "fair", "fair"]
    assert explanations[3].to_text(n=1) == (
        """\
Label fair: above poor: score 0.25, passes 0.10; above fair: score 0.75, does not pass
0.80.
  +0.75  for being above fair: alcohol is at least 11
         and 2 more"""
    )
    assert explanations[3].to_frame()["threshold"].tolist() == [1, 0, 0]
    assert "does not pass" in explanations[3]._repr_html_()


def test_thresholds_without_an_ensemble_are_left_out(separate_rules, wines):
    rules, naming = separate_rules
    rules = [rule for rule in rules if rule.threshold == 0]
    limits = np.array([0.1, np.nan])
    assert "above fair" not in RuleTexts(rules, naming, limits).to_text()
    explanation = explain_rows(rules, naming, wines[0], limits, labels=["good"] * 6)[3]
    np.testing.assert_array_equal(explanation.score, [0.25, np.nan])
    expected = "Label good: above poor: score 0.25, passes 0.10."
    assert str(explanation).splitlines()[0] == expected


# Explanations


def test_parts_add_up_to_the_score(wine_rules, wines):
    rules, naming = wine_rules
    X = wines[0]
    thresholds = np.array([-0.1, 0.3])
    explanations = explain_rows(rules, naming, X, thresholds)
    score = sum(rule.response * rule.covers(X) for rule in rules)
    np.testing.assert_allclose([e.score for e in explanations], score)
    for i, explanation in enumerate(explanations):
        assert explanation.score == math.fsum(added for _, added in explanation.parts)
        sizes = [abs(added) for _, added in explanation.parts]
        assert sizes == sorted(sizes, reverse=True)
        assert all(rule.covers(X[i : i + 1])[0] for rule, _ in explanation.parts)
        assert explanation.label == LABELS[int((score[i] > thresholds).sum())]


def test_text_of_an_explanation(wine_rules, wines):
    rules, naming = wine_rules
    told = replace(naming, target="quality", units={"age": "years"})
    explanation = explain_rows(rules, told, wines[0], np.array([-0.1, 0.1501]))[3]
    assert str(explanation).splitlines() == [
        "Quality fair: the score is 0.1500 (above -0.1000, up to 0.1501).",
        "   +0.40  alcohol is at least 11 and age is at most 8 years",
        "   -0.20  size is at most medium and bio is true",
        "  -0.050  colour is none of red, white",
    ]
    assert explanation.to_text(n=1).splitlines()[1:] == [
        "  +0.40  alcohol is at least 11 and age is at most 8 years",
        "  -0.25  2 other rules together",
    ]
    assert explanation.to_frame("polars").columns == ["rule", "adds", "coverage"]


def test_row_without_rules_and_labels_of_the_model(wine_rules, wines):
    rules, naming = wine_rules
    explanations = explain_rows(rules, naming, wines[0][:1], np.array([0.5, 0.7]), labels=[1.0])
    assert explanations[0].to_text() == "Label 1: the score is 0.00.\nIt satisfies no rule."
    assert explanations[0].label == 1.0
    assert explain_rows(rules, naming, wines[0][:0], np.zeros(2)) == []
    assert explain_rows([], naming, wines[0][:1], np.zeros(2))[0].score == 0.0


# HTML


class Reader(HTMLParser):
    VOID = ("rect",)

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_names_are_escaped_everywhere(wines):
    X, codes, columns, _ = wines
    evil = '<script>alert("1")</script>'
    columns = replace(columns, categories=(None, None, (evil, "b", "c"), *columns.categories[3:]))
    bodies = [(Interval(0, lower=10.8), Membership(2, (0,)))]
    naming = name_rules(bodies, X, codes, np.ones(6), [evil, "b", "c"], columns, [evil] * 5)
    naming = replace(naming, target=evil, units={evil: evil})
    for thresholds in (None, [0]):
        shares = class_shares(bodies, X, codes, 3, np.ones(6))
        rules = merge_rounds(bodies, [0.5], shares, naming, thresholds=thresholds)
        explanation = explain_rows(rules, naming, X[-1:], np.zeros(2))[0]
        for html in (
            RuleTexts(rules, naming, np.zeros(2)).to_html(),
            rules[0]._repr_html_(),
            explanation._repr_html_(),
        ):
            reader = Reader()
            reader.feed(html)
            assert reader.open == []
            assert reader.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "span",
                                   "svg", "g", "title", "rect"}  # fmt: skip
            assert "<script" in "".join(reader.text)


def test_table_shows_the_most_important_rules(wine_rules):
    rules, naming = wine_rules
    html = RuleTexts(rules, naming, np.array([-0.1, 0.25])).to_html(n=2)
    assert "The 2 most important of 3 rules." in html
    assert html.index("alcohol is at least 11") < html.index("bio is true")
    assert "colour" not in html
    assert "above -0.10, up to 0.25: fair" in html
