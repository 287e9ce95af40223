"""A table as users have it: numbers with a gap, a nominal column, ordered labels that are words."""

import pandas as pd

from .data import ordinal_data

WORDS = ["poor", "fair", "good", "great"]
ORDER = "<".join(WORDS)


def mixed_frame(n=90, seed=0):
    X, codes = ordinal_data(n=n, seed=seed)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[3, "a"] = None
    frame["colour"] = (["red", "blue", "green"] * n)[:n]
    frame["rating"] = [WORDS[code] for code in codes]
    return frame
