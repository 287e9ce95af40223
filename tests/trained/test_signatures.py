"""Model files that are signed, and those that somebody touched."""

import json
import stat
import zipfile

import numpy as np
import pandas as pd
import pytest

from echelon import ProportionalOdds
from echelon.tables import Schema
from echelon.trained import ModelFileError, TrainedModel, load_model, make_keys
from echelon.trained.model import read_card

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys") / "team")


@pytest.fixture
def model():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    odds = ProportionalOdds(alpha=1.0).fit(frame, [1, 2, 1, 2])
    return TrainedModel(odds, Schema.of(frame), [1, 2], "y", "odds")


@pytest.fixture
def signed(model, keys, tmp_path):
    model.save(tmp_path / "signed.echelon", key=keys[0])
    return tmp_path / "signed.echelon"


def test_a_signed_file_is_loaded_with_and_without_the_key(signed, keys, tmp_path):
    stranger = make_keys(tmp_path / "stranger")[1]
    for trusted in (None, [keys[1]], [stranger, keys[1]], keys[1]):
        found = load_model(signed, trusted_keys=trusted)
        np.testing.assert_array_equal(found.predict([[0.0], [3.0]]), [1, 2])
        assert read_card(signed, trusted_keys=trusted).name == "odds"


def refused(path, trusted, word):
    for read in (load_model, read_card):
        with pytest.raises(ModelFileError, match=word):
            read(path, trusted_keys=trusted)


def test_a_file_that_nobody_signed(model, keys, tmp_path):
    model.save(tmp_path / "m.echelon")
    refused(tmp_path / "m.echelon", [keys[1]], "not signed")
    refused(tmp_path / "m.echelon", [], "not signed")


def test_a_file_that_a_stranger_signed(signed, tmp_path):
    stranger = make_keys(tmp_path / "stranger")[1]
    refused(signed, [stranger], "none of the trusted keys")
    refused(signed, [], "none of the trusted keys")


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    change(content)
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            archive.writestr(name, value)


@pytest.mark.parametrize("name", ["card.json", "estimators.json", "numbers.bin", "checksums.json"])
@pytest.mark.parametrize("place", [0.0, 0.5, 0.99])
def test_a_signed_file_that_was_touched(signed, keys, name, place):
    def flip(content):
        spoilt = bytearray(content[name])
        spoilt[int(place * len(spoilt))] ^= 1
        content[name] = bytes(spoilt)

    rewrite(signed, flip)
    refused(signed, [keys[1]], "is refused")


def test_the_signature_of_another_file(signed, model, keys, tmp_path):
    model.name = "other"
    other = tmp_path / "other.echelon"
    model.save(other, key=keys[0])
    with zipfile.ZipFile(other) as archive:
        taken = archive.read("signature.json")
    rewrite(signed, lambda content: content.update({"signature.json": taken}))
    refused(signed, [keys[1]], "none of the trusted keys")


@pytest.mark.parametrize(
    "stored",
    [{}, {"signature": 5, "algorithm": "ed25519"}, {"signature": "é", "algorithm": "ed25519"}],
)
def test_a_signature_that_is_none(signed, keys, stored):
    written = {"signature.json": json.dumps(stored).encode()}
    rewrite(signed, lambda content: content.update(written))
    refused(signed, [keys[1]], "none of the trusted keys")


def test_another_algorithm(signed, keys):
    def rename(content):
        stored = json.loads(content["signature.json"])
        content["signature.json"] = json.dumps({**stored, "algorithm": "none"}).encode()

    rewrite(signed, rename)
    refused(signed, [keys[1]], "none of the trusted keys")


def test_only_the_owner_reads_a_private_key(keys):
    assert stat.S_IMODE(keys[0].stat().st_mode) == 0o600


def test_a_key_is_not_overwritten(keys):
    before = keys[0].read_bytes()
    with pytest.raises(FileExistsError, match="a file of that name is there"):
        make_keys(keys[0])
    assert keys[0].read_bytes() == before


def test_files_that_are_no_keys(model, signed, keys, tmp_path):
    for key in (keys[1], signed, tmp_path / "absent"):
        with pytest.raises(ValueError, match=r"^key must name a file with a private key"):
            model.save(tmp_path / "m.echelon", key=key)
    for key in (keys[0], signed, tmp_path / "absent"):
        with pytest.raises(ValueError, match=r"^trusted_keys must name a file with a public key"):
            load_model(signed, trusted_keys=[key])
    assert not (tmp_path / "m.echelon").exists()
