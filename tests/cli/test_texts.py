"""A table of reviews from the shell to a model, its words, and a file without its texts."""

import json
import re

import numpy as np
import pandas as pd
import pytest

WORDS = {1: "dreadful broken refund", 2: "plain average middling", 3: "lovely excellent recommend"}


def reviews(n=150, seed=0):
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 4, n)
    fill = ["the", "parcel", "came", "on", "monday", "with", "my", "order"]
    return pd.DataFrame(
        {
            "customer_id": [f"customer-{rng.integers(10**8)}" for _ in range(n)],
            "name": [f"Jo{i} Private{rng.integers(10**6)}" for i in range(n)],
            "review": [
                " ".join([*rng.choice(fill, 5), *rng.choice(WORDS[s].split(), 2), f"unique{i}"])
                for i, s in enumerate(stars)
            ],
            "price": rng.normal(20, 5, n).round(2),
            "stars": stars,
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "reviews.csv"
    reviews().to_csv(path, index=False)
    return path


@pytest.mark.parametrize("model", ["LinearSVOR", "RankRules", "SVOR implicit"])
def test_a_model_file_holds_no_cell_of_texts_names_or_identifiers(run, table, tmp_path, model):
    saved = tmp_path / "m.echelon"
    assert run("fit", table, "--target", "stars", "--model", model, "--save", saved) == 0
    content = saved.read_bytes()
    printed = b"\n".join(re.findall(rb"[ -~]{4,}", content))
    assert b"review" in printed
    assert not re.search(rb"unique\d|Private\d|customer-\d", printed)
    frame = pd.read_csv(table)
    for column in ("customer_id", "name", "review"):
        assert not any(str(cell).encode() in content for cell in frame[column])


def test_words_are_told(run, table, tmp_path, capsys):
    saved = tmp_path / "m.echelon"
    line = ["fit", table, "--target", "stars", "--model", "LinearSVOR", "--save", saved]
    assert run(*line, "--stop-words", "english") == 0
    said = capsys.readouterr()
    assert run("evaluate", saved, table, "--report", tmp_path / "r.html") == 0
    assert "Column 'review' is read as text" in said.err + said.out
    assert "Words of review that raise the prediction" in (tmp_path / "r.html").read_text()
    assert run("explain", saved, table) == 0
    told = capsys.readouterr().out
    assert re.search(r"review, what raises the .*(lovely|excellent|recommend)", told)
    assert re.search(r"review, what lowers the .*(dreadful|broken|refund)", told)
    assert run("explain", saved, table, "--row", 1, "--json") == 0
    words = json.loads(capsys.readouterr().out)["rows"][0]["words"]
    assert words and {"column", "term", "change"} == set(words[0])
    assert not any(word["term"] in ("the", "on", "with", "my") for word in words)
    assert run("predict", saved, table, "--out", tmp_path / "p.csv") == 0
    predicted = pd.read_csv(tmp_path / "p.csv")["predicted"]
    assert (predicted == pd.read_csv(table)["stars"]).mean() > 0.9


def test_a_category_may_be_read_by_its_words(run, table, capsys):
    assert run("inspect", table, "--text", "name", "--target", "stars") == 0
    assert re.search(r"name +input +text", capsys.readouterr().out)
    assert run("inspect", table, "--text", "nobody", "--target", "stars") == 2
    assert "nobody" in capsys.readouterr().err
