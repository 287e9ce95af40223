"""Is the figure that `fit` prints the one that new groups get?

``python -m benchmarks.new_groups`` holds a quarter of the groups of several tables out, trains on
the others once with and once without the groups stated, and measures what was held out. Finished
tables are kept in a file and not measured again; ``--write docs/uncertainty.md`` puts the result
into the page.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pages import Pieces, markdown_table, publish, study_parser

MODEL = "OrdinalBagging trees"
CONFIDENCE = 0.9
WAYS = ("stated", "plain")
HEAD = (
    "table", "groups", "rows", "stated: MAE", "new groups", "coverage", "new groups",
    "not stated: MAE", "coverage of new groups",
)  # fmt: skip


@dataclass(frozen=True)
class Grouped:
    """A table with groups.

    Parameters
    ----------
    name : str
    read : callable
        Gives the frame.
    group, target : str
    drop : tuple of str
        Columns that are neither input nor group.
    """

    name: str
    read: Callable[[], pd.DataFrame]
    group: str
    target: str = "y"
    drop: tuple[str, ...] = ()


def patients(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Patients with five to eleven visits, traits that tell them apart, and levels of their own."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), rng.integers(5, 12, n))
    age, dose = rng.integers(20, 90, n), rng.normal(size=len(patient))
    score = 0.02 * age[patient] + 0.5 * dose + 1.5 * rng.normal(size=n)[patient]
    score += 0.4 * rng.normal(size=len(patient))
    return pd.DataFrame(
        {
            "patient": patient,
            "age": age[patient],
            "weight_kg": rng.normal(75, 12, n).round(1)[patient],
            "dose": dose.round(3),
            "severity": 1 + np.digitize(score, np.quantile(score, [0.25, 0.5, 0.8])),
        }
    )


def tables() -> Iterator[Grouped]:
    """Made-up patients, and those tables of the data folder that are there."""
    yield Grouped("made-up patients", patients, "patient", "severity")
    folder = Path(os.environ.get("ECHELON_DATA", ""))
    for place, group, drop in (
        ("grouped/knee_pain", "id", ()),
        ("grouped/schizophrenia", "id", ("imps79",)),
        ("grouped/social_attitudes", "respondent", ("district",)),
        ("ordinal/arthritis_repeated", "id", ()),
        ("ordinal/soup", "RESP", ()),
        ("grouped/verbal_aggression", "id", ()),
    ):
        path = folder / f"{place}.csv.gz"
        if "ECHELON_DATA" in os.environ and path.exists():
            yield Grouped(path.name.split(".")[0], lambda path=path: _read(path), group, "y", drop)


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def measure(table: Grouped, splits: int) -> dict[str, Any]:
    """Figures stated and found, for several quarters of the groups."""
    frame = table.read()
    frame = frame.drop(columns=list(table.drop))
    ids = frame[table.group].unique()
    found = [_split(table, frame, ids, seed) for seed in range(splits)]
    return {
        "table": table.name,
        "groups": len(ids),
        "rows": len(frame),
        **{key: [split[key] for split in found] for key in found[0]},
    }


def _split(table: Grouped, frame: pd.DataFrame, ids: Any, seed: int) -> dict[str, float]:
    from echelon.tables import labelled_table
    from echelon.trained import train

    new = np.random.default_rng(seed).permutation(ids)[: len(ids) // 4]
    held = frame[table.group].isin(new)
    order = "no<perhaps<yes" if frame[table.target].dtype.kind not in "iuf" else None
    found: dict[str, float] = {}
    for key, stated in (("stated", {"group": table.group}), ("plain", {"drop": [table.group]})):
        known = labelled_table(frame[~held], table.target, order, **stated)
        model = train(known, MODEL, confidence=CONFIDENCE, random_state=seed)
        result = _on_new_groups(model, frame[held], table)
        mae = result.figures["mae"]
        found |= {
            f"{key}_mae": model.metrics["mae"],
            f"{key}_se": model.metrics["mae_se"],
            f"{key}_coverage": model.metrics["interval_coverage"],
            f"{key}_new_mae": mae.value,
            # A quarter of a 95 % interval.
            f"{key}_new_se": (mae.high - mae.low) / 3.92,
            f"{key}_new_coverage": result.figures["interval_coverage"].value,
        }
    return found


def _on_new_groups(model: Any, frame: pd.DataFrame, table: Grouped) -> Any:
    from echelon.inspection import evaluate_model

    labels = frame[table.target].to_numpy()
    return evaluate_model(
        model, model.inputs(frame), labels, groups=frame[table.group].to_numpy(), n_draws=400
    )


def table_of(results: list[dict[str, Any]]) -> str:
    """Means over the quarters."""
    rows = []
    for r in results:
        mean = {key: float(np.mean(value)) for key, value in r.items() if isinstance(value, list)}
        figures = {key: f"{mean[f'{key}_mae']:.3f} ± {mean[f'{key}_se']:.3f}" for key in WAYS}
        rows.append([
            r["table"], f"{r['groups']:,}", f"{r['rows']:,}",
            figures["stated"], f"{mean['stated_new_mae']:.3f}",
            f"{mean['stated_coverage']:.0%}", f"{mean['stated_new_coverage']:.0%}",
            figures["plain"], f"{mean['plain_new_coverage']:.0%}",
        ])  # fmt: skip
    return markdown_table(HEAD, rows)


def summary(results: list[dict[str, Any]]) -> str:
    """How often the stated figure and that of new groups are within two standard errors."""
    words = []
    for key, told in (("stated", "with the groups stated"), ("plain", "without")):
        z = np.concatenate([_errors_apart(r, key) for r in results])
        words.append(f"{np.sum(np.abs(z) <= 2)} of {len(z)} {told}")
    return (
        "The figure printed and that of the new groups lie within two standard errors of their "
        f"difference in {words[0]}, and in {words[1]}."
    )


def _errors_apart(result: dict[str, Any], key: str) -> Any:
    values = {n: np.asarray(result[f"{key}_{n}"]) for n in ("mae", "se", "new_mae", "new_se")}
    return (values["new_mae"] - values["mae"]) / np.hypot(values["se"], values["new_se"])


def main() -> None:
    """Measure what is not in the file yet, and print or write the table."""
    parser = study_parser("new_groups", __doc__)
    parser.add_argument("--splits", type=int, default=4, help="quarters of the groups")
    options = parser.parse_args()
    pieces = Pieces(options.store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [pieces.get(t.name, partial(measure, t, options.splits)) for t in tables()]
    text = f"{table_of(results)}\n\n{summary(results)}"
    publish(text, options.write, "new groups")


if __name__ == "__main__":
    main()
