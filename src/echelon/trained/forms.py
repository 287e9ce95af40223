"""Models of other packages whose native code follows what they hold, in a form that is checked.

scikit-learn's trees, its boosted trees, its support vector machines and its one-hot codes, and
LightGBM, work by loops that look up children, features, leaves and columns without a look at the
bounds. They are kept as columns of numbers or as text, or are checked before they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.state import are_indices, require_state
from .lightgbm_text import checked_text, without_settings
from .one_hot import ENCODER, check_encoder


@dataclass(frozen=True)
class Form:
    """How a type is taken apart into named values, and put together from them."""

    take_apart: Callable[[Any], dict[str, Any]]
    put_together: Callable[[type, dict[str, Any]], Any]


def check_binary_tree(left: Any, right: Any, leaf: Any) -> None:
    """Raise an error unless both children of every node that is no leaf come after it."""
    n = len(leaf)
    require_state(n > 0 and len(left) == n == len(right), "a tree has no nodes")
    inner = np.flatnonzero(~np.asarray(leaf, dtype=bool))
    for side in (left, right):
        chosen = side[inner].astype(np.int64)
        require_state(
            (chosen > inner) & (chosen < n), "the children of a node do not come after it"
        )


def _columns(state: dict[str, Any], names: tuple[str, ...]) -> list[np.ndarray]:
    columns = [state[name] for name in names]
    whole = all(isinstance(c, np.ndarray) and c.shape == columns[0].shape for c in columns)
    require_state(whole and columns[0].ndim == 1, "the columns of a tree differ in length")
    return columns


def _is_count(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


# ----------------------------------------------------------------------------------- decision trees

_TREE = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
)


def _tree_apart(tree: Any) -> dict[str, Any]:
    state = tree.__getstate__()
    nodes = {name: np.ascontiguousarray(state["nodes"][name]) for name in _TREE}
    return {
        "n_features": int(tree.n_features),
        "n_classes": np.asarray(tree.n_classes, dtype=np.int64),
        "max_depth": int(state["max_depth"]),
        "values": state["values"],
        **nodes,
    }


def _tree(kind: type, state: dict[str, Any]) -> Any:
    from sklearn.tree._tree import NODE_DTYPE

    left, right, feature, threshold, *_ = columns = _columns(state, _TREE)
    n_features, n_classes, values = state["n_features"], state["n_classes"], state["values"]
    leaf = left == -1
    check_binary_tree(left, right, leaf)
    require_state(right[leaf] == -1, "a leaf of a tree has a child")
    require_state(_is_count(n_features, 1), "a tree has no features")
    require_state(are_indices(feature[~leaf], n_features), "a tree looks at a feature that is none")
    require_state(np.isfinite(threshold), "a tree has a threshold that is not finite")
    sized = isinstance(n_classes, np.ndarray) and n_classes.ndim == 1 and len(n_classes) > 0
    require_state(sized and n_classes.dtype.kind == "i" and (n_classes > 0).all(), "no classes")
    shape = (len(leaf), len(n_classes), int(n_classes.max()))
    fits = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == shape
    require_state(fits and np.isfinite(values).all(), "the leaves of a tree have no values")
    require_state(_is_count(state["max_depth"]), "a tree has no depth")
    nodes = np.zeros(len(leaf), dtype=NODE_DTYPE)
    for name, column in zip(_TREE, columns, strict=True):
        nodes[name] = column
    tree = kind(n_features, n_classes.astype(np.intp), len(n_classes))
    tree.__setstate__(
        {
            "max_depth": state["max_depth"],
            "node_count": len(leaf),
            "nodes": nodes,
            "values": np.ascontiguousarray(values),
        }
    )
    return tree


def _check_tree_model(model: Any) -> None:
    if hasattr(model, "tree_"):
        from sklearn.tree._tree import Tree

        require_state(type(model.tree_) is Tree, "it has no tree")
        n_outputs, n_classes = model.n_outputs_, getattr(model, "n_classes_", 1)
        require_state(
            model.tree_.n_features == model.n_features_in_
            and model.tree_.n_outputs == n_outputs
            and model.tree_.n_classes.tolist() == np.atleast_1d(n_classes).tolist(),
            "its tree is one of other inputs or labels",
        )


def _check_forest(model: Any) -> None:
    for tree in getattr(model, "estimators_", ()):
        _check_tree_model(tree)
        require_state(
            tree.tree_.n_features == model.n_features_in_, "one of its trees is of other inputs"
        )


# ------------------------------------------------------------------------------------ boosted trees

_BOOSTED = (
    "value",
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "is_leaf",
)
_KEPT = (*_BOOSTED, "count", "gain", "depth", "bin_threshold")


def _predictor_apart(predictor: Any) -> dict[str, Any]:
    nodes = predictor.nodes
    require_state(~nodes["is_categorical"].astype(bool), "it parts categories, which is not kept")
    return {name: np.ascontiguousarray(nodes[name]) for name in _KEPT}


def _predictor(kind: type, state: dict[str, Any]) -> Any:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    columns = dict(zip(_KEPT, _columns(state, _KEPT), strict=True))
    leaf = columns["is_leaf"] != 0
    check_binary_tree(columns["left"], columns["right"], leaf)
    require_state(np.isfinite(columns["value"]), "a tree has a value that is not finite")
    require_state(~np.isnan(columns["num_threshold"]), "a tree has a threshold that is no number")
    nodes = np.zeros(len(leaf), dtype=PREDICTOR_RECORD_DTYPE)
    for name, column in columns.items():
        nodes[name] = column
    none = np.zeros((0, 8), dtype=np.uint32)
    return kind(nodes, none, none.copy())


def _mapper_apart(mapper: Any) -> dict[str, Any]:
    return dict(mapper.__getstate__())


def _mapper(kind: type, state: dict[str, Any]) -> Any:
    found = state["is_categorical_"]
    flags = isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "bu"
    require_state(flags and not found.any(), "it parts categories, which is not kept")
    mapper: Any = object.__new__(kind)
    mapper.__setstate__(state)
    return mapper


_WHEN_FITTING = ("_in_fit", "_loss")


def _boosting_apart(model: Any) -> dict[str, Any]:
    state = dict(model.__getstate__())
    require_state(state.get("_preprocessor") is None, "it parts categories, which is not kept")
    return {name: value for name, value in state.items() if name not in _WHEN_FITTING}


def _boosting(kind: type, state: dict[str, Any]) -> Any:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    require_state(
        not any(name in _WHEN_FITTING or hasattr(kind, name) for name in state),
        "an attribute is part of its class",
    )
    model: Any = object.__new__(kind)
    model.__setstate__(state)
    if "_predictors" not in state:
        return model
    d = state["n_features_in_"]
    require_state(state["_preprocessor"] is None, "it parts categories, which is not kept")
    require_state(_is_count(d, 1) and state.get("_n_features") == d, "its inputs are others")
    require_state(
        type(state["_bin_mapper"]) is _BinMapper and len(state["_bin_mapper"].is_categorical_) == d,
        "its bins are of other inputs",
    )
    stages, width = state["_predictors"], state["n_trees_per_iteration_"]
    require_state(_is_count(width, 1) and isinstance(stages, list), "its trees are none")
    for stage in stages:
        require_state(isinstance(stage, list) and len(stage) == width, "its trees are none")
        for tree in stage:
            require_state(type(tree) is TreePredictor, "its trees are none")
            inner = tree.nodes["is_leaf"] == 0
            require_state(
                are_indices(tree.nodes["feature_idx"][inner], d), "a tree looks at no feature"
            )
    model._loss = model._get_loss(sample_weight=None)
    return model


# -------------------------------------------------------------------------- support vector machines


def _check_machine(model: Any) -> None:
    """Refuse what libsvm would read beyond: it takes sizes from one array and reads others."""
    if not hasattr(model, "support_vectors_"):
        return
    rows, counts = model.support_vectors_, model._n_support
    labelled = hasattr(model, "classes_")
    classes = len(model.classes_) if labelled else 2
    pairs = classes * (classes - 1) // 2
    coefs, constants = model._dual_coef_, model._intercept_
    require_state(
        model._sparse is False
        and isinstance(model.kernel, str)
        and model.kernel in ("linear", "poly", "rbf", "sigmoid"),
        "its kernel is none of linear, poly, rbf and sigmoid for dense rows",
    )
    require_state(
        _is_matrix(rows, np.float64)
        and rows.shape[1] == model.n_features_in_
        and _is_vector(model.support_, np.int32, len(rows))
        and _is_vector(counts, np.int32, classes)
        and (counts >= 0).all()
        and int(counts.sum() if labelled else counts[0]) == len(rows),
        "its support vectors do not fit together",
    )
    require_state(
        _is_matrix(coefs, np.float64)
        and coefs.shape == (classes - 1, len(rows))
        and _is_vector(constants, np.float64, pairs)
        and all(_is_vector(p, np.float64, (0, pairs)) for p in (model._probA, model._probB)),
        "its coefficients do not fit its support vectors",
    )


def _is_matrix(value: Any, dtype: type) -> bool:
    fits = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype == dtype
    return fits and bool(np.isfinite(value).all()) and value.flags.c_contiguous


def _is_vector(value: Any, dtype: type, length: Any) -> bool:
    lengths = length if isinstance(length, tuple) else (length,)
    return (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.shape in [(n,) for n in lengths]
    )


# ----------------------------------------------------------------------------------------- LightGBM

_FITTED = (
    "_best_iteration",
    "_n_features",
    "_n_features_in",
    "fitted_",
    "_n_classes",
    "_objective",
)
# Settings beside those of the class, of which none names a file, a machine or a device.
_SETTINGS = frozenset(
    {
        "verbose",
        "verbosity",
        "deterministic",
        "force_col_wise",
        "force_row_wise",
        "max_bin",
        "min_data_in_bin",
        "extra_trees",
        "path_smooth",
        "feature_fraction_bynode",
        "seed",
    }
)


def _light_apart(model: Any) -> dict[str, Any]:
    state = {name: getattr(model, name) for name in _FITTED if hasattr(model, name)}
    booster = getattr(model, "_Booster", None)
    if booster is not None:
        state["text"] = without_settings(booster.model_to_string(num_iteration=-1))
    return {"settings": model.get_params(), **state}


def _light(kind: type, state: dict[str, Any]) -> Any:
    from lightgbm import Booster

    settings = state.pop("settings")
    text = state.pop("text", None)
    known = {*kind().get_params(), *_SETTINGS}
    plain = all(
        name in known and (value is None or type(value) in (bool, int, float) or _is_word(value))
        for name, value in settings.items()
    )
    require_state(plain, "it has settings that predictions may not have")
    require_state(set(state) <= set(_FITTED), "it has attributes that predictions may not have")
    model = kind(**settings)
    model.__dict__.update(state)
    if text is not None:
        d = checked_text(text)
        require_state(state.get("_n_features") == d == state.get("_n_features_in"), "other inputs")
        model._Booster = Booster(model_str=text)
    return model


def _light_classes_apart(model: Any) -> dict[str, Any]:
    state = _light_apart(model)
    if "text" in state:
        require_state(model._n_classes == 2, "it parts more than two classes, which is not kept")
        state["classes"] = np.asarray(model._classes)
    return state


def _light_classes(kind: type, state: dict[str, Any]) -> Any:
    from sklearn.preprocessing import LabelEncoder

    classes, text = state.pop("classes", None), state.get("text")
    model = _light(kind, state)
    if classes is not None:
        two = isinstance(classes, np.ndarray) and classes.shape == (2,)
        require_state(two and classes.dtype.kind in "biuU", "its classes are not two")
        require_state(classes[0] < classes[1] and model._n_classes == 2, "its classes are not two")
        require_state(isinstance(text, str), "it has classes without trees")
        gives = model._objective == "binary" and "\nobjective=binary " in str(text)
        require_state(gives, "its trees do not give probabilities")
        model._classes = classes
        model._le = LabelEncoder().fit(classes)
    return model


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.replace("_", "").isalnum()


FORMS = {
    "lightgbm.LGBMClassifier": Form(_light_classes_apart, _light_classes),
    "lightgbm.LGBMRegressor": Form(_light_apart, _light),
    "sklearn.ensemble.BinMapper": Form(_mapper_apart, _mapper),
    "sklearn.ensemble.HistGradientBoostingClassifier": Form(_boosting_apart, _boosting),
    "sklearn.ensemble.HistGradientBoostingRegressor": Form(_boosting_apart, _boosting),
    "sklearn.ensemble.TreePredictor": Form(_predictor_apart, _predictor),
    "sklearn.tree.Tree": Form(_tree_apart, _tree),
}

_FOREIGN_CHECKS: dict[str, Callable[[Any], None]] = {
    **{
        f"sklearn.tree.{kind}": _check_tree_model
        for kind in (
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
            "ExtraTreeClassifier",
            "ExtraTreeRegressor",
        )
    },
    **{
        f"sklearn.ensemble.{kind}": _check_forest
        for kind in (
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
            "RandomForestClassifier",
            "RandomForestRegressor",
        )
    },
    ENCODER: check_encoder,
    **{f"sklearn.svm.{kind}": _check_machine for kind in ("NuSVC", "NuSVR", "SVC", "SVR")},
}


def check_foreign(name: str, model: Any) -> None:
    """Raise an error if a model of another package holds what its native code cannot take."""
    check = _FOREIGN_CHECKS.get(name)
    if check is not None:
        check(model)
