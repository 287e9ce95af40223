"""The published training and test splits, from a data folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from ._benchmarks import read_checked
from ._bunches import read_inputs
from ._folders import data_folders, find_file, where_to_put
from ._registry import Splits, find_benchmark, find_splits
from ._tables import TextTable, exact_checksum, numbers, read_table


def fetch_splits(
    collection: str, name: str, *, data_home: str | os.PathLike[str] | None = None
) -> Bunch:
    """Published splits with the labels and inputs they were made for.

    The tables are looked for in ``$ECHELON_DATA`` and the user's cache; none can be downloaded.

    Parameters
    ----------
    collection : {"gpor", "orca"}
        ``"gpor"``: the 20 splits of nine regression sets with 5 and 10 equal-length bins that
        [CG05] uses, named ``<benchmark>_5bins`` and ``<benchmark>_10bins``; their inputs are
        read from the regression set in the same folder. ``"orca"``: the splits and encoded
        inputs of the ORCA framework.
    name : str
        One of `list_splits`.
    data_home : path, optional
        The only folder to look in.

    Returns
    -------
    Bunch
        With ``train`` (boolean, one row per split, True for training rows; the rest are test
        rows), ``data`` (nominal inputs as 0/1 columns), ``target`` (labels 1 … K as published),
        ``classes`` and ``feature_names``, and for gpor ``rows``, the rows of the regression set.

    Notes
    -----
    ORCA counts the labels of bondrate and squash_stored from the best to the worst.
    """
    facts = find_splits(collection, name)
    folders = data_folders(data_home)
    path = find_file(facts.file, folders)
    if path is None:
        raise FileNotFoundError(
            f"The splits {name!r} of {collection!r} are in no data folder and cannot be "
            f"downloaded; {where_to_put(facts.file, folders)}."
        )
    table = _read_splits(path, facts)
    is_split = [name[0] == "s" and name[1:].isdigit() for name in table.names]
    train = np.array(
        [column for column, wanted in zip(table.columns, is_split, strict=True) if wanted]
    )
    result = Bunch(
        train=train == "1",
        target=np.array(table.target, dtype=np.intp),
        classes=np.arange(1, facts.classes + 1),
    )
    if collection == "gpor":
        folder = path.parents[2]
        result.rows = np.array(table.columns[0], dtype=np.intp)
        matrix, result.feature_names = _regression_inputs(folder, facts)
        result.data = matrix[result.rows]
    else:
        chosen = [k for k, split in enumerate(is_split[:-1]) if not split]
        result.feature_names = [table.names[k] for k in chosen]
        result.data = np.column_stack(
            [numbers(table.columns[k], where=f"Column {table.names[k]!r}") for k in chosen]
        )
    return result


def _read_splits(path: Path, facts: Splits) -> TextTable:
    table = read_table(path)
    if exact_checksum(table.columns) != facts.checksum:
        raise ValueError(
            f"{path} is not the table of the {facts.collection} splits of {facts.name}: its "
            "checksum differs; replace it by the published one."
        )
    return table


def _regression_inputs(folder: Path, facts: Splits) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Inputs of the regression set that lies beside the splits, in the rows' published order."""
    benchmark = find_benchmark(facts.benchmark)
    path = folder / benchmark.file
    if not path.is_file():
        raise FileNotFoundError(
            f"The gpor splits {facts.name!r} need the inputs of {benchmark.name!r} beside them; "
            f"put the table at {path}."
        )
    table = read_checked(path, benchmark)
    if exact_checksum([table.target]) != benchmark.row_order:
        raise ValueError(
            f"{path} has its rows in another order than the published splits count in; replace "
            "it by a copy in the order of the original collection."
        )
    return read_inputs(table, benchmark.nominal).to_array()
