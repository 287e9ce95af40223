"""
Searching settings with scikit-learn
====================================

Ordinal estimators are scikit-learn estimators, so ``GridSearchCV`` searches their settings;
``get_scorer`` gives ordinal scorers by name.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import SVOR
from echelon.datasets import load_lev
from echelon.metrics import get_scorer

X, y = load_lev(return_X_y=True)
X, y = X[::2], y[::2]
model = make_pipeline(StandardScaler(), SVOR())
grid = GridSearchCV(
    model,
    {"svor__C": [0.1, 1.0, 10.0], "svor__kappa": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]},
    scoring={
        "mae": get_scorer("neg_mean_absolute_rank_error"),
        "kappa": get_scorer("quadratic_weighted_kappa"),
    },
    refit="mae",
    cv=3,
).fit(X, y)
print(grid.best_params_, f"mean absolute error {-grid.best_score_:.3f}")

# %%
# The best setting by one measure is rarely far from the best by another.
table = grid.cv_results_
best = grid.best_index_
assert np.isclose(-grid.best_score_, -table["mean_test_mae"].max())
assert table["mean_test_kappa"][best] > 0.95 * table["mean_test_kappa"].max()

# %%
# Error against the width of the kernel, one line for each C.
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for C in (0.1, 1.0, 10.0):
    rows = np.flatnonzero(table["param_svor__C"] == C)
    kappa = table["param_svor__kappa"][rows].astype(float)
    ax.plot(kappa, -table["mean_test_mae"][rows], marker="o", label=f"C = {C:g}")
ax.set(xscale="log", xlabel="κ of the Gaussian kernel", ylabel="mean absolute error, held out")
ax.legend(frameon=False)
