"""Models with one latent score as plain arrays, which predict without scikit-learn.

To import scikit-learn and skops takes longer than to predict a million rows with a linear model or
with rules. Such a model is a preparation of columns, a score, and chances that follow from the
score; so is the second model that its intervals come from. `echelon.trained.array_form` takes these
arrays from a fitted model, and a model file keeps them beside it.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.types import Codes, Matrix, Vector
from ..ordinal.intervals import EQUAL
from .names import HIGH, LOW, PREDICTED, PROBABILITY
from .rule_masks import RuleMasks, level_places

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import Schema

Arrays = dict[str, Any]


@dataclass(frozen=True)
class ArrayModel:
    """Labels, chances and intervals of rows, by the arrays of a trained model.

    Parameters
    ----------
    arrays : dict
        ``model`` and maybe ``judge``, each with preparation, score, chances and decision, which
        has chances of its own where it rests on others; and ``reach``, the greatest strangeness of
        a label inside the judge's interval.
    schema : Schema
    classes : list
    """

    arrays: Arrays
    schema: Schema
    classes: list[Any]

    def check(self) -> None:
        """Raise an error if the arrays do not fit together, before any row is read."""
        import pandas as pd

        n_classes = len(self.classes)
        for name in {"model", "judge"} & set(self.arrays):
            part = self.arrays[name]
            decision = part["decision"]
            chances = [part["chances"], decision.get("chances", part["chances"])]
            sizes = [len(found["cuts"]) + 1 for found in chances]
            sizes += decision["cost"].shape if "cost" in decision else [len(decision["cuts"]) + 1]
            if set(sizes) != {n_classes}:
                raise ValueError("they are not about as many labels as its card")
            if part["score"]["kind"] == "linear":
                _check_linear(part["score"], part["preparation"])
        self.predict_frame(pd.DataFrame({name: [np.nan] for name in self.schema.names}))

    def predict_frame(
        self, frame: pd.DataFrame, *, proba: bool = True, interval: bool = True
    ) -> pd.DataFrame:
        """As `TrainedModel.predict_frame`."""
        import pandas as pd

        frame = self.schema.apply(frame)
        interval = interval and "judge" in self.arrays
        scores = self._scores(frame, interval)
        chances, codes = _answers(self.arrays["model"], scores[0])
        labels = np.asarray(self.classes)
        columns: dict[str, Any] = {PREDICTED: labels[codes]}
        if proba:
            columns |= {f"{PROBABILITY}{c}": chances[k] for k, c in enumerate(self.classes)}
        if interval:
            low, high = self._interval(scores[1])
            columns[LOW] = labels[np.minimum(low, codes)]
            columns[HIGH] = labels[np.maximum(high, codes)]
        return pd.DataFrame(columns, index=frame.index)

    def _scores(self, frame: pd.DataFrame, interval: bool) -> Any:
        """Scores of the model and, for intervals, of the judge."""
        parts = [self.arrays[name] for name in (("model", "judge") if interval else ("model",))]
        if all(part["score"]["kind"] == "rules" for part in parts):
            return (self._all_rules if interval else self._own_rules)(frame)
        return [_linear_scores(part["score"], part["preparation"], frame) for part in parts]

    @cached_property
    def _all_rules(self) -> RuleMasks:
        return RuleMasks.of([self.arrays["model"], self.arrays["judge"]])

    @cached_property
    def _own_rules(self) -> RuleMasks:
        return RuleMasks.of([self.arrays["model"]])

    def _interval(self, scores: Vector) -> tuple[Codes, Codes]:
        return _grown_interval(*_answers(self.arrays["judge"], scores), self.arrays["reach"])


def _answers(part: Arrays, scores: Vector) -> tuple[Matrix, Codes]:
    """Chances and predicted codes of a part."""
    chances, decision = _chances(part["chances"], scores), part["decision"]
    behind = _chances(decision["chances"], scores) if "chances" in decision else chances
    return chances, _codes(decision, scores, behind)


def _codes(decision: Arrays, scores: Vector, chances: Matrix) -> Codes:
    if decision["kind"] == "cost":
        # As `minimum_cost_codes`; threads of a linear algebra library would only wait here.
        return np.asarray(np.einsum("kn,kj->jn", chances, decision["cost"]).argmin(axis=0))
    codes = np.zeros(len(scores), dtype=np.intp)
    for cut in decision["cuts"]:
        codes += scores > cut
    return codes


def _linear_scores(score: Arrays, preparation: Arrays, frame: pd.DataFrame) -> Vector:
    """Scores of numbers as they are: what scales them goes into the coefficients."""
    n_numbers = len(preparation["numbers"])
    slopes = score["coef"][:n_numbers] / preparation["scales"]
    shift = preparation["centres"] @ slopes
    scores = np.full(len(frame), -shift)
    for name, slope, fill in zip(preparation["numbers"], slopes, preparation["fills"], strict=True):
        column = frame[name].to_numpy(np.float64)
        holes = np.isnan(column)
        scores += slope * (np.where(holes, fill, column) if holes.any() else column)
    first = n_numbers
    for name in preparation["categories"]:
        table = preparation["tables"][name]
        coef = score["coef"][first : first + table["rows"].shape[1]]
        scores += (table["rows"] @ coef)[level_places(frame[name], table["levels"])]
        first += len(coef)
    return scores


def _check_linear(score: Arrays, preparation: Arrays) -> None:
    tables = [preparation["tables"][name] for name in preparation["categories"]]
    width = len(preparation["numbers"]) + sum(table["rows"].shape[1] for table in tables)
    if score["coef"].shape != (width,):
        raise ValueError("there is not one coefficient for each input")
    if any(len(table["rows"]) != len(table["levels"]) + 2 for table in tables):
        raise ValueError("the levels of a category do not fit its table")


def _chances(chances: Arrays, scores: Vector) -> Matrix:
    """Class probabilities of shape (K, n): arithmetic goes along rows, which are many."""
    scores, cuts = chances["slope"] * scores, chances["cuts"][:, None]
    if chances["kind"] == "link" and chances["link"] != "logit":
        from ..ordinal.likelihoods import class_probabilities, get_link

        return class_probabilities(get_link(chances["link"]), scores, cuts[:, 0]).T
    with np.errstate(over="ignore"):
        above = 1.0 / (1.0 + np.exp(cuts - scores))
        if chances["kind"] == "sides":
            edges = np.vstack([np.ones_like(scores), above, np.zeros_like(scores)])
            return np.asarray(edges[:-1] - edges[1:])
        below = 1.0 / (1.0 + np.exp(scores - cuts))
    # F(u) − F(l) = F(u)·F(−l)·(1 − e^(l − u)), which no subtraction of equals spoils.
    with np.errstate(invalid="ignore"):
        gaps = np.where(cuts[:-1] == cuts[1:], 0.0, -np.expm1(cuts[:-1] - cuts[1:]))
    return np.vstack([below[:1], above[:-1] * below[1:] * gaps, above[-1:]])


def _grown_interval(chances: Matrix, seeds: Codes, reach: float) -> tuple[Codes, Codes]:
    """Labels whose `echelon.ordinal.intervals.probability_nonconformity` is at most the reach.

    An interval grows from its seed as long as the probability inside it is within the reach.
    """
    n_classes, n = chances.shape
    framed = np.full((n_classes + 2, n), -np.inf)
    framed[1:-1] = chances
    flat, low = framed.ravel(), (seeds + 1) * n + np.arange(n)
    high, mass = low.copy(), framed.ravel()[low]
    for _ in range(n_classes - 1):
        left, right = flat[low - n], flat[high + n]
        growing = (mass <= reach) & (np.maximum(left, right) > -np.inf)
        if not growing.any():
            break
        goes_left = growing & (left >= right - EQUAL)
        goes_right = growing & (right >= left - EQUAL)
        low -= n * goes_left
        high += n * goes_right
        mass += np.where(goes_left, left, 0.0) + np.where(goes_right, right, 0.0)
    return low // n - 1, high // n - 1


def pack(arrays: Arrays) -> bytes:
    """The arrays as an uncompressed ``.npz``; all else is in its member ``rest``, as JSON."""
    flat, rest = _flat(arrays)
    buffer = io.BytesIO()
    np.savez(buffer, rest=np.array(json.dumps(rest)), **flat)
    return buffer.getvalue()


def _flat(arrays: Arrays, path: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    flat, rest = {}, {}
    for key, value in arrays.items():
        if isinstance(value, dict):
            inner, other = _flat(value, f"{path}{key}\n")
            flat.update(inner)
            rest[key] = other
        elif isinstance(value, np.ndarray):
            flat[f"{path}{key}"] = value
        else:
            rest[key] = value
    return flat, rest


def unpack(content: bytes) -> Arrays:
    """The arrays that `pack` has packed; an error if there is anything else."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        # Packed without compression, so that nothing grows while it is read.
        if any(entry.file_size != entry.compress_size for entry in archive.infolist()):
            raise ValueError("some of them are compressed")
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        arrays: Arrays = json.loads(str(found["rest"][()]))
        for path in found.files:
            if path != "rest":
                *folders, name = path.split("\n")
                inner = arrays
                for folder in folders:
                    inner = inner[folder]
                inner[name] = found[path]
    for part in ("model", "judge"):
        if part in arrays and arrays[part]["score"]["kind"] == "rules":
            _check_rules(arrays[part]["score"])
    return arrays


def _check_rules(score: Arrays) -> None:
    """The native loop over rules trusts its tables, so a file must not."""
    table, edges = score["table"], list(score["edges"].values())
    starts, places, offsets = table["starts"], table["places"], table["offsets"]
    widths = np.array([len(cuts) + 2 for cuts in edges], dtype=np.intp)
    sound = (
        len(starts) == len(table["responses"]) + 1
        and starts[0] == 0
        and starts[-1] == len(places) == len(offsets) - 1
        and (np.diff(starts) > 0).all()
        and len(table["features"]) == len(edges)
        and ((places >= 0) & (places < len(edges))).all()
        and offsets[0] == 0
        and offsets[-1] == len(table["allowed"])
        and (np.diff(offsets) == widths[places]).all()
        and (table["allowed"] <= 1).all()
    )
    if not sound:
        raise ValueError("the tables of its rules do not fit together")
