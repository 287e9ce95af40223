"""Waiting for coroutines from ordinary code, also where an event loop runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any

#: What is done with the place and the value of each result as soon as it is there.
Receiver = Callable[[int, Any], None]


class EventLoop:
    """One event loop for many batches of coroutines, until ``close``.

    Clients that an async function keeps between its calls are bound to a loop, so the loop must
    stay the same. Where the caller's thread runs a loop of its own, as in notebooks, this one runs
    in another thread.
    """

    def __init__(self) -> None:
        self._runner: asyncio.Runner | _LoopThread | None = None
        self._waiting: Sequence[Awaitable[Any]] = ()

    def gather(self, waiting: Sequence[Awaitable[Any]], n_at_once: int, receive: Receiver) -> None:
        """Wait for all, at most so many at once; the first failure ends the others and is raised.

        What came before a failure has been received.
        """
        self._waiting = waiting
        if self._runner is None:
            self._runner = _LoopThread() if _in_a_loop() else asyncio.Runner()
        self._runner.run(_gather(waiting, n_at_once, receive))

    def close(self) -> None:
        """End the loop with all that runs in it, and its thread if there is one."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        # An interrupt may have come before they were begun.
        close_all(self._waiting)


class _LoopThread:
    """A loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="echelon-oracle", daemon=True)

    def _serve(self) -> None:
        # Leaving the block cancels what is under way, so an interrupt needs no more than `close`.
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._end.wait())

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        if self._thread.ident is None:
            self._thread.start()
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _gather(waiting: Sequence[Awaitable[Any]], n_at_once: int, receive: Receiver) -> None:
    places = iter(range(len(waiting)))
    workers = [
        asyncio.create_task(_work(waiting, places, receive))
        for _ in range(min(n_at_once, len(waiting)))
    ]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        close_all(waiting[place] for place in places)


async def _work(
    waiting: Sequence[Awaitable[Any]], places: Iterator[int], receive: Receiver
) -> None:
    for place in places:
        receive(place, await waiting[place])


def close_all(waiting: Iterable[Awaitable[Any]]) -> None:
    """Close coroutines; one that is never awaited would warn when it is collected."""
    for thing in waiting:
        close = getattr(thing, "close", None)
        if close is not None:
            close()
