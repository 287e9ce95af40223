"""What is shown is what was measured."""

import dataclasses
import math

import pytest
from scipy import stats
from sklearn.model_selection import GridSearchCV

from echelon.metrics.significance import Summary
from reproduction import (
    ResultStore,
    gather,
    make_duels,
    make_plan,
    make_rows,
    markdown_page,
    read_table,
    rendering,
    run,
)
from reproduction.models import registry
from reproduction.published import Tolerance
from reproduction.rendering import row_cells, row_headings, tally_cells
from reproduction.rows import current, make_tallies


def tune(monkeypatch, tiny, name, shift):
    """Give a model one candidate to choose from."""
    build = lambda problem: GridSearchCV(tiny(), {"shift": [shift]}, cv=2)  # noqa: E731
    monkeypatch.setitem(registry._MODELS, name, registry.Model(name, build))


@pytest.fixture
def store(tiny, table, tmp_path, monkeypatch):
    tune(monkeypatch, tiny, "NEAR", 0.0)
    tune(monkeypatch, tiny, "FAR", 0.5)
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, effort="paper"), store))
    list(run(make_plan(table, sets=["two"], models=["NEAR"], splits=1), store))
    return store


def test_rows_summarise_the_cells(store, table):
    cells = current(store, table, "paper")
    rows = make_rows(table, cells)
    measured = [row for row in rows if row.ours is not None]
    assert len(measured) == 2 * 2 * 2  # measures, sets, models
    row = rows[0]
    values = [c.errors["zero_one"] for c in cells if (c.key.set, c.key.model) == ("one", "NEAR")]
    assert row.ours == Summary.of(values) and row.ours.n == 4
    assert (row.entry.name, row.model, row.measure) == ("one", "NEAR", "zero_one")
    assert row.published.mean == 0.5 and row.verdict is not None
    far = next(r for r in rows if r.model == "FAR")
    assert far.published is None and far.verdict is None and row_cells(table, far)[2] == "–"


def test_a_figure_that_was_not_measured_is_shown_as_such(store, table):
    rows = [r for r in make_rows(table, current(store, table, "paper")) if r.model == "UNBUILT"]
    assert [(r.entry.name, r.measure) for r in rows] == [("one", "zero_one"), ("two", "zero_one")]
    assert row_cells(table, rows[0])[1:] == ["UNBUILT", "0.4", "not measured", *"––––"]
    # A set of which nothing was measured has no rows.
    quick = make_rows(table, current(store, table, "quick"))
    assert {row.entry.name for row in quick} == {"two"}
    page = markdown_page(table, store)
    assert "| ONE | UNBUILT | 0.4 | not measured |" in page
    assert "- UNBUILT: published only; no model is registered under this name.\n" in page


def test_models_with_nothing_to_tune_are_shown_under_every_effort(
    tiny, table, tmp_path, monkeypatch
):
    tune(monkeypatch, tiny, "NEAR", 0.0)
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, effort="quick"), store))
    for effort, models in (("quick", {"NEAR", "FAR"}), ("paper", {"FAR"})):
        assert {cell.key.model for cell in current(store, table, effort)} == models
    page = markdown_page(table, store)
    assert "Effort `quick`" in page and "Effort `paper`" not in page
    assert "Nothing to tune, and so the same under every effort: FAR." in page
    assert "$ python -m reproduction tiny --splits 4 --effort quick\n" in page


def test_the_page_of_a_table_with_nothing_to_tune(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, sets=["one"], effort="quick"), store))
    page = markdown_page(table, store)
    assert page.count("\n## ") == 1 and "\n## Measured\n" in page and "Effort" not in page
    assert "Nothing to tune, and so the same under every effort: FAR, NEAR." in page
    assert "$ python -m reproduction tiny --sets one --splits 4\n" in page
    assert "## Measured" not in markdown_page(table, [])


def test_columns_of_another_table_are_gathered_and_shown(tiny, table, tmp_path):
    other = dataclasses.replace(table, name="other")
    list(run(make_plan(other, models=["FAR"], sets=["one"]), ResultStore(tmp_path, "other")))
    shared = dataclasses.replace(table, measured_under={"FAR": "other"})
    list(run(make_plan(shared), ResultStore(tmp_path, "tiny")))
    cells = current(gather(shared, tmp_path), shared, "paper")
    assert {(c.key.model, c.key.table) for c in cells} == {("NEAR", "tiny"), ("FAR", "other")}
    assert {d.entry.name for d in make_duels(shared, cells)} == {"one"}
    page = markdown_page(shared, gather(shared, tmp_path))
    assert (
        "$ python -m reproduction tiny --splits 4\n"
        "$ python -m reproduction other --models FAR --sets one --splits 4\n"
    ) in page
    # the table that lends them does not show what it did not measure
    assert {c.key.model for c in current(gather(other, tmp_path), other, "paper")} == {"FAR"}


def test_agreement_is_counted(store, table):
    cells = current(store, table, "paper")
    assert make_tallies(make_rows(table, cells)) == []
    strict = dataclasses.replace(table, tolerance=Tolerance(2, 0.0))
    rows = make_rows(strict, cells)
    near = [row for row in rows if (row.model, row.measure) == ("NEAR", "zero_one")]
    expected = [row.ours.mean <= 0.5 + 2 * 0.1 / math.sqrt(4) for row in near]
    assert [row.within for row in near] == expected
    assert all(row.within is None for row in rows if row.published is None)
    forced = [dataclasses.replace(row, within=row.entry.name == "one") for row in near]
    (tally,) = make_tallies(forced)
    assert (tally.within, tally.beyond) == (("ONE",), ("TWO",))
    assert tally_cells(tally) == ["NEAR", "1 of 2", "TWO"]
    assert [row_cells(strict, row)[-1] for row in forced] == ["yes", "no"]
    page = markdown_page(strict, store)
    assert "no more than 2 published standard errors or 0, the larger of both." in page
    assert "| " + " | ".join(row_headings(strict)) + " |" in page
    assert page.count("| Model | Within | Not within |") == 4  # two measures, two efforts
    assert "Within" not in markdown_page(table, store)


def test_notes_are_on_the_page(store, table):
    noted = dataclasses.replace(table, notes=("One.", "Two."))
    assert "\n\nOne.\n\nTwo.\n\n## " in markdown_page(noted, store)


def test_errors_on_the_training_part_are_not_compared_between_models(tiny, table, tmp_path):
    both = dataclasses.replace(table, measures=("training_absolute", "absolute"))
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(both), store))
    cells = current(store, both, "quick")
    assert {row.measure for row in make_rows(both, cells)} == {"training_absolute", "absolute"}
    assert {duel.measure for duel in make_duels(both, cells)} == {"absolute"}
    assert "### Mean absolute error on the training part\n" in markdown_page(both, store)


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


def test_a_table_may_state_its_duels(store, table):
    stated = dataclasses.replace(table, duels=(("FAR", "NEAR"),))
    duels = make_duels(stated, current(store, stated, "paper"))
    assert {(d.first, d.second) for d in duels} == {("FAR", "NEAR")}


def test_obsolete_cells_are_not_shown(store, table):
    cells = current(store, table, "paper")
    for change in ({"revision": 9}, {"protocol": 0}, {"table": "other"}, {"set": "gone"}):
        old = [dataclasses.replace(c, key=dataclasses.replace(c.key, **change)) for c in cells]
        assert current(old, table, "paper") == []


def test_the_page(store, table):
    page = markdown_page(table, store)
    assert page == markdown_page(table, list(store)[::-1])  # not the order of finishing
    assert page.startswith("# [T00] table 0: a tiny table\n")
    assert "$ python -m reproduction tiny --splits 4 --effort paper\n" in page
    assert "$ python -m reproduction tiny --sets two --splits 1 --effort quick\n" in page
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


def test_splits_that_draw_rows_of_their_own_are_compared_by_the_plain_paired_test(store, table):
    cells = current(store, table, "paper")
    sets = {k: dataclasses.replace(e, generator="make") for k, e in table.sets.items()}
    drawn = dataclasses.replace(table, sets=sets)
    for plain, corrected in zip(make_duels(drawn, cells), make_duels(table, cells), strict=True):
        assert plain.difference == corrected.difference
        assert plain.verdict.p < corrected.verdict.p
        first, second = (
            [
                c.errors[plain.measure]
                for c in sorted(cells, key=lambda c: c.key.split)
                if (c.key.set, c.key.model) == (plain.entry.name, model)
            ]
            for model in (plain.first, plain.second)
        )
        assert plain.verdict.p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert "by the paired t test, as every split draws rows" in markdown_page(drawn, store)
    assert "by the corrected resampled t test" in markdown_page(table, store)


def test_the_page_says_whose_splits_they_are(store, table):
    page = markdown_page(table, store)
    assert "over n random splits of the same sizes" in page and "Welch's t test" in page
    protocol = dataclasses.replace(table.protocol, splits="gpor")
    page = markdown_page(dataclasses.replace(table, protocol=protocol), store)
    assert "over n published splits" in page


def test_the_page_says_how_the_figures_are_known(store, table):
    assert "over 4 splits, as printed." in markdown_page(table, store)
    page = markdown_page(dataclasses.replace(table, quoted="from memory"), store)
    assert "over 4 splits, from memory." in page and "as printed" not in page
    assert "unverified" in read_table("cg05-table2").quoted


def test_a_measure_that_no_model_has_is_not_on_the_page(store, table):
    more = dataclasses.replace(table, measures=("zero_one", "negative_log_likelihood"))
    page = markdown_page(more, store)
    assert "### Mean zero-one error" in page and "log likelihood" not in page


def test_a_page_without_published_figures_does_not_speak_of_them(store, table):
    bare = {key: dataclasses.replace(e, figures={}) for key, e in table.sets.items()}
    page = markdown_page(dataclasses.replace(table, sets=bare), store)
    assert "Ours: mean ± standard deviation" in page and "lower errors are better." in page
    assert "Published:" not in page and "Welch" not in page
