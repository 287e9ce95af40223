"""What a model file keeps, and every file that is refused."""

import hashlib
import json
import pickle
import re
import sys
import warnings
import zipfile
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from support.mixed_tables import ORDER, WORDS, mixed_frame

from echelon import ProportionalOdds
from echelon.model_selection.preparation import prepare
from echelon.tables import Schema, TableError, labelled_table
from echelon.trained import ModelFileError, TrainedModel, load_model
from echelon.trained.model_file import CARD, CHECKSUMS, NUMBERS, TREE, dump_estimators
from echelon.trained.trust import OWN_TYPES


@pytest.fixture(scope="module")
def trained():
    table = labelled_table(mixed_frame(), "rating", ORDER)
    steps = [("prepare", prepare(table.schema)), ("model", ProportionalOdds(classes=WORDS))]
    return TrainedModel(
        Pipeline(steps).fit(table.X, table.y),
        table.schema,
        list(table.classes),
        "rating",
        "odds",
        metrics={"mae": 0.1 + 0.2, "mae_se": float("nan")},
        notes=("A note.",),
        extra={"rows": 90},
    )


@pytest.fixture
def path(trained, tmp_path):
    trained.save(tmp_path / "model.echelon")
    return tmp_path / "model.echelon"


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, changed, compression=zipfile.ZIP_STORED, sums=True):
    """The file with other members, and checksums that fit them."""
    content = {**members(path), **changed}
    if sums:
        digests = {n: hashlib.sha256(content[n]).hexdigest() for n in content if n != CHECKSUMS}
        content[CHECKSUMS] = json.dumps(digests).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, value in content.items():
            archive.writestr(name, value)


def rewrite_card(path, **changes):
    card = json.loads(members(path)[CARD])
    rewrite(path, {CARD: json.dumps({**card, **changes}).encode()})


def test_all_comes_back(trained, path):
    again = load_model(path)
    for name in ("schema", "classes", "target", "name", "task", "versions", "created", "notes"):
        assert getattr(again, name) == getattr(trained, name)
    assert again.extra == trained.extra
    assert again.metrics["mae"] == trained.metrics["mae"]
    assert np.isnan(again.metrics["mae_se"])
    frame = mixed_frame(30, seed=5)
    pd.testing.assert_frame_equal(again.predict_frame(frame), trained.predict_frame(frame))
    np.testing.assert_array_equal(again.predict_proba(frame), trained.predict_proba(frame))


def test_answers_that_are_no_numbers_are_refused(trained, monkeypatch):
    frame = mixed_frame(30, seed=5)
    labels, spoilt = trained.predict(frame), np.array(trained.predict_proba(frame))
    spoilt[3] = np.nan
    place = "echelon.base.reading.labels_and_probabilities"
    monkeypatch.setattr(place, lambda *_: (labels, spoilt))
    with pytest.raises(ValueError, match="predicts must be finite; found NaN or infinity in 1 of"):
        trained.predict_frame(frame)


@pytest.mark.parametrize(
    ("classes", "kind"),
    [(["a", "b"], str), ([1, 2], int), ([0.5, 1.0], float), ([False, True], bool)],
)
def test_labels_keep_their_type(tmp_path, classes, kind):
    X = pd.DataFrame({"size": [0.0, 1.0, 2.0, 3.0]})
    odds = ProportionalOdds(alpha=1.0, classes=classes).fit(X, np.array(classes)[[0, 1, 0, 1]])
    model = TrainedModel(odds, Schema.of(X), list(np.array(classes)), "y", "m")
    model.save(tmp_path / "m.echelon")
    found = load_model(tmp_path / "m.echelon").classes
    assert found == classes
    assert {type(label) for label in found} == {kind}


def test_predictions_carry_the_index_and_the_labels(trained):
    frame = mixed_frame(30, seed=5).sample(frac=1.0, random_state=0)
    found = trained.predict_frame(frame)
    assert list(found.columns) == ["predicted", *(f"p_{word}" for word in WORDS)]
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found["predicted"], trained.predict(frame))
    np.testing.assert_allclose(found.filter(like="p_").sum(axis=1), 1.0)
    assert list(trained.predict_frame(frame, proba=False).columns) == ["predicted"]


def test_what_a_model_cannot_do_it_says(trained):
    with pytest.raises(AttributeError, match="'odds' has no prediction intervals"):
        trained.predict_interval(mixed_frame(30))


def test_missing_columns_are_named(trained):
    with pytest.raises(TableError, match="colour"):
        trained.predict(mixed_frame(30).drop(columns="colour"))


def test_a_failed_save_leaves_the_old_file(trained, path):
    before = path.read_bytes()
    foreign = TrainedModel(Foreign(), trained.schema, WORDS, "rating", "foreign")
    with pytest.raises(ModelFileError, match="Foreign, a type that would not be loaded again"):
        foreign.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


class Foreign:
    """A type that no model is made of."""

    def predict(self, X):
        raise AssertionError("it must never be built")


class Bomb:
    def __reduce__(self):
        raise AssertionError("nobody may pickle this")


def refused(path, *words):
    with pytest.raises(ModelFileError) as refusal:
        load_model(path)
    text = str(refusal.value)
    assert text.endswith(".") and "\n" not in text
    for word in words:
        assert word in text


def test_no_such_file_and_a_folder(tmp_path):
    refused(tmp_path / "absent.echelon", "There is no model file", "absent.echelon")
    refused(tmp_path, "folder")


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(LinearRegression()))
    refused(path, "pickle")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\x00" * 100])
def test_other_files(tmp_path, content):
    path = tmp_path / "other.echelon"
    path.write_bytes(content)
    refused(path, "not a model file")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refused(path, "truncated")


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_a_flipped_byte(path, place):
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    path.write_bytes(bytes(content))
    refused(path)


def test_altered_members(path):
    card = members(path)[CARD].replace(b'"odds"', b'"best"')
    rewrite(path, {CARD: card}, sums=False)
    refused(path, "card.json", "altered")


def test_another_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(path, "card.json")


@pytest.mark.parametrize("name", [CARD, TREE, NUMBERS, CHECKSUMS])
def test_a_member_is_lacking(path, name):
    content = members(path)
    with zipfile.ZipFile(path, "w") as archive:
        for other, value in content.items():
            if other != name:
                archive.writestr(other, value)
    refused(path, name)


def test_members_that_do_not_belong(path):
    rewrite(path, {"../../evil.py": b"raise SystemExit"})
    refused(path, "evil.py")


def test_a_member_twice(path):
    content = members(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(CARD, content[CARD])
    refused(path, "twice")


@pytest.mark.parametrize("name", [CARD, TREE, NUMBERS, CHECKSUMS])
def test_a_member_that_would_fill_the_memory(path, name):
    rewrite(path, {name: bytes(2**24 + 1)}, zipfile.ZIP_DEFLATED, sums=False)
    refused(path, name, "grow")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_is_not_ours(path, compression):
    rewrite(path, {}, compression)
    refused(path, "compressed in a way that echelon never does")


def test_equal_numbers_without_end_are_saved_and_loaded(trained, tmp_path):
    model = trained.estimator[-1]
    model.padding_ = np.zeros(2**22)
    try:
        trained.save(tmp_path / "zeros.echelon")
    finally:
        del model.padding_
    again = load_model(tmp_path / "zeros.echelon")
    assert again.estimator[-1].padding_.shape == (2**22,)


def test_the_same_model_is_the_same_bytes(trained, path, tmp_path):
    trained.save(tmp_path / "again.echelon")
    load_model(path).save(tmp_path / "loaded.echelon")
    assert (tmp_path / "again.echelon").read_bytes() == path.read_bytes()
    assert (tmp_path / "loaded.echelon").read_bytes() == path.read_bytes()


def tree_of(path):
    return json.loads(members(path)[TREE])


def rewrite_tree(path, tree):
    rewrite(path, {TREE: json.dumps(tree).encode()})


def renamed(tree, name):
    """The tree with ProportionalOdds named otherwise."""
    text = json.dumps(tree)
    assert text.count('"echelon.ProportionalOdds"') == 1
    return json.loads(text.replace("echelon.ProportionalOdds", name))


def test_files_name_no_module_of_ours(path):
    text = members(path)[TREE].decode()
    named = re.findall(r"echelon\.[\w.]+", text)
    assert "echelon.ProportionalOdds" in named and set(named) <= set(OWN_TYPES)
    assert "._" not in text


def test_a_file_is_loaded_after_its_class_has_moved(path, trained, monkeypatch):
    class Moved(ProportionalOdds):
        pass

    Moved.__module__, Moved.__qualname__ = "somewhere.else", "Moved"
    home = ModuleType("somewhere.else")
    home.Moved = Moved
    monkeypatch.setitem(sys.modules, "somewhere.else", home)
    monkeypatch.setitem(OWN_TYPES, "echelon.ProportionalOdds", "somewhere.else.Moved")
    again = load_model(path)
    assert type(again.estimator[-1]) is Moved
    frame = mixed_frame(30, seed=5)
    np.testing.assert_array_equal(again.predict_proba(frame), trained.predict_proba(frame))
    again.save(path)
    monkeypatch.undo()
    assert type(load_model(path).estimator[-1]) is ProportionalOdds


@pytest.mark.parametrize(
    "name",
    [
        "echelon.train",
        "echelon.NoSuchModel",
        "echelon.linear.proportional_odds.ProportionalOdds",
        "echelon.trained.TrainedModel",
        "echelon.cli.main",
        "os.system",
        "lightgbm.basic.Booster",
        "sklearn.feature_extraction.text.CountVectorizer",
        "sklearn.preprocessing.FunctionTransformer",
    ],
)
def test_only_registered_names_are_resolved(path, name, monkeypatch):
    rewrite_tree(path, renamed(tree_of(path), name))
    monkeypatch.setattr("importlib.import_module", None)
    refused(path, f"holds {name}, a type that no model of echelon is made of")


def test_an_unregistered_type_of_ours_is_not_saved(trained, path, monkeypatch):
    monkeypatch.delitem(OWN_TYPES, "echelon.ProportionalOdds")
    with pytest.raises(ModelFileError, match=r"ProportionalOdds, a type that would not be loaded"):
        trained.save(path)


def test_a_function_is_not_saved(trained, tmp_path):
    trained.estimator[-1].extra_ = len
    with pytest.raises(ModelFileError, match="builtin_function_or_method, a type"):
        trained.save(tmp_path / "function.echelon")
    del trained.estimator[-1].extra_


def test_what_cannot_predict(path):
    tree, numbers = dump_estimators([1, 2])
    rewrite(path, {TREE: tree, NUMBERS: numbers})
    refused(path, "cannot predict")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"not json", "cannot be read"),
        (b'{"is": 1, "is": 2}', "cannot be read"),
        (b"[NaN]", "cannot be read"),
        (b"[" * 10**5, "cannot be read"),
        (b"[" * 200 + b"]" * 200, "nested too deep"),
        (b'{"is": "pickle"}', "a node that is 'pickle'"),
        (b'{"is": "tuple"}', "not complete"),
        (b'{"is": "dtype", "name": "datetime64"}', "a dtype is 'datetime64'"),
        (b'{"is": "class", "name": "eval"}', "a class is 'eval'"),
        (b'{"is": "array", "dtype": "O", "shape": [1], "order": "C"}', "unknown type of numbers"),
        (b'{"is": "array", "dtype": "f8", "shape": [-1], "order": "C"}', "shape"),
        (b'{"is": "array", "dtype": "f8", "shape": [0, 1000000000], "order": "C"}', "too large"),
        (b'{"is": "array", "dtype": "f8", "shape": [99], "order": "C"}', "longer than"),
        (b'{"is": "objects", "shape": [2], "items": [1]}', "another number of elements"),
        (b"[null, null]", "belong to no array"),
    ],
)
def test_trees_that_are_none(path, content, word):
    rewrite(path, {TREE: content, NUMBERS: bytes(16)})
    refused(path, word)


def find(node, name):
    """The first object of a type."""
    waiting = [node]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, dict) and part.get("type") == name:
            return part["state"]
        waiting += (
            part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
        )
    raise LookupError(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [("predict", None), ("__class__", 1), ("check_state", 1), ("n_jobs", 10**6), ("a b", 1)],
)
def test_attributes_that_are_none(path, name, value):
    tree = tree_of(path)
    find(tree, "echelon.ProportionalOdds")[name] = value
    rewrite_tree(path, tree)
    refused(path, "ProportionalOdds")


def test_a_card_whose_labels_are_reversed(path):
    rewrite_card(path, classes=WORDS[::-1])
    refused(path, "its estimator's labels are", "and those of its card")


def test_a_card_with_other_columns(path):
    columns = json.loads(members(path)[CARD])["schema"]["columns"]
    rewrite_card(path, schema={"columns": columns[:-1]})
    refused(path, "inputs, and its card")


def test_a_model_that_does_not_fit_its_card_is_not_saved(trained, tmp_path):
    model = replace(trained, classes=WORDS[::-1])
    with pytest.raises(ModelFileError, match="cannot be saved, because its estimator's labels"):
        model.save(tmp_path / "m.echelon")
    assert not list(tmp_path.iterdir())


def test_a_newer_format_asks_for_an_update(path):
    rewrite_card(path, format=99)
    refused(path, "99", "update")


@pytest.mark.parametrize("name", ["arrays.npz", "model.skops"])
def test_an_earlier_format_asks_for_training_again(path, name):
    rewrite(path, {name: b"what the former formats had"})
    refused(path, "an earlier echelon", "train the model again")
    rewrite_card(path, format=2)
    refused(path, "train the model again")


@pytest.mark.parametrize("changes", [{"kind": "other"}, {"format": "1"}])
def test_a_card_of_something_else(path, changes):
    rewrite_card(path, **changes)
    refused(path, "not a model file")


@pytest.mark.parametrize(
    "changes", [{"schema": 3}, {"label_type": "colour"}, {"classes": 5}, {"versions": None}]
)
def test_a_card_that_is_not_complete(path, changes):
    rewrite_card(path, **changes)
    refused(path, "not complete")


@pytest.mark.parametrize("content", [b"[1]", b"{", b"[" * 100_000])
def test_a_card_that_is_no_card(path, content):
    rewrite(path, {CARD: content})
    refused(path, "card.json", "cannot be read")


@pytest.mark.parametrize("package", ["echelon", "scikit-learn"])
def test_other_versions_are_one_warning(path, package):
    versions = json.loads(members(path)[CARD])["versions"]
    rewrite_card(path, versions={**versions, package: "0.0.1"})
    with pytest.warns(UserWarning, match=rf"{package} 0\.0\.1 \(here ") as told:
        load_model(path)
    assert len(told) == 1


def test_schemas_travel(trained):
    assert Schema.from_dict(json.loads(json.dumps(trained.schema.to_dict()))) == trained.schema


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "cooking"},
        {"name": 5},
        {"notes": "text"},
        {"versions": {"echelon": 1}},
        {"classes": "good"},
        {"classes": ["good"]},
        {"classes": ["good", "good"]},
        {"classes": ["good", ["fair"]]},
        {"classes": [1, 2, 3, 4]},
        {"label_type": "boolean"},
        {"metrics": {"mae": []}},
        {"schema": {"columns": [{"name": 1, "kind": "number", "levels": None}]}},
        {"schema": {"columns": [{"name": "a", "kind": "category", "levels": [1]}]}},
        {"schema": {"columns": [{"name": "a", "kind": "poem", "levels": None}]}},
        {"schema": []},
    ],
    ids=str,
)
def test_a_card_with_values_of_other_types(path, changes):
    rewrite_card(path, **changes)
    refused(path, "card")
