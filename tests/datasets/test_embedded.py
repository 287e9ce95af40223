import subprocess
import sys

import numpy as np
import pytest

from echelon import datasets
from echelon.datasets import list_datasets, load_dataset
from echelon.ordinal.labels import read_scale

COUNTS = {
    "anes96": [200, 180, 108, 37, 94, 150, 175],
    "balance_scale": [288, 49, 288],
    "era": [92, 142, 181, 172, 158, 118, 88, 31, 18],
    "esl": [2, 12, 38, 100, 116, 135, 62, 19, 4],
    "lev": [93, 280, 403, 197, 27],
    "swd": [32, 352, 399, 217],
}
INPUTS = {"anes96": 9, "balance_scale": 4, "era": 4, "esl": 4, "lev": 4, "swd": 10}


def test_every_embedded_set_is_listed_and_has_its_own_loader():
    assert list_datasets() == sorted(COUNTS)
    for name in list_datasets():
        own = getattr(datasets, f"load_{name}")()
        assert own.DESCR == load_dataset(name).DESCR


@pytest.mark.parametrize("name", COUNTS)
def test_shapes_and_class_counts(name):
    bunch = load_dataset(name)
    assert bunch.data.shape == (sum(COUNTS[name]), INPUTS[name])
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert len(bunch.feature_names) == INPUTS[name]
    assert [int((bunch.target == label).sum()) for label in bunch.classes] == COUNTS[name]
    assert bunch.target_names == [str(label) for label in bunch.classes]
    assert bunch.frame is None


@pytest.mark.parametrize("name", COUNTS)
def test_frames_carry_the_order_and_the_same_values(name):
    plain = load_dataset(name)
    bunch = load_dataset(name, as_frame=True)
    assert bunch.target.cat.ordered
    assert bunch.target.cat.categories.tolist() == plain.classes.tolist()
    assert bunch.frame.columns.tolist() == [*plain.feature_names, "y"]
    np.testing.assert_array_equal(bunch.data.to_numpy(), plain.data)
    np.testing.assert_array_equal(np.asarray(bunch.target), plain.target)
    scale, _ = read_scale(bunch.target)
    assert scale.classes.tolist() == plain.classes.tolist()


@pytest.mark.parametrize("as_frame", [False, True])
def test_return_X_y_is_the_pair(as_frame):
    bunch = load_dataset("esl", as_frame=as_frame)
    X, y = load_dataset("esl", as_frame=as_frame, return_X_y=True)
    assert type(X) is type(bunch.data)
    assert (np.asarray(X) == np.asarray(bunch.data)).all()
    assert (np.asarray(y) == np.asarray(bunch.target)).all()


@pytest.mark.parametrize("name", COUNTS)
def test_description_and_readme_state_licence_and_origin(name):
    from importlib.resources import files

    bunch = load_dataset(name)
    assert bunch.licence in bunch.DESCR
    assert bunch.origin in bunch.DESCR
    readme = (files("echelon.datasets") / "data" / "README.md").read_text("utf-8")
    row = next(line for line in readme.splitlines() if line.startswith(f"| `{name}.csv`"))
    assert bunch.licence.partition(",")[0] in row
    assert f"| {len(bunch.data)} | {bunch.data.shape[1]} |" in row


def test_balance_scale_follows_its_rule():
    bunch = load_dataset("balance_scale")
    left, right = bunch.data[:, :2].prod(axis=1), bunch.data[:, 2:].prod(axis=1)
    assert (bunch.target == np.array(["L", "B", "R"])[1 + np.sign(right - left).astype(int)]).all()


def test_party_identification_rises_with_self_placement():
    bunch = load_dataset("anes96")
    _, codes = read_scale(bunch.target, bunch.classes)
    own = bunch.data[:, bunch.feature_names.index("selfLR")]
    means = [own[codes == k].mean() for k in range(7)]
    assert means[0] < means[3] < means[6]


def test_unknown_name_is_told_in_a_sentence():
    with pytest.raises(ValueError, match=r"name must be 'anes96', .*; found 'iris'"):
        load_dataset("iris")


def test_arrays_need_no_pandas():
    code = (
        "import sys; sys.modules['pandas'] = None; from echelon.datasets import load_swd; "
        "print(load_swd().data.shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "(1000, 10)", run.stderr


def test_exported_names_exist_and_are_documented():
    for name in datasets.__all__:
        assert getattr(datasets, name).__doc__
