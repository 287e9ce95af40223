"""Plain text tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(
    rows: Sequence[Sequence[str]], words: Collection[int] = (0,), gap: str = "  "
) -> list[str]:
    """Lines of columns of equal width: words to the left, figures to the right.

    Examples
    --------
    >>> aligned([["name", "n"], ["b", "10"]])
    ['name   n', 'b     10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.ljust(width) if j in words else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
