"""How good is what ``echelon compare --save`` leaves, beside tuned models of other packages?

``python -m benchmarks.held_out_sets`` splits ten tables 75/25, lets the command choose and save a
model on the first part within a budget, predicts the second part, and does the same with five
models of other packages, each tuned by random search over twenty settings (three folds, mean
absolute error). Finished pieces are kept in a file and not measured again, so that both halves can
run at different times (``--only ours``); ``--write docs/choosing.md`` puts the result into the
page. The tables are those of the folder ``ECHELON_DATA``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, rankdata, uniform
from sklearn.model_selection import RandomizedSearchCV, train_test_split

from benchmarks.pages import Pieces, markdown_table, publish, study_parser
from echelon.datasets import discretize

#: Tables: folder and name, and classes that a number is cut into (0 for labels).
TABLES: tuple[tuple[str, int], ...] = (
    ("ordinal/winequality_red", 0),
    ("ordinal/LEV", 0),
    ("ordinal/ERA", 0),
    ("ordinal/car", 0),
    ("ordinal/affairs", 0),
    ("ordinal/anes96", 0),
    ("regression/abalone", 10),
    ("regression/boston_housing", 10),
    ("regression/bank8FM", 10),
    ("regression/stock", 10),
)
ORDERS = {"ordinal/car": "unacc<acc<good<vgood"}
SETTINGS, FOLDS = 20, 3


def read(name: str, bins: int, seed: int) -> tuple[Any, Any]:
    """Rows to learn from and rows held out; the label is the column ``y``."""
    path = Path(os.environ["ECHELON_DATA"]) / f"{name}.csv.gz"
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    if bins:
        frame = frame.assign(y=discretize(frame["y"], bins))
    return train_test_split(frame, test_size=0.25, stratify=frame["y"], random_state=seed)


def ours(table: tuple[str, int], seed: int, budget: int) -> dict[str, Any]:
    """Error of what the command chooses and saves."""
    known, held = read(*table, seed)
    with TemporaryDirectory() as folder:
        known.to_csv(f"{folder}/known.csv", index=False)
        held.drop(columns="y").to_csv(f"{folder}/held.csv", index=False)
        order = ORDERS.get(table[0])
        started = time.perf_counter()
        echelon(
            folder, "compare", "known.csv", "--target", "y", *(["--order", order] if order else []),
            "--budget", f"{budget}s", "--save", "model.echelon", "--seed", str(seed),
        )  # fmt: skip
        seconds = time.perf_counter() - started
        echelon(folder, "predict", "model.echelon", "held.csv", "--out", "found.csv")
        found = pd.read_csv(f"{folder}/found.csv", keep_default_na=False)["predicted"]
        from echelon.trained import load_model

        chosen = load_model(f"{folder}/model.echelon").name
    mae = np.abs(ranks(held["y"], table[0]) - ranks(found, table[0])).mean()
    return {"mae": float(mae), "model": chosen, "seconds": seconds}


def echelon(folder: str, *arguments: str) -> None:
    """Run a command; what it says is shown if it fails."""
    command = [sys.executable, "-m", "echelon.cli", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")


def ranks(labels: Any, name: str) -> Any:
    """Positions of labels on their scale; numbers sort by value, in consecutive ranks."""
    if name in ORDERS:
        return pd.Series(labels).map(ORDERS[name].split("<").index).to_numpy()
    path = Path(os.environ["ECHELON_DATA"]) / f"{name}.csv.gz"
    if name.startswith("regression"):
        return np.asarray(labels, dtype=np.intp) - 1
    known = np.unique(pd.read_csv(path, usecols=["y"])["y"])
    return np.searchsorted(known, np.asarray(labels))


def peers(seed: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Models of other packages, and what is drawn for each."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.ensemble import (
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    forest = {"max_features": uniform(0.1, 0.9), "min_samples_leaf": randint(1, 20)}
    light = {
        "num_leaves": randint(4, 64),
        "learning_rate": loguniform(0.02, 0.3),
        "n_estimators": randint(50, 400),
        "min_child_samples": randint(5, 60),
        "reg_lambda": loguniform(1e-3, 10),
        "colsample_bytree": uniform(0.4, 0.6),
    }
    histogram = {
        "max_leaf_nodes": randint(4, 64),
        "learning_rate": loguniform(0.02, 0.3),
        "max_iter": randint(50, 400),
        "min_samples_leaf": randint(5, 60),
        "l2_regularization": loguniform(1e-3, 10),
    }
    quiet = {"verbose": -1, "random_state": seed, "n_jobs": 1}
    return {
        "RandomForest": (RandomForestClassifier(100, random_state=seed), forest),
        "RandomForest rounded": (RandomForestRegressor(100, random_state=seed), forest),
        "LightGBM": (LGBMClassifier(**quiet), light),
        "LightGBM rounded": (LGBMRegressor(**quiet), light),
        "HistGradientBoosting rounded": (
            HistGradientBoostingRegressor(random_state=seed),
            histogram,
        ),
    }


def peer(table: tuple[str, int], seed: int, name: str) -> dict[str, Any]:
    """Error of a tuned model of another package."""
    known, held = read(*table, seed)
    both = pd.concat([known, held]).drop(columns="y")
    inputs = pd.get_dummies(both, dtype=float)
    inputs.columns = [f"x{j}" for j in range(inputs.shape[1])]
    inputs = inputs.fillna(inputs.median())
    X, X_held = inputs.iloc[: len(known)], inputs.iloc[len(known) :]
    y, truth = ranks(known["y"], table[0]), ranks(held["y"], table[0])
    top = int(max(y.max(), truth.max()))

    def error(model: Any, X: Any, y: Any) -> float:
        found = np.clip(np.floor(np.asarray(model.predict(X), dtype=float) + 0.5), 0, top)
        return -float(np.abs(found - y).mean())

    model, drawn = peers(seed)[name]
    started = time.perf_counter()
    search = RandomizedSearchCV(
        model, drawn, n_iter=SETTINGS, scoring=error, cv=FOLDS, random_state=seed, n_jobs=1
    )
    with warnings.catch_warnings(action="ignore"):
        search.fit(X, y)
        mae = -error(search.best_estimator_, X_held, truth)
    return {"mae": mae, "seconds": time.perf_counter() - started}


def table_of(found: dict[str, dict[str, Any]], budget: int) -> str:
    """Errors on the rows held out, mean ranks and regrets."""
    names = ["echelon compare", *peers(0)]
    rows, errors = [], []
    for name, _ in TABLES:
        values = np.array([found[f"{name} {model}"]["mae"] for model in names])
        errors.append(values)
        best = values.min()
        cells = [f"**{v:.3f}**" if v == best else f"{v:.3f}" for v in values]
        rows.append([name.split("/")[1], *cells, found[f"{name} {names[0]}"]["model"]])
    all_errors = np.array(errors)
    regret = 100.0 * (all_errors / all_errors.min(axis=1, keepdims=True) - 1.0)
    mean_ranks = rankdata(all_errors, axis=1).mean(axis=0)
    rows.append(["mean rank", *(f"{r:.2f}" for r in mean_ranks), ""])
    rows.append(["mean regret", *(f"{r:.1f} %" for r in regret.mean(axis=0)), ""])
    heading = [f"rows held out, {budget} s", *names, "chosen"]
    return markdown_table(heading, rows)


def main() -> None:
    """Measure what is not in the file yet, and print or write the table."""
    parser = study_parser("held_out_sets", __doc__)
    parser.add_argument("--only", choices=("ours", "peers"), help="one half, without a table")
    parser.add_argument("--budget", type=int, default=90, help="seconds of each contest")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pieces, seed = Pieces(options.store), options.seed
    for table in TABLES:
        tasks: dict[str, Callable[[], Any]] = {}
        if options.only != "peers":
            tasks["echelon compare"] = partial(ours, table, seed, options.budget)
        if options.only != "ours":
            tasks |= {name: partial(peer, table, seed, name) for name in peers(seed)}
        for name, task in tasks.items():
            print(f"{table[0]} {name}: {pieces.get(f'{table[0]} {name}', task)}", flush=True)
    if options.only is None:
        text = table_of(pieces.known, options.budget)
        publish(text, options.write, "held-out sets")


if __name__ == "__main__":
    main()
