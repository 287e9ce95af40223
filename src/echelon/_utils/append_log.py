"""A file of finished work that is only ever appended to: one JSON object per line.

A piece of work is done when its line ends in a newline. A line that a killed process left
unfinished at the end of the file is not read, and is dropped before the next one is written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class AppendLog:
    """Lines of JSON on disk.

    Parameters
    ----------
    path : path
        Made, with its folder, when the first line is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = AppendLog(Path(folder) / "runs" / "done.jsonl")
    ...     log.append({"fold": 1})
    ...     log.lines()
    [b'{"fold": 1}']
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._tail_checked = False

    def lines(self) -> list[bytes]:
        """The finished lines, without their newlines."""
        return self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []

    def append(self, content: dict[str, Any], **options: Any) -> None:
        """Write an object, on disk before this returns; options are those of ``json.dumps``."""
        line = json.dumps(content, default=_to_python, **options) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._tail_checked:
            self._drop_unfinished_line()
        # One write to a file opened for appending: lines of two processes do not mix.
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def _drop_unfinished_line(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            if not content.endswith(b"\n"):
                os.truncate(self.path, content.rfind(b"\n") + 1)
        self._tail_checked = True


def _to_python(value: Any) -> Any:
    """NumPy scalars as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"A value of type {type(value).__name__} cannot be kept as JSON.")
