"""Pin what every public estimator says of fixed data, and compare two versions of the package.

``python tests/golden/estimators.py write FILE`` fits every instance of ``support.estimators`` and
keeps its predictions, probabilities, scores and numeric fitted attributes, certificates among them;
``python tests/golden/estimators.py compare FILE`` fits them again and fails where a number differs
by more than 1e-12 of its scale. Run it with the package to be measured on ``PYTHONPATH``. The file
is not kept in the project: the last digits belong to one machine.
"""

import pickle
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.estimators import instances, label, ordinal_instances, ranker_instances

from echelon import LowRankImputer

TOLERANCE = 1e-12
METHODS = ("predict", "predict_proba", "decision_function", "predict_latent", "predict_interval")


def ordinal_data():
    """Rows with three informative and two idle inputs, labels 1 to 5, and weights."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(160, 5)).round(3)
    score = X[:, 0] - 0.7 * X[:, 1] + 0.4 * X[:, 2] ** 2 + rng.logistic(scale=0.4, size=160)
    y = 1 + np.searchsorted(np.quantile(score, [0.2, 0.45, 0.7, 0.9]), score)
    return X, y, rng.integers(1, 4, size=160).astype(float)


def numbers(value):
    """The numbers in a fitted attribute, or None where it holds none."""
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return np.asarray(value, dtype=float)
    if isinstance(value, tuple | list) and value:
        parts = [numbers(part) for part in value]
        return None if any(p is None for p in parts) else np.concatenate([p.ravel() for p in parts])
    if isinstance(value, np.ndarray) and value.dtype.kind in "bifu":
        return value.astype(float)
    return None


def answers(model, X):
    """What a fitted model says of rows, and what it says of itself."""
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            found[method] = numbers(np.asarray(getattr(model, method)(X)))
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and name != "refit_time_":
            found[name] = numbers(value)
    return {name: value for name, value in found.items() if value is not None}


def fits():
    """Fitted instances by name: plain and weighted, rankers with queries and without."""
    X, y, weight = ordinal_data()
    qid = np.repeat(np.arange(16), 10)
    new = np.random.default_rng(11).normal(size=(60, 5))
    ordinal, rankers = map(set, (map(label, ordinal_instances()), map(label, ranker_instances())))
    for instance in instances():
        name = label(instance)
        kinds = [("plain", {})]
        if name in ordinal:
            kinds.append(("weighted", {"sample_weight": weight}))
        if name in rankers:
            kinds.append(("queries", {"qid": qid}))
        target = () if isinstance(instance, LowRankImputer) else (y,)
        for kind, extra in kinds:
            yield f"{name}/{kind}", answers(clone(instance).fit(X, *target, **extra), new)
    holes = np.where(np.random.default_rng(3).random(X.shape) < 0.2, np.nan, X)
    imputer = LowRankImputer().fit(holes)
    yield "LowRankImputer/holes", {"transform": imputer.transform(holes), **answers(imputer, X)}


def compare(old, new):
    """What differs between two pinned sets of answers, one line each."""
    for fit in sorted(old.keys() | new.keys()):
        if fit not in old or fit not in new:
            yield f"{fit}: only in the {'new' if fit in new else 'old'} version"
            continue
        for name in sorted(old[fit].keys() | new[fit].keys()):
            if name not in old[fit] or name not in new[fit]:
                yield f"{fit}: {name} only in the {'new' if name in new[fit] else 'old'} version"
                continue
            a, b = old[fit][name], new[fit][name]
            if a.shape != b.shape:
                yield f"{fit}: {name} had the shape {a.shape}, has {b.shape}"
            elif not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
                yield f"{fit}: {name} differs by {np.nanmax(np.abs(a - b)):.3g}"


def main(action, path):
    """Write or compare the answers of all estimators."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    found = dict(fits())
    print(f"{len(found)} fits, {sum(map(len, found.values()))} sets of numbers")
    if action == "write":
        Path(path).write_bytes(pickle.dumps(found))
        return 0
    lines = list(compare(pickle.loads(Path(path).read_bytes()), found))
    print("\n".join(lines) or f"all agree to {TOLERANCE:g}")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
