"""All models over all data sets: what is ranked, and what the page and the picture say."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from reproduction import (
    ResultStore,
    make_plan,
    make_rankings,
    markdown_page,
    page_files,
    read_table,
    run,
)
from reproduction.published import Figure
from reproduction.rank_page import ranking_cells, ranking_lines, ranking_picture
from reproduction.rows import current
from reproduction.store import Cell, CellKey


@pytest.fixture
def compared(table):
    """The tiny table with a comparison, and figures of both columns on both sets."""
    figures = {
        "zero_one": {"NEAR": Figure("0.5", 0.5, None), "FAR": Figure("0.4", 0.4, None)},
        "absolute": {"NEAR": Figure("0.6", 0.6, None)},
    }
    sets = {key: dataclasses.replace(entry, figures=figures) for key, entry in table.sets.items()}
    return dataclasses.replace(table, sets=sets, comparison=("FAR", "NEAR"))


@pytest.fixture
def store(tiny, compared, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(compared), store))
    return store


def cell(model, set_name, split, error):
    key = CellKey("tiny", set_name, model, 1, "any", split)
    return Cell(key, {"zero_one": error, "absolute": error}, {}, 0.1)


def test_nothing_is_ranked_unless_the_table_asks(table, store):
    assert make_rankings(table, current(store, table, "quick")) == []
    assert set(page_files(table, store)) == {"tiny.md"}


def test_published_figures_and_ours_are_ranked(compared, store):
    cells = current(store, compared, "quick")
    rankings = make_rankings(compared, cells)
    # the column FAR has no published absolute errors
    assert [(r.measure, r.origin) for r in rankings] == [
        ("zero_one", "Published"),
        ("zero_one", "Ours"),
        ("absolute", "Ours"),
    ]
    assert rankings[0].friedman.names == ("FAR", "NEAR")
    np.testing.assert_array_equal(rankings[0].friedman.average_ranks, [1.0, 2.0])
    assert rankings[0].sets == ("ONE", "TWO")
    means = {
        (model, name): np.mean(
            [c.errors["absolute"] for c in cells if (c.key.model, c.key.set) == (model, name)]
        )
        for model in ("FAR", "NEAR")
        for name in ("one", "two")
    }
    scores = [[means[model, name] for model in ("FAR", "NEAR")] for name in ("one", "two")]
    expected = stats.rankdata(scores, axis=1).mean(axis=0)
    np.testing.assert_array_equal(rankings[2].friedman.average_ranks, expected)
    np.testing.assert_array_equal(rankings[2].nemenyi.average_ranks, expected)


def test_ours_is_over_the_splits_and_sets_that_all_columns_have(tiny, compared):
    cells = [cell("NEAR", name, split, 0.1) for name in ("one", "two") for split in range(2)]
    cells += [cell("FAR", name, 1, 0.05) for name in ("one", "two")]
    # this split of NEAR alone would make it worse
    cells += [cell("NEAR", "one", 5, 9.0)]
    ours = next(r for r in make_rankings(compared, cells) if r.origin == "Ours")
    np.testing.assert_array_equal(ours.friedman.average_ranks, [1.0, 2.0])
    worse = [
        dataclasses.replace(c, errors={"zero_one": 0.5, "absolute": 0.5}) for c in cells[-3:-1]
    ]
    ours = next(
        r for r in make_rankings(compared, cells[:4] + worse + cells[-1:]) if r.origin == "Ours"
    )
    np.testing.assert_array_equal(ours.friedman.average_ranks, [2.0, 1.0])
    # one set alone is no comparison over sets
    alone = [c for c in cells if c.key.set == "one"]
    assert [r.origin for r in make_rankings(compared, alone)] == ["Published"]


def test_the_page_states_the_tests_and_shows_the_picture(compared, store):
    page = markdown_page(compared, store)
    assert "| Figures | Data sets | Friedman χ² | p | Iman–Davenport F | p | CD |" in page
    assert "| Published | 2 | 2.000 | 0.157 | ∞ | <0.001 |" in page
    assert "| Model | Average rank, published | Average rank, ours |" in page
    assert "| FAR | 1.000 |" in page and "(tiny-zero_one-any.svg)" in page
    assert "Published: no significant difference among FAR, NEAR.\n" in page
    for block in page.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


def test_every_picture_of_the_page_is_written(compared, store):
    pytest.importorskip("matplotlib")
    files = page_files(compared, store)
    assert set(files) == {"tiny.md", "tiny-zero_one-any.svg", "tiny-absolute-any.svg"}
    page = files["tiny.md"].decode()
    assert all(f"({name})" in page for name in files if name.endswith("svg"))
    assert files == page_files(compared, store)  # so that files in version control stay
    text = files["tiny-zero_one-any.svg"].decode()
    assert "Published, 2 data sets" in text and "Ours, 2 data sets" in text
    assert "FAR (1.00)" in text and "CD = 1.39" in text


def test_sets_are_named_where_some_are_missing(compared, store):
    (published, *_) = make_rankings(compared, current(store, compared, "quick"))
    more = dataclasses.replace(compared, sets={**compared.sets, "three": compared.sets["one"]})
    assert "The data sets are ONE, TWO." in "\n".join(ranking_lines(more, [published], "x.svg"))
    assert "The data sets" not in "\n".join(ranking_lines(compared, [published], "x.svg"))
    assert ranking_lines(compared, [], "x.svg") == []


@pytest.mark.parametrize(
    ("name", "cells", "differ"),
    [
        ("dk09-table3", ["8", "27.786", "<0.001", "15.924", "<0.001", "2.666"], 2),
        ("dk09-table4", ["19", "25.863", "<0.001", "14.951", "<0.001", "1.076"], 1),
    ],
)
def test_dk09_as_published(name, cells, differ):
    pytest.importorskip("matplotlib")
    (ranking,) = make_rankings(read_table(name), [])
    assert ranking_cells(ranking) == ["Published", *cells]
    assert len(ranking.nemenyi.groups) == differ
    assert ranking_picture("x.svg", [ranking], "png").startswith(b"\x89PNG")
