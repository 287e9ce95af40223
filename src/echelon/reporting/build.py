"""From a leaderboard or a model to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.types import CostLike, LabelsLike, MatrixLike
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import read_scale
from ..tables import LabelledTable, Schema
from .content import LeftOutError, Section
from .document import Report, require_packages
from .facts import Facts


def report(
    subject: Any,
    X: MatrixLike | None = None,
    y: LabelsLike | None = None,
    *,
    leaderboard: Any = None,
    title: str | None = None,
    target: str | None = None,
    classes: LabelsLike | None = None,
    cost: CostLike = "absolute",
    cv: Any = 5,
    sections: Sequence[str] | None = None,
    path: str | Path | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    on_section: Callable[[str], None] | None = None,
) -> Report:
    """Describe a comparison of models, or one model, in a single HTML page.

    Parameters
    ----------
    subject : Leaderboard, TrainedModel or estimator
        What the page is about. An estimator or pipeline may be fitted or not and needs `X` and
        `y`. With a leaderboard and rows, the page also describes its best model, fitted to them.
    X : LabelledTable, data frame or array-like of shape (n, d), optional
        A labelled table has labels, their order and name, and the kinds of its columns with it.
    y : label column of shape (n,), optional
    leaderboard : Leaderboard, optional
        To show beside a model.
    title : str, optional
        What stands at the top.
    target : str, optional
        What the labels tell, such as "quality"; by default the name of the label column.
    classes : sequence, optional
        The labels from lowest to highest, where neither labels nor model state their order.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        What a wrong label costs: row y, column r is the cost of predicting r for the truth y.
    cv : int or "prefit", default=5
        Folds by which every row is predicted from other rows; "prefit" if the rows are new to a
        fitted model, which is then judged as it is.
    sections : sequence of str, optional
        Keys of the sections to make; by default all that have something to show, without the
        learning curve of a model whose fits take long.
    path : str or Path, optional
        Where to write the page.
    random_state : int, default=0
    n_jobs : int, optional
        Processes, as in joblib.
    on_section : callable, optional
        Called with the key of each section before it is made, to show progress.

    Returns
    -------
    report : Report
        Shows itself in a notebook; ``save(path)`` writes it.

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> from echelon.reporting import report
    >>> X, y = load_esl(return_X_y=True, as_frame=True)
    >>> page = report(ProportionalOdds(), X, y, sections=["summary", "confusion"])
    >>> list(page.sections)
    ['summary', 'confusion', 'appendix']
    """
    require_packages()
    from .sections import SECTIONS

    wanted = _wanted(sections, SECTIONS)
    schema = None
    if isinstance(X, LabelledTable):
        schema, target = X.schema, X.target if target is None else target
        classes = X.classes if classes is None else classes
        X, y = X.X, X.y if y is None else y
    _check_rows(X, y)
    _check_folds(cv)
    common = {"X": X, "y": y, "cost": cost, "cv": cv}
    common |= {"random_state": random_state, "n_jobs": n_jobs, "schema": schema}
    common |= {"is_patient": sections is not None}
    facts = _facts(subject, leaderboard, classes, common)
    facts.target = target or facts.target
    facts.title = title or _title(facts)
    # A model that cannot be fitted or cannot predict is the caller's to know of.
    _ = facts.held_out, facts.trial
    made, left_out = _make({key: SECTIONS[key] for key in wanted}, facts, on_section)
    page = Report(facts.title, made, left_out)
    if path is not None:
        page.save(path)
    return page


def _wanted(sections: Sequence[str] | None, known: dict[str, Any]) -> list[str]:
    if sections is None:
        return list(known)
    unknown = [key for key in sections if key not in known]
    if unknown:
        raise ValueError(f"sections must be some of {', '.join(known)}; found {str(unknown[0])!r}.")
    return [key for key in known if key in sections]


def _make(
    makers: dict[str, Callable[[Facts], Section | None]],
    facts: Facts,
    on_section: Callable[[str], None] | None,
) -> tuple[list[Section], list[tuple[str, str]]]:
    """Sections that have something to show, and why others are missing."""
    from .sections import appendix

    made, left_out = [], []
    for key, maker in makers.items():
        if on_section is not None:
            on_section(key)
        try:
            section = maker(facts)
        except LeftOutError as reason:
            left_out.append((key, str(reason)))
            continue
        except Exception as error:  # a page with a gap that it names is better than none
            left_out.append((key, f"{type(error).__name__}: {error}"))
            continue
        if section is not None:
            made.append(section)
    return [*made, appendix(facts, left_out)], left_out


def _facts(subject: Any, leaderboard: Any, classes: Any, common: dict[str, Any]) -> Facts:
    if _is_leaderboard(subject):
        if common["cv"] == "prefit":
            raise ValueError("cv must be a number of folds for a leaderboard; found 'prefit'.")
        facts = Facts("", "", _target_name(common["y"]), board=subject, **common)
        _read_labels(facts, classes)
        if facts.has_rows and subject.rows:
            facts.name, facts.model = _best_model(subject, facts)
        return facts
    if _is_trained(subject):
        facts = _trained_facts(subject, leaderboard, common)
        _read_labels(facts, facts.trained.classes if classes is None else classes)
        return facts
    if not hasattr(subject, "fit") or not hasattr(subject, "predict"):
        raise TypeError(
            "subject must be a leaderboard, a trained model, an estimator or a pipeline; found "
            f"{type(subject).__name__}."
        )
    return _estimator_facts(subject, leaderboard, classes, common)


def _trained_facts(subject: Any, leaderboard: Any, common: dict[str, Any]) -> Facts:
    if subject.task != "ordinal":
        raise ValueError(f"subject must be a model of ordered labels; found {subject.task!r}.")
    if common["X"] is not None:
        common = {**common, "X": subject.inputs(common["X"])}
    common = {**common, "schema": subject.schema}
    return Facts(
        "",
        subject.name,
        subject.target,
        board=leaderboard,
        trained=subject,
        model=subject.estimator,
        **common,
    )


def _estimator_facts(subject: Any, leaderboard: Any, classes: Any, common: dict[str, Any]) -> Facts:
    from ..inspection.holdout import unfitted
    from ..plots.reading import name_of

    if getattr(subject, "_estimator_type", "") == "ranker" or _is_ranker(subject):
        raise ValueError(
            f"subject must be a model of ordered labels; {type(subject).__name__} is a ranker, "
            "and ThresholdedRanker makes an ordinal model of it."
        )
    if common["X"] is None:
        raise ValueError("X and y must be given with an estimator.")
    facts = Facts("", name_of(subject), _target_name(common["y"]), board=leaderboard, **common)
    fitted = _is_fitted(subject)
    if common["cv"] == "prefit" and not fitted:
        raise ValueError("cv must be a number of folds for an estimator that is not fitted.")
    _read_labels(facts, classes if classes is not None else getattr(subject, "classes_", None))
    facts.model = subject if fitted else unfitted(subject, facts.scale).fit(facts.X, facts.y)
    return facts


def _read_labels(facts: Facts, classes: Any) -> None:
    if facts.y is None:
        return
    facts.scale, facts.codes = read_scale(facts.y, classes)
    if len(facts.codes) != np.shape(facts.X)[0]:
        raise ValueError(
            f"y must have as many rows as X, {np.shape(facts.X)[0]}; found {len(facts.codes)}."
        )
    # A wrong cost is told before anything is fitted.
    cost_matrix(facts.cost, facts.scale.n_classes)


def _best_model(board: Any, facts: Facts) -> tuple[str, Any]:
    """The leaderboard's best model of the roster with its usual settings, fitted to all rows."""
    from ..model_selection.roster import candidate_pipeline, find_candidate

    name = board.best.model
    try:
        candidate = find_candidate(name, facts.random_state)
    except ValueError:
        return name, None
    if facts.schema is None and type(facts.X).__module__.partition(".")[0] == "pandas":
        facts.schema = Schema.of(facts.X)
        facts.X = facts.schema.apply(facts.X)
    own = isinstance(facts.cost, str) and facts.cost == "absolute"
    pipeline = candidate_pipeline(
        candidate,
        facts.schema,
        classes=facts.scale.classes.tolist(),
        cost=None if own else facts.cost,
    )
    settings = {
        key if key.startswith("model__") else f"model__{key}": value
        for key, value in board.best.usual_settings.items()
    }
    return name, pipeline.set_params(**settings).fit(facts.X, facts.y)


def _check_rows(X: Any, y: Any) -> None:
    if (X is None) != (y is None):
        missing = "X" if X is None else "y"
        raise ValueError(f"X and y must be given together; {missing} is missing.")


def _check_folds(cv: Any) -> None:
    is_count = isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv >= 2
    if not is_count and not (isinstance(cv, str) and cv == "prefit"):
        raise ValueError(f"cv must be a number of folds from 2, or 'prefit'; found {cv!r}.")


def _is_leaderboard(subject: Any) -> bool:
    return hasattr(subject, "rows") and hasattr(subject, "undistinguished")


def _is_trained(subject: Any) -> bool:
    return hasattr(subject, "schema") and hasattr(subject, "estimator") and hasattr(subject, "task")


def _is_ranker(subject: Any) -> bool:
    from sklearn.utils import get_tags

    return get_tags(subject).estimator_type == "ranker"


def _is_fitted(subject: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(subject)
    except NotFittedError:
        return False
    return hasattr(subject, "classes_")


def _target_name(y: Any) -> str:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "label"


def _title(facts: Facts) -> str:
    if facts.board is not None and facts.trained is None:
        return f"Comparison of models for {facts.target}"
    return f"{facts.name} for {facts.target}"
