"""
Which inputs matter, and how
============================

scikit-learn's tools for inspection work on ordinal models: permutation importance under an ordinal
cost, and partial dependence of the latent score or of a probability.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import train_test_split

from echelon import AdaBoostOR
from echelon.datasets import make_ordinal_classification

X, y = make_ordinal_classification(1200, 5, 4, n_informative=3, noise=0.6, random_state=3)
train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = AdaBoostOR(n_estimators=60).fit(train, y_train)

# %%
# ``score`` is the negative mean cost, so importance is the rise of the mean absolute error of ranks
# when a column is shuffled.
shuffled = permutation_importance(model, test, y_test, n_repeats=10, random_state=0)
order = np.argsort(shuffled.importances_mean)
print(shuffled.importances_mean.round(3))
idle = shuffled.importances_mean < 3 * shuffled.importances_std
assert 2 <= idle.sum() < 5 and not idle[order[-1]]

# %%
# Partial dependence of the probabilities: the mean over all rows when one input is set to a value.
# ``predict_proba`` has a column for each label, from lowest to highest.
best = int(order[-1])
found = partial_dependence(model, train, [best], response_method="predict_proba", kind="average")
values, average = found["grid_values"][0], found["average"]
assert np.allclose(average.sum(axis=0), 1.0)
assert np.ptp(average[-1]) > 0.1

figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
left.barh(
    [f"x{j}" for j in order],
    shuffled.importances_mean[order],
    xerr=shuffled.importances_std[order],
)
left.set(xlabel="rise of the mean absolute error")
right.stackplot(values, average, labels=[f"label {label}" for label in model.classes_], alpha=0.8)
right.set(xlabel=f"x{best}", ylabel="mean probability", ylim=(0, 1), xlim=(values[0], values[-1]))
right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
