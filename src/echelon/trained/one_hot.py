"""scikit-learn's one-hot encoder, checked before it is used: it writes wherever its codes point.

It is kept without the names of rare levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.state import are_indices, require_state

#: Its name in files.
ENCODER = "sklearn.preprocessing.OneHotEncoder"


def check_encoder(model: Any) -> None:
    """Refuse an encoder that would write beside its columns: codes and widths are kept apart."""
    if not hasattr(model, "categories_"):
        return
    levels, widths, dropped = (
        model.categories_,
        model._n_features_outs,
        model._drop_idx_after_grouping,
    )
    d = len(levels)
    require_state(
        isinstance(widths, list) and len(widths) == d and (dropped is None or len(dropped) == d),
        "its columns are those of other inputs",
    )
    grouped = [len(found) for found in levels]
    if model._infrequent_enabled:
        rare, codes = model._infrequent_indices, model._default_to_infrequent_mappings
        require_state(len(rare) == d == len(codes), "its columns are those of other inputs")
        for j in range(d):
            grouped[j] = _width_with_rare(rare[j], codes[j], len(levels[j]))
    for j in range(d):
        without = None if dropped is None else dropped[j]
        require_state(_finds_places(levels[j]), "its levels are in no order")
        require_state(without is None or are_indices(without, grouped[j]), "it drops no level")
        require_state(
            type(widths[j]) is int and widths[j] == grouped[j] - (without is not None),
            "it has other columns than levels",
        )


def without_rare_names(state: dict[str, Any]) -> dict[str, Any]:
    """An encoder's attributes without the names of levels that it takes for unknown ones anyway.

    A rare name may be that of a person. Any other text in its place is never met, and what is not
    met is counted among the rare ones, so that no answer changes.
    """
    levels, rare = state.get("categories_", ()), state.get("_infrequent_indices", ())
    if len(levels) != len(rare) or state["handle_unknown"] != "infrequent_if_exist":
        return state
    masked = [_masked(*pair) for pair in zip(levels, rare, strict=True)]
    return {**state, "categories_": masked} if masked else state


def _masked(levels: np.ndarray, rare: Any) -> np.ndarray:
    if not are_indices(np.asarray(rare), len(levels)) or levels.dtype.kind not in "OU":
        return levels
    found, known = levels.astype(object), set(levels.tolist())
    for number, place in enumerate(rare):
        if isinstance(found[place], str):
            name = f"rare level {number + 1}"
            while name in known:
                name += "*"
            found[place] = name
    return found


def _width_with_rare(rare: Any, codes: Any, n_levels: int) -> int:
    """Columns of an input whose rare levels, if any, share one."""
    if rare is None:
        require_state(codes is None, "its rare levels are none")
        return n_levels
    found = np.asarray(rare)
    require_state(
        found.ndim == 1 and found.size and are_indices(found, n_levels), "its rare levels are none"
    )
    width = n_levels - found.size + 1
    require_state(
        np.shape(codes) == (n_levels,) and are_indices(codes, width), "its rare levels are none"
    )
    return width


def _finds_places(levels: Any) -> bool:
    """Whether values are found among levels: texts by name, all else by halving, in order."""
    if not isinstance(levels, np.ndarray) or levels.ndim != 1:
        return False
    if levels.dtype.kind in "OUS":
        return True
    known = levels[:-1] if levels.size and levels[-1] != levels[-1] else levels
    return bool((known[1:] > known[:-1]).all() and (known == known).all())
