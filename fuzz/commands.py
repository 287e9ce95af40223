"""Commands that are killed, starved of room, cut from their streams, or given nonsense.

Every case is one process in a folder of its own. It must end with a documented exit code and a
sentence, leave no process and no part of a file, and have outputs that are whole or not there.
"""

from __future__ import annotations

import atexit
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fuzz import foreign_files
from fuzz.campaign import ANSWERED, REFUSED, Case

DOCUMENTED = {0, 2, 3, 4, 129, 130, 143}
# Seconds after which what a command has started must be gone.
GRACE = 10.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL)
_MARK, _PLACE = "ECHELON_FUZZ_CASE", "ECHELON_FUZZ_MATERIALS"


def environment() -> dict[str, str]:
    """One thread per process, as many run beside each other; and the materials, made once."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**threads, _PLACE: str(_materials())}


@dataclass
class Run:
    """A command line, and what is done to its process."""

    words: list[str]
    outputs: list[str] = field(default_factory=list)
    harm: str = "nothing"
    kill: tuple[int, float] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    may_die: bool = False


def case(seed: int) -> Case:
    """One command, harmed in one way."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="fuzz-commands-") as name:
        folder = Path(name)
        shutil.copytree(_materials(), folder, dirs_exist_ok=True)
        before = {path.name for path in folder.iterdir()}
        run = rng.choice(_COMMANDS)(rng)
        rng.choice(_HARMS)(rng, run, folder)
        return _judge(run, folder, before, seed)


@cache
def _materials() -> Path:
    """Tables and models to run commands on."""
    if _PLACE in os.environ:
        return Path(os.environ[_PLACE])
    folder = Path(tempfile.mkdtemp(prefix="fuzz-materials-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rng = random.Random(0)
    rows = ["size,colour,when,grade"]
    for place in range(90):
        size, grade = rng.gauss(0.0, 1.0), rng.choice(["low", "mid", "high"])
        day = f"2024-01-{place % 28 + 1:02d}"
        rows.append(f"{size + len(grade):.3f},{rng.choice('rgb')},{day},{grade}")
    (folder / "rows.csv").write_text("\n".join(rows) + "\n")
    (folder / "many.csv").write_text("\n".join([rows[0], *rows[1:] * 400]) + "\n")
    ranked = ["query,item,price,liked"]
    ranked += [f"{p % 12},{p},{rng.random():.3f},{rng.randint(0, 3)}" for p in range(84)]
    (folder / "items.csv").write_text("\n".join(ranked) + "\n")
    (folder / "cost.csv").write_text("0,1,4\n1,0,1\n4,1,0\n")
    foreign_files.write_all(_reviews_in(folder, rng), folder)
    ready = [
        ["fit", "reviews.csv", *_TOLD, "--model", "LinearSVOR", "--save", "reviews.echelon"],
        ["fit", "rows.csv", *_ORDER, *_QUICK, "--save", "labels.echelon"],
        ["rank", "items.csv", *_QUERIES, "--save", "ranker.echelon", "--out", "ranked.csv"],
    ]
    for words in ready:
        subprocess.run(_line(words), cwd=folder, check=True, capture_output=True)
    return folder


def _reviews_in(folder: Path, rng: random.Random) -> list[list[Any]]:
    """A table of texts, its names first, which is also written to ``reviews.csv``."""
    said = {1: "dreadful broken", 2: "plain, it's average", 3: "lovely 😀 جميل"}
    told: list[list[Any]] = [["review", "size", "liked"]]
    for place in range(90):
        liked, parcel = place % 3 + 1, rng.choice(["came late", "came on monday", "on my porch"])
        told.append([f"{said[liked]} parcel {parcel} {place}", rng.random(), liked])
    lines = [",".join(f'"{cell}"' for cell in row) for row in told]
    (folder / "reviews.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return told


_ORDER = ["--target", "grade", "--order", "low<mid<high"]
_QUICK = ["--model", "ProportionalOdds logit", "--jobs", "1"]
_TOLD = ["--target", "liked", "--text", "review", "--jobs", "1"]
_QUERIES = ["--target", "liked", "--qid", "query", "--id", "item"]


def _compare(rng: random.Random) -> Run:
    words = ["compare", "rows.csv", *_ORDER, "--models", "median label, LinearSVOR, PRank"]
    words += ["--budget", "5s", "--folds", "3", "--repeats", "1", "--out", "board.csv"]
    words += ["--jobs", rng.choice(["1", "2"])]
    return Run(words, ["board.csv"])


def _fit(rng: random.Random) -> Run:
    words = ["fit", "rows.csv", *_ORDER, "--model", "LinearSVOR", "--save", "new.echelon"]
    words += rng.choice([[], ["--cost", "cost.csv"], ["--confidence", "0.5"]])
    return Run([*words, "--jobs", rng.choice(["1", "1", "2"])], ["new.echelon"])


def _predict(rng: random.Random) -> Run:
    out = rng.choice(["out.csv", "out.parquet", "out.jsonl.gz", "out.arrow", "-"])
    words = ["predict", "labels.echelon", rng.choice(["rows.csv", "many.csv", "-"]), "--out", out]
    words += rng.choice([[], ["--keep-all"], ["--keep", "colour", "--keep", "colour"]])
    return Run(words, [out] if out != "-" else [])


def _evaluate(rng: random.Random) -> Run:
    words = ["evaluate", "labels.echelon", "rows.csv", "--out", "figures.json"]
    return Run(words, ["figures.json"])


def _explain(rng: random.Random) -> Run:
    words = ["explain", "labels.echelon", "rows.csv"]
    return Run([*words, *rng.choice([["--json"], ["--row", "3"], ["--global"]])])


def _rank(rng: random.Random) -> Run:
    words = rng.choice(
        [["rank", "items.csv", *_QUERIES], ["rank", "items.csv", "--model-file", "ranker.echelon"]]
    )
    return Run([*words, "--out", "order.csv"], ["order.csv"])


def _info(rng: random.Random) -> Run:
    return Run(
        ["info", rng.choice(["labels.echelon", "ranker.echelon"]), *rng.choice([[], ["--json"]])]
    )


def _reviews(rng: random.Random) -> Run:
    """A table of texts, or one of a format that a library of others parses."""
    table = rng.choice(["reviews.csv", "survey.xlsx", "survey.sav", "survey.dta"])
    fit = ["fit", table, *_TOLD, "--model", "LinearSVOR", "--save", "new.echelon"]
    told = ["predict", "reviews.echelon", table, "--out", "out.csv"]
    return rng.choice(
        [
            Run([*fit, *rng.choice([[], ["--stop-words", "english"]])], ["new.echelon"]),
            Run(told, ["out.csv"]),
            Run(["explain", "reviews.echelon", table, *rng.choice([[], ["--row", "3"]])]),
            Run(["inspect", table, "--text", "review"]),
        ]
    )


_COMMANDS = (
    _compare, _fit, _predict, _predict, _evaluate, _explain, _rank, _info, _reviews, _reviews,
)  # fmt: skip


def _kill(rng: random.Random, run: Run, folder: Path) -> None:
    run.harm, number = "kill", rng.choice(_SIGNALS)
    run.kill = (number, rng.uniform(0.6, 8.0))


def _close(rng: random.Random, run: Run, folder: Path) -> None:
    run.harm = "closed streams"
    closed = [stream for stream in range(3) if rng.random() < 0.5]

    def close() -> None:
        for stream in closed:
            os.close(stream)

    run.options["preexec_fn"] = close


def _no_reader(rng: random.Random, run: Run, folder: Path) -> None:
    run.harm = "closed pipe"
    reading, writing = os.pipe()
    os.close(reading)
    run.options[rng.choice(["stdout", "stderr"])] = writing


def _full(rng: random.Random, run: Run, folder: Path) -> None:
    run.harm = "full disk"
    if rng.random() < 0.3 and os.path.exists("/dev/full"):
        run.options["stdout"] = os.open("/dev/full", os.O_WRONLY)
        return
    limit = rng.choice([0, 100, 5_000, 50_000])

    def starve() -> None:
        # Without the signal a write beyond the limit is an error, as on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    run.options["preexec_fn"] = starve


_NONSENSE = (
    "",
    "-",
    "--",
    "-1",
    "0",
    "1e999",
    "nan",
    "99999999999999999999",
    "\u202ex",
    "a\x1b[31m",
    "=1+1",
    "/",
    "/dev/null",
    "absent.csv",
    "rows.csv",
    "labels.echelon",
    "x" * 260,
    "é",
    "\udcff",
    "low<low",
)
_FLAGS = (
    "--target", "--order", "--seed", "--jobs", "--budget", "--folds", "--out", "--save", "--report",
    "--cost", "--format", "--delimiter", "--drop", "--keep", "--model", "--models", "--confidence",
    "--row", "--rows", "--top", "--qid", "--id", "--pairs", "--nonsense", "--plot", "--example",
    "--text", "--stop-words", "--sheet", "--encoding",
)  # fmt: skip


def _nonsense(rng: random.Random, run: Run, folder: Path) -> None:
    run.harm = "nonsense"
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.4:
            run.words[rng.randrange(1, len(run.words))] = rng.choice(_NONSENSE)
        else:
            run.words += [rng.choice(_FLAGS), rng.choice(_NONSENSE)]
    run.outputs = []


def _damage(rng: random.Random, run: Run, folder: Path) -> None:
    """A file that is read has other bytes than it had."""
    run.harm = "damaged file"
    named = [word for word in run.words if (folder / word).is_file()]
    if not named:
        return
    path = folder / rng.choice(named)
    run.may_die = path.suffix in foreign_files.MAY_DIE
    content = bytearray(path.read_bytes())
    how = rng.choice(["flip", "flip", "cut", "empty", "other", "noise"])
    if how == "flip":
        for _ in range(rng.randint(1, 30)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    elif how == "cut":
        del content[rng.randrange(len(content)) :]
    elif how == "empty":
        content.clear()
    elif how == "other":
        content[:] = (folder / rng.choice(["cost.csv", "items.csv", "ranker.echelon"])).read_bytes()
    else:
        content[:] = rng.randbytes(rng.randint(1, 3000))
    path.write_bytes(content)


def _spare(rng: random.Random, run: Run, folder: Path) -> None:
    """Nothing is done."""


_HARMS: tuple[Callable[[random.Random, Run, Path], None], ...] = (
    _kill, _kill, _kill, _close, _no_reader, _full, _nonsense, _nonsense, _damage, _damage, _spare,
)  # fmt: skip


def _judge(run: Run, folder: Path, before: set[str], seed: int) -> Case:
    subject = f"{run.words[0]}, {run.harm}"
    code, printed = _run(run, folder, seed)
    told = f"exit {code}: {' '.join(run.words)[:300]!r}: {printed[-600:]}"
    left = _left_processes(seed)
    if left:
        return Case(subject, "harm", f"processes left: {left}; {told}")
    if "Traceback (most recent call last)" in printed or 'File "' in printed:
        return Case(subject, "foreign", told)
    if code not in _allowed(run):
        return Case(subject, "foreign" if code >= 0 else "crash", told)
    killed = code < 0
    parts = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    if parts and not killed:
        return Case(subject, "harm", f"parts left: {parts}; {told}")
    if parts and not _next_run_cleans(folder):
        return Case(subject, "harm", f"parts stay after the next run: {parts}; {told}")
    new = {p.name for p in folder.iterdir()} - before
    broken = [name for name in run.outputs if name in new and not _is_whole(folder / name)]
    if broken:
        return Case(subject, "harm", f"half written: {broken}; {told}")
    lacking = [name for name in run.outputs if not (folder / name).exists()]
    if code == 0 and lacking:
        return Case(subject, "different", f"no {lacking} though the command was done; {told}")
    return Case(subject, ANSWERED if code == 0 else REFUSED, told)


def _allowed(run: Run) -> set[int]:
    """Exit codes that a command may end with."""
    allowed = set(DOCUMENTED)
    if run.kill is not None:
        # Before the command begins, signals end the process as they do any other.
        allowed |= {-signal.SIGKILL, -run.kill[0]}
    return allowed | (foreign_files.DEATHS if run.may_die else set())


def _line(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "echelon.cli", *words]


def _run(run: Run, folder: Path, seed: int) -> tuple[int, str]:
    log = open(folder / ".log", "w+b")  # noqa: SIM115
    words = [word.encode("utf-8", "surrogateescape") for word in _line(run.words)]
    settings = {"ECHELON_CACHE": str(folder / ".cache"), _MARK: str(seed)}
    options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **run.options}
    with open(folder / "rows.csv", "rb") as rows:
        if "-" in run.words:
            options["stdin"] = rows
        process = subprocess.Popen(words, cwd=folder, env={**os.environ, **settings}, **options)
        if run.kill is not None:
            number, delay = run.kill
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
        code = process.wait()
    for name in ("stdout", "stderr"):
        if isinstance(run.options.get(name), int):
            os.close(run.options[name])
    with log:
        log.seek(0)
        printed = log.read().decode("utf-8", "replace")
        if run.may_die and code in foreign_files.DEATHS:
            # Where a library has ended the process, the interpreter shows where.
            printed = ""
    (folder / ".log").unlink()
    return code, printed


def _left_processes(seed: int) -> list[int]:
    """Processes of this case that are there after a while, where the system shows them."""
    mark, end = f"{_MARK}={seed}\0".encode(), time.monotonic() + GRACE
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.2)


def _next_run_cleans(folder: Path) -> bool:
    words = ["evaluate", "labels.echelon", "rows.csv", "--out", "next.json"]
    subprocess.run(_line(words), cwd=folder, check=True, capture_output=True)
    return not list(folder.glob(".*.part"))


def _is_whole(path: Path) -> bool:
    """Whether another program can read an output to its end."""
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    if path.suffix == ".echelon":
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    if path.suffix in (".parquet", ".arrow"):
        read = pq.read_table if path.suffix == ".parquet" else feather.read_table
        return bool(read(path).num_rows)
    import gzip

    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return text.rstrip().endswith(b"}") if "json" in path.name else text.endswith(b"\n")
