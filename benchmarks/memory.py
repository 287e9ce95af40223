"""Peak memory of one run, in a process of its own.

What counts is the rise of the process's resident memory above where it stood when the data were
ready, so arrays, native buffers and BLAS work space are all in it. tracemalloc would see NumPy's
arrays alone. On Linux the high-water mark is set back before the run; elsewhere the mark includes
the building of the data, and a run that stays below that shows as zero.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_memory(case: str, size: int, peer: str | None = None) -> int | None:
    """Bytes that ours, or a peer by name, takes at a size; None where it cannot be known."""
    command = [sys.executable, "-m", "benchmarks.memory", case, str(size), peer or ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def rise(run: Any, data: Any) -> int | None:
    """Bytes by which the resident memory of this process rises during a run."""
    before = _reset_mark()
    if before is None:
        return None
    result = run(data)
    after = _high_mark()
    del result
    return None if after is None else max(0, after - before)


def _reset_mark() -> int | None:
    try:
        _CLEAR.write_text("5")
    except OSError:
        return _high_mark()
    return _status_bytes("VmRSS")


def _high_mark() -> int | None:
    if _STATUS.exists():
        return _status_bytes("VmHWM")
    try:
        import resource
    except ImportError:
        return None
    # macOS counts in bytes and the other systems in kilobytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status_bytes(key: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no line {key}.")


def _main(name: str, size: str, peer: str) -> None:
    from .cases import CASES

    warnings.simplefilter("ignore")
    case = next(case for case in CASES if case.name == name)
    run = next(other.run for other in case.peers if other.name == peer) if peer else case.ours
    # A small run first, so that imports are not counted.
    run(case.build(max(500, int(size) // 1000)))
    print(json.dumps(rise(run, case.build(int(size)))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
