"""What users state of a table: columns by name, pattern or range, and what contradicts itself."""

import pytest

from echelon.tables import TableError, TableOptions
from echelon.tables.options import StatedColumn, checked_column, matching

NAMES = ["id", "q1", "q2", "q3", "pay, gross", "y"]


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["q2"], ["q2"]),
        (["q1..q3"], ["q1", "q2", "q3"]),
        (["q*", "id"], ["q1", "q2", "q3", "id"]),
        (["q3, q1 , q3"], ["q3", "q1"]),
        (["pay, gross"], ["pay, gross"]),
        (["q[13]"], ["q1", "q3"]),
    ],
)
def test_columns_by_name_pattern_and_range(entries, found):
    assert matching(entries, NAMES) == found


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("q9", r"has no column 'q9'"),
        ("q3..q1", r"'q3' stands after 'q1'; turn 'q3\.\.q1' round"),
        ("q1..q9", r"has no column 'q9'"),
        ("z*", r"No column of the table matches 'z\*'"),
    ],
)
def test_columns_that_are_not_there(entry, message):
    with pytest.raises(TableError, match=message):
        matching([entry], NAMES)


def test_all_that_is_stated_of_columns():
    options = TableOptions(
        target="q1",
        weight="y",
        drop=["id"],
        ordered=["q2..q3: no<maybe<yes"],
        missing=["99, Don't know", "q3: -1"],
    )
    found = options.resolve(NAMES)
    assert {name: column.role for name, column in found.items() if column.role} == {
        "id": "left out",
        "q1": "target",
        "y": "weight",
    }
    assert found["q3"] == StatedColumn(
        None, "ordered", ("no", "maybe", "yes"), ("99", "Don't know", "-1")
    )


def test_the_last_column_without_another_role_is_the_target():
    assert TableOptions(group="y").resolve(NAMES)["pay, gross"].role == "target"
    without = TableOptions().resolve(NAMES, with_target=False)
    assert all(column.role is None for column in without.values())


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"target": "y", "weight": "y"}, "cannot be the target and the weight; name two columns"),
        ({"target": "y", "drop": "y"}, "The target 'y' cannot be left out"),
        ({"drop": "q1", "keep": "q1"}, "Column 'q1' cannot be kept and left out"),
        ({"ordered": "no<yes"}, r"needs its columns before it, as in ordered='Q1\.\.Q9: no<yes'"),
        ({"ordered": "q1: no<no"}, "names more than once: no"),
        ({"missing": "99,,98"}, r"listed with commas between them, .* found '99,,98'"),
        ({"missing": "qq: 99"}, "has no column 'qq'"),
        ({"decimal": ";"}, "decimal mark must be a point or a comma"),
        ({"thousands": ",", "decimal": ","}, "must differ"),
    ],
)
def test_statements_that_cannot_be_followed(stated, message):
    with pytest.raises(TableError, match=message):
        TableOptions(**stated).resolve(NAMES)


def test_one_text_is_one_entry_and_first_options_go_first():
    assert TableOptions(drop="id").drop == ("id",)
    both = TableOptions(target="y").over(TableOptions(target="q1", drop=["id"]))
    assert both.target == "y" and both.drop == ("id",)


def test_columns_of_a_file():
    assert checked_column("a", {"levels": ["no", "yes"]}).kind == "ordered"
    assert checked_column("a", {"missing": [99, "-1"]}).missing == ("99", "-1")
    for stored, message in (
        ({"kinds": "number"}, "may state role, kind, levels, missing"),
        ({"role": "boss"}, "must have a role of input, target"),
        ({"kind": "colour"}, "must have a kind of number, ordered"),
        ({"levels": "no<yes"}, "must list its levels"),
        ({"levels": ["a"], "kind": "number"}, "so its kind is ordered"),
    ):
        with pytest.raises(TableError, match=message):
            checked_column("a", stored)


def test_all_columns_that_are_not_there_are_named_at_once():
    options = TableOptions(
        target="grad",
        weight="wt",
        drop=("siz",),
        ordered=("colr: a<b", "no order<"),
        text=("words",),
        missing=("sizes: 9", ","),
        columns={"other": StatedColumn("input")},
    )
    with pytest.raises(TableError) as caught:
        options.resolve(["size", "colour", "grade"])
    said = [str(problem) for problem in caught.value.problems]
    assert said[0] == "The table lacks column 'other' of the schema file."
    for named in ("grad", "wt", "siz", "colr", "words", "sizes"):
        assert sum(f"no column {named!r}" in sentence for sentence in said) == 1
    assert sum("listed with commas" in sentence for sentence in said) == 1
    assert len(said) == 9
