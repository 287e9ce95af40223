"""
Ranking by comparing two at a time
==================================

``PreferenceRanker`` learns which of two rows stands higher and sorts by it with QuickSort
([MRT18] section 10.5). Where an oracle is expensive, ``rank_by_preference`` asks few pairs.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from echelon import LinearRankSVM, PreferenceOracle, PreferenceRanker, rank_by_preference
from echelon.datasets import load_esl

X, y = load_esl(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(X))
train, test = rows[:300], rows[300:]
ranker = PreferenceRanker(LogisticRegression(), max_pairs=5000, random_state=0).fit(
    X[train], y[train]
)
direct = LinearRankSVM().fit(X[train], y[train])
print(f"pairs in order: {ranker.score(X[test], y[test]):.3f}, {direct.score(X[test], y[test]):.3f}")
assert ranker.score(X[test], y[test]) > 0.9

# %%
# Why the first row stands above the second.
print(direct.explain_pair(X[test[0]], X[test[1]]))

# %%
# An oracle that is asked: here it is right with a probability that grows with the distance of two
# numbers. QuickSort asks about 2n ln n pairs, all of one depth in one batch.
rng = np.random.default_rng(1)
strength = rng.permutation(np.arange(64.0))


def prefers(a, b):
    """Whether a is held to be stronger than b."""
    return bool(rng.random() < 1.0 / (1.0 + np.exp(-1.5 * (strength[a] - strength[b]))))


oracle = PreferenceOracle(prefers)
order = rank_by_preference(range(64), oracle, random_state=0)
right = np.corrcoef(-strength[order.items], np.arange(64))[0, 1]
print(f"{order.n_calls} questions in {order.n_batches} batches, correlation {right:.3f}")
assert order.complete and order.n_calls < 64 * 63 / 2 / 2
assert right > 0.95

# %%
# The order that was found against the true one.
figure, ax = plt.subplots(figsize=(3.8, 3.6), layout="constrained")
ax.plot(np.arange(1, 65), strength[order.items], ".")
ax.set(xlabel="place in the order found", ylabel="strength")

# %%
# For the first few of many, fewer questions will do.
top = rank_by_preference(range(64), PreferenceOracle(prefers), top_k=5, random_state=0)
print(strength[top.items], top.n_calls)
assert top.n_calls < order.n_calls and len(top.items) == 5
