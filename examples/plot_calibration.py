"""
Probabilities that mean what they say
=====================================

Boosting orders rows well, but its probabilities grow too sure of themselves. ``OrdinalCalibrator``
learns probabilities from scores of rows that were held out, for any model.
"""

# %%
from sklearn.model_selection import train_test_split

from echelon import AdaBoostOR, ORTree
from echelon.datasets import make_ordinal_classification
from echelon.meta.calibration import OrdinalCalibrator
from echelon.metrics import ranked_probability_score
from echelon.plots import CumulativeCalibrationDisplay

X, y = make_ordinal_classification(1200, 6, 5, noise=1.5, random_state=0)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
trees = AdaBoostOR(ORTree(max_depth=4), n_estimators=60)
boosted = trees.fit(train, y_train)
calibrated = OrdinalCalibrator(trees).fit(train, y_train)

# %%
# The ranked probability score sums squared errors of P(y ≤ k); lower is better.
scores = {
    name: ranked_probability_score(y_test, model.predict_proba(test))
    for name, model in (("boosted", boosted), ("calibrated", calibrated))
}
print({name: round(score, 4) for name, score in scores.items()})
assert scores["calibrated"] < 0.9 * scores["boosted"]

# %%
# Before: what is said to be sure happens too seldom.
CumulativeCalibrationDisplay.from_estimator(boosted, test, y_test, name="boosted")

# %%
# After: shares follow the diagonal. The order of rows is the same, as one slope is common to all.
CumulativeCalibrationDisplay.from_estimator(calibrated, test, y_test, name="calibrated")
probabilities = calibrated.predict_proba(test)
assert (probabilities.cumsum(axis=1)[:, :-1] <= 1.0 + 1e-12).all() and (probabilities >= 0).all()
