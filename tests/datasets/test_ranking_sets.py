"""Ranking sets of the benchmark folder."""

import gzip
import os

import numpy as np
import pytest

from echelon.datasets import ranking_sets
from echelon.datasets.ranking_sets import fetch_ranking, list_ranking_sets
from echelon.datasets.tables import read_table
from echelon.pairs import PairSet

FOLDER = os.environ.get("ECHELON_DATA")
needs_folder = pytest.mark.skipif(
    not FOLDER, reason="ECHELON_DATA is not set to a folder of benchmark sets"
)


@pytest.fixture
def folder(tmp_path):
    """Made-up tables in the shape of the sets."""
    tables = {
        "lambdarank_example": "part,qid,f1,f6,y\ntrain,3,0.5,0,2\ntrain,3,1,2,0\ntest,9,0,4,1\n",
        "spambase": "word,length,y\n0.5,3,1\n0,2,0\n",
        "tennis_atp_2018_2024": "date,a_id,a_name,b_id,y\n20180101,7,Ann,9,0\n20180102,9,Bo,8,1\n",
    }
    (tmp_path / "ranking").mkdir()
    for name, text in tables.items():
        with gzip.open(tmp_path / "ranking" / f"{name}.csv.gz", "wt") as file:
            file.write(text)
    return tmp_path


@pytest.fixture
def trusted(folder, monkeypatch):
    def read(name, checksum, data_home):
        return read_table(folder / "ranking" / f"{name}.csv.gz")

    monkeypatch.setattr(ranking_sets, "read_ranking_table", read)
    return folder


def test_documents_by_query(trusted):
    bunch = fetch_ranking("lambdarank_example", data_home=trusted)
    assert bunch.feature_names == ["f1", "f6"]
    assert bunch.data.tolist() == [[0.5, 0.0], [1.0, 2.0], [0.0, 4.0]]
    assert bunch.target.tolist() == [2, 0, 1] and bunch.qid.tolist() == [3, 3, 9]
    assert bunch.train.tolist() == [True, True, False]
    assert bunch.licence in bunch.DESCR and bunch.origin in bunch.DESCR


def test_two_classes_without_queries(trusted):
    bunch = fetch_ranking("spambase", data_home=trusted)
    assert bunch.data.tolist() == [[0.5, 3.0], [0.0, 2.0]] and bunch.target.tolist() == [1, 0]
    assert bunch.qid is None and bunch.train is None


def test_comparisons_are_what_pair_sets_take(trusted, monkeypatch):
    monkeypatch.setenv("ECHELON_DATA", str(trusted))
    bunch = fetch_ranking("tennis_atp_2018_2024")
    assert bunch.left.tolist() == [7, 9] and bunch.right.tolist() == [9, 8]
    assert bunch.label.tolist() == [False, True]
    assert bunch.columns["a_name"].tolist() == ["Ann", "Bo"]
    assert bunch.columns["date"].tolist() == [20180101, 20180102]
    listed = PairSet.from_frame(bunch, items=[7, 8, 9]).listed
    assert listed.winners.tolist() == [2, 2] and listed.losers.tolist() == [0, 1]


def test_files_are_recognised_by_content(folder):
    for name in list_ranking_sets():
        with pytest.raises(ValueError, match=f"is not the {name} set: its content checksum differ"):
            fetch_ranking(name, data_home=folder)


def test_absent_and_unknown_sets_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(
        FileNotFoundError, match="'spambase' is in no data folder and cannot be dow"
    ):
        fetch_ranking("spambase", data_home=tmp_path)
    monkeypatch.setenv("ECHELON_DATA", str(tmp_path))
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match=r"put the table at .*cache"):
        fetch_ranking("spambase")
    with pytest.raises(
        ValueError, match="name must be 'lambdarank_example', 'spambase' or 'tennis"
    ):
        fetch_ranking("sushi")


@needs_folder
def test_the_folder_s_sets_have_their_stated_size():
    documents = fetch_ranking("lambdarank_example")
    assert documents.data.shape == (3773, 218)
    assert np.bincount(documents.target).tolist() == [851, 1467, 1110, 266, 79]
    assert documents.train.sum() == 3005
    training, test = (
        np.unique(documents.qid[part]) for part in (documents.train, ~documents.train)
    )
    assert training.tolist() == list(range(1, 202)) and len(test) == 50 and test.min() > 201
    mail = fetch_ranking("spambase")
    assert mail.data.shape == (4601, 57) and mail.target.sum() == 1813
    matches = fetch_ranking("tennis_atp_2018_2024")
    assert len(matches.label) == 18751 and (matches.left < matches.right).all()
    players = np.union1d(matches.left, matches.right)
    assert len(players) == 926
    assert PairSet.from_frame(matches, items=players).n_pairs == 18751
