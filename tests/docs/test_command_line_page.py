"""The page about the command line names every command with every option, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from echelon.cli import COMMANDS
from echelon.cli.commands import whole_command

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"


def section(command):
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^## `echelon {command}`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section on echelon {command}"
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_all_options_are_told(command):
    parameters = whole_command(command).params
    options = {name for one in parameters for name in (*one.opts, *one.secondary_opts)}
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section(command)))
    assert told - {"--debug"} == {name for name in options if name.startswith("--")}


def test_exit_codes_are_told():
    from echelon.cli import failures

    text = PAGE.read_text(encoding="utf-8").partition("## Exit codes")[2]
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    known = {
        failures.UNEXPECTED,
        failures.USAGE,
        failures.MODEL_FILE,
        failures.OUTPUT,
        failures.INTERRUPTED,
    }
    assert told == {0, *known}
