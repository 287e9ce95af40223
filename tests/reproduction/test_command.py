"""The command: thin, one sentence on errors, and interruptible."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

typer = pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from reproduction import published, runner  # noqa: E402
from reproduction.__main__ import _duration, reproduce  # noqa: E402
from reproduction.protocol import QUICK_ROWS  # noqa: E402
from reproduction.published import Tolerance  # noqa: E402

app = typer.Typer()
app.command()(reproduce)


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(arguments))


@pytest.fixture
def known(tiny, table, monkeypatch):
    """The tiny table under the name of a real one."""
    monkeypatch.setattr(published, "list_tables", lambda: ["tiny"])
    monkeypatch.setattr("reproduction.read_table", lambda name: table)
    return tiny


def test_list():
    result = invoke("--list")
    assert result.exit_code == 0
    assert "ck07-table1" in result.output and "SVR, SLA, EXC, IMC" in result.output
    assert "ck07-figure3" in result.output and "[CK07] figure 4" in result.output
    assert "ll09-tables1-2" in result.output and "ORBoost-All" in result.output
    assert "dk09-figure1" in result.output and "RankRules," in result.output


def test_it_runs_as_a_module_from_the_root_of_the_repository():
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "--list"],
        cwd=root,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "ck07-table2" in done.stdout


def test_help_states_the_rows_that_quick_tunes_on():
    assert f"{QUICK_ROWS:,}" in invoke("--help").output


def test_runs_prints_and_writes(known, tmp_path):
    arguments = ["tiny", "--effort", "paper", "--out", str(tmp_path / "results")]
    result = invoke(*arguments, "--write", str(tmp_path / "docs"))
    assert result.exit_code == 0, result.output
    assert "0.500 ± 0.100 *" in result.output and "Our models on the same splits" in result.output
    assert "two FAR: split" in result.stderr and "16/16" in result.stderr
    page = (tmp_path / "docs" / "tiny.md").read_text(encoding="utf-8")
    assert page.startswith("# [T00] table 0")
    known.fits = 0
    assert invoke(*arguments).exit_code == 0 and known.fits == 0


def test_agreement_and_figures_without_ours_are_printed(known, table, tmp_path, monkeypatch):
    judged = dataclasses.replace(table, tolerance=Tolerance(2, 5.0))
    monkeypatch.setattr("reproduction.read_table", lambda name: judged)
    result = invoke("tiny", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "Data sets on which ours is within the published figure" in result.output
    assert "2 of 2" in result.output and "not measured" in result.output


def test_ranks_over_the_data_sets_are_printed_and_drawn(known, table, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    compared = dataclasses.replace(table, comparison=("FAR", "NEAR"))
    monkeypatch.setattr("reproduction.read_table", lambda name: compared)
    result = invoke("tiny", "--out", str(tmp_path), "--write", str(tmp_path / "docs"))
    assert result.exit_code == 0, result.output
    assert "All models over the data sets" in result.output and "Average rank" in result.output
    page = (tmp_path / "docs" / "tiny.md").read_text(encoding="utf-8")
    for measure in ("zero_one", "absolute"):
        assert f"(tiny-{measure}-any.svg)" in page
        content = (tmp_path / "docs" / f"tiny-{measure}-any.svg").read_bytes()
        assert content.startswith(b"<?xml")


def test_a_page_with_pictures_names_the_extra_before_any_work(known, table, tmp_path, monkeypatch):
    compared = dataclasses.replace(table, comparison=("FAR", "NEAR"))
    monkeypatch.setattr("reproduction.read_table", lambda name: compared)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke("tiny", "--out", str(tmp_path), "--write", str(tmp_path / "docs"))
    assert result.exit_code == 2 and "echelon[plot]" in result.stderr and known.fits == 0
    assert invoke("tiny", "--out", str(tmp_path)).exit_code == 0


def test_ctrl_c_keeps_what_is_done_and_shows_it(known, tmp_path, monkeypatch):
    real, calls = runner._run_cell, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(runner, "_run_cell", interrupted)
    result = invoke("tiny", "--effort", "paper", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert "what is done is kept" in result.stderr and "0.500 ± 0.100 *" in result.output
    assert len((tmp_path / "tiny.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "There is no table or plot 'nothing'; there are cg05-table2, cg05-table3, "),
        (["ck07-table1", "--sets", "mars"], "ck07-table1 has no data set 'mars'"),
        (["ck07-table1", "--models", "mars"], "There is no model 'mars'"),
        (["dk09-table3", "--models", "IMC"], "is measured under ck07-table2; run it there."),
        (["ck07-table1", "--effort", "mars"], "effort must be one of quick, paper; found 'mars'."),
        ([], "Name a table or plot"),
        (["ck07-figure3"], "ck07-figure3 is a plot, for which there is no --out."),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, tmp_path):
    result = invoke(*arguments, "--out", str(tmp_path))
    assert result.exit_code == 2
    assert sentence in result.stderr and "Traceback" not in result.output
    assert len(result.stderr.strip().splitlines()) == 1


def test_missing_data_is_one_sentence(monkeypatch, tmp_path):
    from echelon import datasets

    def missing(name, **options):
        raise FileNotFoundError("it is not in any folder")

    monkeypatch.setattr(datasets, "fetch_benchmark", missing)
    result = invoke("ck07-table1", "--sets", "abalone", "--out", str(tmp_path))
    assert result.exit_code == 2 and "it is not in any folder" in result.stderr


def test_plots_take_no_options_of_tables():
    options = [("--sets", "abalone"), ("--models", "IMC"), ("--splits", "2"), ("--jobs", "2")]
    for option, value in options:
        result = invoke("ck07-figure4", option, value)
        assert result.exit_code == 2
        assert f"ck07-figure4 is a plot, for which there is no {option}." in result.stderr
    result = invoke("ck07-figure4", "--effort", "mars")
    assert "effort must be one of quick, paper; found 'mars'." in result.stderr


def test_a_plot_is_measured_printed_and_written(grades, tmp_path):
    pytest.importorskip("matplotlib")
    result = invoke("ck07-figure3", "--write", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "SLA" in result.output and "ordered" in result.output
    assert "fitting IMC" in result.stderr
    assert (tmp_path / "ck07-figure3.svg").read_bytes().startswith(b"<?xml")
    page = (tmp_path / "ck07-figure3.md").read_text(encoding="utf-8")
    assert page.startswith("# [CK07] figure 3") and "(ck07-figure3.svg)" in page


def test_without_matplotlib_the_extra_is_named_before_any_work(monkeypatch):
    from echelon import datasets

    def work(name, **options):
        raise AssertionError("no work is to be done")

    monkeypatch.setattr(datasets, "fetch_benchmark", work)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke("ck07-figure4")
    assert result.exit_code == 2
    assert "matplotlib" in result.stderr and "echelon[plot]" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_durations():
    assert [_duration(s) for s in (9.6, 75, 3725)] == ["10 s", "1 min 15 s", "1 h 02 min"]
