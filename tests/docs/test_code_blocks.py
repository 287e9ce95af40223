"""Every block of code in the documents is run.

Blocks of ``python`` are doctests, which `make test` runs as such; here they are checked to be ones.
Blocks of ``sh`` are run, those of a page in one folder and in their order: plain commands of
Echelon in this process, which has its imports, and all else by a shell; blocks of ``text`` are what
the commands print, and are looked for there.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import get_args

import pytest
from support.mixed_tables import mixed_frame

import echelon
from echelon.metrics.best_comparison import Verdict

ROOT = Path(__file__).parents[2]
#: Written by Sphinx from docstrings and examples, which other tests run.
MADE = ("docs/api/packages/", "docs/api/generated/", "docs/gallery/")
SHELL = ("sh", "console")
#: Pages with statements that doctest leaves out, and why.
SKIPPED = {"docs/datasets.md": "needs files that users bring"}
#: Commands that no test runs, and why.
LEFT_OUT = {
    "make ": "makes environments, and tests itself",
    "pip install": "needs a network",
    "python -m reproduction": "takes minutes; tests/reproduction runs it on small ones",
    "python -m benchmarks": "takes minutes; tests/test_benchmarks.py runs small ones",
    "python -m fuzz": "takes minutes, and what it finds depends on them",
}
#: Tables that a page takes for the reader's own.
GIVEN = {"README.md": ("reviews.csv", "new_reviews.csv")}
#: Pages that show again what others do, on the same tables; what both show is run once.
ALSO_IN = {"README.md": ["docs/index.md"]}
#: Comparisons of two models in place of all, which take the minutes of their budget; one process.
LESS_WORK = {
    "compare": [
        *["--models", "ProportionalOdds logit, median label"],
        *["--repeats", "2", "--folds", "3", "--jobs", "1"],
    ],
    "fit": ["--jobs", "1"],
}

_ECHELON = f"""
import sys
from echelon.cli import main
sys.argv += {LESS_WORK!r}.get(sys.argv[1], [])
main()
"""
_FENCE = re.compile(r"^(\s*)(`{3,}|:{3,}|~{3,})\s*(\S*)(.*)$")
_VERDICT = re.compile("|".join(get_args(Verdict)))
_NUMBER = re.compile(r"[-+]?\d[\d,.]*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, and its lines without the indent of the fence."""

    page: str
    line: int
    language: str
    lines: tuple[str, ...]

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def pages() -> list[Path]:
    """Every document that people write."""
    found = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
    return [page for page in found if not name_of(page).startswith(MADE)]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in their order."""
    opened: tuple[int, str, str, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened, lines = (number, fence[1], fence[2], fence[3]), []
            continue
        first, indent, mark, language = opened
        if fence and fence[2].startswith(mark) and not fence[3]:
            yield Block(name_of(page), first, language, tuple(lines))
            opened = None
        else:
            lines.append(line.removeprefix(indent))
    assert opened is None, f"{name_of(page)}:{opened[0]} opens a block that nothing closes"


_PAGES = {name_of(page): list(blocks(page)) for page in pages()}
_WITH_COMMANDS = [
    name
    for name, found in _PAGES.items()
    if any(block.language in SHELL for block in found) and name not in chain(*ALSO_IN.values())
]


@pytest.mark.parametrize("page", _PAGES)
def test_every_block_is_code_that_runs_or_plainly_none(page):
    for block in _PAGES[page]:
        if block.language == "python":
            assert any(line.startswith(">>> ") for line in block.lines), block.where
            assert not block.lines[-1].strip(), f"{block.where} needs an empty line at its end"
            assert page in SKIPPED or "+SKIP" not in "".join(block.lines), block.where
        else:
            known = block.language in (*SHELL, "text") or block.language.startswith("{")
            assert known, f"{block.where}: nothing runs a block of {block.language or 'no name'}"


def test_python_blocks_are_where_doctests_are_looked_for():
    with_python = {
        name for name, found in _PAGES.items() if any(block.language == "python" for block in found)
    }
    assert "README.md" in with_python
    assert all(name == "README.md" or name.startswith("docs/") for name in with_python)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", _WITH_COMMANDS)
def test_commands_run_and_print_what_is_shown(page, tmp_path, monkeypatch, capfd, run):
    found = [block for name in (page, *ALSO_IN.get(page, ())) for block in _PAGES[name]]
    script = [line for block in found if block.language in SHELL for line in _runnable(block.lines)]
    if page in ALSO_IN:
        script = list(dict.fromkeys(script))
    for number, name in enumerate(GIVEN.get(page, ())):
        _reviews(seed=number).to_csv(tmp_path / name, index=False)
    _prepare(tmp_path, monkeypatch)
    failed = [command for command in _commands(script) if _status(command, run) != 0]
    printed = "\n".join(capfd.readouterr())
    assert not failed, printed
    assert "Traceback" not in printed
    for block in found:
        if block.language == "text":
            _look_for(block, printed)


def test_commands_are_told_from_what_a_shell_runs():
    script = ["head -n 1 a", "cat <<'END'", "echelon in text", "END", "echelon info \\", "  a  # b"]
    assert list(_commands([*script, "echelon info a | head"])) == [
        "\n".join(script[:4]),
        "echelon info \\\n  a  # b",
        "echelon info a | head",
    ]


def test_exceptions_are_needed():
    typed = [
        line.removeprefix("$ ")
        for found in _PAGES.values()
        for block in found
        if block.language in SHELL
        for line in block.lines
    ]
    assert all(any(line.startswith(command) for line in typed) for command in LEFT_OUT)


def test_false_output_is_found():
    printed = "Written: board.csv\nLinearSVOR 0.4 worse\nOne line\nand another\n"
    shown = ("GPOR 0.3 undecided", "…", "One", "line and another")
    _look_for(Block("page", 1, "text", shown), printed)
    with pytest.raises(AssertionError, match="not printed: Written: table"):
        _look_for(Block("page", 1, "text", ("Written: table.csv",)), printed)


def _reviews(seed):
    frame = mixed_frame(n=120, seed=seed)
    return frame.assign(rating=frame["rating"].replace("great", "good"))


def _runnable(lines: tuple[str, ...]) -> list[str]:
    typed = [line.removeprefix("$ ") for line in lines]
    return [line for line in typed if not line.startswith(tuple(LEFT_OUT))]


def _commands(script: list[str]) -> Iterator[str]:
    """Plain commands of Echelon one by one, and what is between them for a shell."""
    whole = re.findall(
        r"^.*<<'END'\n(?:.*\n)*?END$|^(?:.*\\\n)*.*$", "\n".join(script), re.MULTILINE
    )
    for is_plain, group in groupby(whole, _is_plain):
        lines = list(group)
        yield from lines if is_plain else ["\n".join(lines)]


def _is_plain(command: str) -> bool:
    return command.startswith("echelon ") and not {"|", "||", ">", "<"} & set(command.split())


def _prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder with programs that a shell runs in place of those that are installed."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "run.py").write_text(_ECHELON, encoding="utf-8")
    for name, arguments in (("echelon", f'"{tools / "run.py"}"'), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(Path(echelon.__file__).parents[1]))
    monkeypatch.setenv("ECHELON_CACHE", str(folder / "cache"))
    monkeypatch.setenv("MPLCONFIGDIR", str(folder / "matplotlib"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(folder)


def _status(command: str, run: Callable[..., int]) -> int:
    """The status with which a command ends."""
    if not _is_plain(command):
        return subprocess.run(["sh", "-e"], input=command, text=True, check=False).returncode
    _, name, *arguments = shlex.split(command.replace("\\\n", " "), comments=True)
    return run(name, *arguments, *LESS_WORK.get(name, []))


def _look_for(block: Block, printed: str) -> None:
    """What is shown between marks of omission was printed, as lines or as a text that is wrapped.

    Numbers, spaces and the names of models in a leaderboard may differ.
    """
    lines = [_form(line) for line in printed.splitlines()]
    whole = " ".join(lines)
    for passage in _passages(block.lines):
        shown = [_form(line) for line in passage]
        missing = [line for line, form in zip(passage, shown, strict=True) if form not in lines]
        assert not missing or " ".join(shown) in whole, (
            f"{block.where} shows what is not printed: {missing[0]}"
        )


def _passages(lines: tuple[str, ...]) -> list[list[str]]:
    """Lines between lines that are empty or a mark of omission."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip() in ("", "…"):
            found.append([])
        else:
            found[-1].append(line)
    return [passage for passage in found if passage]


def _form(line: str) -> str:
    form = " ".join(_NUMBER.sub("#", _without_model(line)).split())
    # A leaderboard counts folds only where some model has not run all.
    return form.removesuffix(" #/#").replace("fit s folds", "fit s")


def _without_model(line: str) -> str:
    """Rows of a leaderboard are alike, whatever the model and how it compares."""
    bare = line.strip()
    name = next((name for name in _MODELS if bare.startswith(name)), None)
    return bare if name is None else f"MODEL {_VERDICT.sub('VERDICT', bare[len(name) :])}"


def _models() -> list[str]:
    from echelon.model_selection import candidates

    return sorted(candidates(), key=len, reverse=True)


_MODELS = _models()
