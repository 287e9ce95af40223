"""What was read of texts lately, so that the models of a fold do not each read them again.

Texts are known by a digest of their cells, and no cell is kept. What is kept belongs to the process
and to no estimator: it is neither copied nor saved with one.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ..tables.terms import Tokens

#: Bytes that are kept at most, and digests of what was not.
MOST_BYTES = 1 << 27
_MOST_SEEN = 256
# Of a short text as Python keeps it, beside its characters.
_TEXT_BYTES = 64


def digest(texts: Iterable[str | None]) -> bytes:
    """A short name of some texts, in their order."""
    found = hashlib.blake2b(digest_size=16)
    for text in texts:
        if text is None:
            found.update(b"-")
        else:
            written = text.encode("utf-8", "surrogatepass")
            found.update(b"%d:" % len(written))
            found.update(written)
    return found.digest()


class Memo:
    """Values by what they were made from, the latest ones within a number of bytes.

    Parameters
    ----------
    most_bytes : int
        A value that takes more than half of them is not kept.

    Examples
    --------
    >>> memo = Memo(1000)
    >>> memo.get("key", lambda: ["made"]) is memo.get("key", lambda: ["again"])
    True
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._seen: OrderedDict[Hashable, None] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any], *, at_once: bool = True) -> Any:
        """The value of a key, made if it is not there.

        Parameters
        ----------
        key : hashable
        make : callable
        at_once : bool
            Whether a value is kept when it is made first, or only when it was asked for before.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
            wanted = at_once or key in self._seen
            self._seen[key] = None
            if len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)
        value = make()
        size = _size(value)
        if wanted and size <= self.most_bytes // 2:
            with self._lock:
                self._kept[key] = size, value
                while sum(size for size, _ in self._kept.values()) > self.most_bytes:
                    self._kept.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._seen.clear()


def _size(value: Any) -> int:
    """About how many bytes tokens, or terms and their counts, take."""
    if isinstance(value, Tokens):
        return value.codes.nbytes + value.starts.nbytes + _TEXT_BYTES * len(value.names)
    return sum(getattr(part, "nbytes", _TEXT_BYTES * len(part)) for part in value)


#: The one of this process.
MEMO = Memo(MOST_BYTES)
