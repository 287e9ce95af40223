"""What a fitted ensemble of rules shows of itself: sentences, tables, explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .._utils.types import MatrixLike, Vector
from ..base.validation import OrdinalData
from .ensemble import Levels, RuleEnsemble
from .explanations import Explanation, explain_rows
from .names import Naming, name_rules
from .rule import Rule, feature_importances, merge_rounds
from .text import by_importance, rules_html, to_frame, to_text


class ReadableRulesMixin:
    """Texts for an estimator whose ``_ensembles`` and ``_levels`` are set.

    ``fit`` calls ``_name_rules`` with the training rows.
    """

    _ensembles: list[RuleEnsemble]
    _levels: Levels
    _naming: Naming

    def _name_rules(self, data: OrdinalData) -> None:
        vars(self).pop("rules_", None)
        self._naming = name_rules(
            [body for part in self._ensembles for body in part.bodies],
            data.X,
            data.codes,
            data.sample_weight,
            data.scale.classes,
            self._columns,
            getattr(self, "feature_names_in_", None),
        )

    @cached_property
    def rules_(self) -> list[Rule]:
        """The rules, each body once, in the order in which they were found."""
        parts = self._ensembles
        bodies = [body for part in parts for body in part.bodies]
        responses = np.concatenate([part.responses for part in parts])
        shares = np.concatenate([part.class_shares for part in parts])
        problems = None
        if not self._levels.joint:
            below = self._levels.observed
            problems = [int(below[k]) for k, part in enumerate(parts) for _ in part.bodies]
        return merge_rounds(bodies, responses, shares, self._naming, problems)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Importance of the rules that use each input, shared equally; they sum to one."""
        check_is_fitted(self)
        return feature_importances(self.rules_, self.n_features_in_)

    @property
    def _shown_thresholds(self) -> Vector:
        """Thresholds that texts name; NaN for those of a level that has no score of its own."""
        if self._levels.joint:
            return self.thresholds_
        shown = np.full(len(self.classes_) - 1, np.nan)
        shown[self._levels.observed[:-1]] = [float(part.thresholds[0]) for part in self._ensembles]
        return shown

    def to_text(
        self,
        n: int | None = None,
        *,
        units: Mapping[str, str] | None = None,
        target: str = "label",
        width: int = 88,
    ) -> str:
        """The rules in sentences, the most important first, and how scores become labels.

        Parameters
        ----------
        n : int, optional
            Most rules to tell; by default all.
        units : mapping from str to str, optional
            Units of inputs by their names.
        target : str, default="label"
            What the labels tell, such as "quality".
        width : int, default=88
            Most characters of a line.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        naming = replace(self._naming, units=units or {}, target=target)
        return to_text(self.rules_, naming, self._shown_thresholds, n, width)

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rules as a data frame, a row for each, the most important first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the frame.

        Returns
        -------
        frame : data frame
            Conditions, response, coverage, importance, share of each class among the covered rows
            and the number of rounds that found the rule.
        """
        check_is_fitted(self)
        return to_frame(by_importance(self.rules_), self._naming, backend)

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Why rows get their labels: the rules that cover them and what each adds to the score.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)

        Returns
        -------
        explanations : list of Explanation
            One for each row, with ``score``, ``label`` and ``parts``; ``print`` tells it in words.
        """
        check_is_fitted(self)
        labels = self.classes_[self._codes(X)]
        return explain_rows(
            self.rules_, self._naming, self._positions(X), self._shown_thresholds, labels
        )

    def _repr_html_inner(self) -> str:
        """What notebooks show: the rules once there are any."""
        if not hasattr(self, "rules_"):
            return super()._repr_html_inner()
        return rules_html(self.rules_, self._naming, self._shown_thresholds)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
