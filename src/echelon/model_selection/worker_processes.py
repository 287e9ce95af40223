"""An executor of `concurrent.futures` whose processes can be ended, and may die one by one.

Each process is an interpreter of its own that is spoken to through its standard streams. Unlike
those of `multiprocessing`, it does not import the program that has started it, so scripts need no
guard and notebooks no module; there is nothing that would have to be tracked and cleaned up; and
one that dies, say for lack of memory, fails its own task only and is replaced.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from .._utils.processes import end_with

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    f"from {__name__} import serve; serve(int(sys.argv[2]), sys.argv[3])"
)
_LENGTH = struct.Struct(">Q")


class WorkerProcesses(Executor):
    """Processes that do not hear Ctrl-C, and end when this one ends, however it does.

    Parameters
    ----------
    n : int
    folder : Path
        What they remove if this process cannot do so any more.
    """

    def __init__(self, n: int, folder: Path) -> None:
        self._folder, self._closed = folder, False
        self._tasks: SimpleQueue[tuple[Future[Any], bytes] | None] = SimpleQueue()
        self.processes = [self._begin() for _ in range(n)]
        self._threads = [
            threading.Thread(target=self._feed, args=(i,), name=f"worker {i}", daemon=True)
            for i in range(n)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function, with arguments that can be pickled, in the next process that is free."""
        if self._closed:
            raise RuntimeError("The worker processes have ended.")
        future: Future[Any] = Future()
        self._tasks.put((future, pickle.dumps((fn, args, kwargs))))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, whatever they do."""
        self._closed = True
        for process in self.processes:
            process.kill()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        for process in self.processes:
            _close(process)

    def _begin(self) -> subprocess.Popen[bytes]:
        known = [json.dumps([str(Path(p).resolve()) for p in sys.path]), str(os.getpid())]
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        with _no_interrupts():
            return subprocess.Popen(
                [sys.executable, "-c", _START, *known, str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                creationflags=flags,
            )

    def _feed(self, place: int) -> None:
        """Hand one task after the other to a process, and replace it if it dies."""
        while (item := self._tasks.get()) is not None and not self._closed:
            future, content = item
            if not future.set_running_or_notify_cancel():
                continue
            process = self.processes[place]
            assert process.stdin is not None and process.stdout is not None
            try:
                _write(process.stdin, content)
                succeeded, found = pickle.loads(_read(process.stdout))
            except (OSError, EOFError):
                if not self._closed:
                    _close(process)
                    self.processes[place] = self._begin()
                future.set_exception(BrokenExecutor("A worker process ended unexpectedly."))
                continue
            except Exception as error:
                # What a task has found cannot be read here, say a class that is not known.
                succeeded, found = False, error
            if succeeded:
                future.set_result(found)
            else:
                future.set_exception(found)


def serve(parent: int, folder: str) -> None:
    """What a process does: tasks from its standard input, until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent, Path(folder))
    # What models print must not come between answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                tasks.put(_read(sys.stdin.buffer))
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        answer = _answer(tasks.get())
        try:
            _write(answers, answer)
        except OSError:
            # Nobody waits for it any more.
            os._exit(0)


def _answer(content: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(content)
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _write(file: Any, content: bytes) -> None:
    file.write(_LENGTH.pack(len(content)) + content)
    file.flush()


def _read(file: BinaryIO | Any) -> bytes:
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    [length] = _LENGTH.unpack(head)
    content = file.read(length)
    if len(content) < length:
        raise EOFError
    return bytes(content)


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            if stream is not None:
                stream.close()
    process.kill()
    process.wait()


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, not even while they import what they need.

    A terminal sends it to all of them, and the one that prints ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
