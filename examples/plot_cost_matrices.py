"""
When errors do not cost the same
================================

A cost matrix says what it costs to predict label r for label y. Models take it at ``fit`` or decide
by it at ``predict``; a cost that punishes overrating moves predictions down.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict

from echelon import AdaBoostOR, ProportionalOdds
from echelon.datasets import load_lev
from echelon.metrics import mean_cost
from echelon.plots import OrdinalConfusionDisplay

X, y = load_lev(return_X_y=True)
ranks = np.arange(5)
# Rows are true labels, columns predictions: rating a lecturer too high costs four times as much.
steps = ranks[None, :] - ranks[:, None]
cost = np.where(steps > 0, 4.0 * steps, -steps).astype(float)
print(cost)

# %%
# A model of probabilities only decides otherwise; boosting learns under the cost.
models = {
    "plain": ProportionalOdds(),
    "decides by the cost": ProportionalOdds(cost=cost),
    "learns the cost": AdaBoostOR(n_estimators=40, cost=cost),
}
predicted = {name: cross_val_predict(model, X, y, cv=5) for name, model in models.items()}
paid = {name: mean_cost(y, labels, cost=cost) for name, labels in predicted.items()}
for name, value in paid.items():
    print(f"{name}: mean cost {value:.3f}, mean prediction {predicted[name].mean():.2f}")
assert paid["decides by the cost"] < 0.8 * paid["plain"]
assert paid["learns the cost"] < 0.8 * paid["plain"]
assert predicted["decides by the cost"].mean() < predicted["plain"].mean()

# %%
# Expensive errors, above the diagonal, become rare.
figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.6), layout="constrained")
for ax, name in zip(axes, ("plain", "decides by the cost"), strict=True):
    OrdinalConfusionDisplay.from_predictions(y, predicted[name], name=name, ax=ax)
