"""Worker processes that end with the process that started them, however that one ends."""

from __future__ import annotations

import io
import multiprocessing
import os
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

# Seconds between two looks at the parent.
_STEP = 0.25


def end_with(parent: int, folder: Path | None = None) -> None:
    """Let this process end soon after its parent, and take a folder of the parent with it.

    A parent that is killed cannot end its workers, and one that works sees no closed pipe.

    Parameters
    ----------
    parent : int
        The id of the parent; it may have ended already.
    folder : Path, optional
        What the parent would have removed.
    """

    def watch() -> None:
        _wait_for_end(parent)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


def _wait_for_end(parent: int) -> None:
    known = multiprocessing.parent_process()
    if sys.platform == "win32" and known is not None:
        # There a process keeps the id of its parent after that one's end.
        known.join()
        return
    while os.getppid() == parent:
        time.sleep(_STEP)


@contextmanager
def watched_workers() -> Iterator[None]:
    """A context in which joblib's workers end with this process and print no warnings.

    What a fit to all rows warns of is said by this process.
    """
    from joblib import parallel_config

    _count_cores()
    before = os.environ.get("PYTHONWARNINGS")
    # The process that tracks resources tells of those of a killed one, with the path of a file.
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        with parallel_config(backend="loky", initializer=_begin, initargs=(os.getpid(),)):
            yield
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _count_cores() -> None:
    """Let joblib count cores once, in silence: its first try prints a traceback if it fails."""
    from joblib import cpu_count

    with redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu_count(only_physical_cores=True)


def _begin(parent: int) -> None:
    end_with(parent)
    _count_cores()
    # Filters are those of the parent, whichever they are.
    warnings.showwarning = lambda *_, **__: None
