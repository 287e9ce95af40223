"""
Thresholds on a latent score
============================

Most models here give every row one number, the latent score, and cut it by K−1 thresholds. The
densities of the score by class show where a model is sure and where classes overlap.
"""

# %%
# Employees judged by experts on a scale of nine steps, from four test results.
import matplotlib.pyplot as plt
import numpy as np

from echelon import LinearSVOR, ProportionalOdds
from echelon.datasets import load_esl
from echelon.plots import LatentDisplay

X, y = load_esl(return_X_y=True)
model = ProportionalOdds().fit(X, y)
print("thresholds", model.thresholds_.round(2))
assert (np.diff(model.thresholds_) > 0).all()

# %%
# Every density lies around the interval of its class. The ends of the scale have few rows.
LatentDisplay.from_estimator(model, X, y)

# %%
# A threshold is where both sides are equally likely, so the label is the number of thresholds that
# the score exceeds.
score = model.predict_latent(X)
margins = model.decision_function(X)
assert np.allclose(margins, score[:, None] - model.thresholds_)
assert np.array_equal(model.predict(X), model.classes_[(margins > 0).sum(axis=1)])

# %%
# The large-margin model orders rows almost alike, in units of its own: margins of one.
machine = LinearSVOR().fit(X, y)
order = np.corrcoef(score.argsort().argsort(), machine.predict_latent(X).argsort().argsort())[0, 1]
print(f"rank correlation of the two scores: {order:.4f}")
assert order > 0.99

figure, ax = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
colours = plt.colormaps["viridis"](np.linspace(0.0, 0.9, len(model.classes_)))
for k, label in enumerate(model.classes_):
    rows = y == label
    ax.plot(score[rows], machine.predict_latent(X)[rows], ".", color=colours[k])
ax.set(xlabel="score of proportional odds", ylabel="score of the linear machine")
