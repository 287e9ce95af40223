"""The models that tables are reproduced with, by the name of their column.

A model is one function from a `Problem` to an estimator, registered under the column's name::

    @register_model("SVR")
    def rounded_svr(problem): ...

An estimator that is a scikit-learn search (it has ``best_params_`` once fitted) is tuned as the
effort asks; any other estimator is fitted as it is, once for all efforts. The models of a family
share a module: `svm`, `boosting`, `rules`, `gaussian_process`.
"""

from . import boosting, gaussian_process, rules, svm  # noqa: F401 - they register themselves
from .registry import Model, Problem, get_model, list_models, register_model
from .svm import fixed

__all__ = [
    "Model",
    "Problem",
    "fixed",
    "get_model",
    "list_models",
    "register_model",
]
