"""A fitted model with all that is needed to use it elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

from .._utils.messages import warn_caller
from .._utils.packages import package_version
from .._utils.state import StateError
from .._utils.types import Codes, LabelArray, Mask, MatrixLike
from ..ordinal.labels import read_scale
from ..tables import RowMarks, Schema
from .model_file import (
    ModelFileError,
    dump_estimators,
    load_estimators,
    one_line,
    read_model_file,
    write_model_file,
)

ORDINAL, RANKING = "ordinal", "ranking"
# Names of the columns of predictions.
PREDICTED, PROBABILITY, LOW, HIGH = "predicted", "p_", "interval_low", "interval_high"
SCORE = "score"

_PACKAGES = ("echelon", "numpy", "scipy", "scikit-learn")
# A model is the code of these two as much as its numbers.
_TELLING = ("echelon", "scikit-learn")
_LABEL_TYPES = {"text": str, "integer": int, "number": float, "boolean": bool}


def current_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a fitted model depends on."""
    found = {name: package_version(name) or "unknown" for name in _PACKAGES}
    return {"python": python_version(), **found}


@dataclass
class TrainedModel:
    """A fitted estimator with the schema of its inputs, its scale, its figures and its origin.

    Parameters
    ----------
    estimator : estimator
        A fitted pipeline from the columns of ``schema``, maybe inside `OrdinalCalibrator`.
    schema : Schema
        Names, kinds and categories of the input columns.
    classes : list
        The labels from lowest to highest; empty for a ranking.
    target : str
        Name of the label column.
    name : str
        Name of the model.
    task : {"ordinal", "ranking"}
    metrics : dict of str to float
        Cross-validated figures by name, with standard errors as ``<name>_se``;
        ``extra["evaluated"]`` says over which folds.
    versions : dict of str to str
        Versions of Python and of packages at training.
    created : str
        When it was trained, in UTC.
    notes : tuple of str
        Sentences about how it came about.
    extra : dict
        Anything else that JSON can hold.
    intervals : ConformalOrdinal, optional
        A second model of the same kind, fitted on a part of the rows and calibrated on the others.
        Its interval, and the label of ``estimator``, are in every prediction interval: so labels
        come from all rows and intervals keep their guarantee.
    leaderboard : Leaderboard, optional
        Where the figures are from, with predictions for rows held out; not in the file.
    """

    estimator: Any
    schema: Schema
    classes: list[Any]
    target: str
    name: str
    task: str = ORDINAL
    metrics: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=current_versions)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    notes: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    intervals: Any = None
    leaderboard: Any = field(default=None, repr=False, compare=False)

    def was_fitted_to(self, X: MatrixLike, codes: Codes) -> Mask | None:
        """Whether each row equals one that the model was fitted to; None if that is not known.

        Parameters
        ----------
        X : data frame or array-like, as for `predict`
        codes : ndarray of shape (n,)
            The labels as positions in ``classes``.
        """
        marks = self.row_marks
        return None if marks is None else marks.among(self.inputs(X), codes)

    @property
    def row_marks(self) -> RowMarks | None:
        """Marks of the rows that the model was fitted to."""
        found = self.extra.get("fitted_to")
        return None if found is None else RowMarks.from_dict(found)

    def predict(self, X: MatrixLike) -> LabelArray:
        """Labels of rows, or scores of a ranking.

        Parameters
        ----------
        X : data frame with the columns of ``schema``, or array-like in their order
            Columns that the model does not know are ignored.

        Returns
        -------
        predicted : array of shape (n,)
        """
        return self.estimator.predict(self.inputs(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the labels, lowest first.

        Parameters
        ----------
        X : data frame or array-like, as for `predict`

        Returns
        -------
        probabilities : ndarray of shape (n, K)
        """
        if not self.can("predict_proba"):
            raise AttributeError(f"The model {self.name!r} has no probabilities.")
        return self.estimator.predict_proba(self.inputs(X))

    def predict_interval(self, X: MatrixLike) -> tuple[Any, Any]:
        """Lowest and highest label of a prediction interval.

        Parameters
        ----------
        X : data frame or array-like, as for `predict`

        Returns
        -------
        low, high : array of shape (n,)
        """
        X = self.inputs(X)
        return self._interval(X, self.estimator.predict(X))

    def _interval(self, X: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
        if self.intervals is None:
            raise AttributeError(f"The model {self.name!r} has no prediction intervals.")
        low, high = self.intervals.predict_interval_codes(X)
        codes = read_scale(predicted, self.classes)[1]
        labels = np.asarray(self.classes)
        return labels[np.minimum(low, codes)], labels[np.maximum(high, codes)]

    def can(self, method: str) -> bool:
        """Whether the model has ``"predict_proba"`` or ``"predict_interval"``."""
        if method == "predict_interval":
            return self.intervals is not None
        return hasattr(self.estimator, method)

    def inputs(self, X: MatrixLike) -> Any:
        """The columns that the model was trained on, in their order and types."""
        import pandas as pd

        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        if not isinstance(X, pd.DataFrame):
            rows, names = np.asarray(X), self.schema.names
            if rows.ndim != 2 or rows.shape[1] != len(names):
                raise ValueError(
                    f"X must be a table with {len(names)} columns, {', '.join(names)}; found shape "
                    f"{rows.shape}."
                )
            X = pd.DataFrame(rows, columns=names)
        return self.schema.apply(X)

    def predict_frame(self, X: MatrixLike, *, proba: bool = True, interval: bool = True) -> Any:
        """All that the model says about rows, as a frame.

        Parameters
        ----------
        X : data frame or array-like, as for `predict`
        proba, interval : bool
            Whether to have columns of probabilities, and of the interval's ends, if the model
            gives them.

        Returns
        -------
        frame : pandas.DataFrame of n rows
            ``predicted``, ``p_<label>`` for each label, ``interval_low`` and ``interval_high``; for
            a ranking ``score``. The index is that of X.
        """
        import pandas as pd

        # Not above: what a file says of its model is read without scikit-learn.
        from ..base.reading import finite_answers, labels_and_probabilities

        rows = self.inputs(X)
        if self.task == RANKING:
            scores = self.estimator.predict(rows)
            finite_answers(scores[:, None], self.estimator)
            return pd.DataFrame({SCORE: scores}, index=rows.index)
        if proba and self.can("predict_proba"):
            predicted, found = labels_and_probabilities(self.estimator, rows)
            finite_answers(found, self.estimator)
            probabilities = {f"{PROBABILITY}{c}": found[:, k] for k, c in enumerate(self.classes)}
        else:
            predicted, probabilities = self.estimator.predict(rows), {}
        columns: dict[str, Any] = {PREDICTED: predicted, **probabilities}
        if interval and self.can("predict_interval"):
            columns[LOW], columns[HIGH] = self._interval(rows, predicted)
        return pd.DataFrame(columns, index=rows.index)

    def card(self) -> dict[str, Any]:
        """Everything but the estimator, as JSON can hold it."""
        return {
            "task": self.task,
            "name": self.name,
            "target": self.target,
            "classes": [plain(label) for label in self.classes],
            "label_type": label_type(self.classes),
            "schema": self.schema.to_dict(),
            "versions": self.versions,
            "created": self.created,
            "metrics": {k: v if np.isfinite(v) else None for k, v in self.metrics.items()},
            "notes": list(self.notes),
            "extra": self.extra,
        }

    def save(self, path: str | Path, *, key: str | Path | None = None) -> None:
        """Write the model to a file, whole or not at all, without pickle.

        Parameters
        ----------
        path : str or Path
            Usually ending in ``.echelon``.
        key : str or Path, optional
            File of the private key to sign with, as `make_keys` or ``echelon keygen`` made it.

        Raises
        ------
        ModelFileError
            If the model holds types that would not be loaded again, or does not fit its own card.
        """
        packed = dump_estimators([self.estimator, self.intervals])
        # What is written is what would be read: nothing is saved that would be refused later.
        model = _filled(replace(self), "The model cannot be saved", packed)
        from .trial import takes_missing

        card = {**self.card(), "takes_missing": takes_missing(model)}
        write_model_file(Path(path), card, packed, key)

    @classmethod
    def load(
        cls, path: str | Path, *, trusted_keys: Sequence[str | Path] | None = None
    ) -> TrainedModel:
        """Read a model from a file; see `load_model`."""
        return load_model(path, trusted_keys=trusted_keys)


def load_model(
    path: str | Path, *, trusted_keys: Sequence[str | Path] | None = None
) -> TrainedModel:
    """Read a model that `TrainedModel.save` or ``echelon fit`` wrote.

    Parameters
    ----------
    path : str or Path
    trusted_keys : sequence of str or Path, optional
        Files of public keys, of which one must have signed the file; by default a signature is not
        looked at.

    Returns
    -------
    model : TrainedModel

    Raises
    ------
    ModelFileError
        If the file is not a model file, was altered, is not signed by a trusted key where one is
        asked for, holds types that models here are not made of or values that no model has, does
        not fit its own card, or comes from another version of the format. Nothing of it has run
        then.
    """
    path = Path(path)
    card, packed = read_model_file(path, _several(trusted_keys))
    model = _from_card(path, card)
    _warn_of_versions(path, model.versions)
    return _filled(model, f"{path} is refused", packed, missing=card["takes_missing"])


def read_card(
    path: str | Path, *, trusted_keys: Sequence[str | Path] | None = None
) -> TrainedModel:
    """Read what a model file says of its model, and leave the estimator alone (None)."""
    path = Path(path)
    return _from_card(path, read_model_file(path, _several(trusted_keys))[0])


def _several(keys: Sequence[str | Path] | str | Path | None) -> Sequence[str | Path] | None:
    return [keys] if isinstance(keys, str | Path) else keys


def _filled(
    model: TrainedModel, refusal: str, packed: tuple[bytes, bytes], missing: bool = False
) -> TrainedModel:
    """A model with the estimators of a file, if they are what its card says."""
    # Not above: what a file says of its model is read without scikit-learn.
    from .trial import check_model

    found = load_estimators(refusal, *packed)
    if not isinstance(found, list) or len(found) != 2:
        raise ModelFileError(f"{refusal}, because what it holds cannot predict.")
    model.estimator, model.intervals = found
    try:
        check_model(model, missing)
    except StateError as error:
        raise ModelFileError(f"{refusal}, because {one_line(error)}.") from None
    except Exception as error:
        raise ModelFileError(
            f"{refusal}, because it cannot predict rows of its own columns: {one_line(error)}."
        ) from error
    return model


def _from_card(path: Path, card: dict[str, Any]) -> TrainedModel:
    try:
        _check_card(card)
        return TrainedModel(
            estimator=None,
            schema=Schema.from_dict(card["schema"]),
            classes=card["classes"],
            target=card["target"],
            name=card["name"],
            task=card["task"],
            metrics={k: np.nan if v is None else float(v) for k, v in card["metrics"].items()},
            versions=dict(card["versions"]),
            created=card["created"],
            notes=tuple(card["notes"]),
            extra=dict(card["extra"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{path} is refused, because its card is not complete: {str(error).rstrip('.')}."
        ) from None


def _check_card(card: dict[str, Any]) -> None:
    """Raise an error if an entry is not of the type that `TrainedModel.card` gives."""
    texts = [card[key] for key in ("name", "target", "task", "created")]
    texts += [*_list(card, "notes"), *dict(card["versions"]).values()]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is something else")
    if not isinstance(card["takes_missing"], bool):
        raise TypeError("'takes_missing' is neither true nor false")
    if card["task"] not in (ORDINAL, RANKING):
        raise ValueError(f"its task is {card['task']!r}")
    classes = _list(card, "classes")
    kind = _LABEL_TYPES[card["label_type"]]
    # JSON does not tell 1.0 from 1.
    if not all(type(label) is kind or (kind is float and type(label) is int) for label in classes):
        raise TypeError(f"a label is no {card['label_type']}")
    if len(set(classes)) < max(len(classes), 2 if card["task"] == ORDINAL else 0):
        raise ValueError("its labels are not two or more distinct ones")


def _list(card: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(card[key], list):
        raise TypeError(f"{key!r} is no list")
    return list(card[key])


def _warn_of_versions(path: Path, then: dict[str, str]) -> None:
    now = current_versions()
    changed = [
        f"{name} {then.get(name, 'unknown')} (here {now[name]})"
        for name in _TELLING
        if then.get(name) != now[name]
    ]
    if changed:
        warn_caller(
            f"{path} was trained with {' and '.join(changed)}; its predictions may differ.",
            UserWarning,
        )


def label_type(classes: Iterable[Any]) -> str:
    """What the labels are: text, integer, number or boolean."""
    found = {type(plain(label)) for label in classes}
    for name, kind in _LABEL_TYPES.items():
        if found <= {kind}:
            return name
    if found <= {int, float}:
        return "number"
    raise ModelFileError(
        "A model can be saved if its labels are texts, numbers or booleans; found "
        f"{' and '.join(sorted(kind.__name__ for kind in found))}."
    )


def plain(value: Any) -> Any:
    """A scalar of NumPy as Python's own, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
