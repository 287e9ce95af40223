"""Benchmark sets for ranking: graded documents by query, two classes, and paired comparisons."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._utils.messages import require_choice
from .benchmarks import as_column, registry
from .bunches import read_inputs
from .tables import (
    TextTable,
    content_checksum,
    data_folders,
    find_file,
    missing,
    read_table,
)


def list_ranking_sets() -> list[str]:
    """Names that `fetch_ranking` knows.

    Examples
    --------
    >>> list_ranking_sets()
    ['lambdarank_example', 'spambase', 'tennis_atp_2018_2024']
    """
    return sorted(registry()["rankings"])


def fetch_ranking(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Benchmark set for ranking.

    The set is looked for as ``ranking/<name>.csv.gz`` in the folder that ``$ECHELON_DATA`` names,
    then in the user's cache; none can be downloaded. Its size and target values must agree with a
    pinned checksum.

    Parameters
    ----------
    name : str
        One of `list_ranking_sets`.
    data_home : path, optional
        The only folder to look in.

    Returns
    -------
    Bunch
        With ``DESCR``, ``origin`` and ``licence``. Rows to rank: ``data``, ``target``,
        ``feature_names``, ``qid`` (None without queries) and ``train`` (True for training rows;
        None without a stated split). Paired comparisons: ``left``, ``right`` (ids of the two
        items), ``label`` (True where left won), as `PairSet.from_frame` takes them, and
        ``columns``, all columns of the table as arrays by name.

    Raises
    ------
    FileNotFoundError
        If no folder has the set.
    ValueError
        If what was found is not the set expected.
    """
    require_choice("name", name, list_ranking_sets())
    facts = registry()["rankings"][name]
    table = read_ranking_table(name, facts["checksum"], data_home)
    pairs, aside = facts.get("pairs"), facts.get("aside", ())
    content = _rows(table, aside) if pairs is None else _comparisons(table, pairs)
    origin, licence = facts["origin"], facts["licence"]
    describe = f"{name}: {facts['target']}\n\nOrigin: {origin}\nLicence: {licence}\n"
    return Bunch(**content, DESCR=describe, origin=origin, licence=licence)


def read_ranking_table(
    name: str, checksum: str, data_home: str | os.PathLike[str] | None = None
) -> TextTable:
    """The table ``ranking/<name>.csv.gz`` of a data folder, if its content is what it should be."""
    file, folders = f"ranking/{name}.csv.gz", data_folders(data_home)
    path = find_file(file, folders)
    if path is None:
        raise missing(f"The ranking set {name!r} is", file, folders, "cannot be downloaded")
    table = read_table(path)
    if content_checksum(table, len(table.names) - 1) != checksum:
        raise ValueError(
            f"{path} is not the {name} set: its content checksum differs (found {table.n_rows} "
            f"rows and {len(table.names) - 1} columns beside the target); replace it."
        )
    return table


def _rows(table: TextTable, aside: Sequence[str]) -> dict[str, Any]:
    """What is ranked; columns that are set aside are no inputs."""
    columns = dict(zip(table.names, table.columns, strict=True))
    data, names = read_inputs(table, {}, leave_out=aside).to_array()
    return {
        "data": data,
        "target": np.array(table.target, dtype=np.float64).astype(np.intp),
        "feature_names": names,
        "qid": np.array(columns["qid"], dtype=np.intp) if "qid" in columns else None,
        "train": np.array(columns["part"]) == "train" if "part" in columns else None,
    }


def _comparisons(table: TextTable, sides: Sequence[str]) -> dict[str, Any]:
    columns = {name: as_column(table, name) for name in table.names}
    left, right = (np.array(columns[side], dtype=np.intp) for side in sides)
    return {"left": left, "right": right, "label": columns["y"] == 1, "columns": columns}
