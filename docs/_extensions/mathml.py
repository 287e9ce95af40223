"""Formulas as MathML, which browsers draw by themselves, without a script from elsewhere."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)


def _formula(node: nodes.Element, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _LOGGER.warning("formula cannot be drawn: %s", error, location=node)
        return ""


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_formula(node, as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_formula(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
