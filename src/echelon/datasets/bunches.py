"""From inputs and ordered labels to what loaders return: arrays or frames, in a Bunch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from .._utils.packages import require_extra
from .._utils.types import Codes
from ..ordinal.labels import OrdinalScale
from .tables import TextTable, numbers

Levels = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Inputs:
    """Input columns by name: floats, or text with its levels for nominal columns."""

    columns: dict[str, npt.NDArray[Any]]
    levels: Levels

    def to_array(self) -> tuple[npt.NDArray[np.float64], list[str]]:
        """Float matrix and column names, one 0/1 column ``name=level`` per nominal level.

        A missing nominal value is NaN in every column of its levels.
        """
        blocks: list[npt.NDArray[np.float64]] = []
        names: list[str] = []
        for name, column in self.columns.items():
            if name not in self.levels:
                blocks.append(column)
                names.append(name)
                continue
            missing = column == ""
            for level in self.levels[name]:
                blocks.append(np.where(missing, np.nan, column == level))
                names.append(f"{name}={level}")
        return np.column_stack(blocks), names

    def to_frame(self) -> Any:
        """Pandas data frame with a categorical column per nominal input."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical(
                    [field or None for field in column.tolist()], self.levels[name]
                )
                if name in self.levels
                else column
                for name, column in self.columns.items()
            }
        )


def read_inputs(table: TextTable, levels: Levels, *, leave_out: Sequence[str] = ()) -> Inputs:
    """Inputs of a table: every column but the target and those to leave out."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, fields in zip(table.names[:-1], table.columns[:-1], strict=True):
        if name in leave_out:
            continue
        columns[name] = (
            _nominal(name, fields, levels)
            if name in levels
            else numbers(fields, where=f"Column {name!r}")
        )
    return Inputs(columns, {name: levels[name] for name in columns if name in levels})


def make_bunch(
    inputs: Inputs,
    codes: Codes,
    classes: npt.NDArray[Any],
    *,
    return_X_y: bool,
    as_frame: bool,
    **facts: Any,
) -> Any:
    """Bunch of data and ordered target with its description, or the pair (data, target)."""
    data: Any
    target: Any
    if as_frame:
        require_extra("Data frames need", "cli", "pandas")
        import pandas as pd

        data = inputs.to_frame()
        names = list(data.columns)
        target = pd.Series(OrdinalScale(classes, "pandas").decode(codes), name="y")
        frame = data.assign(y=target)
    else:
        data, names = inputs.to_array()
        target, frame = classes[codes], None
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=names,
        target_names=[str(label) for label in classes.tolist()],
        classes=classes,
        **facts,
    )


def as_labels(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Labels as integers if all of them are, else as text."""
    try:
        return np.array([int(label) for label in labels])
    except ValueError:
        return np.array(labels)


def encode_labels(fields: Sequence[str], labels: Sequence[str], *, where: str) -> Codes:
    """Positions of text labels; numbers written otherwise ("3.0" for "3") are recognised."""
    plain = [field.removesuffix(".0") for field in fields]
    return OrdinalScale(np.array(labels)).encode(plain, name=f"The target of {where}")


def _nominal(name: str, fields: Sequence[str], levels: Levels) -> npt.NDArray[Any]:
    unknown = sorted({field for field in fields if field} - set(levels[name]))
    if unknown:
        raise ValueError(
            f"Column {name!r} has levels {unknown[:5]}; accepted are {list(levels[name])}."
        )
    return np.array(fields)
