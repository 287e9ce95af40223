"""The base classes of scikit-learn, as type checkers see them.

scikit-learn has no types, so a class that inherits from it would have every attribute in the eyes
of a type checker. This is the one place where that is set right: checkers read the classes below,
and a program that runs gets scikit-learn's own, or what adds to it what all estimators here share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from .._utils.types import LabelArray, LabelsLike, MatrixLike, VectorLike

    class BaseEstimator:
        """What every estimator has: parameters, tags, metadata routing."""

        n_features_in_: int
        feature_names_in_: LabelArray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

        def set_params(self, **params: Any) -> Self: ...

        def get_metadata_routing(self) -> Any: ...

        def __getstate__(self) -> dict[str, Any]: ...

        def _repr_html_inner(self) -> str: ...

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]: ...

        def set_fit_request(self, **requests: bool | str | None) -> Self: ...

        def set_partial_fit_request(self, **requests: bool | str | None) -> Self: ...

        def set_score_request(self, **requests: bool | str | None) -> Self: ...

        def __sklearn_tags__(self) -> Any: ...

    EstimatorMixin = BaseEstimator

    class ClassifierMixin:
        """A classifier: it scores its predictions."""

        classes_: LabelArray

        def score(
            self, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None
        ) -> float: ...

        def __sklearn_tags__(self) -> Any: ...

    class TransformerMixin:
        """A transformer: it fits and transforms at once, into the container that is asked for."""

        def fit_transform(self, X: MatrixLike, y: LabelsLike | None = None) -> Any: ...

        def set_output(self, *, transform: str | None = None) -> Self: ...

        def __sklearn_tags__(self) -> Any: ...

    class OneToOneFeatureMixin:
        """A transformer whose outputs are its inputs, by name."""

        def get_feature_names_out(self, input_features: VectorLike | None = None) -> LabelArray: ...

else:
    from sklearn.base import BaseEstimator as _BaseEstimator
    from sklearn.base import ClassifierMixin, OneToOneFeatureMixin, TransformerMixin

    from .._utils.state import WithoutCaches

    class BaseEstimator(WithoutCaches, _BaseEstimator):
        """scikit-learn's own, whose state has nothing in it that is only kept to be fast."""

    class EstimatorMixin:
        """Base of mixins: classes list them before ``BaseEstimator``, whose methods they extend."""


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "EstimatorMixin",
    "OneToOneFeatureMixin",
    "TransformerMixin",
]
