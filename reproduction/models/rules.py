"""The columns of [DK09] tables 1, 3 and 4 that are ensembles of decision rules.

None of them is tuned: [DK09] fixes the settings of RankRules, and chose those of the other three,
which it does not print, on its artificial data. Ours of these are in `SETTINGS`.
"""

from __future__ import annotations

from typing import Any

from echelon.rules.rank_rules import RankRules

from .registry import Problem, register_model

#: Everything in which the columns of table 4 differ from each other.
SETTINGS: dict[str, dict[str, Any]] = {
    "RankRules": {
        "loss": "rank",
        "technique": "simultaneous",
        "n_rules": 500,
        "shrinkage": 0.1,
        "subsample": 0.5,
    },
    "ORDER": {
        "loss": "threshold",
        "technique": "constant_step",
        "beta": 0.1,
        "n_rules": 500,
        "shrinkage": 0.2,
        "subsample": 0.25,
    },
    "Ordinal ENDER": {
        "loss": "binary",
        "technique": "simultaneous",
        "n_rules": 500,
        "shrinkage": 0.2,
        "subsample": 0.25,
    },
    "ENDER AE": {
        "loss": "absolute",
        "technique": "gradient",
        "n_rules": 500,
        "shrinkage": 0.1,
        "subsample": 0.5,
    },
}

#: The techniques of table 1.
TECHNIQUES: dict[str, dict[str, Any]] = {
    "SM": {"technique": "simultaneous"},
    "CS 0.1": {"technique": "constant_step", "beta": 0.1},
    "CS 0.2": {"technique": "constant_step", "beta": 0.2},
    "CS 0.5": {"technique": "constant_step", "beta": 0.5},
    "GD": {"technique": "gradient"},
    "GB": {"technique": "gradient_boosting"},
}
REGULARISATIONS: dict[str, dict[str, float]] = {
    "plain": {"shrinkage": 1.0, "subsample": 1.0},
    "regularised": {"shrinkage": 0.1, "subsample": 0.25},
}


@register_model("RankRules")
def rank_rules(problem: Problem) -> Any:
    """500 rules that minimise the exponential rank loss simultaneously, ν = 0.1, ζ = 0.5."""
    return _rules(problem, **SETTINGS["RankRules"])


@register_model("ORDER")
def order(problem: Problem) -> Any:
    """500 rules, exponential threshold loss, constant steps β = 0.1, ν = 0.2, ζ = 0.25."""
    return _rules(problem, **SETTINGS["ORDER"])


@register_model("Ordinal ENDER")
def ordinal_ender(problem: Problem) -> Any:
    """500 rules for each threshold on its own, ν = 0.2, ζ = 0.25; median of the distribution."""
    return _rules(problem, **SETTINGS["Ordinal ENDER"])


@register_model("ENDER AE")
def ender_ae(problem: Problem) -> Any:
    """500 rules, absolute error of the ranks, gradient descent, ν = 0.1, ζ = 0.5."""
    return _rules(problem, **SETTINGS["ENDER AE"])


def _rules(problem: Problem, **settings: Any) -> Any:
    # As [DK09] counts pairs in its fast form, which its experiments use.
    return RankRules(
        pair_weight="per_threshold",
        classes=problem.classes,
        random_state=problem.seed,
        **settings,
    )


def _register_technique(technique: str, regularisation: str) -> None:
    settings = {**TECHNIQUES[technique], **REGULARISATIONS[regularisation]}

    def build(problem: Problem) -> Any:
        return _rules(problem, loss="rank", n_rules=1000, **settings)

    how = settings["technique"].replace("_", " ")
    step = f" with β = {settings['beta']:g}" if "beta" in settings else ""
    nu, zeta = settings["shrinkage"], settings["subsample"]
    build.__doc__ = f"1,000 rules, technique {how}{step}, ν = {nu:g}, ζ = {zeta:g}."
    register_model(f"RankRules {technique} ({regularisation})")(build)


for _regularisation in REGULARISATIONS:
    for _technique in TECHNIQUES:
        _register_technique(_technique, _regularisation)
