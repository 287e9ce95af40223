"""Every public estimator, found by looking, and the instances that contracts run on."""

import inspect

from sklearn.base import BaseEstimator

import echelon
from echelon import OrdinalReduction, ProportionalOdds
from echelon.base import OrdinalClassifierMixin

# Instances besides the default one, where another setting takes another path through the code.
VARIANTS = {
    "ProportionalOdds": [ProportionalOdds("probit", alpha=0.5)],
    "OrdinalReduction": [OrdinalReduction(mode="joint")],
}


def public_estimators():
    """All estimator classes among the public names."""
    members = [getattr(echelon, name) for name in echelon.__all__]
    return [m for m in members if inspect.isclass(m) and issubclass(m, BaseEstimator)]


def instances():
    """Default instance of every public estimator, and its variants."""
    return [
        instance
        for cls in public_estimators()
        for instance in [cls(), *VARIANTS.get(cls.__name__, [])]
    ]


def ordinal_instances():
    return [i for i in instances() if isinstance(i, OrdinalClassifierMixin)]


def label(instance):
    """Short name of an instance for test ids."""
    return repr(instance).replace("\n", "").replace(" ", "")
