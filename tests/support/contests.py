"""What tests of contests share."""

from sklearn.linear_model import Ridge

from echelon import (
    LinearSVOR,
    ProportionalOdds,
    RoundedRegressor,
)
from echelon.model_selection import (
    Candidate,
)

ODDS = Candidate("odds", ProportionalOdds(alpha=1.0))
RIDGE = Candidate("ridge", RoundedRegressor(Ridge()))
SEARCHED = Candidate("searched", LinearSVOR(), {"C": (1e-4, 1.0)})
SKEWED = [[0, 1, 9, 9], [1, 0, 9, 9], [1, 1, 0, 1], [1, 1, 1, 0]]


def roster(*entries):
    return {entry.name: entry for entry in entries}
