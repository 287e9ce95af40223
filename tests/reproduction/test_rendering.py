"""What is shown is what was measured."""

import dataclasses

import pytest

from echelon.metrics.comparison import Summary
from echelon.reproduction import (
    ResultStore,
    make_duels,
    make_plan,
    make_rows,
    markdown_page,
    rendering,
    run,
)
from echelon.reproduction.rendering import row_cells
from echelon.reproduction.rows import current


@pytest.fixture
def store(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, effort="paper"), store))
    list(run(make_plan(table, sets=["two"], models=["NEAR"], splits=1), store))
    return store


def test_rows_summarise_the_cells(store, table):
    cells = current(store, table, "paper")
    rows = make_rows(table, cells)
    assert len(rows) == 2 * 2 * 2  # measures, sets, models
    row = rows[0]
    values = [c.errors["zero_one"] for c in cells if (c.key.set, c.key.model) == ("one", "NEAR")]
    assert row.ours == Summary.of(values) and row.ours.n == 4
    assert (row.entry.name, row.model, row.measure) == ("one", "NEAR", "zero_one")
    assert row.published.mean == 0.5 and row.verdict is not None
    far = next(r for r in rows if r.model == "FAR")
    assert far.published is None and far.verdict is None and row_cells(far)[2] == "–"


def test_duels_compare_the_same_splits(store, table):
    duels = make_duels(table, current(store, table, "paper"))
    assert len(duels) == 4 and {(d.first, d.second) for d in duels} == {("NEAR", "FAR")}
    rows = make_rows(table, current(store, table, "paper"))
    near, far = (
        next(r for r in rows if (r.model, r.entry.name, r.measure) == (m, "one", "absolute"))
        for m in ("NEAR", "FAR")
    )
    duel = next(d for d in duels if (d.entry.name, d.measure) == ("one", "absolute"))
    assert duel.difference.mean == pytest.approx(near.ours.mean - far.ours.mean)
    assert make_duels(table, current(store, table, "quick")) == []


def test_obsolete_cells_are_not_shown(store, table):
    cells = current(store, table, "paper")
    for change in ({"revision": 9}, {"protocol": 0}, {"table": "other"}, {"set": "gone"}):
        old = [dataclasses.replace(c, key=dataclasses.replace(c.key, **change)) for c in cells]
        assert current(old, table, "paper") == []


def test_the_page(store, table):
    page = markdown_page(table, store)
    assert page == markdown_page(table, list(store)[::-1])  # not the order of finishing
    assert page.startswith("# [T00] table 0: a tiny table\n")
    assert "$ echelon reproduce tiny --splits 4 --effort paper\n" in page
    assert "$ echelon reproduce tiny --sets two --splits 1 --effort quick\n" in page
    assert page.index("Effort `paper`") < page.index("Effort `quick`")
    row = make_rows(table, current(store, table, "paper"))[0]
    text = f"{row.ours.mean:.3f} ± {row.ours.sd:.3f} | {row.ours.se:.4f} | 4 | {row.verdict.word} |"
    assert rf"| ONE | NEAR | 0.500 ± 0.100 \* | {text}" in page
    assert "too few splits" in page and "scikit-learn" in page and "NEAR − FAR" in page


def test_the_page_says_how_quick_was_tuned(store, table, monkeypatch):
    page = markdown_page(table, store)
    assert "tuned once per data set, on the first training part, at most 1,000 rows." in page
    assert "fewer rows than are fitted" not in page
    monkeypatch.setattr(rendering, "QUICK_ROWS", 19)
    page = markdown_page(table, store)
    assert "those of TWO, tuned on fewer rows than are fitted, can be worse" in page


def test_every_line_of_a_table_has_the_same_number_of_cells(store, table):
    page = markdown_page(table, store)
    for block in page.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1
    assert page.count("| --- |") > 0
