"""Build the report of a comparison or a model, and the document that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._utils.files import write_whole
from .._utils.packages import require_extra
from .._utils.types import (
    ClassesLike,
    CostLike,
    EstimatorLike,
    KeysLike,
    LabelsLike,
    MatrixLike,
    VectorLike,
)
from ..base.nested import fit_arguments
from ..base.row_design import RowDesign
from ..inspection.holdout import unfitted
from ..model_selection import Leaderboard, candidate_pipeline
from ..model_selection.preparation import with_probabilities
from ..model_selection.stack import board_candidate
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import read_scale
from ..plots.display import name_of
from ..tables import LabelledTable, Schema
from ..trained import TrainedModel
from .content import Section
from .facts import Facts
from .html import to_html
from .rows import Rows, Settings
from .study import Study


class Report:
    """One self-contained HTML page, from `echelon.report`.

    In a notebook it shows itself; `save` writes it to a file.

    Parameters
    ----------
    title : str
        What stands at the top.
    contents : sequence of Section
        Its sections, in order.
    left_out : sequence of (str, str)
        Sections that could not be made, and why.
    about : str
        What stands under the title.

    Attributes
    ----------
    html : str
        The page.
    sections : dict of str to str
        Keys and titles of the sections, in order.
    left_out : dict of str to str
        Sections that could not be made, and why.
    """

    def __init__(
        self,
        title: str,
        contents: Sequence[Section],
        left_out: Sequence[tuple[str, str]] = (),
        about: str = "",
    ) -> None:
        self.title = title
        self.sections = {section.key: section.title for section in contents}
        self.left_out = dict(left_out)
        self.html = to_html(title, contents, about)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        path : Path
        """
        target = Path(path)
        write_whole(target, self.html.encode())
        return target

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {', '.join(self.sections.values()).lower()}>"

    def _repr_html_(self) -> str:
        # Scripts of the page may run, but they see nothing of the notebook.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-modals" '
            'style="width:100%;height:760px;border:1px solid rgba(128,128,128,0.35)" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def report(
    subject: Leaderboard | TrainedModel | EstimatorLike,
    X: LabelledTable | MatrixLike | None = None,
    y: LabelsLike | None = None,
    *,
    leaderboard: Leaderboard | None = None,
    title: str | None = None,
    target: str | None = None,
    classes: ClassesLike | None = None,
    cost: CostLike = "absolute",
    cv: int | Literal["prefit"] = 5,
    sections: Sequence[str] | None = None,
    path: str | Path | None = None,
    source: str = "",
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    time: VectorLike | None = None,
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
        Folds by which every row is predicted from other rows; "prefit" to judge a fitted model as
        it is, which tells how good it is if the rows are new to it.
    sections : sequence of str, optional
        Keys of the sections to make; by default all that have something to show, without the
        learning curve, which needs folds of its own.
    path : str or Path, optional
        Where to write the page.
    source : str
        What the table is called, to stand at the top.
    sample_weight, groups, time : array-like of shape (n,), optional
        What each row counts, belongs to, and when it was taken, as for `run_contest`; a labelled
        table has them with it.
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
    require_extra("Reports need", "report", "jinja2", "matplotlib")
    from .sections import SECTIONS

    wanted = _wanted(sections, SECTIONS)
    settings = Settings(cost, _folds(cv), random_state, n_jobs, is_patient=sections is not None)
    roles = {"weights": sample_weight, "groups": groups, "time": time}
    given = _Given.of(X, y, classes, target, roles)
    facts = _facts(subject, leaderboard, given, settings)
    facts = replace(facts, table=given.table, source=source)
    if facts.study is not None:
        # A model that cannot be fitted or cannot predict is the caller's to know of.
        _ = facts.study.held_out, facts.study.trial
    made, left_out = _make({key: SECTIONS[key] for key in wanted}, facts, on_section)
    page = Report(title or facts.title, made, left_out, _about(source))
    if path is not None:
        page.save(path)
    return page


def _about(source: str) -> str:
    """What the table is called, and the day."""
    now = datetime.now(UTC)
    return ", ".join(filter(None, [source, f"{now.day} {now:%B %Y}"]))


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
            made.append(maker(facts))
        except Exception as error:  # a page with a gap that it names is better than none
            left_out.append((key, f"{type(error).__name__}: {error}"))
    shown = [section for section in made if section is not None]
    return [*shown, appendix(facts, left_out)], left_out


@dataclass(frozen=True, eq=False)
class _Given:
    """What the caller has told of the rows."""

    X: Any
    y: Any
    classes: Any
    target: str | None
    schema: Schema | None = None
    design: RowDesign = field(default_factory=RowDesign)
    table: LabelledTable | None = None

    @classmethod
    def of(cls, X: Any, y: Any, classes: Any, target: str | None, roles: dict[str, Any]) -> _Given:
        schema, table = None, None
        if isinstance(X, LabelledTable):
            table = X
            schema, target = X.schema, X.target if target is None else target
            classes = X.classes if classes is None else classes
            own = {"weights": X.weights, "groups": X.groups, "time": X.times}
            roles = {role: own[role] if v is None else v for role, v in roles.items()}
            X, y = X.X, X.y if y is None else y
        if (X is None) != (y is None):
            missing = "X" if X is None else "y"
            raise ValueError(f"X and y must be given together; {missing} is missing.")
        design = RowDesign() if y is None else RowDesign.of(len(y), **roles)
        return cls(X, y, classes, target, schema, design, table)

    @property
    def target_name(self) -> str:
        """What the labels tell, as stated or as their column is called."""
        name = self.target or getattr(self.y, "name", None)
        return name if isinstance(name, str) and name else "label"

    def rows(self, settings: Settings, known: Any = None) -> Rows | None:
        """The labelled rows, in the order of labels that is stated or else known."""
        if self.y is None:
            return None
        scale, codes = read_scale(self.y, known if self.classes is None else self.classes)
        n = np.shape(self.X)[0]
        if len(codes) != n:
            raise ValueError(f"y must have as many rows as X, {n}; found {len(codes)}.")
        # A wrong cost is told before anything is fitted.
        cost_matrix(settings.cost, scale.n_classes)
        return Rows(self.X, self.y, scale, codes, self.schema, self.design)


def _facts(subject: Any, leaderboard: Any, given: _Given, settings: Settings) -> Facts:
    if isinstance(subject, Leaderboard):
        return _comparison_facts(subject, given, settings)
    if isinstance(subject, TrainedModel):
        return _trained_facts(subject, leaderboard, given, settings)
    if not hasattr(subject, "fit") or not hasattr(subject, "predict"):
        raise TypeError(
            "subject must be a leaderboard, a trained model, an estimator or a pipeline; found "
            f"{type(subject).__name__}."
        )
    return _estimator_facts(subject, leaderboard, given, settings)


def _comparison_facts(board: Leaderboard, given: _Given, settings: Settings) -> Facts:
    if settings.cv == "prefit":
        raise ValueError("cv must be a number of folds for a leaderboard; found 'prefit'.")
    rows = given.rows(settings)
    name, study = "", None
    if rows is not None and board.rows:
        name = board.chosen.model
        rows, model = _chosen_model(board, rows, settings)
        study = None if model is None else Study(model, rows, settings, board=board, name=name)
    return Facts(name, given.target_name, settings, board, rows=rows, study=study)


def _trained_facts(trained: TrainedModel, board: Any, given: _Given, settings: Settings) -> Facts:
    if trained.task != "ordinal":
        raise ValueError(f"subject must be a model of ordered labels; found {trained.task!r}.")
    if given.X is not None:
        given = replace(given, X=trained.inputs(given.X))
    rows = replace(given, schema=trained.schema).rows(settings, trained.classes)
    study = None
    if rows is not None:
        seen = trained.was_fitted_to(rows.X, rows.codes)
        study = Study(
            trained.estimator,
            rows,
            settings,
            intervals=trained.intervals,
            seen=None if seen is None else int(seen.sum()),
            board=trained.leaderboard if board is None else board,
            name=trained.name,
        )
    target = given.target or trained.target
    return Facts(trained.name, target, settings, board, trained, rows, study)


def _estimator_facts(subject: Any, board: Any, given: _Given, settings: Settings) -> Facts:
    if get_tags(subject).estimator_type == "ranker":
        raise ValueError(
            f"subject must be a model of ordered labels; {type(subject).__name__} is a ranker, "
            "and ThresholdedRanker makes an ordinal model of it."
        )
    fitted = _is_fitted(subject)
    rows = given.rows(settings, getattr(subject, "classes_", None))
    if rows is None:
        raise ValueError("X and y must be given with an estimator.")
    if settings.cv == "prefit" and not fitted:
        raise ValueError("cv must be a number of folds for an estimator that is not fitted.")
    model = subject
    if not fitted:
        model = unfitted(subject, rows.scale)
        model.fit(rows.X, rows.y, **fit_arguments(model, rows.design))
    study = Study(model, rows, settings)
    name = name_of(subject)
    return Facts(name, given.target_name, settings, board, rows=rows, study=study)


def _chosen_model(board: Leaderboard, rows: Rows, settings: Settings) -> tuple[Rows, Any]:
    """The leaderboard's chosen model with its usual settings, fitted to all rows.

    None for a model that the roster does not know. The rows come with their schema.
    """
    if rows.schema is None and type(rows.X).__module__.partition(".")[0] == "pandas":
        schema = Schema.of(rows.X)
        rows = replace(rows, schema=schema, X=schema.apply(rows.X))
    classes = rows.scale.classes.tolist()
    cost = None if settings.is_absolute else settings.cost
    seed = settings.random_state
    try:
        candidate = board_candidate(
            board, board.chosen.model, rows.schema, classes=classes, cost=cost, random_state=seed
        )
    except ValueError:
        return rows, None
    pipeline = candidate_pipeline(candidate, rows.schema, classes=classes, cost=cost)
    chosen = {
        key if key.startswith(("model__", "prepare__")) else f"model__{key}": value
        for key, value in board.chosen.usual_settings.items()
    }
    model = with_probabilities(
        pipeline.set_params(**chosen),
        classes=classes,
        cost=cost,
        random_state=seed,
        decision=candidate.decision,
    )
    return rows, model.fit(rows.X, rows.y, **fit_arguments(model, rows.design))


def _folds(cv: Any) -> Any:
    is_count = isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv >= 2
    if not is_count and not (isinstance(cv, str) and cv == "prefit"):
        raise ValueError(f"cv must be a number of folds from 2, or 'prefit'; found {cv!r}.")
    return cv


def _is_fitted(subject: Any) -> bool:
    try:
        check_is_fitted(subject)
    except NotFittedError:
        return False
    return hasattr(subject, "classes_")
