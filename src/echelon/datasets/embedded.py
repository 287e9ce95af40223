"""Small real sets that come with the package; origin and licence stand in ``data/README.md``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

from .._utils.messages import require_choice
from .bunches import as_labels, encode_labels, make_bunch, read_inputs
from .tables import read_table

_BEN_DAVID = "A. Ben-David, donated to the WEKA project; taken from skordinal 0.2.0"
_BSD = "BSD-3-Clause, copyright (c) 2025 The skordinal developers"
_MONOTONE = "The label is meant not to fall as an input rises, though noise breaks this at times."


@dataclass(frozen=True)
class _Embedded:
    title: str
    labels: tuple[str, ...]
    text: str
    origin: str = _BEN_DAVID
    licence: str = _BSD


def _digits(last: int) -> tuple[str, ...]:
    return tuple(str(label) for label in range(1, last + 1))


_SETS = {
    "anes96": _Embedded(
        "Party identification, American National Election Study 1996",
        (
            "strong Democrat",
            "weak Democrat",
            "independent Democrat",
            "independent",
            "independent Republican",
            "weak Republican",
            "strong Republican",
        ),
        "944 voters. Inputs: popul, population of the place in thousands; TVnews, how many times a "
        "week television news is watched; selfLR, ClinLR and DoleLR, where voters place "
        "themselves, Clinton and Dole from 1 (extremely liberal) to 7 (extremely conservative); "
        "age; educ, education from 1 (eight grades at most) to 7 (doctorate); "
        "income, bracket 1 to 24; vote, 0 for Clinton and 1 for Dole.",
        "American National Election Studies, 1996; taken from statsmodels 0.15.0",
        "public domain",
    ),
    "balance_scale": _Embedded(
        "Balance scale",
        ("L", "B", "R"),
        "All 625 combinations of weight and distance, 1 to 5, on the two arms of a scale. The "
        "label is the arm that goes down: L (left), B (balanced) or R (right), by comparing "
        "weight times distance of the two sides. There is no noise.",
        "R. S. Siegler (1976), UCI Machine Learning Repository, doi 10.24432/C5488X; taken from "
        "skordinal 0.2.0",
        f"{_BSD}; CC BY 4.0 at UCI",
    ),
    "era": _Embedded(
        "Employee rejection or acceptance",
        _digits(9),
        "1000 judgements of how willingly a job applicant would be accepted, 1 (reject) to 9 "
        f"(accept), given four ordinal traits in1 to in4 that the donor left unnamed. {_MONOTONE}",
    ),
    "esl": _Embedded(
        "Employee selection",
        _digits(9),
        "488 applicants for industrial jobs, rated 1 to 9 for overall fitness by experts, given "
        f"four ordinal scores in1 to in4 of tests and interviews. {_MONOTONE}",
    ),
    "lev": _Embedded(
        "Lecturers evaluation",
        _digits(5),
        "1000 student evaluations: the lecturer's overall mark, 1 to 5, given four ordinal "
        f"ratings in1 to in4. The donor counts the marks from 0 to 4. {_MONOTONE}",
    ),
    "swd": _Embedded(
        "Social workers' decisions",
        _digits(4),
        "1000 assessments by social workers of the risk, 1 (lowest) to 4 (highest), that a child "
        f"faces at home, given ten ordinal findings in1 to in10. {_MONOTONE}",
    ),
}


def list_datasets() -> list[str]:
    """Names of the sets that come with the package, for `load_dataset`.

    Examples
    --------
    >>> list_datasets()
    ['anes96', 'balance_scale', 'era', 'esl', 'lev', 'swd']
    """
    return sorted(_SETS)


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
    facts = _SETS[name]
    with as_file(files(__package__) / "data" / f"{name}.csv") as path:
        table = read_table(path)
    inputs = read_inputs(table, {})
    return make_bunch(
        inputs,
        encode_labels(table.target, facts.labels, where=name),
        as_labels(facts.labels),
        return_X_y=return_X_y,
        as_frame=as_frame,
        DESCR=_describe(facts, table.n_rows, len(inputs.columns)),
        origin=facts.origin,
        licence=facts.licence,
    )


def _describe(facts: _Embedded, n_rows: int, n_inputs: int) -> str:
    return (
        f"{facts.title}\n\n{facts.text}\n\n"
        f"Rows: {n_rows}\nInputs: {n_inputs}\nLabels: {' < '.join(facts.labels)}\n"
        f"Origin: {facts.origin}\nLicence: {facts.licence}\n"
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
