"""
Intervals of labels with a guarantee
====================================

``ConformalOrdinal`` gives every row an interval of neighbouring labels. Whatever the model, a new
row's label lies in it with the stated probability, if rows are exchangeable.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from echelon import ProportionalOdds
from echelon.datasets import make_ordinal_classification
from echelon.meta.conformal import ConformalOrdinal

X, y = make_ordinal_classification(4000, 5, 6, noise=0.7, random_state=0)
train, test = slice(0, 1500), slice(1500, None)
model = ConformalOrdinal(ProportionalOdds(), confidence=0.9, random_state=0).fit(X[train], y[train])
low, high = model.predict_interval(X[test])
inside = (low <= y[test]) & (y[test] <= high)
print(
    f"{inside.mean():.3f} of {len(inside)} new labels in intervals of {np.mean(high - low + 1):.2f}"
)

# %%
# The guarantee is about draws of calibration rows and a new one; over 2,500 new rows the share
# moves around 0.9 by the chance of 375 calibration rows.
assert 0.85 < inside.mean() < 0.95
predicted = model.predict(X[test])
assert ((low <= predicted) & (predicted <= high)).all()

# %%
# More confidence, longer intervals; and with ``per_class=True`` the promise holds for every class.
levels = (0.5, 0.7, 0.8, 0.9, 0.95)
shares, sizes = [], []
for confidence in levels:
    model.set_params(confidence=confidence).fit(X[train], y[train])
    low, high = model.predict_interval(X[test])
    shares.append(((low <= y[test]) & (y[test] <= high)).mean())
    sizes.append((high - low + 1).mean())
print(dict(zip(levels, np.round(sizes, 2), strict=True)))
assert (np.diff(sizes) >= 0).all()
fair = ConformalOrdinal(ProportionalOdds(), per_class=True, random_state=0).fit(X[train], y[train])
low, high = fair.predict_interval(X[test])
by_class = [((low <= k) & (k <= high))[y[test] == k].mean() for k in fair.classes_]
print("by class", np.round(by_class, 2))
assert min(by_class) > 0.8

# %%
figure, ax = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
ax.plot([0.45, 1], [0.45, 1], color="0.8", zorder=0)
ax.plot(levels, shares, "o")
for confidence, share, size in zip(levels, shares, sizes, strict=True):
    ax.annotate(f"{size:.1f} labels", (confidence, share), (6, -9), textcoords="offset points")
ax.set(xlabel="confidence", ylabel="share of new labels inside", xlim=(0.45, 1.14))
