from types import SimpleNamespace

import pytest

from echelon._utils.frames import input_names, names_or_numbers


def test_columns_of_a_frame_keep_their_names():
    fitted = SimpleNamespace(n_features_in_=2, feature_names_in_=["age", "height"])
    assert input_names(fitted) == ["age", "height"]
    assert input_names(SimpleNamespace(n_features_in_=2)) == ["x0", "x1"]


@pytest.mark.parametrize("names", [None, ["a"], ["a", "b", "c"]])
def test_names_that_do_not_fit_are_numbers(names):
    assert names_or_numbers(names, 2) == ["x0", "x1"]
