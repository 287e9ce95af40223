"""Threads of linear algebra, as many as do not stand in each other's way."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from threadpoolctl import ThreadpoolController

# Products over blocks of rows with fewer columns take milliseconds. Threads that share them wait
# for each other in every product, for a whole time slice where another process holds a core.
_MANY_COLUMNS = 200


class _OneThread:
    """One thread while anybody is inside; nested and concurrent uses restore it together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    @cached_property
    def _controller(self) -> Any:
        # Looking for libraries takes much longer than setting their threads.
        return ThreadpoolController()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = self._controller.limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()


def suitable_threads(X: Any, *, one: bool | None = None) -> AbstractContextManager[None]:
    """One thread of linear algebra for inputs of few columns, else as many as there are.

    ``one`` says so for work whose size is not that of the columns.
    """
    if one is None:
        shape: tuple[int, ...] = getattr(X, "shape", ())
        one = len(shape) != 2 or shape[1] < _MANY_COLUMNS
    return _ONE_THREAD if one else nullcontext()
