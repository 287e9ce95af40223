"""What is known of every benchmark set and of the published splits, from ``data/registry.toml``."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from http.client import HTTPException
from importlib.resources import files
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from .._utils.messages import require_choice
from .binning import discretize
from .bunches import as_labels, encode_labels, make_bunch, read_inputs
from .tables import (
    TextTable,
    content_checksum,
    data_folders,
    exact_checksum,
    find_file,
    missing,
    numbers,
    read_table,
    where_to_put,
    write_table,
)


@dataclass(frozen=True)
class Benchmark:
    """One set: its size, checksums and provenance; the fields are described in the table."""

    name: str
    kind: str
    rows: int
    columns: int
    checksum: str
    target: str
    origin: str
    licence: str
    openml: int | None = None
    row_order: str | None = None
    note: str = ""
    labels: Sequence[str] = ()
    nominal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    aside: Sequence[str] = ()

    @property
    def file(self) -> str:
        """Place of the table below a data folder."""
        return f"{self.kind}/{self.name}.csv.gz"


@dataclass(frozen=True)
class Splits:
    """One table of published training and test splits, labels included."""

    collection: str
    name: str
    rows: int
    splits: int
    classes: int
    checksum: str

    @property
    def file(self) -> str:
        """Place of the table below a data folder."""
        return f"splits/{self.collection}/{self.name}.csv.gz"

    @property
    def benchmark(self) -> str:
        """Benchmark set that a gpor table ``<benchmark>_<bins>bins`` belongs to."""
        return self.name.rpartition("_")[0]


def list_benchmarks(kind: str | None = None) -> list[str]:
    """Names that `fetch_benchmark` knows.

    Parameters
    ----------
    kind : {"regression", "ordinal"}, optional
        Only sets with a continuous target to be cut, or only those with labels of their own.

    Examples
    --------
    >>> list_benchmarks("regression")[:3]
    ['2dplanes', 'abalone', 'auto_price']
    """
    require_choice("kind", kind, ("regression", "ordinal", None))
    sets = registry()["benchmarks"].items()
    return [name for name, facts in sets if kind in (None, facts["kind"])]


def list_splits(collection: str) -> list[str]:
    """Names that `fetch_splits` knows in a collection.

    Examples
    --------
    >>> list_splits("orca")[:3]
    ['balance_scale', 'bondrate', 'car']
    """
    collections = registry()["splits"]
    require_choice("collection", collection, collections)
    return list(collections[collection])


def find_benchmark(name: str) -> Benchmark:
    """Facts of a benchmark set by its name."""
    require_choice("name", name, list_benchmarks())
    return Benchmark(name, **registry()["benchmarks"][name])


def find_splits(collection: str, name: str) -> Splits:
    """Facts of a table of splits by its collection and name."""
    require_choice(f"name in the collection {collection!r}", name, list_splits(collection))
    return Splits(collection, name, **registry()["splits"][collection][name])


@cache
def registry() -> Any:
    """The tables of ``data/registry.toml``."""
    return tomllib.loads((files(__package__) / "data" / "registry.toml").read_text("utf-8"))


def fetch_benchmark(
    name: str,
    *,
    bins: int = 10,
    binning: str = "quantile",
    ties: str = "together",
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Benchmark set with an ordered target.

    The set is looked for in the folder that ``$ECHELON_DATA`` names, then in the user's cache
    (``$ECHELON_CACHE``, else ``~/.cache/echelon``), then downloaded from OpenML into that cache.
    Wherever it comes from, its number of rows and columns and its target values must agree with
    a pinned checksum.

    Parameters
    ----------
    name : str
        One of `list_benchmarks`. A regression set has its target cut into classes 1 … K; an
        ordinal set keeps its own labels.
    bins, binning, ties
        How the target of a regression set is cut; see `discretize`.
    data_home : path, optional
        The only folder to look in and to download to.
    download : bool
        Whether to ask OpenML for a set that no folder has; this needs pandas.
    return_X_y : bool
        Return the pair (data, target) and not a Bunch.
    as_frame : bool
        Give a pandas data frame, nominal inputs as categoricals, and the target as an ordered
        categorical. Without frames each nominal text column becomes one 0/1 column per level,
        named ``column=level``; nominal columns that are coded as integers stay as they are.

    Returns
    -------
    Bunch
        With ``data`` (missing inputs are NaN), ``target``, ``frame``, ``feature_names``,
        ``target_names`` and ``classes`` (lowest to highest), ``continuous_target`` (the target
        before it was cut; None for ordinal sets), ``aside`` (columns that are no inputs, such
        as identifiers and row weights, as arrays by name), ``DESCR``, ``origin``, ``licence``.

    Raises
    ------
    FileNotFoundError
        If no folder has the set and it cannot be downloaded.
    ValueError
        If what was found is not the set expected.

    Notes
    -----
    A downloaded set may have its rows, and its columns, in another order than other copies.
    """
    facts = find_benchmark(name)
    table = _obtain(facts, data_folders(data_home), download)
    inputs = read_inputs(table, facts.nominal, leave_out=facts.aside)
    continuous = None
    if facts.kind == "regression":
        continuous = numbers(table.target, where=f"The target of {name}")
        codes = discretize(continuous, bins, binning=binning, ties=ties) - 1
        classes = np.arange(1, bins + 1)
    else:
        codes = encode_labels(table.target, facts.labels, where=name)
        classes = as_labels(facts.labels)
    return make_bunch(
        inputs,
        codes,
        classes,
        return_X_y=return_X_y,
        as_frame=as_frame,
        continuous_target=continuous,
        aside={key: as_column(table, key) for key in facts.aside},
        DESCR=_describe(facts),
        origin=facts.origin,
        licence=facts.licence,
    )


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
        what = f"The splits {name!r} of {collection!r} are"
        raise missing(what, facts.file, folders, "cannot be downloaded")
    table = read_table(path)
    if exact_checksum(table.columns) != facts.checksum:
        raise ValueError(
            f"{path} is not the table of the {collection} splits of {name}: its checksum differs; "
            "replace it by the published one."
        )
    is_split = [name[0] == "s" and name[1:].isdigit() for name in table.names]
    result = Bunch(
        train=np.array(list(compress(table.columns, is_split))) == "1",
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


def read_checked(path: Path, facts: Benchmark) -> TextTable:
    """Table of a benchmark set; an error if its content is not that of the registry."""
    table = read_table(path)
    _verify(table, facts, str(path), f"delete it or replace it by the {facts.name} set")
    return table


def as_column(table: TextTable, name: str) -> Any:
    """One column as numbers if all of it is, else as text."""
    fields = table.columns[table.names.index(name)]
    try:
        return numbers(fields, where=name)
    except ValueError:
        return np.array(fields)


def _obtain(facts: Benchmark, folders: list[Path], download: bool) -> TextTable:
    path = find_file(facts.file, folders)
    if path is not None:
        return read_checked(path, facts)
    absent = partial(missing, f"The benchmark set {facts.name!r} is", facts.file, folders)
    if not download:
        raise absent("download=False forbids asking OpenML")
    if facts.openml is None:
        raise absent("no OpenML number is known for it")
    try:
        table = _download(facts.openml)
    except ImportError as error:
        raise absent("the download from OpenML needs pandas, which is not installed") from error
    except (OSError, HTTPException, ValueError) as error:
        raise absent(f"the download from OpenML failed ({error})") from error
    _verify(table, facts, f"OpenML data set {facts.openml}", where_to_put(facts.file, folders))
    write_table(folders[-1] / facts.file, table)
    return table


def _download(number: int) -> TextTable:
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # Its retries are not the user's business; a failure gets a sentence of our own.
        warnings.filterwarnings("ignore", message="A network error occurred")
        # fetch_openml checks the md5 that the server states; our own cache keeps the table.
        answer = fetch_openml(data_id=number, as_frame=True, parser="auto", cache=False)
    names = [str(name) for name in answer.data.columns]
    columns = [_fields(answer.data[name]) for name in answer.data.columns]
    return TextTable([*names, "y"], [*columns, _fields(answer.target)])


def _fields(column: Any) -> list[str]:
    missing = column.isna()
    return ["" if gone else str(value) for value, gone in zip(column, missing, strict=True)]


def _verify(table: TextTable, facts: Benchmark, source: str, remedy: str) -> None:
    n_columns = len(table.names) - 1
    if content_checksum(table, n_columns) == facts.checksum:
        return
    raise ValueError(
        f"{source} is not the {facts.name} set: its content checksum differs (found "
        f"{table.n_rows} rows and {n_columns} inputs, expected {facts.rows} and "
        f"{facts.columns} with the known target values); {remedy}."
    )


def _describe(facts: Benchmark) -> str:
    note = f"\n{facts.note}\n" if facts.note else ""
    return (
        f"{facts.name}: {facts.target}\n{note}\n"
        f"Rows: {facts.rows}\nInputs: {facts.columns - len(facts.aside)}\n"
        f"Origin: {facts.origin}\nLicence: {facts.licence}\n"
    )


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
