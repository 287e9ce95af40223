"""Rare names of a category may be those of people: no file holds them, no answer needs them."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from echelon import load_model, train
from echelon.inspection import rule_sentences
from echelon.trained.model_file import dump_estimators, load_estimators

RARE = ["Quentin Rarename", "Zelda Rarename", "Rarename & Sons"]


def people(n=160, seed=0):
    """A category with three levels of one to four rows, one of exactly five, and a stated scale."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Lyon", "Oslo", "Rome"], n).astype(object)
    town[:7] = [RARE[0], *[RARE[1]] * 2, *[RARE[2]] * 4]
    town[7:12], town[12] = "Five Rows", None
    pain = pd.Categorical(
        rng.choice(["none", "some"], n), ["none", "some", "Rarely Worst"], ordered=True
    )
    score = rng.normal(size=n) + 2.0 * (town == "Oslo") + 3.0 * np.isin(town, RARE)
    return pd.DataFrame(
        {"town": town, "pain": pain, "size": score.round(2), "grade": np.digitize(score, [0, 2])}
    )


@pytest.mark.parametrize("model", ["ProportionalOdds logit", "RankRules", "SVOR implicit"])
def test_a_file_holds_no_level_of_fewer_than_five_rows(tmp_path, model):
    frame, path = people(), tmp_path / "m.echelon"
    trained = train(frame, target="grade", model=model, evaluate=False)
    trained.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert not any(b"Rarename" in content for content in (*parts.values(), path.read_bytes()))
    levels = {c["name"]: c["levels"] for c in json.loads(parts["card.json"])["schema"]["columns"]}
    assert levels["town"] == ["Five Rows", "Lyon", "Oslo", "Rome"]
    # A scale that somebody stated is no list of what was seen.
    assert levels["pain"] == ["none", "some", "Rarely Worst"]
    asked = frame.head(20).assign(town=[*frame["town"][:13], "new", *["rare level 1"] * 6])
    again = load_model(path)
    pd.testing.assert_frame_equal(again.predict_frame(asked), trained.predict_frame(asked))
    rare, new = asked.head(1), asked.head(1).assign(town="new")
    pd.testing.assert_frame_equal(again.predict_frame(rare), again.predict_frame(new))


def test_rules_of_a_file_speak_of_any_other_level(tmp_path):
    rng = np.random.default_rng(0)
    rare = rng.random(200) < 0.3
    town = np.where(rare, [f"Rarename {k // 3}" for k in range(200)], "Lyon")
    frame = pd.DataFrame({"town": town, "size": rng.normal(size=200), "grade": rare.astype(int)})
    train(frame, target="grade", model="RankRules", evaluate=False, keep=["town"]).save(
        tmp_path / "m.echelon"
    )
    found = rule_sentences(load_model(tmp_path / "m.echelon"))
    assert any("town is" in s for s in found) and not any("Rarename" in s for s in found)


@pytest.mark.parametrize("missing", [1, 9])
def test_masked_names_are_no_names_of_others(missing):
    X = pd.DataFrame(
        {"a": [*"xxxxxyyyyyz", "rare level 1", *["rare level 2"] * 5, *[np.nan] * missing]},
        dtype=object,
    )
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5).fit(X)
    again = load_estimators("It is refused", *dump_estimators(encoder))
    asked = pd.concat([X, pd.DataFrame({"a": ["new"]})])
    np.testing.assert_array_equal(
        again.transform(asked).toarray(), encoder.transform(asked).toarray()
    )
    assert "z" not in again.categories_[0].tolist() and "z" in encoder.categories_[0].tolist()


def test_an_encoder_that_needs_its_names_keeps_them():
    X = pd.DataFrame({"a": [*"xxxyyyz"]})
    encoder = OneHotEncoder(handle_unknown="ignore", min_frequency=2).fit(X)
    again = load_estimators("It is refused", *dump_estimators(encoder))
    assert again.categories_[0].tolist() == ["x", "y", "z"]
