"""The text that LightGBM keeps a model as, checked line by line before LightGBM reads it.

Its reader trusts the text: it goes to places that ``tree_sizes`` names, reads as many numbers as
``num_leaves`` says, and follows children and features wherever they lead.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .._utils.state import StateError, are_indices, require_state

_END = "end of trees\n"
_TAIL = "\npandas_categorical:null\n"
_HEAD = {
    "version": r"v[34]",
    "num_class": r"1",
    "num_tree_per_iteration": r"1",
    "label_index": r"0",
    "max_feature_idx": r"\d{1,6}",
    "objective": r"[a-z0-9_]+( [a-z_]+:[0-9.e+-]+)*( sqrt)?",
    "feature_names": r"[!-~]+( [!-~]+)*",
    "monotone_constraints": r"-?[01]( -?[01])*",
    "feature_infos": r"[][0-9a-z:.+-]+( [][0-9a-z:.+-]+)*",
    "tree_sizes": r"(\d+( \d+)*)?",
}
_INTEGERS = ("split_feature", "decision_type", "left_child", "right_child")
_OF_SPLITS = (*_INTEGERS, "split_gain", "threshold")
_OF_SPLITS_TOO = ("internal_value", "internal_weight", "internal_count")
_OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_SINGLE = ("num_leaves", "num_cat", "is_linear", "shrinkage")
_CATEGORIES = ("cat_boundaries", "cat_threshold")
_KEYS = {*_OF_SPLITS, *_OF_SPLITS_TOO, *_OF_LEAVES, *_SINGLE, *_CATEGORIES}


def without_settings(text: str) -> str:
    """The text of a model up to its last tree, without the settings that it was trained with."""
    kept, end, _ = text.partition(_END)
    return kept + end + _TAIL


def checked_text(text: Any) -> int:
    """Number of inputs of a model, if its text is one that LightGBM can read without harm."""
    require_state(isinstance(text, str) and text.isascii(), "the text of a model is no text")
    body, end, tail = text.partition(_END)
    require_state(end and tail == _TAIL, "the text of a model does not end after its trees")
    head, blank, trees = body.partition("\n\n")
    require_state(blank, "the text of a model has no trees")
    found = _read_head(head)
    n_features = int(found["max_feature_idx"]) + 1
    for key in ("feature_names", "feature_infos"):
        require_state(len(found[key].split(" ")) == n_features, f"{key} are not as many as inputs")
    start = 0
    for number, size in enumerate(map(int, found["tree_sizes"].split())):
        _check_tree(trees[start : start + size], number, n_features)
        start += size
    require_state(start == len(trees), "the text of a model has more than its trees")
    return n_features


def _read_head(head: str) -> dict[str, str]:
    first, *lines = head.split("\n")
    require_state(first == "tree", "the text of a model is none of LightGBM's")
    found: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition("=")
        known = key in _HEAD and key not in found and re.fullmatch(_HEAD[key], value)
        require_state(known, f"the text of a model has the line {line[:40]!r}")
        found[key] = value
    lacking = _HEAD.keys() - found.keys() - {"monotone_constraints"}
    require_state(not lacking, f"the text of a model lacks {min(lacking, default='')}")
    return found


def _check_tree(text: str, number: int, n_features: int) -> None:
    title, body = f"Tree={number}\n", text.rstrip("\n")
    require_state(
        text.startswith(title) and text == f"{body}\n\n\n", "a tree is not where it should"
    )
    tree: dict[str, np.ndarray] = {}
    for line in body[len(title) :].split("\n"):
        key, _, value = line.partition("=")
        require_state(key in _KEYS and key not in tree, f"a tree has the line {line[:40]!r}")
        tree[key] = _numbers(value, key)
    leaves, categories = (_single(tree, key) for key in ("num_leaves", "num_cat"))
    require_state(leaves >= 1 and categories >= 0, "a tree has no leaves")
    require_state(_single(tree, "is_linear") == 0, "a tree has linear leaves, which are not kept")
    for keys, size in (
        (_OF_LEAVES, leaves),
        (_OF_SPLITS, leaves - 1),
        (_OF_SPLITS_TOO, leaves - 1),
    ):
        for key in keys:
            short = leaves == 1 and key != "leaf_value"
            sizes = (0, size) if short else (size,)
            require_state(len(tree.get(key, ())) in sizes, f"a tree has another number of {key}")
    require_state(np.isfinite(tree["leaf_value"]), "a leaf has a value that is not finite")
    _check_splits(tree, leaves, categories, n_features)


def _check_splits(tree: dict[str, np.ndarray], leaves: int, categories: int, d: int) -> None:
    if leaves == 1:
        require_state(categories == 0, "a tree parts categories without a split")
        return
    place = np.arange(leaves - 1)
    for key in ("left_child", "right_child"):
        child = tree[key]
        inner = child >= 0
        require_state((child > place)[inner], "the children of a node do not come after it")
        require_state(are_indices(child[inner], leaves - 1), "a child is no node")
        require_state(are_indices(~child[~inner], leaves), "a child is no leaf")
    require_state(are_indices(tree["split_feature"], d), "a tree looks at a feature that is none")
    kinds = tree["decision_type"]
    require_state((kinds >= 0) & (kinds < 16), "a split is of an unknown kind")
    by_category = (kinds & 1) == 1
    require_state(~np.isnan(tree["threshold"]), "a split has a threshold that is no number")
    if not categories:
        require_state(~by_category, "a split parts categories that are not there")
        return
    bounds, bits = tree.get("cat_boundaries"), tree.get("cat_threshold")
    require_state(
        bounds is not None
        and bits is not None
        and len(bounds) == categories + 1
        and bounds[0] == 0
        and bounds[-1] == len(bits)
        and (np.diff(bounds) > 0).all(),
        "the categories of a tree do not fit together",
    )
    chosen = tree["threshold"][by_category]
    require_state(
        (chosen == np.floor(chosen)) & (chosen >= 0) & (chosen < categories),
        "a split parts categories that are not there",
    )


def _numbers(value: str, key: str) -> np.ndarray:
    whole = key in _INTEGERS or key in _CATEGORIES
    pattern = r"-?\d{1,10}" if whole else r"-?(\d+(\.\d*)?(e[+-]?\d+)?|inf)"
    tokens = value.split(" ") if value else []
    if not all(re.fullmatch(pattern, token) for token in tokens):
        raise StateError(f"{key} of a tree is not made of numbers")
    return np.array(tokens, dtype=np.int64 if whole else np.float64)


def _single(tree: dict[str, np.ndarray], key: str) -> int:
    found = tree.get(key, np.empty(0))
    require_state(len(found) == 1 and math.isfinite(found[0]), f"a tree has no {key}")
    require_state(found[0] == int(found[0]) and abs(found[0]) < 2**31, f"a tree has no {key}")
    return int(found[0])
