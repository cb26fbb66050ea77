"""Every recipe of the cookbook does what its cases say, and the page shows the recipes as they are."""

import asyncio
import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main
from hookline.client.config import Config
from hookline.testing.cases.read import read_cases
from hookline.testing.cases.run import Result, run_cases

ROOT = Path(__file__).parents[1]
COOKBOOK = ROOT / "examples" / "cookbook"
RECIPES = sorted(path for path in COOKBOOK.iterdir() if path.is_dir())
BIN = Path(sys.executable).parent


def load_page() -> Any:
    spec = importlib.util.spec_from_file_location("cookbook_page", ROOT / "tools" / "cookbook_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def config_of(recipe: Path, environment: Mapping[str, str]) -> Config:
    environ = {**os.environ, "PATH": f"{BIN}:/usr/bin:/bin", **environment}
    return Config(recipe, settings_files=[recipe / "settings.json"], environ=environ, log_file=False, quiet=True)


async def run_all() -> list[Result]:
    """The results of all recipes, some at the same time."""
    results: list[Result] = []
    for recipe in RECIPES:
        cases = read_cases([recipe / "cases.hooks.toml"])
        assert config_of(recipe, {}).get_problems() == ()
        results += await run_cases(cases, partial(config_of, recipe), jobs=4)
    return results


@pytest.mark.timeout(90)  # a process for most of the cases
def test_every_recipe_does_what_its_cases_say() -> None:
    """One run for all: what is blocked, asked about, rewritten and added is as the case files have it."""
    results = asyncio.run(run_all())
    wrong = [(str(one.case.place), one.case.name, one.differences, one.problem) for one in results if not one.passed]
    assert wrong == []
    assert {Path(one.case.place.file).parent for one in results} == set(RECIPES)
    assert len(RECIPES) >= 20


def test_the_page_has_every_recipe() -> None:
    """No recipe is missing in the sections of the page."""
    module = load_page()
    assert sorted(name for names in module.SECTIONS.values() for name in names) == [path.name for path in RECIPES]


def test_the_command_of_the_page_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader can try a recipe in a clone."""
    found = re.search(r"^\$ hookline (.*)$", (ROOT / "docs" / "cookbook.md").read_text(), re.MULTILINE)
    assert found
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", f"{BIN}:/usr/bin:/bin")
    assert main(found[1].split()) == 0
