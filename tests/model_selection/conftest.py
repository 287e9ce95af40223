import numpy as np
import pandas as pd
import pytest
from support.data import ordinal_data

from echelon.tables import labelled_table


@pytest.fixture
def table():
    """A table with a category and missing numbers."""
    X, codes = ordinal_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::9, "b"] = np.nan
    frame["colour"] = ["red", "blue", "blue"] * 40
    frame["grade"] = codes + 1
    return labelled_table(frame)
