"""The pages about the rules of `check` say what the rules say, and their examples are what the rules are about."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATH = ROOT / "tools" / "checks_pages.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("checks_pages", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["checks_pages"] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


pages = load()


def test_every_rule_has_a_page() -> None:
    """The table of the examples has the rules of the command, and no others."""
    rules = pages.rules()
    assert list(pages.examples()) == list(rules)


@pytest.mark.parametrize("rule", pages.examples())
def test_a_page_shows_what_the_rule_reports(rule: str, own_home: Path) -> None:
    """The example is reported; after the remedy it is not."""
    example = pages.examples()[rule]
    project = own_home / "project"
    project.mkdir()
    found = [one for one in pages.findings_of(example, project) if one.rule == rule]
    assert found
    if rule == "run-skipped":
        return  # its remedy is trust, which needs a user
    again = pages.findings_of(example, project, is_right=True)
    assert [one.text for one in again if one.rule == rule] == []
