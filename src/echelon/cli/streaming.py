"""Work on the pieces of a stream: several at once, results in order, few in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_END: Any = object()


def in_order(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int = 2
) -> Iterator[Result]:
    """Results of `work` in the order of the pieces, while the next pieces are read.

    Examples
    --------
    >>> list(in_order(str, range(5)))
    ['0', '1', '2', '3', '4']
    """
    with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(1) as reader:
        source = iter(pieces)
        waiting: deque[Future[Result]] = deque()
        coming = reader.submit(next, source, _END)
        try:
            while (piece := coming.result()) is not _END:
                coming = reader.submit(next, source, _END)
                waiting.append(pool.submit(work, piece))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
