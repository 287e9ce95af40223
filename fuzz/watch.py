"""What a process opens, imports and starts while it is watched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Nothing that reads a model may do any of these.
_NEVER = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.chmod",
    "os.putenv",
    "shutil.",
    "socket.",
    "urllib.",
    "ftplib.",
    "pickle.find_class",
    "marshal.load",
    "ctypes.dlopen",
    "code.__new__",
)
_ROOT = str(Path(__file__).parents[1])


class Watch:
    """Notes of an audit hook, which cannot be taken away again: it looks on only when asked."""

    def __init__(self) -> None:
        self._on = False
        self._allowed: set[str] = set()
        self._homes = tuple(
            {os.path.realpath(p) + os.sep for p in (*sys.path, sys.prefix, sys.base_prefix) if p}
            | {_ROOT + os.sep, "/proc/self/", "/sys/"}
        )
        self.noted: list[str] = []
        sys.addaudithook(self._hear)

    @contextmanager
    def during(self, *allowed: str | Path) -> Iterator[None]:
        """Look on; these files may be opened, and the code of installed packages."""
        self._allowed, self.noted, self._on = {os.path.realpath(p) for p in allowed}, [], True
        try:
            yield
        finally:
            self._on = False

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if not self._on:
            return
        if event == "open":
            self._opened(args[0], str(args[1]))
        elif event == "marshal.loads" or (event == "import" and self._is_installed(args[1])):
            return
        elif event.startswith(_NEVER):
            self.noted.append(f"{event} {str(args)[:200]}")

    def _opened(self, path: object, mode: str) -> None:
        if isinstance(path, int):
            return
        found = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
        reads = not any(letter in mode for letter in "wax+")
        if found not in self._allowed and not (reads and found.startswith(self._homes)):
            self.noted.append(f"open {found} {mode}")

    def _is_installed(self, path: object) -> bool:
        return path is None or os.path.realpath(str(path)).startswith(self._homes)
