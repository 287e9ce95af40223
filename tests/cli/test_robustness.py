"""Commands under bad conditions: signals, closed streams, names that act, one file for two."""

import os
import signal
import sys
from dataclasses import replace

import pytest
from support.mixed_tables import ORDER, mixed_frame

from echelon.trained import load_model
from echelon.trained import model as model_module


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    mixed_frame().to_csv(path, index=False)
    return path


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_signals_end_a_command_through_its_clean_up(run, monkeypatch, model_file, name, code):
    if not hasattr(signal, name):
        pytest.skip(f"no {name} here")
    number = getattr(signal, name)
    # As in a shell: what runs in the background or under nohup ignores some of them.
    usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    before = signal.signal(number, usual)

    def send(*_, **__):
        os.kill(os.getpid(), number)

    monkeypatch.setattr("echelon.cli.info.describe", send)
    try:
        assert run("info", model_file) == code
        assert signal.getsignal(number) == usual
    finally:
        signal.signal(number, before)


def test_closed_streams_are_told_apart(run, model_file, table, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert run("predict", model_file, "-") == 2
    assert "Standard input is closed" in capsys.readouterr().err
    monkeypatch.setattr(sys, "__stdout__", None)
    assert run("info", model_file) == 4
    assert run("predict", model_file, table) == 4
    assert "Standard output cannot be written: it is closed." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "one", "other"),
    [
        ("compare", "--out", "--save"),
        ("evaluate", "--out", "--report"),
        ("rank", "--out", "--save"),
    ],
)
def test_two_outputs_are_two_files(run, model_file, table, tmp_path, capsys, command, one, other):
    place, link = tmp_path / "place.csv", tmp_path / "link.csv"
    link.symlink_to(place)
    files = [model_file, table] if command == "evaluate" else [table]
    assert run(command, *files, one, place, other, link) == 2
    assert "are one file; name two" in capsys.readouterr().err


def test_an_output_is_no_input_by_another_name(run, model_file, table, tmp_path, capsys):
    same = tmp_path / "same.csv"
    os.link(table, same)
    assert run("predict", model_file, table, "--out", same) == 2
    assert "would replace what is read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--jobs", 0], ["--jobs", 10**9], ["--seed", -1], ["--seed", 2**32]]
)
def test_numbers_out_of_range(run, table, capsys, options):
    assert run("fit", table, "--order", ORDER, *options) == 2
    assert options[0] in capsys.readouterr().err


def test_too_few_rows_are_the_users_to_put_right(run, tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("a,y\n1,1\n2,2\n3,1\n")
    options = ["--model", "LinearSVOR", "--jobs", 1, "--save", tmp_path / "m.echelon"]
    assert run("fit", path, *options) == 2
    assert "need a class of at least 3 rows" in capsys.readouterr().err


def test_names_from_a_file_do_not_act_on_the_terminal(run, model_file, tmp_path, capsys):
    odd = "name\x1b[2J\u202e\nTask  ranking"
    path = tmp_path / "odd.echelon"
    replace(load_model(model_file), name=odd, notes=(odd,)).save(path)
    assert run("info", path) == 0
    said = capsys.readouterr().out
    assert not set(said) & set("\x1b\u202e")
    assert r"name\u001b[2J\u202e\u000aTask" in said
    assert run("info", tmp_path / "\x1b[31m.echelon") == 3
    assert "\x1b" not in capsys.readouterr().err
    assert run("info", path, "--json") == 0
    assert model_module.read_card(path).name == odd


def test_an_option_with_control_characters(run, capsys):
    assert run("info", "--\x1b[31m") == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_column_that_is_kept_twice_is_written_once(run, model_file, table, capsys):
    assert run("predict", model_file, table, "--keep", "a", "--keep", "a", "--no-proba") == 0
    assert capsys.readouterr().out.splitlines()[0].split(",").count("a") == 1
