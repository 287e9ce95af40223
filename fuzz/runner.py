"""Run a campaign in worker processes that may die or hang without ending it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from fuzz.campaign import Campaign, Case, Tally

ROOT = Path(__file__).parents[1]
# A sanitizer's report is known by these words on standard error.
REPORTS = ("ERROR: AddressSanitizer", "runtime error:", "ERROR: LeakSanitizer")
# Seconds of waiting that count as one of computing.
_PATIENCE = 6.0


def processor_seconds(session: int) -> float | None:
    """Time that the processes of a session have computed; None where the system does not tell."""
    root = Path("/proc")
    if not (root / str(session) / "stat").exists():
        return None
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for status in root.glob("[0-9]*/stat"):
        try:
            # The name of a process, in brackets, may hold anything.
            fields = status.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            # Its own time, and that of children that have ended.
            total += sum(map(int, fields[11:15])) / tick
    return total


class Worker:
    """A worker process; ``ask`` gives the case of a seed, or how the process failed."""

    def __init__(self, campaign: Campaign, folder: str) -> None:
        self.campaign = campaign
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONPATH": _search_path()}
        environment["TMPDIR"] = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", campaign.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            bufsize=1,
            cwd=ROOT,
            env={**environment, **campaign.environment()},
            start_new_session=True,
        )
        if self._line(120.0) is None:
            raise RuntimeError(f"The worker of {campaign.name} did not start:\n{self._words()}")

    def ask(self, seed: int) -> Case:
        """The case of this seed; a dead or late process is a finding."""
        assert self.process.stdin is not None
        start = self.log.seek(0, os.SEEK_END)
        try:
            self.process.stdin.write(f"{seed}\n")
            line = self._line(self.campaign.seconds)
        except BrokenPipeError:
            line = ""
        words = self._words(start)
        if line is None:
            return Case(self.campaign.subject(seed), "hang", words)
        if not line:
            return Case(
                self.campaign.subject(seed),
                _kind_of(words, "crash"),
                f"{self.process.wait()}: {words}",
            )
        case = Case(**json.loads(line))
        return Case(case.subject, _kind_of(words, case.outcome), words or case.detail, case.count)

    def _line(self, seconds: float) -> str | None:
        """The next line; None after so many seconds of computing, or far more of waiting.

        On a busy machine a case takes longer without doing more.
        """
        assert self.process.stdout is not None
        session = self.process.pid
        begun, spent = time.monotonic(), processor_seconds(session)
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.5)
            if ready:
                return self.process.stdout.readline()
            waited = time.monotonic() - begun
            computed = waited if spent is None else (processor_seconds(session) or 0.0) - spent
            if computed > seconds or waited > _PATIENCE * seconds:
                return None

    def _words(self, start: int = 0) -> str:
        self.log.seek(start)
        words = self.log.read()
        # A sanitizer's report begins with what is wrong, a traceback of Python ends with it.
        return words if len(words) <= 2000 else f"{words[:1000]} ... {words[-1000:]}"

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()


def run(campaign: Campaign, minutes: float, seed: int, processes: int, cases: int = 0) -> Tally:
    """Cases of seeds ``seed``, ``seed + 1``, ... until the time or ``cases`` of them are over."""
    tally, lock = Tally(), threading.Lock()
    # What a campaign builds for its workers takes none of its time.
    campaign.environment()
    end = time.monotonic() + 60.0 * minutes
    seeds = iter(range(seed, seed + cases)) if cases else _counting(seed)

    def work() -> None:
        worker = Worker(campaign, folder)
        while time.monotonic() < end:
            with lock:
                number = next(seeds, None)
            if number is None:
                break
            case = worker.ask(number)
            with lock:
                tally.add(number, case)
            if worker.process.poll() is not None or case.outcome in ("hang", "crash"):
                worker.stop()
                worker = Worker(campaign, folder)
        worker.stop()

    # A worker that is killed leaves its files.
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        threads = [threading.Thread(target=work) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return tally


def _counting(start: int) -> Iterator[int]:
    while True:
        yield start
        start += 1


def _kind_of(words: str, outcome: str) -> str:
    return "sanitizer" if any(word in words for word in REPORTS) else outcome


def _search_path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
