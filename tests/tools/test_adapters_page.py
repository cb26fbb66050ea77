"""docs/adapters.md says what the adapters declare."""

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def tool() -> Any:
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("adapters_page", ROOT / "tools" / "adapters_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    """`make adapters-page` has been run since an adapter or an example changed."""
    assert (ROOT / "docs" / "adapters.md").read_text() == tool().page().rstrip() + "\n"
