"""Commands run as from a shell, and a model to run them on."""

import sys

import pytest
from support.mixed_tables import ORDER, mixed_frame


@pytest.fixture
def run(monkeypatch):
    """Run a command; its exit code."""
    from echelon import cli

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["echelon", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0

    return run_command


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """A saved linear model of `mixed_frame`, with probabilities and intervals."""
    from echelon.tables import labelled_table
    from echelon.trained import train

    table = labelled_table(mixed_frame(), "rating", ORDER)
    path = tmp_path_factory.mktemp("models") / "ratings.echelon"
    train(table, "ProportionalOdds logit").save(path)
    return path
