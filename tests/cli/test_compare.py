import gzip
import json
import sys

import numpy as np
import pandas as pd
import pytest
from support.data import ordinal_data

from echelon import cli
from echelon.model_selection import Leaderboard, LeaderboardRow

WORDS = ["poor", "fair", "good", "great"]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def messy(tmp_path):
    """Text labels, a missing value, a nominal column, quotes and a byte-order mark."""
    X, codes = ordinal_data(n=80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[3, "a"] = None
    frame["colour"] = ["red", 'light "blue", pale'] * 40
    frame["rating"] = [WORDS[code] for code in codes]
    path = tmp_path / "reviews.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def options(tmp_path, suffix=".csv", models="ProportionalOdds logit,median label"):
    return [
        *("--folds", 3, "--repeats", 1, "--jobs", 1, "--models", models),
        *("--out", tmp_path / f"board{suffix}"),
    ]


ORDER = "poor < fair<good<great<superb"


@pytest.mark.parametrize("suffix", [".csv", ".json", ".md"])
def test_a_messy_file_with_text_labels(run, messy, tmp_path, capsys, suffix):
    assert run("compare", messy, "--order", ORDER, *options(tmp_path, suffix)) == 0
    said = capsys.readouterr()
    assert "80 rows, 4 inputs, 5 levels of rating: poor < fair < good < great < superb" in said.out
    assert "best MAE first" in said.out
    assert "ProportionalOdds logit" in said.out
    assert "ProportionalOdds logit: MAE" in said.err
    assert "6/6 folds of models" in said.err
    assert "ProportionalOdds logit" in (tmp_path / f"board{suffix}").read_text()


def test_differences_are_told_with_their_margin(run, messy, tmp_path, capsys):
    more = ["--margin", "10 %", *options(tmp_path, ".json")]
    assert run("compare", messy, "--order", ORDER, *more) == 0
    found = json.loads((tmp_path / "board.json").read_text())
    best, median = found
    assert median["difference"] == pytest.approx(median["mae"] - best["mae"])
    assert median["difference_low"] < median["difference"] < median["difference_high"]
    assert (best["verdict"], median["verdict"]) == ("better", "worse")
    said = " ".join(capsys.readouterr().out.split())
    assert f"by more than {0.1 * best['mae']:.2g} (10 % of the best)." in said


def test_the_simplest_equivalent_model_is_saved(run, messy, tmp_path, capsys):
    wanted = options(tmp_path, models="RankRules,ProportionalOdds logit")
    saved = ["--save", tmp_path / "m.echelon", "--margin", "500%", "--prefer"]
    assert run("compare", messy, "--order", ORDER, *wanted, *saved, "simple") == 0
    said = capsys.readouterr().out
    assert "The simplest of 2 equivalent models is taken: ProportionalOdds logit." in said
    assert run("compare", messy, "--order", ORDER, *options(tmp_path), *saved, "fest") == 2
    assert "--prefer must be 'best', 'simple' or 'fast'; found 'fest'" in capsys.readouterr().err


def test_nothing_is_equivalent_to_the_best(run, messy, tmp_path, capsys):
    saved = ["--save", tmp_path / "m.echelon", "--prefer", "fast"]
    assert run("compare", messy, "--order", ORDER, *options(tmp_path), *saved) == 0
    said = capsys.readouterr().out
    assert "No other model is known to be equivalent to ProportionalOdds logit" in said


def test_the_target_may_be_any_column(run, tmp_path, capsys):
    X, codes = ordinal_data(n=60)
    frame = pd.DataFrame({"stars": codes + 1, "a": X[:, 0], "b": X[:, 1]})
    path = tmp_path / "stars.tsv.gz"
    path.write_bytes(gzip.compress(frame.to_csv(sep="\t", index=False).encode()))
    assert run("compare", path, "--target", "stars", *options(tmp_path)) == 0
    assert "4 levels of stars: 1 < 2 < 3 < 4" in capsys.readouterr().out


def test_an_embedded_example(run, tmp_path, capsys):
    assert run("compare", "--example", "esl", *options(tmp_path)) == 0
    assert "example esl: 488 rows" in capsys.readouterr().out


def test_a_cost_ranks(run, messy, tmp_path, capsys):
    cost = tmp_path / "cost.csv"
    cost.write_text("0,1,2,3,9\n1,0,1,2,9\n2,1,0,1,9\n3,2,1,0,9\n4,3,2,1,0\n")
    arguments = ["--order", ORDER, "--cost", cost, *options(tmp_path)]
    assert run("compare", messy, *arguments) == 0
    said = capsys.readouterr()
    assert "best cost first" in said.out
    head = said.out.splitlines()[2].split()
    assert head[:3] == ["model", "cost", "difference"] and head[6] == "MAE"
    assert "cost 0." in said.err
    assert (tmp_path / "board.csv").read_text().startswith("model,cost,cost_se,mae")


def interrupt_after(monkeypatch, n):
    from echelon.cli import views

    said = views._PlainLines.__call__

    def show(self, progress):
        said(self, progress)
        if progress.done == n:
            raise KeyboardInterrupt

    monkeypatch.setattr(views._PlainLines, "__call__", show)


def test_ctrl_c_keeps_the_table_and_resume_goes_on(run, monkeypatch, messy, tmp_path, capsys):
    arguments = ["compare", messy, "--order", ORDER, *options(tmp_path)]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert run(*arguments) == 130
    said = capsys.readouterr()
    assert "2/3" in said.out
    assert "1/3" in said.out
    assert "--resume goes on" in said.err
    first = (tmp_path / "board.csv").read_text()
    assert len(first.splitlines()) == 3
    assert run(*arguments, "--resume") == 0
    said = capsys.readouterr()
    assert "3 of 6 folds" in said.err
    assert "first fold" not in said.err
    assert "/3" not in said.out
    resumed = (tmp_path / "board.csv").read_text()
    assert run(*arguments) == 0
    assert "Taken over" not in capsys.readouterr().err
    whole = (tmp_path / "board.csv").read_text()
    kept, again = (pd.read_csv(text_file(text)) for text in (resumed, whole))
    pd.testing.assert_frame_equal(
        kept.drop(columns="fit_seconds"), again.drop(columns="fit_seconds")
    )


def text_file(text):
    import io

    return io.StringIO(text)


def test_nothing_to_resume(run, messy, tmp_path, capsys):
    arguments = ["--order", ORDER, "--resume", *options(tmp_path)]
    assert run("compare", messy, *arguments) == 0
    assert "no earlier results for this table" in capsys.readouterr().err


def test_the_diagram(run, messy, tmp_path, capsys):
    plot = tmp_path / "ranks.svg"
    arguments = ["--order", ORDER, "--plot", plot, *options(tmp_path)]
    assert run("compare", messy, *arguments) == 0
    assert "<svg" in plot.read_text()


def test_model_and_report_are_of_the_best(run, monkeypatch, messy, tmp_path, capsys):
    from echelon import reporting, trained

    class Trained:
        extra, metrics = (
            {"settings": {"alpha": 1.0}, "evaluated": "5 folds × 2"},
            {"mae": 0.4, "mae_se": 0.02},
        )

        def save(self, path, key=None):
            path.write_text("model")

    asked = {}

    def train(table, name, **more):
        asked["train"] = (name, table.target)
        return Trained()

    def report(subject, rows, **more):
        asked["report"] = (type(subject), more["leaderboard"].best.model)
        asked["kinds"] = {column.name: column.kind for column in rows.schema.columns}
        more["on_section"]("confusion")
        more["path"].write_text("<html>")

    monkeypatch.setattr(trained, "train", train, raising=False)
    monkeypatch.setattr(reporting, "report", report)
    outputs = ["--save", tmp_path / "best.echelon", "--report", tmp_path / "report.html"]
    assert run("compare", messy, "--order", ORDER, *outputs, *options(tmp_path)) == 0
    assert asked["train"] == ("ProportionalOdds logit", "rating")
    assert asked["report"] == (Trained, "ProportionalOdds logit")
    assert asked["kinds"]["colour"] == "category"
    said = capsys.readouterr()
    assert said.out.count("Written: ") == 3
    assert "Cross-validated (5 folds × 2):\n  mean absolute error  0.400" in said.out
    lines = ["Fitting ProportionalOdds logit to all rows", "Writing the report"]
    assert said.err.splitlines()[-3:] == [*lines, "Report: confusion"]


def test_a_saved_model_that_is_no_better_than_one_label_is_warned_of(run, messy, tmp_path, capsys):
    saved = tmp_path / "m.echelon"
    arguments = ["--order", ORDER, *options(tmp_path, models="median label"), "--save", saved]
    assert run("compare", messy, *arguments) == 3
    error = capsys.readouterr().err
    assert "Warning: median label is no better than one label for all rows (MAE " in error
    assert saved.exists()


def test_stopped_models_are_told_in_one_line(capsys):
    from echelon.cli.compare import _print

    best = LeaderboardRow("odds", {"mae": np.full(4, 0.1)}, 0.1)
    fold = np.array([0.3, np.nan, np.nan, np.nan])
    note = "Stopped after 1 fold: behind by 0.200."
    rest = [LeaderboardRow(name, {"mae": fold}, 0.1, note=note, behind=0.2) for name in "ab"]
    _print(Leaderboard.of([*rest, best], sizes=(80, 20), planned=4))
    said = capsys.readouterr().out
    assert (
        "Stopped early: a after 1 fold: behind by 0.200; b after 1 fold: behind by 0.200." in said
    )
    assert "Not all folds" not in said
    assert said.index("odds") < said.index("a ")


def test_models_that_all_fail(run, messy, tmp_path, capsys):
    cost = tmp_path / "cost.csv"
    cost.write_text("0,5,1,1,1\n1,0,1,1,1\n1,1,0,1,1\n1,1,1,0,1\n1,1,1,1,0\n")
    arguments = ["--order", ORDER, "--cost", cost, *options(tmp_path, models="LinearSVOR")]
    assert run("compare", messy, *arguments) == 2
    error = capsys.readouterr().err
    assert "No model could be measured; LinearSVOR: cost must be V-shaped" in error
    assert not (tmp_path / "board.csv").exists()


BAD = {
    "text without order": ("a,y\n1,low\n2,high\n", [], "--order"),
    "no such target": ("a,y\n1,2\n", ["--target", "z"], "'z'"),
    "empty": ("", [], "empty"),
    "one class": ("a,y\n" + "1,1\n2,1\n" * 5, [], "one class"),
    "out": ("a,y\n1,1\n2,2\n", ["--out", "board.xlsx"], "must end in .csv, .json or .md"),
    "plot": ("a,y\n1,1\n2,2\n", ["--plot", "p.txt"], "--plot must end in .svg, .png or .pdf"),
    "report": ("a,y\n1,1\n2,2\n", ["--report", "r.txt"], "--report must end in .html"),
    "budget": ("a,y\n1,1\n2,2\n", ["--budget", "soon"], "such as 90s, 10m"),
    "no budget": ("a,y\n1,1\n2,2\n", ["--budget", "0"], "such as 90s, 10m"),
    "model": ("a,y\n1,1\n2,2\n", ["--models", "oracle"], "There is no model 'oracle'"),
    "no models": ("a,y\n1,1\n2,2\n", ["--models", ","], "at least one model"),
    "cost file": ("a,y\n1,1\n2,2\n", ["--cost", "nowhere.csv"], "nowhere.csv"),
    "too many folds": (
        "a,y\n1,1\n2,2\n",
        ["--folds", "5"],
        "5 folds need a class of at least 5 rows",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_no_output(run, tmp_path, capsys, case):
    content, extra, message = BAD[case]
    path = tmp_path / "bad.csv"
    path.write_text(content)
    code = run("compare", path, *options(tmp_path), *extra)
    error = capsys.readouterr().err
    assert code == 2
    assert message in error
    assert error.count("Error: ") == 1
    assert "Traceback" not in error
    assert not (tmp_path / "board.csv").exists()


PLACES = {"--out": "b.csv", "--report": "r.html", "--save": "m.echelon", "--plot": "p.svg"}


@pytest.mark.parametrize("option", PLACES)
def test_places_that_cannot_be_written_are_refused_at_once(run, messy, tmp_path, capsys, option):
    name = PLACES[option]
    (tmp_path / f"folder.{name}").mkdir()
    start = ["compare", messy, "--order", ORDER, "--budget", "1s"]
    assert run(*start, option, tmp_path / "nowhere" / name) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"Error: {option} ")
    assert "lies in a folder that does not exist" in error
    assert run(*start, option, tmp_path / f"folder.{name}") == 2
    said = capsys.readouterr()
    assert "is a folder; name a file" in said.err and said.out == ""
    assert not (tmp_path / "nowhere").exists()


def test_the_table_is_not_replaced(run, messy, tmp_path, capsys):
    before = messy.read_bytes()
    assert run("compare", messy, "--order", ORDER, "--out", messy) == 2
    assert "would replace what is read" in capsys.readouterr().err
    assert messy.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,1\n1,0\n", "one row and one column per class"),
        ("0,1,2,x,2\n" * 5, "not a square of numbers"),
        ("0,1,1,1,1\n1,0,1,1,1\n1,1,3,1,1\n1,1,1,0,1\n1,1,1,1,0\n", "zero on its diagonal"),
    ],
)
def test_bad_costs(run, messy, tmp_path, capsys, content, message):
    cost = tmp_path / "cost.csv"
    cost.write_text(content)
    arguments = ["--order", ORDER, "--cost", cost, *options(tmp_path)]
    assert run("compare", messy, *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        ([], "Name a data file"),
        (["--example", "titanic"], "--example must be 'anes96', 'balance_scale', 'era'"),
    ],
)
def test_bad_arguments(run, capsys, arguments, message):
    assert run("compare", *arguments) == 2
    assert message in capsys.readouterr().err


def test_the_live_table(monkeypatch):
    """What a terminal shows holds the rows so far and the time left."""
    from rich.console import Console

    from echelon.cli.views import picture
    from echelon.datasets import load_esl
    from echelon.model_selection import candidates, run_contest

    X, y = load_esl(return_X_y=True)
    few = {name: candidates()[name] for name in ("median label", "PRank")}
    seen = []
    run_contest(X, y, candidates=few, folds=2, repeats=1, on_progress=seen.append)
    console = Console(width=100, height=30, force_terminal=False)
    pictures = []
    for progress in seen:
        with console.capture() as capture:
            console.print(picture(progress, 30))
        pictures.append(capture.get())
    assert "0/4 folds of models" in pictures[0]
    assert "median label" in pictures[1] and "PRank" not in pictures[1]
    assert "left" in pictures[2]
    assert pictures[-1].index("PRank") < pictures[-1].index("median label")
    assert "4/4 folds of models" in pictures[-1]


def test_help_names_the_commands(run, capsys):
    assert run("--help") == 0
    out = capsys.readouterr().out
    assert "compare" in out


def test_without_the_extra_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"needs typer; install it with pip .*\[cli\]"):
        cli.main()


@pytest.mark.parametrize(("folds", "warned"), [(4, True), (5, False)])
def test_a_lead_on_few_folds_is_said_to_be_one(capsys, folds, warned):
    from echelon.cli.compare import _print

    figures = np.r_[0.1 * np.ones(folds), np.full(10 - folds, np.nan)]
    row = LeaderboardRow("odds", {"mae": figures}, 0.1)
    _print(Leaderboard.of([row], sizes=(80, 20), planned=10))
    assert ("leads on 4 of 10 folds only" in capsys.readouterr().out) == warned
