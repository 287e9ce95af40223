"""The document that the sections of a report become."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from .._utils.messages import printable
from .._utils.packages import package_version
from .content import Section


def to_html(title: str, contents: Sequence[Section], about: str = "") -> str:
    """The whole page of some sections."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    style, script = _asset("report.css"), _asset("report.js")
    page = environment.get_template("page.html.j2").render(
        title=title,
        about=about,
        sections=contents,
        version=package_version("echelon") or "(not installed)",
        style=Markup(style),
        script=Markup(script),
        policy=_policy(script),
    )
    return page.lstrip()


def _visible(value: Any) -> Any:
    """Texts with characters written out that would turn or hide what stands beside them."""
    return printable(value) if type(value) is str else value


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Nothing may be loaded, and no script may run but the page's own, known by its hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
