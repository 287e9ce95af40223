import gzip
import sys

import pandas as pd
import pytest
from support.data import ordinal_data

from echelon import cli

WORDS = ["poor", "fair", "good", "great"]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["echelon", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code or 0


@pytest.fixture
def quick(monkeypatch):
    """Two quick models in place of the whole roster."""
    from echelon import ProportionalOdds, RoundedRegressor, model_selection

    models = {"odds": ProportionalOdds(alpha=1.0), "ridge": RoundedRegressor()}
    monkeypatch.setattr(model_selection, "default_models", lambda seed: models)


@pytest.fixture
def messy(tmp_path):
    """Text labels, a missing value, a nominal column, quotes and a byte-order mark."""
    X, codes = ordinal_data(n=80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[3, "a"] = None
    frame["colour"] = ["red", 'light "blue", pale'] * 40
    frame["empty"] = None
    frame["rating"] = [WORDS[code] for code in codes]
    path = tmp_path / "reviews.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def options(tmp_path, suffix=".csv"):
    return ["--folds", 3, "--repeats", 1, "--jobs", 1, "--out", tmp_path / f"board{suffix}"]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".md"])
def test_a_messy_file_with_text_labels(monkeypatch, quick, messy, tmp_path, capsys, suffix):
    order = "poor < fair<good<great<superb"
    assert run(monkeypatch, "compare", messy, "--order", order, *options(tmp_path, suffix)) == 0
    out = capsys.readouterr().out
    assert "80 rows, 4 inputs, 5 levels: poor < fair < good < great < superb" in out
    assert "odds" in out
    assert "odds" in (tmp_path / f"board{suffix}").read_text()


def test_the_target_may_be_any_column(monkeypatch, quick, tmp_path, capsys):
    X, codes = ordinal_data(n=60)
    frame = pd.DataFrame({"stars": codes + 1, "a": X[:, 0], "b": X[:, 1]})
    path = tmp_path / "stars.tsv.gz"
    path.write_bytes(gzip.compress(frame.to_csv(sep="\t", index=False).encode()))
    assert run(monkeypatch, "compare", path, "--target", "stars", *options(tmp_path)) == 0
    assert "4 levels: 1 < 2 < 3 < 4" in capsys.readouterr().out


def test_the_stated_order_of_numbers_is_kept(monkeypatch, quick, tmp_path, capsys):
    X, codes = ordinal_data(n=60, K=3)
    path = tmp_path / "ranks.csv"
    pd.DataFrame({"a": X[:, 0], "place": [[10, 5, 1][c] for c in codes]}).to_csv(path, index=False)
    assert run(monkeypatch, "compare", path, "--order", "10<5<1", *options(tmp_path)) == 0
    assert "3 levels: 10 < 5 < 1" in capsys.readouterr().out


def test_none_is_a_label_and_a_question_mark_is_a_missing_number(
    monkeypatch, quick, tmp_path, capsys
):
    X, codes = ordinal_data(n=60, K=3)
    values = [f"{v:.2f}" for v in X[:, 0]]
    values[7] = "?"
    path = tmp_path / "improved.csv"
    labels = [["None", "Some", "Marked"][c] for c in codes]
    pd.DataFrame({"a": values, "improved": labels}).to_csv(path, index=False)
    order = "None<Some<Marked"
    assert run(monkeypatch, "compare", path, "--order", order, *options(tmp_path)) == 0
    out = capsys.readouterr().out
    assert "60 rows, 1 inputs, 3 levels: None < Some < Marked" in out


def test_an_embedded_example(monkeypatch, quick, tmp_path, capsys):
    assert run(monkeypatch, "compare", "--example", "esl", *options(tmp_path)) == 0
    assert "example esl: 488 rows" in capsys.readouterr().out


BAD = {
    "text without order": ("a,y\n1,low\n2,high\n", [], 'for instance --order "high<low"'),
    "label not in order": ("a,y\n1,low\n2,high\n", ["--order", "low<mid"], "not name: high"),
    "no such target": ("a,y\n1,2\n", ["--target", "z"], "has no column 'z'; it has a, y"),
    "empty": ("", [], "cannot be read as a table"),
    "header only": ("a,y\n", [], "has no rows"),
    "wrong delimiter": ("a;y\n1;2\n", [], "has one column only"),
    "missing label": ("a,y\n1,1\n2,\n3,2\n", [], "1 rows without a label"),
    "only a target": ("a,y\n,1\n,2\n", [], "no column besides the target"),
    "continuous": (
        "a,y\n" + "".join(f"1,{i / 7}\n" for i in range(60)),
        [],
        "looks continuous: 60 distinct fractional values",
    ),
    "one class": ("a,y\n" + "1,1\n2,1\n" * 5, [], "one class"),
    "binary": ("\0\x01\x02", [], ""),
    "bad out": ("a,y\n1,1\n2,2\n", ["--out", "board.xlsx"], "must end in .csv, .json or .md"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_sentence_and_no_output(monkeypatch, quick, tmp_path, capsys, case):
    content, extra, message = BAD[case]
    path = tmp_path / "bad.csv"
    path.write_text(content)
    code = run(monkeypatch, "compare", path, *options(tmp_path), *extra)
    error = capsys.readouterr().err
    assert code == 2
    assert message in error
    assert error.count("Error: ") == 1
    assert "Traceback" not in error
    assert not (tmp_path / "board.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "nowhere.csv is not a file"),
        ([], "Name a data file"),
        (["--example", "titanic"], "--example must be one of"),
    ],
)
def test_bad_arguments(monkeypatch, capsys, arguments, message):
    assert run(monkeypatch, "compare", *arguments) == 2
    assert message in capsys.readouterr().err


def test_help_names_the_commands(monkeypatch, capsys):
    assert run(monkeypatch, "--help") == 0
    out = capsys.readouterr().out
    assert "compare" in out
    assert "reproduce" in out


def test_without_the_extra_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match="needs typer; install it with the cli extra"):
        cli.main()
