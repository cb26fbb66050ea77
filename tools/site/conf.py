"""How Sphinx builds docs/ into a site; `make docs` runs it, with warnings as errors."""

from importlib.metadata import version as version_of
from typing import Any

from pygments.lexers.data import JsonLexer
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import _MockObject

from hookline.adapters.table import Adapter

project = "hookline"
author = copyright = "The hookline maintainers"  # noqa: A001 - Sphinx's name for it
release = version = version_of("hookline")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4  # links to headings work as they do on GitHub

# Our docstrings write code in single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
# The adapters import frameworks that conflict with each other, so none of them is installed here.
autodoc_mock_imports = [
    "agent_framework",
    "agents",
    "claude_agent_sdk",
    "google.adk",
    "langchain",
    "langchain_core",
    "langgraph",
    "pydantic_ai",
    "strands",
]
# A mock has no version that could be too old, and appears in type hints such as `Message | None`.
Adapter.too_old = lambda _: None
_MockObject.__or__ = _MockObject.__ror__ = lambda *_: Any

html_theme = "furo"
html_title = f"hookline {release}"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"footer_icons": []}


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("jsonc", JsonLexer)  # it also reads comments
    app.connect("autodoc-process-docstring", _mark_code)


def _mark_code(_app: Sphinx, _what: str, _name: str, _member: object, _options: object, lines: list[str]) -> None:
    """Indented lines after a colon are code, as in Markdown."""
    for at, (line, gap, code) in enumerate(zip(lines, lines[1:], lines[2:], strict=False)):
        if line.endswith(":") and not line.startswith(" ") and not gap and code.startswith("    "):
            lines[at] = f"{line}:"
