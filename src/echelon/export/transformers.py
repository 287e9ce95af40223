"""Transformers before a model: imputing, scaling, encoding, choosing columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ..base.scores import LevelCodes, TailScores
from ..ordinal.columns import is_missing
from .columns import (
    KINDS,
    MISSING_TEXT,
    NUMBER,
    TEXT,
    TRANSFORMERS,
    Columns,
    ExportError,
    convert_transformer,
    holds_texts,
    input_kinds,
    positions,
    registered,
)
from .graph import Value, in_double

_NOTHING = -1


@registered(TRANSFORMERS, Pipeline)
def pipeline(transformer: Any, columns: Columns) -> Columns:
    """One transformer after another."""
    for _, step in transformer.steps:
        if not _is_nothing(step):
            columns = convert_transformer(step, columns)
    return columns


@registered(KINDS, Pipeline)
def pipeline_kinds(transformer: Any, width: int) -> list[str]:
    """What the first step that does anything reads."""
    first = next((step for _, step in transformer.steps if not _is_nothing(step)), None)
    return input_kinds(first, width)


@registered(TRANSFORMERS, ColumnTransformer)
def column_transformer(transformer: Any, columns: Columns) -> Columns:
    """Some columns to each transformer, and what they give side by side."""
    parts = []
    for step, chosen in _parts(transformer):
        part = columns.take(chosen)
        parts.append(part if _is_nothing(step) else convert_transformer(step, part))
    kinds = tuple(kind for part in parts for kind in part.kinds)
    return Columns(columns.graph, kinds, tuple(read for part in parts for read in part.reads))


@registered(KINDS, ColumnTransformer)
def column_transformer_kinds(transformer: Any, width: int) -> list[str]:
    """What each transformer reads."""
    kinds = [NUMBER] * width
    for step, chosen in _parts(transformer):
        for j, kind in zip(chosen, input_kinds(step, len(chosen)), strict=True):
            if kind == TEXT:
                kinds[j] = TEXT
    return kinds


def _parts(transformer: Any) -> list[tuple[Any, list[int]]]:
    names = {name: j for j, name in enumerate(getattr(transformer, "feature_names_in_", ()))}
    found = []
    for _, step, columns in transformer.transformers_:
        with warnings.catch_warnings():
            # scikit-learn 1.6 warns that the rest will be named, not counted; either is read.
            warnings.simplefilter("ignore", FutureWarning)
            chosen = _indices(columns, names, transformer.n_features_in_)
        if chosen and not _is_word(step, "drop"):
            found.append((step, chosen))
    return found


def _indices(columns: Any, names: dict[str, int], width: int) -> list[int]:
    def place(column: Any) -> Any:
        return names[column] if isinstance(column, str) else column

    if isinstance(columns, slice):
        # A slice of names has its last one too.
        stop = place(columns.stop) + 1 if isinstance(columns.stop, str) else columns.stop
        return list(range(width))[place(columns.start) : stop : columns.step]
    entries = [columns] if isinstance(columns, str) else np.atleast_1d(columns)
    return np.arange(width)[[place(entry) for entry in entries]].tolist()


def _is_nothing(step: Any) -> bool:
    if isinstance(step, FunctionTransformer):
        return step.func is None
    return step is None or _is_word(step, "passthrough")


def _is_word(step: Any, word: str) -> bool:
    return isinstance(step, str) and step == word


@registered(TRANSFORMERS, FunctionTransformer)
def function_transformer(transformer: Any, columns: Columns) -> Columns:
    """Only the one that leaves its inputs as they are."""
    if transformer.func is None:
        return columns
    raise ExportError(
        "FunctionTransformer with a function of its own cannot be exported to ONNX; only the one "
        "without a function can."
    )


@registered(TRANSFORMERS, StandardScaler, RobustScaler, MaxAbsScaler)
def scaler(transformer: Any, columns: Columns) -> Columns:
    """Less a centre, over a scale."""
    values = columns.matrix()
    # StandardScaler keeps a mean also where it does not subtract it.
    centre = getattr(transformer, "mean_", getattr(transformer, "center_", None))
    if centre is not None and getattr(transformer, "with_mean", True):
        values = values - np.asarray(centre)
    if transformer.scale_ is not None:
        values = values / np.asarray(transformer.scale_)
    return Columns.of_matrix(in_double(values), len(columns))


@registered(TRANSFORMERS, MinMaxScaler)
def min_max_scaler(transformer: MinMaxScaler, columns: Columns) -> Columns:
    """Onto a range."""
    values = columns.matrix() * transformer.scale_ + transformer.min_
    if transformer.clip:
        values = values.clip(*map(float, transformer.feature_range))
    return Columns.of_matrix(in_double(values), len(columns))


@registered(TRANSFORMERS, LevelCodes)
def level_codes(transformer: LevelCodes, columns: Columns) -> Columns:
    """Ranks as they are, or one column for each boundary."""
    if transformer.coding == "scores":
        return columns
    column, level = transformer.boundaries()
    # ONNX has no "greater or equal" of its own in all versions: not less is the same for numbers.
    below = columns.matrix().take(column) < level.astype(np.float64)
    return Columns.of_matrix(below.where(np.zeros(1), np.ones(1)), len(column))


@registered(TRANSFORMERS, TailScores)
def tail_scores(transformer: TailScores, columns: Columns) -> Columns:
    """Columns with heavy tails as sums of what each piece between two knots adds."""
    curves = zip(transformer.knots_, transformer.scores_, strict=True)
    changed = dict(zip(transformer.columns_.tolist(), curves, strict=True))
    if not changed:
        return columns
    parts = []
    for j in range(len(columns)):
        column = columns.column(j)
        if j in changed:
            knots, scores = changed[j]
            # A single knot is one value for all rows, between two of which there is nothing.
            width = np.append(np.diff(knots), 1.0)
            share = (column - knots).clip(0.0).at_most(width) / width
            column = (share * np.append(np.diff(scores), 0.0)).sum(keep=True) + scores[0]
        parts.append(column)
    return Columns.of_matrix(in_double(columns.graph.concat(parts)), len(parts))


@registered(TRANSFORMERS, SimpleImputer)
def simple_imputer(transformer: Any, columns: Columns) -> Columns:
    """Missing values replaced; columns without any value at fit left out."""
    if transformer.add_indicator:
        raise ExportError("SimpleImputer with add_indicator=True cannot be exported to ONNX.")
    if not is_missing(transformer.missing_values):
        raise ExportError(
            f"SimpleImputer with missing_values={transformer.missing_values!r} cannot be exported "
            "to ONNX; only NaN and None can, which are an empty text in columns of texts."
        )
    statistics = np.asarray(transformer.statistics_)
    if statistics.dtype.kind in "OU":
        reads = (cache(partial(_filled, columns, j, s)) for j, s in enumerate(statistics))
        return Columns(columns.graph, columns.kinds, tuple(reads))
    kept = np.flatnonzero(~np.isnan(statistics))
    columns, statistics = columns.take(kept), statistics[kept]
    values = columns.matrix()
    return Columns.of_matrix(values.is_missing().where(statistics, values), len(columns))


def _filled(columns: Columns, j: int, value: Any) -> Value:
    column = columns.column(j)
    if columns.kinds[j] == NUMBER:
        return column.is_missing().where(float(value), column)
    missing = positions(column, [MISSING_TEXT], 1, 0).equals(np.int64(0))
    return missing.where(np.array([str(value)]), column)


@registered(KINDS, SimpleImputer)
def imputer_kinds(transformer: Any, width: int) -> list[str]:
    """Texts where texts fill the gaps."""
    return [TEXT if isinstance(s, str) else NUMBER for s in transformer.statistics_[:width]]


@registered(TRANSFORMERS, OneHotEncoder)
def one_hot(transformer: Any, columns: Columns) -> Columns:
    """A column of zeros and ones for every category; unknown ones are all zero, or infrequent."""
    parts = [
        _indicators(transformer, j, columns.column(j)) for j in range(len(transformer.categories_))
    ]
    parts = [(value, width) for value, width in parts if width]
    whole = columns.graph.concat([value for value, _ in parts])
    return Columns.of_matrix(whole, sum(width for _, width in parts))


def _indicators(encoder: Any, j: int, column: Value) -> tuple[Value, int]:
    categories = list(encoder.categories_[j])
    rare = getattr(encoder, "infrequent_categories_", None)
    rare_here = set() if rare is None or rare[j] is None else set(rare[j])
    frequent = [c for c in categories if c not in rare_here]
    last = len(frequent)
    answers = [last if c in rare_here else frequent.index(c) for c in categories]
    takes_unknown = encoder.handle_unknown == "infrequent_if_exist" and bool(rare_here)
    unknown = last if takes_unknown else _NOTHING
    width = last + bool(rare_here)
    drop = None if encoder.drop_idx_ is None else encoder.drop_idx_[j]
    shown = np.arange(width)
    if drop is not None:
        shown = np.delete(shown, answers[int(drop)])
    place = _category_places(column, categories, answers, unknown)
    return place.equals(shown[None, :]).cast("float64"), len(shown)


def _category_places(
    column: Value, categories: Sequence[Any], answers: Sequence[int], unknown: int
) -> Value:
    """What stands for each row's category, by a list of categories and what stands for them."""
    missing = [place for c, place in zip(categories, answers, strict=True) if is_missing(c)]
    known = [(c, p) for c, p in zip(categories, answers, strict=True) if not is_missing(c)]
    table = np.array([place for _, place in known] + [unknown, *missing], dtype=np.int64)
    unseen = len(known)
    gone = len(known) + 1 if missing else unseen
    place = positions(column, [c for c, _ in known], unseen, gone)
    return column.graph.constant(table).take(place.flat(), axis=0).upright()


@registered(TRANSFORMERS, OrdinalEncoder)
def ordinal_encoder(transformer: Any, columns: Columns) -> Columns:
    """The place of every category; unknown and missing ones as the encoder has them."""
    if getattr(transformer, "infrequent_categories_", None) is not None:
        raise ExportError("OrdinalEncoder with infrequent categories cannot be exported to ONNX.")
    parts = []
    unknown = np.nan if transformer.unknown_value is None else transformer.unknown_value
    for j, found in enumerate(transformer.categories_):
        codes = np.array([*(_code(transformer, c, p) for p, c in enumerate(found)), unknown])
        place = _category_places(columns.column(j), list(found), range(len(found)), len(found))
        parts.append(columns.graph.constant(codes).take(place, axis=0))
    return Columns.of_matrix(columns.graph.concat(parts), len(parts))


def _code(encoder: Any, category: Any, place: int) -> float:
    # For scikit-learn's encoder None is a category like any other, NaN is not.
    is_nan = isinstance(category, float | np.floating) and bool(np.isnan(category))
    return float(encoder.encoded_missing_value) if is_nan else float(place)


@registered(KINDS, OneHotEncoder, OrdinalEncoder)
def encoder_kinds(transformer: Any, width: int) -> list[str]:
    """Texts where categories are texts."""
    return [TEXT if holds_texts(c) else NUMBER for c in transformer.categories_[:width]]
