"""Small real sets that come with the package; origin and licence stand in ``data/README.md``."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

from .._utils.messages import require_choice
from .benchmarks import registry
from .bunches import as_labels, encode_labels, make_bunch, read_inputs
from .tables import read_table


def list_datasets() -> list[str]:
    """Names of the sets that come with the package, for `load_dataset`.

    Examples
    --------
    >>> list_datasets()
    ['anes96', 'balance_scale', 'era', 'esl', 'lev', 'swd']
    """
    return sorted(registry()["embedded"])


def load_dataset(name: str, *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load an embedded set by its name.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    return_X_y : bool
        Return the pair (data, target) and not a Bunch.
    as_frame : bool
        Give the inputs as a pandas data frame and the target as an ordered categorical series.
        Without frames the target is a plain array of labels, and `classes` states their order.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``frame``, ``feature_names``, ``target_names`` and ``classes``
        (lowest to highest, as text and as labels), ``DESCR``, ``origin`` and ``licence``.

    Examples
    --------
    >>> bunch = load_dataset("balance_scale")
    >>> bunch.data.shape, bunch.target_names
    ((625, 4), ['L', 'B', 'R'])
    """
    require_choice("name", name, list_datasets())
    facts = registry()["embedded"][name]
    with as_file(files(__package__) / "data" / f"{name}.csv") as path:
        table = read_table(path)
    inputs = read_inputs(table, {})
    return make_bunch(
        inputs,
        encode_labels(table.target, facts["labels"], where=name),
        as_labels(facts["labels"]),
        return_X_y=return_X_y,
        as_frame=as_frame,
        DESCR=(
            f"{facts['title']}\n\n{facts['text']}\n\nRows: {table.n_rows}\n"
            f"Inputs: {len(inputs.columns)}\nLabels: {' < '.join(facts['labels'])}\n"
            f"Origin: {facts['origin']}\nLicence: {facts['licence']}\n"
        ),
        origin=facts["origin"],
        licence=facts["licence"],
    )


def load_anes96(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Party identification of 944 US voters in 1996, seven levels; see `load_dataset`."""
    return load_dataset("anes96", return_X_y=return_X_y, as_frame=as_frame)


def load_balance_scale(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Side to which a scale tips, L < B < R, 625 rows without noise; see `load_dataset`."""
    return load_dataset("balance_scale", return_X_y=return_X_y, as_frame=as_frame)


def load_era(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Acceptance of 1000 job applicants, nine levels; see `load_dataset`."""
    return load_dataset("era", return_X_y=return_X_y, as_frame=as_frame)


def load_esl(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Fitness of 488 job applicants, nine levels; see `load_dataset`.

    Examples
    --------
    >>> X, y = load_esl(return_X_y=True)
    >>> X.shape
    (488, 4)
    """
    return load_dataset("esl", return_X_y=return_X_y, as_frame=as_frame)


def load_lev(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Marks of lecturers by 1000 students, five levels; see `load_dataset`."""
    return load_dataset("lev", return_X_y=return_X_y, as_frame=as_frame)


def load_swd(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Risk judged by social workers, 1000 rows, four levels; see `load_dataset`."""
    return load_dataset("swd", return_X_y=return_X_y, as_frame=as_frame)
