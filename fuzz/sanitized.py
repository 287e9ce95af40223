"""The native loops built with AddressSanitizer and UndefinedBehaviorSanitizer.

``environment()`` builds them under ``build/sanitized``, anew only where a source has changed, and
gives what a process needs in its environment; ``use()`` in that process puts them in the place of
the installed ones. Without a compiler that has both sanitizers the installed ones stay.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src/echelon/_native"
BUILT = ROOT / "build/sanitized"
FLAGS = (
    *("-O1", "-g1", "-fPIC", "-shared", "-w", "-fno-omit-frame-pointer"),
    *("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"),
)
_PLACE = "ECHELON_SANITIZED_KERNELS"
_PACKAGE = "echelon._native."
_lock = threading.Lock()


def environment() -> dict[str, str]:
    """Variables for a process that is to run the loops under sanitizers; none where they lack."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    libraries = [] if compiler is None else _runtimes(compiler)
    if compiler is None or not libraries or importlib.util.find_spec("Cython") is None:
        print(
            "No C compiler with AddressSanitizer and UndefinedBehaviorSanitizer, or no Cython, was "
            "found: the native loops are tried as they are installed.",
            file=sys.stderr,
        )
        return {}
    with _lock, ThreadPoolExecutor(os.cpu_count()) as pool:
        command = [compiler, *FLAGS, f"-I{sysconfig.get_path('include')}"]
        list(pool.map(lambda source: _build(command, source), sorted(SOURCES.glob("*.pyx"))))
    return {
        _PLACE: str(BUILT),
        "LD_PRELOAD": " ".join(libraries),
        # A size that no memory has gives NULL, as it does without the sanitizer.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    }


def use() -> bool:
    """Load the loops from where the environment says; whether it says so."""
    place = os.environ.get(_PLACE)
    if place is None:
        return False
    sys.meta_path.insert(0, _Finder(Path(place)))
    return True


class _Finder(MetaPathFinder):
    def __init__(self, place: Path) -> None:
        self.place = place

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a native module lies; None for all other modules."""
        if not name.startswith(_PACKAGE):
            return None
        file = _extension(self.place, name.removeprefix(_PACKAGE))
        return importlib.util.spec_from_file_location(name, file)


def _extension(folder: Path, name: str) -> Path:
    return folder / f"{name}{EXTENSION_SUFFIXES[0]}"


def _runtimes(compiler: str) -> list[str]:
    """The compiler's libraries of both sanitizers, or an empty list."""
    found = []
    for name in ("libasan.so", "libubsan.so"):
        command = [compiler, f"-print-file-name={name}"]
        file = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        if not Path(file).is_absolute():
            return []
        found.append(file)
    return found


def _build(command: list[str], source: Path) -> None:
    """Translate and compile a source unless that was done by the same command before."""
    texts = [file.read_bytes() for file in (source, *sorted(SOURCES.glob("*.pxd")))]
    digest = hashlib.sha256(b"".join([*texts, " ".join(command).encode()])).hexdigest()
    stamp, built = BUILT / f"{source.stem}.sha256", _extension(BUILT, source.stem)
    if built.exists() and stamp.exists() and stamp.read_text() == digest:
        return
    BUILT.mkdir(parents=True, exist_ok=True)
    c = BUILT / f"{source.stem}.c"
    subprocess.run([sys.executable, "-m", "cython", "-3", str(source), "-o", str(c)], check=True)
    subprocess.run([*command, "-o", str(built), str(c)], check=True)
    stamp.write_text(digest)
