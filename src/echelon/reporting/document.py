"""A finished report: one HTML text that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import import_module, resources
from pathlib import Path

from .._utils.files import write_whole
from .._utils.versions import package_version
from .content import Section

_FRAME_HEIGHT = 760


class Report:
    """One self-contained HTML page, from `echelon.report`.

    In a notebook it shows itself; `save` writes it to a file.

    Parameters
    ----------
    title : str
        What stands at the top.
    contents : sequence of Section
        Its sections, in order.
    left_out : sequence of (str, str)
        Sections that could not be made, and why.

    Attributes
    ----------
    html : str
        The page.
    sections : dict of str to str
        Keys and titles of the sections, in order.
    left_out : dict of str to str
        Sections that could not be made, and why.
    """

    def __init__(
        self, title: str, contents: Sequence[Section], left_out: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.title = title
        self.sections = {section.key: section.title for section in contents}
        self.left_out = dict(left_out)
        self.html = to_html(title, contents)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        path : Path
        """
        target = Path(path)
        write_whole(target, self.html.encode())
        return target

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {', '.join(self.sections.values()).lower()}>"

    def _repr_html_(self) -> str:
        # Scripts of the page may run, but they see nothing of the notebook.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-modals" '
            f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid rgba(128,128,128,0.35)" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def to_html(title: str, contents: Sequence[Section]) -> str:
    """The whole page of some sections."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    style, script = _asset("report.css"), _asset("report.js")
    page = environment.get_template("page.html.j2").render(
        title=title,
        sections=contents,
        version=package_version("echelon") or "(not installed)",
        style=Markup(style),
        script=Markup(script),
        policy=_policy(script),
    )
    return page.lstrip()


def require_packages() -> None:
    """Say what to install where something is missing."""
    for name in ("jinja2", "matplotlib"):
        try:
            import_module(name)
        except ImportError as error:
            raise ImportError(
                f"Reports need {name}; install it with the report extra: "
                "pip install 'echelon[report]'."
            ) from error


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Nothing may be loaded, and no script may run but the page's own, known by its hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
