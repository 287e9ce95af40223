"""A fitted model with the tables it reads, and one value per row that grows with the label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from .._utils.types import Codes, Index, LabelsLike, Vector
from ..base.reading import FittedModel, label_order, latent_scores
from ..base.wrappers import inner_estimator, known_classes, known_inputs, opened
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import expected_rank
from .table import Table

VALUES = ("auto", "rank", "score")
# Rows in one call of a model, so that kernel machines stay within bounds.
BATCH = 16_384


class Response(FittedModel):
    """A fitted model, read through its predictions.

    Parameters
    ----------
    model : fitted estimator, pipeline, or trained model
        Anything with ``predict`` and ``classes_``, or a trained model with ``classes``.
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.
    y : label column, optional
        Whose type may state the order.
    kinds : mapping from str to str, optional
        What columns of numbers are, see `Table`; by default as the schema of a trained model has
        it.
    """

    def __init__(
        self,
        model: Any,
        classes: LabelsLike | None = None,
        y: Any = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        inner = inner_estimator(model)
        if getattr(inner, "classes_", None) is None:
            raise ValueError(
                "model must be fitted and have classes_; found "
                f"{type(inner).__name__} without them."
            )
        known = known_classes(model)
        order = label_order(known, classes, y)
        super().__init__(inner, OrdinalScale(np.asarray(order)))
        self.scale.encode(known, name="The model's classes")
        self._outer = model
        self._kinds = stated_kinds(getattr(model, "schema", None)) if kinds is None else kinds

    def table(self, X: Any) -> Table:
        """Inputs with the columns that the model knows; a trained model leaves others out."""
        return Table(known_inputs(self._outer, X), self._kinds)

    def labelled(self, X: Any, y: LabelsLike) -> tuple[Table, Codes]:
        """Inputs as above, and the codes of as many labels."""
        table, truth = self.table(X), self.scale.encode(y)
        table.require_labels(truth)
        return table, truth

    @property
    def classes(self) -> npt.NDArray[Any]:
        """Labels from lowest to highest."""
        return self.scale.classes

    @property
    def has_score(self) -> bool:
        """Whether the model has one latent score per row."""
        return opened(self.model, None, "predict_latent") is not None

    def unit(self, value: str = "auto") -> str:
        """What `values` are counted in: "ranks", or "score" for a latent score."""
        require_choice("value", value, VALUES)
        if value == "score" and not self.has_score:
            raise ValueError("value must be 'rank' or 'auto' for a model without a latent score.")
        by_score = value == "auto" and not self.has_probabilities and self.has_score
        return "score" if value == "score" or by_score else "ranks"

    def values(self, X: Any, value: str = "auto") -> Vector:
        """One number per row that grows with the label.

        The expected rank Σ_k k·p_k, counted from 0, where there are probabilities; else the latent
        score; else the rank of the predicted label.
        """
        if self.unit(value) == "score":
            return np.asarray(latent_scores(self.model, X))
        p = self.probabilities(X)
        return self.codes(X).astype(np.float64) if p is None else expected_rank(p)

    def batched(
        self, table: Table, rows: Index, other: dict[int, Index], ask: Callable[[Any], Any]
    ) -> npt.NDArray[Any]:
        """What the model, asked for some rows at a time, says of a gathered table."""
        parts = []
        for start in range(0, len(rows), BATCH):
            part = slice(start, start + BATCH)
            X = table.gather(rows[part], {j: source[part] for j, source in other.items()})
            parts.append(ask(X))
        return np.concatenate(parts) if parts else np.zeros(0)


def stated_kinds(schema: Any) -> dict[str, str]:
    """Kind of each column by name, as a schema has it; nothing without one."""
    return {} if schema is None else {column.name: column.kind for column in schema.columns}
