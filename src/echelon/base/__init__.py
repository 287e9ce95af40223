"""What all estimators share: validation, decoding, nested estimators, rounds and folds."""

from .mixins import OrdinalClassifierMixin, RankerMixin, ThresholdModelMixin

__all__ = ["OrdinalClassifierMixin", "RankerMixin", "ThresholdModelMixin"]
