"""Ensembles for ordered labels: AdaBoost.OR, ORBoost and bagging."""

from .adaboost_or import AdaBoostOR
from .bagging import OrdinalBagging
from .orboost import ORBoost

__all__ = ["AdaBoostOR", "ORBoost", "OrdinalBagging"]
