"""The command line as a whole: help without heavy imports, exit codes, tracebacks on request."""

import subprocess
import sys

import pytest
import typer

from echelon import cli
from echelon.cli import failures
from echelon.cli.commands import whole_command
from echelon.cli.values import read_cost, read_seconds, read_share

HEAVY = {"numpy", "pandas", "sklearn", "scipy", "skops", "pyarrow"}


def loaded_after(*arguments):
    """Top-level modules that a fresh interpreter has loaded when a command line is done."""
    program = (
        "import sys\nsys.argv[1:] = " + repr(list(arguments)) + "\n"
        "from echelon.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    said, _, modules = done.stdout.rpartition("LOADED")
    return said, set(modules.split())


def test_help_lists_all_commands_and_loads_nothing_heavy():
    said, modules = loaded_after("--help")
    for name, about in cli.COMMANDS.items():
        assert f"{name} " in said
        assert about in " ".join(said.split())
    assert '  echelon compare reviews.csv --target rating --order "poor<fair<good"' in said
    assert not modules & HEAVY


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name, run, capsys):
    assert run(name, "--help") == 0
    assert f"Usage: echelon {name}" in capsys.readouterr().out
    assert whole_command(name).name == name


@pytest.mark.parametrize(
    ("name", "option"), [("predict", "--proba"), ("compare", "--save"), ("evaluate", "--report")]
)
def test_help_of_a_command_loads_nothing_heavy(name, option):
    said, modules = loaded_after(name, "--help")
    assert option in said
    assert not modules & HEAVY


@pytest.mark.parametrize("name", ["compare", "fit", "rank"])
def test_a_model_is_saved_by_the_same_option(name):
    options = {word for one in whole_command(name).params for word in one.opts}
    assert "--save" in options


def test_steps_are_lines_or_a_spinner(monkeypatch, capsys):
    from rich.console import Console

    from echelon.cli.views import step_line

    with step_line() as step:
        step("Kneading")
        step("Baking")
    assert capsys.readouterr().err == "Kneading\nBaking\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown = []

    class Status:
        def __enter__(self):
            return self

        def __exit__(self, *reason):
            shown.append("gone")

        def update(self, text):
            shown.append(text)

    monkeypatch.setattr(Console, "status", lambda self, text: Status())
    with step_line() as step:
        step("Baking")
    assert shown == ["Baking", "gone"]
    assert capsys.readouterr() == ("", "")


def test_the_version(run, capsys):
    import echelon

    assert run("--version") == 0
    assert capsys.readouterr().out.strip() == f"echelon {echelon.__version__}"


def test_no_such_command(run, capsys):
    assert run("comprae") == 2
    assert "compare" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (failures.UsageError("Do it so."), 2, "Error: Do it so.\n"),
        (OSError(28, "No space left on device", "/x/y"), 4, "Error: /x/y cannot be written: No"),
        (PermissionError(13, "Permission denied"), 4, "Error: The output cannot be written: Perm"),
        (ValueError("Odd.\nmore"), 1, "Error: Odd (--debug shows where).\n"),
        (ZeroDivisionError("division"), 1, "Error: ZeroDivisionError: division (--debug shows"),
        (
            ModuleNotFoundError("no", name="pandas"),
            1,
            "Error: This needs pandas; install it with pip",
        ),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
)
def test_exit_codes(error, code, sentence, capsys):
    with pytest.raises(typer.Exit) as stop, failures.guarded():
        raise error
    assert stop.value.exit_code == code
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1
    assert "Traceback" not in said


def test_an_interruption_while_a_class_is_made(capsys):
    class Interrupted:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as stop, failures.guarded():
        type("Made", (), {"attribute": Interrupted()})
    assert stop.value.exit_code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_errors_of_tables_and_model_files(capsys):
    from echelon.tables import TableError
    from echelon.trained import ModelFileError

    for error, code in ((TableError("A table."), 2), (ModelFileError("A model."), 3)):
        with pytest.raises(typer.Exit) as stop, failures.guarded():
            raise error
        assert stop.value.exit_code == code
        assert capsys.readouterr().err == f"Error: {error}\n"


def test_debug_anywhere_shows_the_traceback(run, capsys, tmp_path):
    for line in (["--debug", "info", tmp_path], ["info", tmp_path, "--debug"]):
        assert run(*line) == 3
        said = capsys.readouterr().err
        assert "Traceback" in said
        assert said.splitlines()[-1].startswith("Error: ")


def test_exits_of_commands_pass():
    with pytest.raises(typer.Exit) as stop, failures.guarded():
        raise typer.Exit(7)
    assert stop.value.exit_code == 7


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_and_each_is_said_once(capsys):
    import warnings

    with failures.guarded():
        for _ in range(2):
            warnings.warn("Take\n  care.", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: Take care.\n"


def test_a_closed_pipe_ends_without_a_word(monkeypatch, capsys):
    moved = []
    monkeypatch.setattr("os.dup2", lambda new, old: moved.append(old))
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    with pytest.raises(typer.Exit) as stop, failures.guarded():
        raise BrokenPipeError(32, "Broken pipe")
    assert stop.value.exit_code == 4
    assert moved == [1]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1.5m", 90),
        ("2h", 7200),
        ("1h 30m", 5400),
        ("1M", 60),
        ("4 min", 240),
        ("9sec", 9),
    ],
)
def test_durations(text, seconds):
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-3m", "soon", "5d", "m"])
def test_bad_durations(text):
    with pytest.raises(failures.UsageError, match="--budget must be a duration"):
        read_seconds(text)


@pytest.mark.parametrize("text", ["", "-2%", "two", "2%%", "1e-2", "2"])
def test_bad_margins(text):
    with pytest.raises(failures.UsageError, match="--margin must be a share such as 2% or"):
        read_share(text, "--margin")


def test_costs_by_place_and_by_name(tmp_path):
    path = tmp_path / "cost.csv"
    path.write_text("0,1,4\n2,0,1\n8,2,0\n")
    assert read_cost(path, ["a", "b", "c"]).tolist() == [[0, 1, 4], [2, 0, 1], [8, 2, 0]]
    path.write_text("true,c,a,b\nb,1,2,0\na,4,0,1\nc,0,8,2\n", encoding="utf-8-sig")
    assert read_cost(path, ["a", "b", "c"]).tolist() == [[0, 1, 4], [2, 0, 1], [8, 2, 0]]
    assert read_cost(None, ["a", "b"]) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1\n1,0\n", "one row and one column per class"),
        ("0,1,2\n1,0\n2,1,0\n", "not a square"),
        ("0,x,2\n1,0,1\n2,1,0\n", "not a square of numbers"),
        ("true,a,b,d\na,0,1,2\nb,1,0,1\nd,2,1,0\n", "must name the labels a, b, c"),
        ("5,1,2\n1,0,1\n2,1,0\n", "zero on its diagonal"),
        ("", "one row and one column per class"),
    ],
)
def test_bad_costs(tmp_path, text, words):
    path = tmp_path / "cost.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_cost(path, ["a", "b", "c"])


def test_costs_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "absent.csv"):
        with pytest.raises(failures.UsageError, match="cannot be read"):
            read_cost(path, ["a", "b"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--target rating compare t.csv", "Options come after the command"),
        ("compare t.csv --qid search", "Queries are for rankings: echelon rank."),
        ("fit t.csv --qid search", "Queries are for rankings: echelon rank."),
        ("rank m.echelon t.csv", "To use a saved model: echelon rank DATA --model-file MODEL."),
        ("rank m.echelon", "m.echelon is a model file and no table; write echelon rank DATA --mo"),
        ("predict t.csv m.echelon", "is a model file and no table; write echelon predict MODEL"),
        ("evaluate t.csv m.echelon", "is a model file and no table; write echelon evaluate MODEL"),
        ("explain t.csv m.echelon", "is a model file and no table; write echelon explain MODEL"),
        ("compare", "Name a data file, as in echelon compare reviews.csv --target rating"),
        ("compare t.csv --traget rating", "--traget"),
    ],
)
def test_lines_in_another_order_get_a_hint(run, capsys, line, words):
    assert run(*line.split()) == 2
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert "Traceback" not in said


def test_other_mistakes_get_no_hint(run, capsys):
    assert run("rank") == 2
    assert "saved model" not in capsys.readouterr().err
    assert run("rank", "t.csv", "--top", "0") == 2
    assert "saved model" not in capsys.readouterr().err
