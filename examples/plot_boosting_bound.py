"""
Boosting, and the bound that it keeps
=====================================

AdaBoost.OR joins rankers by a weighted median. Theorem 6 of [LL09] bounds the training cost by a
product of the errors of the rounds, which is known while boosting runs.
"""

# %%
import numpy as np
from sklearn.model_selection import train_test_split

from echelon import AdaBoostOR, ORTree
from echelon.datasets import make_quadratic_ordinal
from echelon.plots import BoostingCurveDisplay, MarginDistributionDisplay

X, y = make_quadratic_ordinal(600, random_state=0)
train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = AdaBoostOR(ORTree(max_depth=3), n_estimators=60).fit(train, y_train)

# %%
# The training cost stays below the bound after every round; the cost on held-out rows levels off.
ends = len(model.classes_) - 1
costs = -np.array(list(model.staged_score(train, y_train)))
print(f"after {len(costs)} rounds: cost {costs[-1]:.3f}, bound {ends * model.bound_[-1]:.3f}")
assert (costs <= ends * model.bound_ + 1e-12).all()
assert (np.diff(model.bound_) <= 0).all()

# %%
BoostingCurveDisplay.from_estimator(model, train, y_train, held_out=(test, y_test))

# %%
# More rounds move margins up, also of rows that were right before.
few = AdaBoostOR(ORTree(max_depth=3), n_estimators=5).fit(train, y_train)
first = MarginDistributionDisplay.from_estimator(few, train, y_train, name="5 rounds")
last = MarginDistributionDisplay.from_estimator(
    model, train, y_train, name="60 rounds", ax=first.ax_
)
print(
    f"wrong side: {first.share_up_to(0.0):.3f} after 5 rounds, {last.share_up_to(0.0):.3f} after 60"
)
assert last.share_up_to(0.0) < first.share_up_to(0.0)
