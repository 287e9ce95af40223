"""
Comparing models over data sets
===============================

Ranks of models on several data sets, with Friedman's test and Nemenyi's critical difference: models
under one bar do not differ significantly.
"""

# %%
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import AdaBoostOR, LinearSVOR, ORStump, ProportionalOdds, RoundedRegressor
from echelon.datasets import load_dataset, make_ordinal_classification
from echelon.metrics import friedman_test
from echelon.plots import CriticalDifferenceDisplay

models = {
    "proportional odds": ProportionalOdds(alpha=1.0),
    "linear machine": LinearSVOR(),
    "boosted stumps": AdaBoostOR(n_estimators=40),
    "one stump": ORStump(),
    "nearest neighbours": RoundedRegressor(KNeighborsRegressor(9)),
}
sets = {name: load_dataset(name, return_X_y=True) for name in ("lev", "swd", "era")}
sets |= {
    f"drawn {seed}": make_ordinal_classification(300, 5, 4, noise=0.7, random_state=seed)
    for seed in range(7)
}

# %%
# The mean absolute error of ranks in three folds, of every model on every set.
folds = StratifiedKFold(3, shuffle=True, random_state=0)
errors = np.array(
    [
        [
            -cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds).mean()
            for model in models.values()
        ]
        for X, y in sets.values()
    ]
)
for name, row in zip(sets, errors, strict=True):
    print(f"{name:14s}", row.round(3))

# %%
# Ten sets are few; yet that one stump is worse than a whole model stands out.
test = friedman_test(errors)
print(f"Friedman's test: p = {test.p:.1e}")
assert test.p < 0.01
display = CriticalDifferenceDisplay.from_scores(errors, list(models))
ranks = dict(zip(models, display.result.average_ranks, strict=True))
assert max(ranks, key=ranks.get) == "one stump"
