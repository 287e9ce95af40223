"""What type checkers say of a user's program, and of one with mistakes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.typing.any_share import all_slots

SCRIPT = Path(__file__).with_name("user_script.py")
SOURCE = Path(__file__).parents[2] / "src"
MISTAKES = """\
from echelon import SVOR
from echelon import NoSuchThing
SVOR(nonsense=3)
SVOR().fitt(1)
SVOR().fit([[1.0]])
ranks: str = SVOR().fit([[1.0], [2.0]], [1, 2])
reveal_type(SVOR().fit([[1.0], [2.0]], [1, 2]))
"""
WRONG_LINES = {2, 3, 4, 5, 6}


def by_mypy(folder, *scripts):
    """What mypy says: script, line, severity and text."""
    config = folder / "mypy.ini"
    # Neither scikit-learn nor SciPy has types; the package's own lines are read by `make lint`.
    config.write_text("[mypy]\nfollow_imports = silent\nignore_missing_imports = true\n")
    answer = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", folder, *scripts],
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    lines = [line.split(":", 3) for line in answer.stdout.splitlines() if line.count(":") >= 3]
    return [
        (Path(path).name, int(line), kind.strip(), text.strip()) for path, line, kind, text in lines
    ]


def by_pyright(folder, *scripts):
    """What pyright says, in the distribution that downloads nothing when it runs."""
    config = folder / "pyrightconfig.json"
    settings = {"extraPaths": [str(SOURCE)], "typeCheckingMode": "standard"}
    config.write_text(json.dumps({"include": [str(script) for script in scripts], **settings}))
    program = shutil.which("basedpyright", path=Path(sys.executable).parent)
    answer = subprocess.run(
        [program or "basedpyright", "--outputjson", "-p", config, "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
    )
    return [
        (
            Path(one["file"]).name,
            one["range"]["start"]["line"] + 1,
            one["severity"],
            one["message"],
        )
        for one in json.loads(answer.stdout)["generalDiagnostics"]
    ]


# One test, so that a checker reads the package once, however tests are dealt to processes.
@pytest.mark.parametrize("check", [by_mypy, by_pyright], ids=["mypy", "pyright"])
def test_a_good_program_has_no_error_and_mistakes_have(check, tmp_path):
    mistakes = tmp_path / "mistakes.py"
    mistakes.write_text(MISTAKES)
    said = check(tmp_path, SCRIPT, mistakes)
    faults = [f"{line}: {text}" for name, line, _, text in said if name == SCRIPT.name]
    assert not faults, "\n".join(faults)
    found = {line for name, line, kind, _ in said if name == "mistakes.py" and kind == "error"}
    assert found == WRONG_LINES
    (revealed,) = [
        text for name, line, kind, text in said if kind in ("note", "information") and line == 7
    ]
    assert revealed.rstrip('"').endswith("SVOR")


def test_public_signatures_say_their_types():
    found = all_slots()
    loose = sorted(slot for slot, is_any in found.items() if is_any)
    assert len(found) > 1000
    assert len(loose) <= 0.1 * len(found), "\n".join(loose)
