"""
Queries through scikit-learn's searches
=======================================

Documents are ranked within their query, so queries must reach the splitter, ``fit`` and the scorer.
With scikit-learn's metadata routing one ``qid=…`` does it: rankers, ``QueryKFold`` and ranking
scorers ask for it by themselves.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import LinearRankSVM
from echelon.metrics import get_scorer, ndcg_score
from echelon.model_selection import QueryKFold

# %%
# Hotels shown for 60 searches. What is liked is relative to the search: people who search for
# expensive places like expensive places.
rng = np.random.default_rng(0)
qid = np.repeat([f"search {i}" for i in range(60)], 12)
wealth = np.repeat(rng.normal(scale=3.0, size=60), 12)
hotels = rng.normal(size=(720, 5))
score = hotels @ [1.0, 0.6, 0.0, 0.0, -0.5] + 0.7 * rng.normal(size=720)
hotels[:, 0] += wealth
liked = np.digitize(score, [-0.5, 0.8, 1.8])

# %%
# One ``qid`` serves folds of whole queries, pairs within queries, and NDCG by query.
model = make_pipeline(StandardScaler(), LinearRankSVM())
with sklearn.config_context(enable_metadata_routing=True):
    grid = GridSearchCV(
        model,
        {"linearranksvm__C": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]},
        cv=QueryKFold(5),
        scoring=get_scorer("ndcg@5"),
    ).fit(hotels, liked, qid=qid)
print(grid.best_params_, f"NDCG@5 {grid.best_score_:.3f}")

# %%
# Without queries the ranker would compare hotels of different searches, where the first input
# misleads.
blind = make_pipeline(StandardScaler(), LinearRankSVM()).fit(hotels, liked)
by_query = grid.best_estimator_[-1].coef_
print("by query", by_query.round(2), "blind", blind[-1].coef_.round(2))
value = ndcg_score(liked, grid.predict(hotels), qid=qid, k=5)
assert value > ndcg_score(liked, blind.predict(hotels), qid=qid, k=5) + 0.02

# %%
# The best three hotels of the first search.
scaler, ranker = grid.best_estimator_
first = ranker.rank(scaler.transform(hotels), qid, top_k=3)
print(first[:3], liked[first[:3]])
assert (qid[first[:3]] == "search 0").all()

figure, ax = plt.subplots(figsize=(5.6, 3.0), layout="constrained")
C = grid.cv_results_["param_linearranksvm__C"].astype(float)
ax.errorbar(
    C,
    grid.cv_results_["mean_test_score"],
    yerr=grid.cv_results_["std_test_score"] / np.sqrt(5),
    marker="o",
    capsize=3,
)
ax.set(xscale="log", xlabel="C", ylabel="NDCG@5 on searches not seen")
