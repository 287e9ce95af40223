"""Fitted models that can be taken away: with their table's schema, their scale and their figures.

`train` fits one to a labelled table, `TrainedModel.save` writes it to a file without pickle, and
`load_model` reads such a file or says why it does not. `make_keys` makes keys to sign files with.
"""

from typing import Any

from .model import TrainedModel, load_model
from .model_file import ModelFileError

__all__ = ["ModelFileError", "TrainedModel", "load_model", "make_keys", "train"]


def __getattr__(name: str) -> Any:
    # Training needs the whole roster of models, which a saved model does not.
    if name == "train":
        from .training import train

        return train
    if name == "make_keys":
        from .signing import make_keys

        return make_keys
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
