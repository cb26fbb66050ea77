"""docs/packs.md says what the rules are."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packs_page", ROOT / "tools" / "packs_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_as_the_rules_are() -> None:
    assert (ROOT / "docs" / "packs.md").read_text() == tool().page().rstrip() + "\n"
