"""Rules with names on small data."""

import numpy as np
import pandas as pd

from echelon.rules.columns import InputColumns, as_positions, learn_columns
from echelon.rules.rule import Naming, merge_rounds
from echelon.rules.words import cut_gaps
from echelon.solvers.rules.bodies import Interval, Membership, covers

LABELS = ["poor", "fair", "good"]


def numeric(n_features):
    return InputColumns((None,) * n_features, (False,) * n_features)


def name_rules(bodies, X, codes, weights, labels, columns, features=None):
    """Names from training rows, as a model of rules keeps what they need."""
    mass = np.bincount(codes, weights, minlength=len(labels))
    gaps = cut_gaps(X, bodies, columns.categories)
    return Naming.of(columns, np.asarray(labels), mass, gaps, features)


def class_shares(bodies, X, codes, n_classes, weights):
    """Share of the weight of all rows that each body covers, by class."""
    shares = np.zeros((len(bodies), n_classes))
    for m, body in enumerate(bodies):
        inside = covers(body, X)
        shares[m] = np.bincount(codes[inside], weights[inside], minlength=n_classes)
    return shares / weights.sum()


def rules_of(bodies, responses, X, codes, weights=None, columns=None, features=None, **kwargs):
    weights = np.ones(len(X)) if weights is None else weights
    columns = numeric(X.shape[1]) if columns is None else columns
    naming = name_rules(bodies, X, codes, weights, LABELS, columns, features)
    shares = class_shares(bodies, X, codes, len(LABELS), weights)
    return merge_rounds(bodies, responses, shares, naming, **kwargs), naming


def wine_data():
    frame = pd.DataFrame(
        {
            "alcohol": [9.1, 9.8, 10.4, 11.2, 12.0, 13.1],
            "age": [1, 2, 4, 3, 7, 9],
            "colour": pd.Categorical(["red", "white", "red", "rosé", "white", "red"]),
            "size": pd.Categorical(
                ["small", "small", "large", "medium", "large", "large"],
                categories=["small", "medium", "large"],
                ordered=True,
            ),
            "bio": [False, True, False, True, True, True],
        }
    )
    columns = learn_columns(frame)
    X = np.asarray(as_positions(frame, columns), dtype=np.float64)
    return X, np.array([0, 0, 1, 1, 2, 2]), columns, list(frame.columns)


def named_wine_rules():
    X, codes, columns, features = wine_data()
    bodies = [
        (Interval(0, lower=10.8), Interval(1, upper=8.0)),
        (Membership(2, (0, 2), negated=True),),
        (Interval(3, upper=1.5), Membership(4, (1,))),
        (Interval(0, lower=10.8), Interval(1, upper=8.0)),
    ]
    return rules_of(bodies, [0.3, -0.05, -0.2, 0.1], X, codes, None, columns, features)
