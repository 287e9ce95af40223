"""
Rules as sentences
==================

RankRules adds up rules such as "if selfLR ≥ 4.5 and vote ≥ 0.5 then the party moves to the right".
A few rules, chosen anew, keep most of the accuracy and can be read aloud.
"""

# %%
from echelon import RankRules
from echelon.datasets import load_anes96
from echelon.plots import RuleCoverageDisplay

X, y = load_anes96(return_X_y=True, as_frame=True)
model = RankRules(150, max_conditions=2, random_state=0).fit(X, y)
few = model.prune(8, X, y)
print(few.to_text())
print(few.pruning_)
assert len(few.rules_) == 8 and len(model.rules_) > 50
assert few.score(X, y) > model.score(X, y) - 0.1

# %%
# Each bar is the share of the voters that a rule speaks of.
RuleCoverageDisplay.from_estimator(few)

# %%
# Why one voter: the rules that hold, and what each adds to the score.
explanation = few.explain(X.iloc[[0]])[0]
print(explanation)
added = sum(part for _, part in explanation.parts)
assert abs(few.predict_latent(X.iloc[[0]])[0] - added) < 1e-9

# %%
# Why one voter stands to the right of another.
print(few.explain_pair(X.iloc[[0]], X.iloc[[1]]))
table = few.to_frame()
assert len(table) == 8
