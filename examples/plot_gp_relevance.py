"""
Relevance of inputs by evidence
===============================

A Gaussian process with a length scale for each input learns from the evidence which inputs matter
[CG05], without a held-out set.
"""

# %%
# Two inputs of six decide the label.
import numpy as np

from echelon import GPOR
from echelon.plots import RelevanceDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(130, 6))
latent = np.sin(2.0 * X[:, 1]) + 0.8 * X[:, 4] + 0.2 * rng.normal(size=130)
y = np.digitize(latent, [-0.8, 0.2, 1.0])

shared = GPOR(kernel="rbf").fit(X, y)
model = GPOR(kernel="rbf_ard").fit(X, y)
print("relevances", model.feature_relevance_.round(4))
assert set(model.select_features(2)) == {1, 4}

# %%
# The evidence speaks for separate length scales, although they are five more parameters.
before, after = shared.log_marginal_likelihood_value_, model.log_marginal_likelihood_value_
print(f"log evidence {before:.1f} with one length scale, {after:.1f} with six")
assert after > before + 3.0

# %%
RelevanceDisplay.from_estimator(model)

# %%
# Far from the data the process does not claim to know: probabilities go to those of the prior.
far = model.predict_proba(np.full((1, 6), 8.0))[0]
near = model.predict_proba(X).max(axis=1).mean()
print("far away", far.round(2), f"; largest probability near the data {near:.2f} on average")
assert far.max() < near
