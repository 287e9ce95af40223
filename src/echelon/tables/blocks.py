"""Text with an object or a row on every line, in blocks of whole lines and bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from .faults import Argument, Sentence, TableError
from .sources import Source

if TYPE_CHECKING:
    from .schema import Schema

# pyarrow reads up to 32 of them ahead.
BLOCK_BYTES = 1 << 22

_UTF8_MARK = b"\xef\xbb\xbf"


def refuse_other_text(head: bytes, name: str) -> None:
    """Refuse first bytes that are no UTF-8 text."""
    if b"\0" in head:
        raise TableError(f"{name} is a binary file, not a table of text.")


def not_utf8(name: str, place: str = "", mixed: bool = False) -> TableError:
    """The error for text in another encoding, or in several."""
    if mixed:
        return TableError(
            f"{name} has a byte {place}that is not UTF-8, after letters that are: it seems to be "
            "written in several encodings; save it in one."
        )
    return TableError(
        f"{name} has a byte {place}that is not UTF-8; if it was written by an older program, give ",
        Argument("encoding", "cp1252"),
        " or the encoding that it has.",
    )


def line_blocks(stream: BinaryIO, name: str) -> Iterator[tuple[bytes, int]]:
    """Blocks of UTF-8 text that end at ends of lines, with the number of their first line.

    Parameters
    ----------
    stream : binary file
    name : str
        What the stream is called in errors.

    Yields
    ------
    block : bytes
        Whole lines, without a byte-order mark.
    line : int
    """
    rest, line = stream.read(len(_UTF8_MARK)), 1
    refuse_other_text(rest, name)
    rest, plain = rest.removeprefix(_UTF8_MARK), True
    while True:
        found = stream.read(BLOCK_BYTES)
        block = rest + found
        cut = block.rfind(b"\n") + 1 if found else len(block)
        if cut:
            _refuse_bad_bytes(block[:cut], name, line, plain)
            plain = plain and block[:cut].isascii()
            yield block[:cut], line
            line += block.count(b"\n", 0, cut)
        if not found:
            return
        rest = block[cut:]


def _refuse_bad_bytes(block: bytes, name: str, line: int, plain: bool) -> None:
    refuse_other_text(block, name)
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        line += block.count(b"\n", 0, error.start)
        mixed = not (plain and block[: error.start].isascii())
        raise not_utf8(name, f"in line {line} ", mixed) from None


class TwoPassReader:
    """A file that is read once for its columns, known only at its end, and once for its rows.

    A subclass gives ``kinds(target)``, which sets ``_names``, and ``tables(kinds, keep)``; with
    `absent_is_zero`, a column that no row names is zero in all of them.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    notes : list of Sentence
        What is said aloud of the file, once its kinds are known.
    labels : dict of str to str
        What columns are about, in words of the file.
    numeric : set of str
        Columns that hold numbers and no texts, which stated marks in numbers do not concern.
    unanswered : set of str
        Columns that the file describes and has no value of.
    """

    absent_is_zero = False
    #: Whether rows can be read by a schema only when all kinds are known.
    needs_kinds = True
    #: What a sentence on a column without values goes on with.
    why_empty = ""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.notes: list[Sentence] = []
        self.labels: dict[str, str] = {}
        self.numeric: set[str] = set()
        self.unanswered: set[str] = set()
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        """Names of the columns, by all rows."""
        if self._names is None:
            self.kinds()
        assert self._names is not None
        return self._names

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all rows; what is missing in `target` is only an empty cell."""
        raise NotImplementedError

    def kinds_by(
        self, kinds: Mapping[str, str], stated: Mapping[str, str], schema: Schema
    ) -> dict[str, str]:
        """Kinds that a schema states in place of those that the file shows."""
        if self.absent_is_zero:
            return {**kinds, **stated}
        return {name: stated.get(name, kind) for name, kind in kinds.items()}

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts, as pyarrow tables."""
        raise NotImplementedError

    def load(self) -> None:
        """Keep all rows where that spares a second pass over the file."""

    def said(self) -> dict[str, Any]:
        """What the file says of the table, for the ``attrs`` of a data frame."""
        found = {
            "labels": _Labels(self.labels),
            "notes": Notes(self.notes),
            "unanswered": Notes(sorted(self.unanswered)),
            "why_empty": self.why_empty,
        }
        return {name: value for name, value in found.items() if value}


class _Labels(dict[str, str]):
    """Labels of columns in ``attrs``, which pandas copies deeply with every column taken."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class Notes(list[str]):
    """Texts in ``attrs``, which pandas copies deeply with every column taken."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self
