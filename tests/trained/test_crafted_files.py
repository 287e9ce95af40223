"""Files that somebody made up with the format in hand: refused before native code follows them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR
from support.data import ordinal_data

import echelon
from echelon.tables import Schema
from echelon.trained import ModelFileError, TrainedModel, load_model
from echelon.trained.lightgbm_text import checked_text
from echelon.trained.model_file import dump_estimators, load_estimators, write_model_file

X, Y = ordinal_data(n=60, K=3)


def refusal_of(estimator, change=None):
    """What is said of a file with this estimator, after its tree was changed."""
    tree, numbers = dump_estimators(estimator)
    if change is not None:
        found = json.loads(tree)
        change(found)
        tree = json.dumps(found).encode()
    with pytest.raises(ModelFileError) as refusal:
        load_estimators("It is refused", tree, numbers)
    return str(refusal.value)


def objects(node, name):
    """The states of all objects of a type."""
    if isinstance(node, dict):
        found = [node["state"]] if node.get("type") == name else []
        return found + [state for part in node.values() for state in objects(part, name)]
    return [s for part in node for s in objects(part, name)] if isinstance(node, list) else []


def set_in(name, **values):
    def change(tree):
        states = objects(tree, name)
        assert states
        states[0].update(values)

    return change


# ------------------------------------------------------------------------------------------ trees


@pytest.mark.parametrize(
    ("name", "at", "value", "word"),
    [
        ("children", (0, 0), 10**8, "no node"),
        ("children", (1, 0), 0, "do not come after it"),
        ("children", (1, 0), 1, "do not come after it"),
        ("children", (0, 0), -(10**8), "no leaf"),
        ("feature", 0, 3, "feature that is none"),
        ("feature", 0, -1, "feature that is none"),
        ("edge", 0, np.nan, "no number"),
        ("leaf_ranks", 0, 3, "rank of a leaf is none"),
        ("leaf_ranks", 0, -1, "rank of a leaf is none"),
        ("margins", (0, 0), np.nan, "margins"),
        ("class_mass", 0, 0.0, "weights of classes"),
    ],
)
def test_our_tree(name, at, value, word):
    model = echelon.ORTree(max_depth=3).fit(X, Y)
    getattr(model.tree_, name)[at] = value
    assert word in refusal_of(model)


@pytest.mark.parametrize("wrapper", [echelon.AdaBoostOR, echelon.OrdinalBagging])
def test_members_are_of_the_same_inputs(wrapper):
    model = wrapper(echelon.ORTree(max_depth=2), 2, random_state=0).fit(X, Y)
    model.estimators_[1].n_features_in_ = 9
    assert "one of its members is of other inputs" in refusal_of(model)


def test_a_tree_needs_its_number_of_inputs():
    model = echelon.ORTree(max_depth=2).fit(X, Y)
    del model.n_features_in_
    assert "no number of inputs" in refusal_of(model)


def forest_with(**columns):
    model = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, Y)
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    for name, value in columns.items():
        state["nodes"][name] = value
    tree.__setstate__(state)
    return model


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"left_child": 10**7}, "do not come after it"),
        ({"right_child": 0}, "do not come after it"),
        ({"left_child": -5}, "do not come after it"),
        ({"right_child": -1}, "do not come after it"),
        ({"left_child": -1}, "a leaf of a tree has a child"),
        ({"feature": 3}, "feature that is none"),
        ({"feature": -1}, "feature that is none"),
        ({"threshold": np.nan}, "not finite"),
    ],
)
def test_trees_of_scikit_learn(columns, word):
    assert word in refusal_of(forest_with(**columns))


def test_trees_of_scikit_learn_fit_their_forest():
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)
    model.n_features_in_ = 2
    assert "of other inputs" in refusal_of(model)
    del model.n_features_in_
    assert "n_features_in_" in refusal_of(model)
    model.n_features_in_ = 3
    model.estimators_[0].n_outputs_ = 2
    assert "of other inputs or labels" in refusal_of(model)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("left", 10**6, "do not come after it"),
        ("right", 0, "do not come after it"),
        ("feature_idx", 3, "looks at no feature"),
        ("feature_idx", -1, "looks at no feature"),
        ("value", np.inf, "not finite"),
        ("num_threshold", np.nan, "no number"),
    ],
)
def test_boosted_trees_of_scikit_learn(name, value, word):
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5).fit(X, Y)
    model._predictors[0][0].nodes[name] = value
    assert word in refusal_of(model)


def test_boosted_trees_that_part_categories_are_not_saved():
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features=[0])
    model.fit(np.column_stack([Y, X]), Y)
    with pytest.raises(ModelFileError, match="categories, which is not kept"):
        dump_estimators(model)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"_in_fit": True}, "part of its class"),
        ({"predict": None}, "part of its class"),
        ({"_n_features": 2}, "inputs"),
        ({"n_trees_per_iteration_": 2}, "trees"),
        ({"loss": "no such loss"}, "no model can be built"),
    ],
)
def test_attributes_of_boosted_trees(values, word):
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, Y)
    change = set_in("sklearn.ensemble.HistGradientBoostingRegressor", **values)
    assert word in refusal_of(model, change)


# ------------------------------------------------------------------------------- one-hot encoding

NAMES = np.array([[*"aaabbbcddexx"], [*"xxxxxxyyyyyy"]], dtype=object).T


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"_n_features_outs": [0, 2]}, "other columns than levels"),
        ({"_n_features_outs": [3.0, 2]}, "other columns than levels"),
        ({"_n_features_outs": [3]}, "of other inputs"),
        ({"_infrequent_enabled": False}, "other columns than levels"),
        ({"_infrequent_indices": [None, None]}, "rare levels"),
        ({"_infrequent_indices": [np.array([9]), None]}, "rare levels"),
        ({"_infrequent_indices": [None]}, "of other inputs"),
        ({"_default_to_infrequent_mappings": [np.arange(6), None]}, "rare levels"),
        ({"_default_to_infrequent_mappings": [np.array([0, 1]), None]}, "rare levels"),
        ({"_drop_idx_after_grouping": np.array([7, None], dtype=object)}, "drops no level"),
        ({"_drop_idx_after_grouping": np.array([0, None], dtype=object)}, "other columns"),
        ({"_drop_idx_after_grouping": np.array([0], dtype=object)}, "of other inputs"),
        ({"categories_": [np.array([2.0, 1.0]), np.array([1.0, np.nan, 2.0])]}, "in no order"),
    ],
)
def test_one_hot_codes_stay_in_their_columns(values, word):
    model = OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist").fit(NAMES)
    for name, value in values.items():
        setattr(model, name, value)
    if "categories_" in values:
        model._infrequent_enabled = False
    assert word in refusal_of(model)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_frequency": 3, "handle_unknown": "infrequent_if_exist"},
        {"max_categories": 2, "handle_unknown": "ignore"},
        {"drop": "first"},
        {"drop": "if_binary", "min_frequency": 3},
    ],
)
@pytest.mark.parametrize("rows", [NAMES, np.array([[1.0, 2.0], [3.0, np.nan], [1.0, 4.0]])])
def test_one_hot_codes_are_saved_and_loaded(settings, rows):
    model = OneHotEncoder(sparse_output=False, **settings).fit(rows)
    again = load_estimators("It is refused", *dump_estimators(model))
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows))


# ------------------------------------------------------------------------------------------ rules


def rules_with(**parts):
    model = echelon.RankRules(5, random_state=0).fit(X, Y)
    for name, value in parts.items():
        object.__setattr__(model._ensembles[0], name, value)
    return model


def test_a_table_of_rules_is_not_read_but_made():
    model = echelon.RankRules(5, random_state=0).fit(X, Y)
    before = model.predict(X)
    model._ensembles[0].table.allowed[:] = 255
    again = load_estimators("It is refused", *dump_estimators(model))
    np.testing.assert_array_equal(again.predict(X), before)
    change = set_in("echelon.rules.RuleEnsemble", table=None)
    assert "its parts are others" in refusal_of(model, change)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"feature": 99}, "an input that is none"),
        ({"feature": -1}, "no numbers"),
        ({"feature": 1.5}, "no numbers"),
        ({"upper": {"is": "float", "value": "nan"}}, "no numbers"),
        ({"upper": "1"}, "no numbers"),
    ],
)
def test_conditions_of_rules(values, word):
    change = set_in("echelon.rules.Interval", **values)
    assert word in refusal_of(rules_with(), change)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ({"bodies": ((),) * 5}, "no conditions"),
        ({"responses": np.zeros(4)}, "responses"),
        ({"responses": np.full(5, np.nan)}, "responses"),
        ({"start": np.array([1.0, 0.0])}, "ascend"),
        ({"class_shares": np.zeros((5, 9))}, "labels"),
    ],
)
def test_parts_of_rules(parts, word):
    assert word in refusal_of(rules_with(**parts))


def test_levels_of_rules():
    change = set_in("echelon.rules.Levels", n_classes=10**9)
    assert "levels" in refusal_of(rules_with(), change)


# --------------------------------------------------------------------------------- other packages


@pytest.mark.parametrize("machine", [SVR(), SVC()])
@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("_dual_coef_", lambda a: a[:, :3]),
        ("support_vectors_", lambda a: a[:, :2]),
        ("support_vectors_", lambda a: np.repeat(a, 9, axis=0)),
        ("support_vectors_", lambda a: a.astype(np.float32)),
        ("support_", lambda a: a[:-1]),
        ("_n_support", lambda a: a + 10**6),
        ("_n_support", lambda a: np.repeat(a, 5)),
        ("_intercept_", lambda a: a[:0]),
        ("_probA", lambda a: np.zeros(7)),
        ("kernel", lambda a: "precomputed"),
        ("_sparse", lambda a: True),
        ("n_features_in_", lambda a: 9),
    ],
)
def test_support_vector_machines(machine, name, spoil):
    model = clone(machine).fit(X, Y)
    setattr(model, name, spoil(getattr(model, name)))
    assert "support vectors" in (said := refusal_of(model)) or "kernel" in said


def test_what_scikit_learn_fixes_stays_fixed():
    change = set_in("sklearn.svm.SVR", _impl="c_svc")
    assert "_impl is part of its class" in refusal_of(SVR().fit(X, Y), change)


@pytest.fixture(scope="module")
def light():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMRegressor(
        n_estimators=2, num_leaves=4, min_child_samples=5, n_jobs=1, verbose=-1
    ).fit(X, Y)


@pytest.mark.parametrize(
    ("pattern", "text", "word"),
    [
        (r"(?s)^.*$", "/dev/zero", "does not end after its trees"),
        (r"^tree", "tree_", "none of LightGBM's"),
        (r"max_feature_idx=2", "max_feature_idx=9", "not as many as inputs"),
        (r"num_class=1", "num_class=3", "num_class"),
        (r"tree_sizes=\d+", "tree_sizes=99999", "a tree has the line"),
        (r"num_leaves=4", "num_leaves=40", "another number of"),
        (r"left_child=\S+", "left_child=1000", "no node"),
        (r"left_child=\S+", "left_child=-1000", "no leaf"),
        (r"left_child=(\S+) \S+", r"left_child=\1 0", "do not come after it"),
        (r"split_feature=\d+", "split_feature=77", "feature that is none"),
        (r"decision_type=\d+", "decision_type=1", "categories"),
        (r"threshold=\S+", "threshold=nan", "not made of numbers"),
        (r"leaf_value=\S+", "leaf_value=inf", "not finite"),
        (r"is_linear=0", "is_linear=1", "linear leaves"),
        (r"num_cat=0", "num_cat=3", "do not fit together"),
        (r"shrinkage=1\n", "shrinkage=1\nevil=1\n", "evil=1"),
        (r"pandas_categorical:null", "parameters:", "does not end after its trees"),
    ],
)
def test_the_text_of_lightgbm(light, pattern, text, word):
    def change(tree):
        (state,) = objects(tree, "lightgbm.LGBMRegressor")
        altered, count = re.subn(pattern, text, state["text"], count=1, flags=re.MULTILINE)
        assert count == 1
        state["text"] = fitted_sizes(altered) if "tree_sizes" not in pattern else altered

    assert word in refusal_of(light, change)


def fitted_sizes(text):
    """The text with the sizes that its trees have now."""
    _, *trees = re.split(r"(?=^Tree=)", text.partition("end of trees")[0], flags=re.MULTILINE)
    sizes = " ".join(str(len(tree)) for tree in trees)
    return re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", text, count=1)


def test_the_text_of_lightgbm_as_it_is(light):
    assert (
        checked_text(
            light.booster_.model_to_string().partition("end of trees")[0]
            + "end of trees\n\npandas_categorical:null\n"
        )
        == 3
    )
    again = load_estimators("It is refused", *dump_estimators(light))
    np.testing.assert_array_equal(again.predict(X), light.predict(X))


def test_categories_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 6, size=(200, 1)).astype(float)
    model = lightgbm.LGBMRegressor(
        n_estimators=2,
        min_child_samples=5,
        n_jobs=1,
        verbose=-1,
        cat_smooth=0,
        min_data_per_group=5,
    )
    del model._other_params["cat_smooth"], model._other_params["min_data_per_group"]
    model.fit(inputs, np.sin(9 * inputs[:, 0]), categorical_feature=[0])
    if "cat_threshold" not in model.booster_.model_to_string():
        pytest.skip("this LightGBM parts no categories here")
    again = load_estimators("It is refused", *dump_estimators(model))
    np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))


@pytest.mark.parametrize(
    "settings", [{"input_model": "x"}, {"num_leaves": "/dev/zero"}, {"n_jobs": [1]}]
)
def test_settings_of_lightgbm(light, settings):
    def change(tree):
        (state,) = objects(tree, "lightgbm.LGBMRegressor")
        state["settings"]["items"] += [[key, value] for key, value in settings.items()]

    assert "settings" in refusal_of(light, change)


@pytest.fixture(scope="module")
def light_classes():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(
        n_estimators=2, num_leaves=4, min_child_samples=5, n_jobs=1, verbose=-1
    ).fit(X, np.array(["no", "yes"])[(Y > 1).astype(int)])


def test_two_classes_of_lightgbm(light_classes):
    again = load_estimators("It is refused", *dump_estimators(light_classes))
    np.testing.assert_array_equal(again.predict_proba(X), light_classes.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), light_classes.predict(X))
    assert again.classes_.tolist() == ["no", "yes"]


def test_more_classes_of_lightgbm_are_not_kept(light_classes):
    model = clone(light_classes).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ModelFileError, match="more than two classes, which is not kept"):
        dump_estimators(model)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"classes": {"is": "texts", "shape": [3], "width": 1, "items": ["a", "b", "c"]}}, "two"),
        ({"classes": {"is": "texts", "shape": [2], "width": 1, "items": ["b", "a"]}}, "two"),
        ({"classes": ["a", "b"]}, "two"),
        ({"text": None}, "without trees"),
        ({"_n_classes": 3}, "two"),
        ({"_objective": "regression"}, "do not give probabilities"),
        ({"objective=binary sigmoid:1": "objective=regression"}, "do not give probabilities"),
    ],
)
def test_classes_of_lightgbm_that_do_not_fit(light_classes, change, word):
    def spoil(tree):
        (state,) = objects(tree, "lightgbm.LGBMClassifier")
        ((key, value),) = change.items()
        if "=" in key:
            assert key in state["text"]
            state["text"] = state["text"].replace(key, value)
        elif value is None:
            del state[key]
        else:
            assert key in state
            state[key] = value

    assert word in refusal_of(light_classes, spoil)


# ------------------------------------------------------------------------------------------ values


def test_a_generator_that_reads_beyond_its_state():
    model = echelon.ProportionalOdds().fit(X, Y)
    model.random_ = np.random.RandomState(0)
    again = load_estimators("It is refused", *dump_estimators(model))
    assert again.random_.random_sample() == np.random.RandomState(0).random_sample()

    def change(tree):
        text = json.dumps(tree).replace('["pos", 624]', '["pos", 99999]')
        tree.update(json.loads(text))

    assert "draws in an unknown way" in refusal_of(model, change)


def test_a_truth_value_that_is_none():
    model = echelon.ProportionalOdds().fit(X, Y)
    model.mask_ = np.array([2, 1], dtype=np.uint8).view(bool)
    assert "neither 0 nor 1" in refusal_of(model)


def test_a_curve_of_a_calibration():
    model = echelon.OrdinalCalibrator(method="isotonic", cv=2).fit(X, Y)
    load_estimators("It is refused", *dump_estimators(model))
    model.curves_[0][1][1] = np.nan
    assert "one of its curves does not rise" in refusal_of(model)


def test_what_was_derived_is_not_taken_from_a_file():
    model = echelon.AdaBoostOR(n_estimators=2).fit(X, Y)
    for name in ("_tables", "feature_importances_"):
        change = set_in("echelon.AdaBoostOR", **{name: []})
        assert f"{name} is part of its class" in refusal_of(model, change)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda m: m.coef_.__setitem__(0, np.nan), "ProportionalOdds predicts must be finite"),
        (lambda m: setattr(m, "coef_", np.ones(9)), "cannot predict rows of its own columns"),
        (lambda m: setattr(m, "thresholds_", m.thresholds_[::-1]), "do not ascend"),
        (lambda m: setattr(m, "link", "no such link"), "cannot predict rows"),
        (lambda m: setattr(m, "_label_container", "os"), "no known container"),
    ],
)
def test_a_model_that_cannot_answer(tmp_path, spoil, word):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = make_pipeline(echelon.ProportionalOdds()).fit(frame, Y)
    trained = TrainedModel(model, Schema.of(frame), [0, 1, 2], "y", "odds")
    spoil(model[-1])
    path = tmp_path / "m.echelon"
    packed = dump_estimators([trained.estimator, None])
    write_model_file(path, {**trained.card(), "takes_missing": False}, packed)
    with pytest.raises(ModelFileError, match=word):
        load_model(path)
    with pytest.raises(ModelFileError, match="cannot be saved"):
        trained.save(path)
