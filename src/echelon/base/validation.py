"""The one place that touches scikit-learn's and data-frame validation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.validation import validate_data

from .._utils.entries import LARGEST_NUMBER, require_moderate, without_mask
from .._utils.types import Vector
from ..ordinal.arrays import check_weights
from ..ordinal.data import OrdinalData, class_factors
from ..ordinal.labels import read_relevance, read_scale
from ..pairs import PairSet

Model = TypeVar("Model")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Weights of rows are multiplied: below this, those of single pairs vanish.
_LEAST_PAIRS = 1e-100


def all_or_nothing(
    fit: Callable[Concatenate[Model, Arguments], Result],
) -> Callable[Concatenate[Model, Arguments], Result]:
    """Decorate ``fit`` so that a call that raises leaves the estimator as it was.

    Arithmetic that fails, as on weights of 1e45 beside 1, is told in words of ours.
    """

    @functools.wraps(fit)
    def guarded(self: Model, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        state = vars(self)
        before = state.copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException as error:
            state.clear()
            state.update(before)
            if not _is_arithmetic(error):
                raise
            trouble = str(error).rstrip(".")
            raise ValueError(
                f"{type(self).__name__} cannot compute with these numbers ({trouble}): scale X and "
                "sample_weight, or choose parameters of moderate size."
            ) from error

    return guarded


def _is_arithmetic(error: BaseException) -> bool:
    if isinstance(error, (ArithmeticError, np.linalg.LinAlgError)):
        return True
    return isinstance(error, ValueError) and "must not contain infs or NaNs" in str(error)


def validate_ordinal_fit(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    convert: bool = True,
) -> OrdinalData:
    """Check inputs, labels and weights of an ordinal ``fit``.

    Sets ``n_features_in_`` and ``feature_names_in_``; everything else is returned. With
    ``convert=False`` the inputs stay as they came, for a wrapped estimator that reads them itself.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    X = validate_inputs(estimator, X, first=True, convert=convert)
    scale, codes = read_scale(one_column(y), getattr(estimator, "classes", None))
    check_consistent_length(X, codes)
    weights = check_weights(sample_weight, len(codes))
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is not None:
        weights = weights * class_factors(class_weight, codes, scale, weights)[codes]
    require_moderate(weights, "sample_weight")
    observed = np.unique(codes[weights > 0])
    if len(observed) < 2:
        label = scale.classes[observed].tolist()[0]
        raise ValueError(
            f"y has one class only, {label!r}, among the rows of positive weight; "
            "at least two classes are needed."
        )
    weighted = sample_weight is not None or class_weight is not None
    return OrdinalData(X, codes, scale, weights, weighted)


@dataclass(frozen=True)
class RankingData:
    """Validated training data of a ranker: inputs, and which rows stand above which.

    ``relevance`` (None without labels), ``qid`` and ``sample_weight`` are those of the rows, for
    estimators that hold rows out.
    """

    X: Any
    pairs: PairSet
    relevance: Vector | None
    qid: Any
    sample_weight: Vector


def validate_ranking_fit(estimator: Any, X: Any, y: Any, **given: Any) -> RankingData:
    """Check inputs, labels, queries, stated pairs and weights of a ranker's ``fit``.

    Sets ``n_features_in_`` and ``feature_names_in_``; everything else is returned.
    """
    data = validate_ranking_chunk(estimator, X, y, first=True, **given)
    if data.pairs.n_pairs == 0:
        n = data.pairs.n_items
        raise ValueError(
            f"There is no pair to rank among {n} sample{'s' if n > 1 else ''}: no query has two "
            "rows of positive weight with different labels, and no pair of positive weight is "
            "stated."
        )
    return data


def validate_ranking_chunk(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    first: bool,
    qid: Any = None,
    sample_weight: Any = None,
    pairs: Any = None,
    pair_weight: Any = None,
) -> RankingData:
    """Check one of several chunks of a ranker's data, which may have no pair at all."""
    if y is None and pairs is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None, and "
            "no pairs are given."
        )
    if y is None and sample_weight is not None:
        raise ValueError("sample_weight needs labels y; for stated pairs pass pair_weight.")
    X = validate_inputs(estimator, X, first=first)
    n = X.shape[0]
    weights = check_weights(sample_weight, n)
    require_moderate(weights, "sample_weight")
    relevance = None if y is None else read_relevance(one_column(y))
    if relevance is not None:
        check_consistent_length(X, relevance)
    pair_set = _read_pairs(relevance, n, qid, weights, pairs, pair_weight)
    with np.errstate(over="ignore", invalid="ignore"):
        total = pair_set.total_weight
    if pair_set.n_pairs and not _LEAST_PAIRS <= total <= LARGEST_NUMBER:
        raise ValueError(
            "sample_weight and pair_weight must give all pairs together a weight from "
            f"{_LEAST_PAIRS:g} to {LARGEST_NUMBER:g}; found {total:g}."
        )
    return RankingData(X, pair_set, relevance, qid, weights)


def _read_pairs(
    relevance: Vector | None,
    n: int,
    qid: Any,
    weights: Vector,
    pairs: Any,
    pair_weight: Any,
) -> PairSet:
    if pairs is None and pair_weight is not None:
        raise ValueError("pair_weight needs pairs; for labels pass sample_weight.")
    result = PairSet(n)
    if relevance is not None:
        result = PairSet.from_labels(relevance, qid, weights)
    elif qid is not None:
        raise ValueError("qid needs labels y; stated pairs have no queries.")
    if pairs is None:
        return result
    if isinstance(pairs, PairSet) and pair_weight is not None:
        raise ValueError("pair_weight must be None where pairs is a PairSet, which has weights.")
    stated = pairs if isinstance(pairs, PairSet) else PairSet.from_pairs(pairs, n, pair_weight)
    if stated.n_items != n:
        raise ValueError(f"pairs must be over the {n} rows of X; found {stated.n_items}.")
    return result + stated


def two_rows(estimator: Any, a: Any, b: Any) -> Any:
    """Check two rows against those seen at ``fit``, as a matrix of two rows."""
    rows = [_plain_row(row) for row in (a, b)]
    for name, row in zip("ab", rows, strict=True):
        if len(row) != estimator.n_features_in_:
            raise ValueError(
                f"{name} must be one row of {estimator.n_features_in_} inputs; found {len(row)}."
            )
    allowed = get_tags(estimator).input_tags
    finite = "allow-nan" if allowed.allow_nan else True
    X = check_array(np.array(rows), ensure_all_finite=finite)
    require_moderate(X, "a and b")
    return X


def _plain_row(row: Any) -> Vector:
    plain = row.toarray() if sp.issparse(row) else without_mask(row)
    return np.asarray(plain, dtype=np.float64).reshape(-1)


def validate_inputs(estimator: Any, X: Any, *, first: bool = False, convert: bool = True) -> Any:
    """Check inputs: the first set the number and names of columns, later ones must have the same.

    They are returned as doubles, sparse or with missing values where the estimator's tags allow it.
    With ``convert=False`` they are returned as they came, for a wrapped estimator that will read
    them by itself, and checked for what every model needs; data frames and lists of texts, which
    have columns or entries of any kind, are left to it. Arrays of single precision become doubles
    all the same, because weighted sums of them overflow early.

    Masked entries are missing ones, and a number beyond ``LARGEST_NUMBER`` is an error.
    """
    X = without_mask(X)
    texts = isinstance(X, list) and X and isinstance(X[0], str)
    checks: dict[str, Any] = {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}
    if convert:
        allowed = get_tags(estimator).input_tags
        checks["accept_sparse"] = "csr" if allowed.sparse else False
        checks["dtype"] = np.float64
        checks["ensure_all_finite"] = "allow-nan" if allowed.allow_nan else True
    elif hasattr(X, "columns") or hasattr(X, "iloc") or texts:
        checks = {"skip_check_array": True}
    try:
        checked = validate_data(estimator, X, reset=first, **checks)
    except TypeError as error:
        if "NAType" not in str(error):
            raise
        raise ValueError(
            "X must hold numbers, with NaN where they are missing; found pandas' NA among objects: "
            "convert the columns with astype('Float64')."
        ) from None
    _require_moderate_numbers(checked)
    if convert:
        return checked
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def _require_moderate_numbers(X: Any) -> None:
    """Check the size of inputs that are numbers throughout."""
    if hasattr(X, "dtypes") and all(_is_number_type(kind) for kind in X.dtypes):
        X = np.asarray(X, dtype=np.float64)
    values = X.tocsr().data if sp.issparse(X) else X
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        require_moderate(values, "X", "scale the inputs, with NaN where a value is missing")


def _is_number_type(dtype: Any) -> bool:
    """Whether a column of this type, of pandas or polars, is one of numbers."""
    return getattr(dtype, "kind", "O") in "iuf" or bool(getattr(dtype, "is_numeric", bool)())


def one_column(y: Any) -> Any:
    """Return labels as they are, or the only column of an n×1 array with scikit-learn's warning."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        column = column_or_1d(y, warn=True)
        return y[:, 0] if np.ma.is_masked(y) else column
    return y
