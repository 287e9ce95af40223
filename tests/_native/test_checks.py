"""Kernels refuse numbers that would lead them out of their arrays, or round in circles."""

import importlib
import pkgutil

import numpy as np
import pytest

from echelon import _native
from echelon._native import _pair_counts, _rule_rows, _rules, _stumps, _trees
from echelon.solvers.rules.bodies import Interval, tabulate_rules
from fuzz import kernels, sanitized
from fuzz.campaign import FINDINGS


def rules(**changed):
    """One rule with the conditions x_0 ≤ 0 and x_1 > 0, applied to two rows."""
    arguments = {
        "codes": np.array([[0, 1], [1, 0]], dtype=np.uint8),
        "starts": np.array([0, 2]),
        "features": np.array([0, 1]),
        "offsets": np.array([0, 3, 6]),
        "allowed": np.array([1, 0, 0, 0, 1, 0], dtype=np.uint8),
        "responses": np.array([2.0]),
        "scores": np.zeros(2),
    }
    _rule_rows.add_responses(*(arguments | changed).values())
    return (arguments | changed)["scores"]


def test_a_sound_table_of_rules_is_applied():
    np.testing.assert_array_equal(rules(), [2.0, 0.0])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        # A table that counts a row 255 times would run past the places of a block.
        ({"allowed": np.full(6, 255, dtype=np.uint8)}, "allowed must be integers from 0 to 1"),
        ({"features": np.array([0, 2])}, "features must be integers from 0 to 1"),
        ({"features": np.array([-1, 0])}, "features must be integers from 0 to 1"),
        ({"offsets": np.array([0, 3, 2**40])}, "offsets must ascend"),
        ({"offsets": np.array([0, 1, 6])}, "codes must have a place"),
        ({"starts": np.array([0, 3])}, "starts must ascend"),
        ({"starts": np.array([2, 2])}, "rule 0 has none"),
        ({"scores": np.zeros(1)}, "scores must have the length 2"),
        ({"codes": np.full((2, 2), 200, dtype=np.uint8)}, "codes must have a place"),
        ({"codes": np.full((2, 2), -1, dtype=np.int32)}, "codes must have a place"),
    ],
)
def test_a_broken_table_of_rules_is_refused(changed, words):
    with pytest.raises((ValueError, IndexError), match=words):
        rules(**changed)


def test_rows_in_later_blocks_are_checked_too():
    codes = np.zeros((2, 5000), dtype=np.uint8)
    codes[1, -1] = 3
    with pytest.raises(IndexError, match="codes must have a place"):
        rules(codes=codes, scores=np.zeros(5000))


def test_a_table_whose_bytes_were_changed_is_refused():
    table = tabulate_rules([(Interval(0, upper=1.5),)], np.array([1.0]))
    table.allowed[:] = 255
    with pytest.raises(IndexError, match="allowed"):
        table(np.zeros((5000, 1)))


def leaves(by_code, children, feature=(0, 0)):
    """Leaves of two rows in a tree of two nodes."""
    feature, found = np.array(feature, dtype=np.int32), np.zeros(2, dtype=np.int32)
    tree = np.array(children, dtype=np.int32), np.zeros(2, dtype=np.uint8), found
    if by_code:
        codes, n_bins = np.array([[0, 1]], dtype=np.uint8), np.array([2], dtype=np.int32)
        cuts = np.zeros(2, dtype=np.int32)
        _trees.find_leaves_by_code(codes, n_bins, feature, cuts, *tree)
    else:
        _trees.find_leaves(np.array([[-1.0], [1.0]]), feature, np.zeros(2), *tree)
    return found


@pytest.mark.parametrize("by_code", [False, True])
def test_a_sound_tree_is_walked(by_code):
    np.testing.assert_array_equal(leaves(by_code, [[~0, 1], [~1, ~2]]), [0, 2])


@pytest.mark.parametrize("by_code", [False, True])
@pytest.mark.parametrize(
    ("children", "feature"),
    [
        ([[~0, 2], [~1, ~2]], (0, 0)),
        ([[~0, 10**9], [~1, ~2]], (0, 0)),
        ([[~0, 1], [~1, ~(10**9)]], (0, 0)),
        ([[0, 1], [~1, ~2]], (0, 0)),
        ([[~0, 1], [~1, 0]], (0, 0)),
        ([[~0, 1], [~1, 1]], (0, 0)),
        ([[~0, 1], [~1, ~2]], (0, 1)),
        ([[~0, 1], [~1, ~2]], (-1, 0)),
        ([[-(2**31), 1], [~1, ~2]], (0, 0)),
    ],
)
def test_a_tree_that_leads_astray_is_refused(by_code, children, feature):
    with pytest.raises(ValueError, match="A tree of 2 nodes must"):
        leaves(by_code, children, feature)


def test_sums_by_bin_refuse_a_code_that_no_bin_has():
    codes = np.zeros((1, 1000), dtype=np.int32)
    codes[0, 900] = 7
    with pytest.raises(IndexError, match="codes of feature 0 must be integers from 0 to 2"):
        _stumps.sum_by_bin(codes, np.ones((1000, 1)), np.array([0, 3]), np.zeros((3, 1)), 0, 1)


def test_rows_that_are_drawn_twice_are_drawn():
    """A row is inside or not, whatever number says so."""
    found = []
    for inside in (1, 255):
        codes = np.array([[0, 1, 2, 2]], dtype=np.uint8)
        orders = np.arange(4, dtype=np.int32)[None]
        no = np.zeros(1, dtype=np.uint8)
        grower = _rules.RuleGrower(codes, np.array([3]), no, no, orders, 2, 0, 0.0, 0.0)
        ones, levels = np.ones(4), np.array([0, 0, 1, 1], dtype=np.int32)
        drawn = np.full(4, inside, dtype=np.uint8)
        grower.begin(drawn, levels, ones, ones, ones, np.ones((2, 2)), np.ones(2), False, False)
        scratch = _rules.Scratch(2, 4)
        grower.scan(scratch, np.arange(1), 0.0)
        found.append(scratch.found())
    assert found[0] == found[1]
    assert found[0][1] == 0


def test_numbers_that_are_none_are_passed_over():
    """A group that begins with NaN has no row that equals it; counting goes on after it."""
    counts = np.zeros((1, 5))
    _pair_counts.count_sorted_pairs(
        np.array([0, 3]),
        np.array([2], dtype=np.int32),
        np.array([1.0, np.nan, 2.0]),
        np.array([0, 0, 1], dtype=np.int32),
        np.ones(3),
        np.zeros(4),
        counts,
    )
    np.testing.assert_array_equal(counts, [[1.0, 0.0, 0.0, 0.0, 0.0]])


def test_the_campaign_calls_all_that_python_can_call():
    public = set()
    for module in pkgutil.iter_modules(_native.__path__):
        names = vars(importlib.import_module(f"echelon._native.{module.name}"))
        public |= {
            f"{module.name}.{name}"
            for name, value in names.items()
            if not name.startswith("_") and callable(value) and not hasattr(value, "__members__")
        }
    assert public - set(kernels.FUNCTIONS) == set()


@pytest.mark.parametrize("name", sorted(kernels.FUNCTIONS))
def test_kernels_take_valid_calls_and_outlive_others(name):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for spoil in (False, True):
            case = kernels.calls_of(name, spoil, rng)
            assert case.outcome not in FINDINGS, case.detail


def test_without_a_compiler_the_campaign_says_so(monkeypatch, capsys):
    monkeypatch.setattr(sanitized.shutil, "which", lambda name: None)
    assert sanitized.environment() == {}
    assert "the native loops are tried as they are installed" in capsys.readouterr().err
