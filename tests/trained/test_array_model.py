"""Models as plain arrays say what the estimators say."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from support.mixed_tables import ORDER, WORDS, mixed_frame

from echelon import SVOR, LinearSVOR, ORBoost, ProportionalOdds, RankRules
from echelon.meta.calibration import OrdinalCalibrator
from echelon.ordinal.costs import cost_matrix, minimum_cost_codes
from echelon.ordinal.intervals import conformal_p_values
from echelon.tables import labelled_table
from echelon.trained import ModelFileError, TrainedModel, load_model, train
from echelon.trained.array_form import _reach, array_form
from echelon.trained.array_model import ArrayModel, pack, unpack
from echelon.trained.model import load_predictor
from echelon.trained.model_file import write_model_file

COST = [[0, 1, 2, 9], [1, 0, 1, 5], [5, 2, 0, 1], [9, 4, 1, 0]]


def training_frame():
    frame = mixed_frame(150)
    frame["sold"] = [None if i % 11 == 0 else i % 3 == 0 for i in range(len(frame))]
    frame["day"] = pd.date_range("2020-01-01", periods=len(frame))
    frame.loc[5, "day"] = None
    frame.loc[[7, 9], "colour"] = None
    frame.loc[11, "colour"] = "rare"
    frame.loc[[1, 2, 3], "shade"] = "dark"
    frame["shade"] = frame["shade"].fillna("light")
    return frame


def new_frame():
    frame = training_frame().sample(frac=1.0, random_state=1)
    frame.loc[[20, 30], "colour"] = "never seen"
    frame.loc[[21, 31], ["a", "b"]] = np.nan
    frame["c"] = frame["c"] * 1.7 - 0.2
    return frame


MODELS = {
    "odds": ProportionalOdds(alpha=1.0),
    "cloglog": ProportionalOdds("cloglog", alpha=1.0),
    "LinearSVOR": LinearSVOR(),
    "RankRules": RankRules(30, random_state=0),
    "RankRules absolute": RankRules(20, loss="absolute", shrinkage=0.3, random_state=0),
    "ORBoost": ORBoost(10, random_state=0),
    "SVOR": SVOR(),
}


def trained(name, cost=None):
    table = labelled_table(training_frame(), "rating", ORDER)
    return train(table, MODELS[name], cost=cost, evaluate=False)


@pytest.mark.parametrize("cost", [None, COST], ids=["absolute", "own cost"])
@pytest.mark.parametrize(
    "name", ["odds", "cloglog", "LinearSVOR", "RankRules", "RankRules absolute"]
)
def test_the_same_answers(name, cost):
    model = trained(name, cost)
    arrays = array_form(model)
    assert arrays is not None
    fast = ArrayModel(unpack(pack(arrays)), model.schema, model.classes)
    expected, found = (m.predict_frame(new_frame()) for m in (model, fast))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-11, atol=1e-13)
    assert found["predicted"].nunique() > 1
    one = fast.predict_frame(new_frame(), proba=False, interval=False)
    assert list(one.columns) == ["predicted"]


@pytest.mark.parametrize("missed", [0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [1, 9, 10, 50])
def test_reach_is_the_border_of_the_interval(n, missed):
    rng = np.random.default_rng(n)
    calibration = np.sort(rng.random(n).round(1))
    reach = _reach(calibration, missed)
    tried = np.concatenate([calibration, rng.random(200), [0.0, 5.0], np.nextafter(reach, [-9, 9])])
    p_values = conformal_p_values(tried[None], calibration)[0]
    np.testing.assert_array_equal(tried <= reach, p_values > missed + 1e-12)


def test_calibrated_rules():
    table = labelled_table(training_frame(), "rating", ORDER)
    model = trained("RankRules")
    calibrated = OrdinalCalibrator(model.estimator, cv=3, classes=WORDS).fit(table.X, table.y)
    wrapped = TrainedModel(calibrated, model.schema, model.classes, "rating", "rules")
    fast = ArrayModel(array_form(wrapped), model.schema, model.classes)
    expected, found = (m.predict_frame(new_frame()) for m in (wrapped, fast))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("cost", ["absolute", COST], ids=["absolute", "own cost"])
def test_labels_of_the_model_beside_calibrated_chances(cost):
    table = labelled_table(training_frame(), "rating", ORDER)
    inner = clone(trained("odds", cost).estimator)
    # Chances far from the calibrated ones, so that decisions by the two differ.
    inner.set_params(model__alpha=100.0)
    calibrated = OrdinalCalibrator(inner, cv=3, decision="inner", classes=WORDS)
    calibrated.fit(table.X, table.y)
    wrapped = TrainedModel(calibrated, table.schema, WORDS, "rating", "odds")
    fast = ArrayModel(unpack(pack(array_form(wrapped))), table.schema, WORDS)
    fast.check()
    expected, found = (m.predict_frame(new_frame()) for m in (wrapped, fast))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-11, atol=1e-13)
    by_chances = minimum_cost_codes(wrapped.predict_proba(new_frame()), cost_matrix(cost, 4))
    assert (np.asarray(WORDS)[by_chances] != found["predicted"]).any()


@pytest.mark.parametrize("scaler", [StandardScaler(with_mean=False), MinMaxScaler()])
def test_a_preparation_of_ones_own_has_no_arrays(scaler, tmp_path):
    frame = training_frame()[["a", "b", "c", "rating"]]
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    own = ColumnTransformer([("numbers", make_pipeline(impute, scaler), ["a", "b", "c"])])
    table = labelled_table(frame, "rating", ORDER)
    model = train(table, make_pipeline(own, ProportionalOdds()), evaluate=False)
    model.save(tmp_path / "m.echelon")
    again = load_predictor(tmp_path / "m.echelon")
    pd.testing.assert_frame_equal(again.predict_frame(frame), model.predict_frame(frame))


@pytest.mark.parametrize("name", ["ORBoost", "SVOR"])
def test_other_models_have_no_arrays(name, tmp_path):
    model = trained(name)
    assert array_form(model) is None
    model.save(tmp_path / "m.echelon")
    again = load_predictor(tmp_path / "m.echelon")
    pd.testing.assert_frame_equal(
        again.predict_frame(new_frame()), model.predict_frame(new_frame())
    )


@pytest.fixture(scope="module")
def rules():
    return trained("RankRules")


def test_a_file_predicts_without_scikit_learn(rules, tmp_path):
    path, table = tmp_path / "m.echelon", tmp_path / "t.csv"
    rules.save(path)
    new_frame().to_csv(table, index=False)
    program = (
        "import sys\n"
        "from echelon.trained.model import load_predictor\n"
        "from echelon.tables import read_table\n"
        f"model = load_predictor({str(path)!r})\n"
        f"print(len(model.predict_frame(read_table({str(table)!r}))))\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    count, modules = done.stdout.splitlines()
    assert int(count) == 150
    assert not {"sklearn", "skops"} & set(modules.split())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda table: table["places"].__setitem__(0, 99),
        lambda table: table["offsets"].__setitem__(-1, 10**6),
        lambda table: table["starts"].__setitem__(1, -5),
        lambda table: table["allowed"].__setitem__(0, 7),
        lambda table: table.update(responses=table["responses"][:-1]),
    ],
)
def test_tables_that_would_lead_the_native_loop_astray(rules, tmp_path, spoil):
    arrays = unpack(pack(array_form(rules)))
    spoil(arrays["model"]["score"]["table"])
    path = tmp_path / "m.echelon"
    write_model_file(path, rules.card(), [rules.estimator, rules.intervals], pack(arrays))
    with pytest.raises(ModelFileError, match="do not fit together"):
        load_predictor(path)
    assert load_model(path).name == "RankRules"


def test_arrays_that_are_none(rules, tmp_path):
    path = tmp_path / "m.echelon"
    for content in (b"", b"PK", pack({"model": {}})):
        write_model_file(path, rules.card(), [rules.estimator, rules.intervals], content)
        with pytest.raises(ModelFileError, match="arrays in"):
            load_predictor(path)
