"""Text cut into blocks of whole rows, so that a table of any length is read in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from .faults import TableError

BLOCK_BYTES = 1 << 23
LONGEST_ROW = 1 << 28

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def text_blocks(
    stream: BinaryIO, name: str, delimiter: str | None
) -> Iterator[tuple[memoryview, int]]:
    """Blocks of UTF-8 text that end at ends of rows, with the number of their first line.

    Parameters
    ----------
    stream : binary file
    name : str
        What the stream is called in errors.
    delimiter : str or None
        What separates the columns of a delimited file, where newlines inside quotation marks
        belong to the row; None where every newline ends a row.

    Yields
    ------
    block : memoryview
        Whole rows, without a byte-order mark; it holds until the next one is asked for.
    line : int
    """
    # One buffer serves all blocks: asking for fresh memory takes longer than reading into it.
    buffer = bytearray(BLOCK_BYTES)
    filled, line = _first_bytes(stream, name, buffer), 1
    while True:
        if filled == len(buffer):
            if filled >= LONGEST_ROW:
                raise _too_long(name, line, delimiter)
            buffer = buffer + bytes(len(buffer))
        size = stream.readinto(memoryview(buffer)[filled:])  # type: ignore[attr-defined]
        filled += size
        if size and filled < len(buffer):
            continue
        cut = _end_of_rows(buffer, filled, delimiter) if size else filled
        if not size and delimiter is not None:
            _refuse_open_quotation(buffer, filled, name, line, delimiter)
        if cut:
            _refuse_bad_bytes(buffer, cut, name, line)
            yield memoryview(buffer)[:cut].toreadonly(), line
            line += _lines(buffer, cut)
            filled -= cut
            buffer[:filled] = buffer[cut : cut + filled]
        if not size:
            return


def _first_bytes(stream: BinaryIO, name: str, buffer: bytearray) -> int:
    """Put the first bytes into the buffer, without a mark that only says they are UTF-8."""
    head = stream.read(3)
    if head.startswith(_UTF16_MARKS):
        raise TableError(f"{name} is text in UTF-16; save it as UTF-8.")
    head = head.removeprefix(_UTF8_MARK)
    buffer[: len(head)] = head
    return len(head)


def _lines(buffer: bytearray, end: int) -> int:
    # Several times as fast as the method of bytes where lines are long.
    return int(np.count_nonzero(np.frombuffer(buffer, dtype=np.uint8, count=end) == ord("\n")))


def _refuse_bad_bytes(buffer: bytearray, end: int, name: str, line: int) -> None:
    if buffer.find(b"\0", 0, end) >= 0:
        raise TableError(f"{name} is a binary file, not a table of text.")
    if np.frombuffer(buffer, dtype=np.uint8, count=end).max() < 128:
        return
    try:
        str(memoryview(buffer)[:end], "utf-8")
    except UnicodeDecodeError as error:
        line += buffer.count(b"\n", 0, error.start)
        raise TableError(
            f"{name} has a byte in line {line} that is not UTF-8; save it as UTF-8."
        ) from None


def _too_long(name: str, line: int, delimiter: str | None) -> TableError:
    hint = "" if delimiter is None else "; is a quotation mark not closed?"
    return TableError(
        f"{name} has a row of more than {LONGEST_ROW >> 20} MB from line {line} on{hint or '.'}"
    )


def _refuse_open_quotation(
    buffer: bytearray, end: int, name: str, line: int, delimiter: str
) -> None:
    """Refuse a table that ends between quotation marks, which would swallow its last rows."""
    if buffer.find(b'"', 0, end) < 0:
        return
    text = np.frombuffer(buffer, dtype=np.uint8, count=end)
    quotes = np.flatnonzero(text == ord('"'))
    if _alternate(text, quotes, delimiter):
        opened = int(quotes[-1]) if len(quotes) % 2 else None
    else:
        opened = _open_field(bytes(buffer[:end]), delimiter)
    if opened is not None:
        line += buffer.count(b"\n", 0, opened)
        raise TableError(f"{name} has a quotation mark in line {line} that is not closed.")


def _end_of_rows(buffer: bytearray, end: int, delimiter: str | None) -> int:
    """Length of the longest start of the text that holds whole rows; 0 if there is none."""
    last = buffer.rfind(b"\n", 0, end) + 1
    if delimiter is None or buffer.find(b'"', 0, end) < 0:
        return last
    text = np.frombuffer(buffer, dtype=np.uint8, count=end)
    quotes = np.flatnonzero(text == ord('"'))
    if not _alternate(text, quotes, delimiter):
        return _end_by_fields(bytes(buffer[:end]), delimiter)
    # Quotation marks open and close in turn: a row ends where an even number lies before.
    while last and np.searchsorted(quotes, last) % 2:
        opened = int(quotes[np.searchsorted(quotes, last) - 1])
        last = buffer.rfind(b"\n", 0, opened) + 1
    return last


def _alternate(text: np.ndarray, quotes: np.ndarray, delimiter: str) -> bool:
    """Whether every second quotation mark opens a field or doubles the one before."""
    opening = quotes[::2]
    before = text[np.maximum(opening - 1, 0)]
    marks = np.frombuffer(b'\r\n"' + delimiter.encode(), dtype=np.uint8)
    return bool((np.isin(before, marks) | (opening == 0)).all())


def _end_by_fields(text: bytes, delimiter: str) -> int:
    """The same where quotation marks also stand inside fields that have none around them."""
    end = 0
    position = 0
    for field in _quoted_fields(text, delimiter):
        end = max(end, text.rfind(b"\n", position, field.start()) + 1)
        position = field.end()
    return max(end, text.rfind(b"\n", position) + 1)


def _open_field(text: bytes, delimiter: str) -> int | None:
    """Place of a quotation mark that opens a field without end."""
    for field in _quoted_fields(text, delimiter):
        if field.group(1) is None:
            return field.start()
    return None


def _quoted_fields(text: bytes, delimiter: str) -> Iterator[re.Match[bytes]]:
    """Fields between quotation marks; the first group is the closing one, if there is one."""
    start = rb"(?:^|(?<=[\r\n" + re.escape(delimiter.encode()) + rb"]))"
    return re.finditer(start + rb'"(?:[^"]|"")*+(?:(")|\Z)', text)
