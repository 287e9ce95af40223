"""Docstrings as they are written, for readers of the code: |w|, coef_ and M* are not markup."""

import re
from typing import Any

_LITERAL = re.compile(r"(``.+?``|`.+?`)")
_MARKUP = re.compile(r"(\||\*)")
_ATTRIBUTE = re.compile(r"(?<![\w`])([A-Za-z]\w*_)(?!\w)")


def _plain(line: str) -> str:
    parts = _LITERAL.split(line)
    for j in range(0, len(parts), 2):
        parts[j] = _ATTRIBUTE.sub(r"``\1``", _MARKUP.sub(r"\\\1", parts[j]))
    return "".join(parts)


def _escape(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example and not line.lstrip().startswith((":", "..", "**")):
            lines[i] = _plain(line)


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives to every estimator."""
    home = getattr(thing, "__module__", None) or getattr(
        getattr(thing, "fget", None), "__module__", ""
    )
    return True if (home or "").startswith("sklearn.") else None


def setup(app: Any) -> dict[str, bool]:
    """Escape after numpydoc has made its sections."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _escape, priority=900)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
