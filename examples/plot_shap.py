"""
SHAP values of margins
======================

``decision_function`` gives the margins at the K−1 thresholds; SHAP explains each of them, and the
values of one threshold say what pushed a row above it.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np

try:
    with warnings.catch_warnings():
        # What shap itself imports may be about to change.
        warnings.simplefilter("ignore")
        import shap
except ImportError:
    print("This example needs shap: pip install shap.")
    raise SystemExit(0) from None

from echelon import LinearSVOR
from echelon.datasets import load_lev

X, y = load_lev(return_X_y=True)
X = np.asarray(X, dtype=float)
model = LinearSVOR().fit(X, y)
background = X[::25]

# %%
# The explainer sees a function from an array to K−1 columns.
explainer = shap.KernelExplainer(model.decision_function, background)
explained = explainer(X[:60], silent=True)
print(explained.values.shape)
assert explained.values.shape == (60, 4, 4)

# %%
# A threshold model has one score behind all thresholds, so the values of all thresholds are equal,
# and for a linear one they are coefficient times distance from the mean.
margins = model.decision_function(X[:60])
assert np.allclose(explained.base_values + explained.values.sum(axis=1), margins, atol=1e-6)
expected = model.coef_ * (X[:60] - background.mean(axis=0))
assert np.allclose(explained.values[:, :, 0], expected, atol=1e-6)
assert np.allclose(explained.values[:, :, 0], explained.values[:, :, 3], atol=1e-6)

# %%
# Each row is a dot: where its value of the input pushes its score.
figure, ax = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
rng = np.random.default_rng(0)
for j in range(X.shape[1]):
    height = j + 0.25 * rng.uniform(-1, 1, size=60)
    dots = ax.scatter(explained.values[:, j, 0], height, c=X[:60, j], cmap="viridis", s=14)
figure.colorbar(dots, label="value of the input")
ax.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
ax.set(yticks=range(4), yticklabels=[f"x{j}" for j in range(4)], xlabel="part of the latent score")
