"""Rules of several models over the same table, scored in one pass over its raw columns.

Whether a prepared input satisfies a condition depends on one raw column alone. So the cuts of all
rules on a column, taken back to its own units, part it into bins; for each bin a mask has a bit for
every rule that the column allows there; and a rule covers a row if it is in the masks of all its
bins. Responses are added in the order of the rules, as `echelon.solvers.rules.tables` adds them, so
that scores are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._native._rule_masks import add_covered, code_column
from .._utils.types import Vector

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, Any]

_WORD = 64
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class Input:
    """A raw column: the cuts of a number, or the levels of a category, and its first mask."""

    name: str
    first: int = 0
    cuts: Vector | None = None
    levels: list[str] | None = None


@dataclass(frozen=True)
class RuleMasks:
    """Rules of one model or more; call it on a frame to get scores of shape (models, rows)."""

    inputs: tuple[Input, ...]
    masks: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.intp]
    responses: Vector

    @classmethod
    def of(cls, models: Sequence[Arrays]) -> RuleMasks:
        """Masks of models whose scores are rules, over tables of one schema."""
        sets = [_RuleSet(model["score"], model["preparation"]) for model in models]
        preparation = sets[0].preparation
        numbers = [_number_masks(name, sets) for name in preparation["numbers"]]
        categories = [_category_masks(name, sets) for name in preparation["categories"]]
        inputs, blocks, first = [], [], 0
        for column, masks in filter(None, numbers + categories):
            inputs.append(replace(column, first=first))
            blocks.append(masks)
            first += len(masks)
        words = [_words(len(rules.responses)) for rules in sets]
        responses = np.zeros((sum(words), _WORD))
        for rules, end in zip(sets, np.cumsum(words), strict=True):
            block = responses[end - _words(len(rules.responses)) : end].reshape(-1)
            block[: len(rules.responses)] = rules.responses
        masks = np.concatenate([np.zeros((0, sum(words)), dtype=np.uint64), *blocks])
        ends = np.cumsum(words).astype(np.intp)
        return cls(tuple(inputs), masks, ends, responses.reshape(-1))

    def __call__(self, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        """Sums of the responses of the rules that cover each row."""
        scores = np.zeros((len(self.ends), len(frame)))
        if not self.inputs:
            return scores
        codes = np.empty((len(self.inputs), len(frame)), dtype=np.int32)
        for row, column in zip(codes, self.inputs, strict=True):
            values = frame[column.name]
            if column.cuts is not None:
                code_column(values.to_numpy(np.float64), column.cuts, column.first, row)
            else:
                row[:] = column.first + level_places(values, column.levels or [])
        add_covered(codes, self.masks, self.ends, self.responses, scores)
        return scores


class _RuleSet:
    """The rules of one model, by the prepared inputs that they have conditions on."""

    def __init__(self, score: Arrays, preparation: Arrays) -> None:
        table = score["table"]
        self.preparation = preparation
        self.responses = table["responses"]
        edges = list(score["edges"].values())
        self.edges = {int(f): cuts for f, cuts in zip(table["features"], edges, strict=True)}
        rules = np.repeat(np.arange(len(self.responses)), np.diff(table["starts"]))
        self.conditions: dict[int, list[tuple[int, npt.NDArray[np.bool_]]]] = {}
        for t, (rule, place) in enumerate(zip(rules, table["places"], strict=True)):
            allowed = table["allowed"][table["offsets"][t] : table["offsets"][t + 1]] > 0
            feature = int(table["features"][place])
            self.conditions.setdefault(feature, []).append((int(rule), allowed))

    def bits(self, codes: Mapping[int, Any], n_bins: int) -> npt.NDArray[np.bool_]:
        """Rules that each bin allows, given its codes of prepared inputs."""
        bits = np.ones((n_bins, len(self.responses)), dtype=np.bool_)
        for feature, places in codes.items():
            for rule, allowed in self.conditions[feature]:
                bits[:, rule] &= allowed[places]
        return bits

    def number(self, name: str) -> tuple[int, Vector, int]:
        """Prepared input of a number, its cuts in raw units, and its code where it is missing."""
        feature = self.preparation["numbers"].index(name)
        edges = self.edges.get(feature, np.zeros(0))
        fill, centre, scale = (
            float(self.preparation[key][feature]) for key in ("fills", "centres", "scales")
        )
        filled = int(np.searchsorted(edges, (fill - centre) / scale, side="left"))
        return feature, raw_cuts(edges, centre, scale), filled

    def category_codes(self, name: str) -> dict[int, Any]:
        """Codes of the prepared inputs of a category, for all its levels."""
        feature = len(self.preparation["numbers"])
        for other in self.preparation["categories"]:
            rows = self.preparation["tables"][other]["rows"]
            if other == name:
                break
            feature += rows.shape[1]
        return {
            feature + j: np.searchsorted(self.edges[feature + j], column, side="left")
            for j, column in enumerate(rows.T)
            if feature + j in self.edges
        }


def _number_masks(name: str, sets: Sequence[_RuleSet]) -> tuple[Input, Any] | None:
    """Bins of a number, the last for missing ones, and their masks; None if no rule asks."""
    found = [rules.number(name) for rules in sets]
    cuts = np.unique(np.concatenate([own for _, own, _ in found]))
    if not len(cuts):
        return None
    blocks = []
    for rules, (feature, own, filled) in zip(sets, found, strict=True):
        # A value in bin b is above the cut before and not above the one after.
        codes = np.concatenate([np.searchsorted(own, cuts, side="left"), [len(own), filled]])
        blocks.append(rules.bits({feature: codes} if len(own) else {}, len(cuts) + 2))
    return Input(name, cuts=cuts), _packed(blocks)


def _category_masks(name: str, sets: Sequence[_RuleSet]) -> tuple[Input, Any] | None:
    """The same for the levels of a category, those not seen and missing ones."""
    codes = [rules.category_codes(name) for rules in sets]
    if not any(codes):
        return None
    levels = sets[0].preparation["tables"][name]["levels"]
    blocks = [rules.bits(own, len(levels) + 2) for rules, own in zip(sets, codes, strict=True)]
    return Input(name, levels=levels), _packed(blocks)


def raw_cuts(edges: Vector, centre: float, scale: float) -> Vector:
    """The greatest number x of which (x − centre)/scale, as computed, is not above each edge.

    What is computed never falls as x rises, so bisection over all numbers finds it.

    Examples
    --------
    >>> raw_cuts(np.array([0.5]), 1.0, 2.0)
    array([2.])
    """
    largest = np.finfo(np.float64).max
    low = _ranks(np.full(len(edges), -largest))
    high = _ranks(np.full(len(edges), largest))
    with np.errstate(over="ignore"):
        for _ in range(_WORD):
            middle = low + (high - low + np.uint64(1)) // np.uint64(2)
            inside = (_numbers(middle) - centre) / scale <= edges
            low = np.where(inside, middle, low)
            high = np.where(inside, high, np.maximum(middle - np.uint64(1), low))
    return _numbers(low)


def _ranks(numbers: Vector) -> npt.NDArray[np.uint64]:
    """Whole numbers in the order of the floating-point numbers."""
    bits = numbers.view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _numbers(ranks: npt.NDArray[np.uint64]) -> Vector:
    return np.where(ranks & _SIGN, ranks ^ _SIGN, ~ranks).view(np.float64)


def _words(n_rules: int) -> int:
    return -(-n_rules // _WORD)


def _packed(blocks: Sequence[npt.NDArray[np.bool_]]) -> npt.NDArray[np.uint64]:
    """Bits as words, the rules of each model from the start of a word."""
    packed = []
    for bits in blocks:
        padded = np.zeros((len(bits), _WORD * _words(bits.shape[1])), dtype=np.bool_)
        padded[:, : bits.shape[1]] = bits
        packed.append(np.packbits(padded, axis=1, bitorder="little").view("<u8"))
    return np.hstack(packed).astype(np.uint64)


def level_places(column: pd.Series, levels: list[str]) -> npt.NDArray[np.intp]:
    """Place of each level; after the known ones come those that were not seen and those missing."""
    import pandas as pd

    place = pd.Index(levels, dtype=object).get_indexer(column.astype(object))
    place[place < 0] = len(levels)
    place[column.isna().to_numpy()] = len(levels) + 1
    return place
