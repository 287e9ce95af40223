"""The site: guides in Markdown, a gallery made by running `examples/`, and the API reference."""

import logging
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

# It tells every step of its sums to whoever listens, and Sphinx does.
logging.getLogger("shap").setLevel(logging.WARNING)

project = "Echelon"
author = "The Echelon developers"
copyright = "the Echelon developers"
release = metadata.version("echelon")

extensions = [
    "mathml",
    "plain_docstrings",
    "public_names",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_extensions", "reproduction/results"]

html_theme = "furo"
html_title = f"Echelon {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}


def setup(app):
    """Take away the empty line that ends an example for the tests."""

    def close_up(app, name, source):
        source[0] = source[0].replace("\n\n```\n", "\n```\n")

    app.connect("source-read", close_up)
