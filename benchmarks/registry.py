"""What a benchmark case is, and how one is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from .timing import Ratio, Timing, Warm, interleave, ratio, scaling_exponent, warm_up

MISSING = "skipped: install the bench extra"


class Skip(Exception):  # noqa: N818 - it is no error
    """Raised by ``build`` where a case cannot be run here; the text says why."""


@dataclass(frozen=True)
class Peer:
    """Another package that does the same job.

    ``requires`` is the module it cannot do without, ``run`` does the job on the case's data,
    ``target`` is the ratio we mean to stay below, and ``agreement`` takes the data, our result and
    the peer's and gives named figures that show whether both did the same job.
    """

    name: str
    requires: str
    run: Callable[[Any], Any]
    target: float | None = None
    agreement: Callable[[Any, Any, Any], dict[str, float]] | None = None
    largest: int | None = None


@dataclass(frozen=True)
class Case:
    """One job of ours, at one or more sizes, beside any number of peers.

    With ``self_timed`` the functions give the seconds they took instead of being timed. With
    ``scaling`` the exponent of the seconds in the size is reported, and with ``memory`` the
    largest memory of a run; ``exponent_target`` and ``memory_target``, in bytes at a size, are the
    most that we mean ours to need.
    """

    name: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    build: Callable[[int], Any]
    ours: Callable[[Any], Any]
    peers: tuple[Peer, ...] = ()
    rounds: int = 7
    self_timed: bool = False
    scaling: bool = False
    memory: bool = False
    exponent_target: float | None = None
    memory_target: Callable[[int], float] | None = None

    def sizes_for(self, quick: bool) -> tuple[int, ...]:
        """The sizes of a full or of a quick run."""
        return self.quick_sizes if quick else self.sizes

    def rounds_for(self, quick: bool) -> int:
        """The rounds of a full or of a quick run."""
        return min(3, self.rounds) if quick else self.rounds


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    case: str
    size: int
    ours: Timing | None = None
    peer: str | None = None
    theirs: Timing | None = None
    ratio: Ratio | None = None
    target: float | None = None
    agreement: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failed: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is nothing to judge."""
        if self.target is None or self.ratio is None:
            return None
        return self.ratio.median <= self.target


def select(cases: tuple[Case, ...], only: str | None) -> list[Case]:
    """Cases by name; a name also stands for the cases below it, as in ``metrics``."""
    chosen = [
        case for case in cases if only is None or f"{case.name}/".startswith(only.rstrip("/") + "/")
    ]
    if not chosen:
        names = sorted({case.name.split("/")[0] for case in cases})
        raise ValueError(f"only must be one of {', '.join(names)}, or a case; found {only!r}.")
    return chosen


def run_case(case: Case, quick: bool = False) -> Iterator[Row]:
    """Run a case at each of its sizes, giving rows as they come."""
    for size in case.sizes_for(quick):
        try:
            data = case.build(size)
            ours = _warm(case, case.ours, data)
        except Skip as reason:
            yield Row(case.name, size, notes=(f"skipped: {reason}",))
            continue
        except Exception as error:
            yield Row(case.name, size, notes=(_failure("ours", error),), failed=True)
            continue
        peers = [peer for peer in case.peers if peer.largest is None or size <= peer.largest]
        for peer in peers:
            yield _beside(case, size, data, ours, peer, case.rounds_for(quick))
        if not peers:
            (timing,) = interleave([ours.sampler], case.rounds_for(quick))
            yield Row(case.name, size, timing, notes=_warnings("ours", ours))


@dataclass(frozen=True)
class Judged:
    """A figure, and the most that we mean it to be."""

    value: float | None
    target: float | None

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is nothing to judge."""
        if self.value is None or self.target is None:
            return None
        return self.value <= self.target


def exponent(rows: list[Row]) -> float | None:
    """Exponent of our best seconds in the size, where there are sizes enough."""
    timed = {row.size: row.ours.best for row in rows if row.ours is not None}
    return scaling_exponent(list(timed), list(timed.values())) if len(timed) > 1 else None


def is_available(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _beside(case: Case, size: int, data: Any, ours: Warm, peer: Peer, rounds: int) -> Row:
    try:
        if not is_available(peer.requires):
            return Row(case.name, size, peer=peer.name, target=peer.target, notes=(MISSING,))
        theirs = _warm(case, peer.run, data)
        mine, other = interleave([ours.sampler, theirs.sampler], rounds)
        agreement = peer.agreement(data, ours.result, theirs.result) if peer.agreement else {}
    except Exception as error:
        # A peer that breaks on today's versions must not hide the others.
        note = _failure("peer", error)
        return Row(case.name, size, peer=peer.name, target=peer.target, notes=(note,))
    notes = (*_warnings("ours", ours), *_warnings("peer", theirs))
    return Row(
        case.name, size, mine, peer.name, other, ratio(mine, other), peer.target, agreement, notes
    )


def _warm(case: Case, run: Callable[[Any], Any], data: Any) -> Warm:
    if case.self_timed:
        return Warm(run(data), (), lambda: float(run(data)))
    return warm_up(lambda: run(data))


def _warnings(side: str, warm: Warm) -> tuple[str, ...]:
    return (f"{side} warned: {', '.join(warm.warned)}",) if warm.warned else ()


def _failure(side: str, error: Exception) -> str:
    first_line = (str(error).splitlines() or [""])[0]
    return f"{side} failed: {type(error).__name__}: {first_line}"
