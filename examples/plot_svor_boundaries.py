"""
Boundaries of support vector ordinal regression
===============================================

One kernel function and K−1 thresholds make boundaries that do not cross. The implicit form counts
errors at all thresholds, the explicit one at the two next to the label [CK07].
"""

# %%
# Three ranks in the plane, drawn as [CK07] draws them in its figure 5.
import matplotlib.pyplot as plt
import numpy as np

from echelon import SVOR, LinearSVOR
from echelon.datasets import make_three_rank_ordinal
from echelon.plots import DecisionBoundaryDisplay

X, y = make_three_rank_ordinal(60, noise="lower", random_state=2)
machine = SVOR(C=10.0, kappa=2.0).fit(X, y)
print(f"{len(machine.support_)} of {len(X)} rows carry the solution, gap {machine.kkt_gap_:.1e}")
assert machine.kkt_gap_ <= machine.tol and (np.diff(machine.thresholds_) > 0).all()

# %%
# Both forms side by side: with three ranks only the outer ones tell them apart, and here little.
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.8), layout="constrained")
for ax, constraints in zip(axes, ("implicit", "explicit"), strict=True):
    model = SVOR(C=10.0, kappa=2.0, constraints=constraints).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(
        model, X, y, grid_resolution=100, name=constraints, ax=ax
    )
    assert model.score(X, y) > -0.2

# %%
# Straight boundaries are parallel, and do worse here.
linear = LinearSVOR(C=10.0).fit(X, y)
print(f"mean absolute error: kernel {-machine.score(X, y):.2f}, linear {-linear.score(X, y):.2f}")
assert machine.score(X, y) > linear.score(X, y)
DecisionBoundaryDisplay.from_estimator(linear, X, y, grid_resolution=100, name="linear")
