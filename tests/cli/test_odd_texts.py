"""Columns of text with hardly any words, or of other writing, from the shell to an explanation."""

import numpy as np
import pandas as pd
import pytest

N = 60
GRADE = np.random.default_rng(0).integers(1, 4, N)
NUMBER = (GRADE + np.random.default_rng(1).normal(size=N)).round(2)


def by_grade(*words, after=""):
    return [f"{words[grade - 1]}{after}" for grade in GRADE]


LATE = [None] * (N - 6) + ["some words here now"] * 6
HUGE = by_grade("dreadful broken", "plain average", "lovely excellent", after=" parcel")
HUGE[5] = "lovely parcel " * 75_000
CASES = {
    # Some folds have no text to learn from.
    "mostly empty": LATE,
    "one word": ["fine"] * N,
    "stop words": by_grade("the and of", "it is", "to be or not to be"),
    "emoji": by_grade("😀😀 🎉", "😐", "😡 💩", after=" 👍🏽"),
    "right to left": by_grade("سيء جدا", "عادي", "رائع ممتاز", after=" \u202eالمنتج وصل"),
    "a huge cell": HUGE,
    "blanks": by_grade("so bad", " ", "\n\t"),
}


@pytest.mark.parametrize("name", CASES)
def test_odd_texts_are_learnt_from_or_left_alone(run, tmp_path, capsys, name):
    table, saved = tmp_path / "t.csv", tmp_path / "m.echelon"
    frame = pd.DataFrame({"text": CASES[name], "size": NUMBER, "grade": GRADE})
    frame.to_csv(table, index=False)
    stated = ["--target", "grade", "--text", "text"]
    stated += ["--stop-words", "english"] if name == "stop words" else []
    assert run("fit", table, *stated, "--model", "LinearSVOR", "--save", saved) == 0
    assert run("predict", saved, table, "--out", tmp_path / "p.csv") == 0
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert len(predicted) == N and predicted.notna().all().all()
    if name in ("right to left", "a huge cell"):
        assert (predicted["predicted"] == GRADE).mean() > 0.9
    capsys.readouterr()
    assert run("explain", saved, table) == 0
    assert run("explain", saved, table, "--row", 5) == 0
    assert len(capsys.readouterr().out) < 20_000


def test_folds_without_a_text_are_run_as_any_others(run, tmp_path, capsys):
    table = tmp_path / "t.csv"
    frame = pd.DataFrame({"text": LATE, "size": NUMBER, "grade": GRADE})
    frame.to_csv(table, index=False)
    models = ("median label", "PRank", "OrdinalBagging trees")
    line = ["compare", table, "--target", "grade", "--text", "text", "--models", ", ".join(models)]
    assert run(*line, "--folds", "3", "--repeats", "1", "--jobs", "1", "--budget", "20s") == 0
    told = capsys.readouterr()
    assert all(model in told.out for model in models)
    assert "could not" not in told.out + told.err and "failed" not in told.out + told.err


def test_a_column_of_nothing_is_left_out_in_a_sentence(run, tmp_path, capsys):
    table = tmp_path / "t.csv"
    pd.DataFrame({"text": [None] * N, "size": NUMBER, "grade": GRADE}).to_csv(table, index=False)
    line = ["fit", table, "--target", "grade", "--text", "text", "--model", "LinearSVOR"]
    code = run(*line, "--save", tmp_path / "m.echelon")
    told = capsys.readouterr()
    assert "text" in told.err + told.out and "Traceback" not in told.err
    assert code in (0, 2)
