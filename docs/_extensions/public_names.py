"""Pages of the API reference, made from every ``__all__``, so that no public name is left out."""

from importlib import import_module
from inspect import isclass, ismodule
from pathlib import Path
from typing import Any

import echelon
from echelon.base.mixins import OrdinalClassifierMixin, RankerMixin

FOLDER = Path("api") / "packages"


def _kind(thing: Any) -> str:
    if isclass(thing) and issubclass(thing, OrdinalClassifierMixin):
        return "Ordered labels"
    if isclass(thing) and issubclass(thing, RankerMixin):
        return "Rankings"
    return "Classes" if isclass(thing) else "Functions"


def _page(module: str, title: str, names: list[str]) -> str:
    home = import_module(module)
    kinds: dict[str, list[str]] = {}
    for name in sorted(names, key=str.lower):
        kinds.setdefault(_kind(getattr(home, name)), []).append(name)
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    if module != "echelon":
        lines[3:3] = [(home.__doc__ or "").strip(), ""]
    for kind in ("Ordered labels", "Rankings", "Classes", "Functions"):
        if kind in kinds:
            heading = [kind, "-" * len(kind), ""] if len(kinds) > 1 else []
            entries = [f"   {name}" for name in kinds[kind]]
            lines += [*heading, ".. autosummary::", "   :toctree: generated", "", *entries, ""]
    return "\n".join(lines)


def public_names() -> dict[str, list[str]]:
    """Names of each module that users import from; each thing once, at the shortest address."""
    packages = [thing for name in echelon.__all__ if ismodule(thing := getattr(echelon, name))]
    seen: set[int] = set()
    found: dict[str, list[str]] = {}
    for home in (echelon, *packages):
        things = {name: getattr(home, name) for name in home.__all__}
        found[home.__name__] = [
            name for name, thing in things.items() if not ismodule(thing) and id(thing) not in seen
        ]
        seen.update(map(id, things.values()))
    return found


def _remove_stale(folder: Path, names: dict[str, list[str]]) -> None:
    current = {f"{module}.{name}" for module in names for name in names[module]} | set(names)
    for page in folder.glob("**/*.rst"):
        if page.stem not in current:
            page.unlink()


def _write(app: Any, _: Any) -> None:
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    names = public_names()
    _remove_stale(folder, names)
    for module, own in names.items():
        title = "Estimators and functions" if module == "echelon" else module
        text = _page(module, title, own)
        path = folder / f"{module}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
