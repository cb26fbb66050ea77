"""Real agents are run by `make bridge-live` only, which says where they are installed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.live.agents import AGENTS, Agent, Place, program_of


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A scratch home and project."""
    made = Place(tmp_path / "place")
    made.home.mkdir(parents=True)
    made.project.mkdir()
    return made


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Agent:
    """The agent of this name; the test is skipped if it is not installed."""
    chosen = AGENTS[request.param]
    if program_of(chosen) is None:
        pytest.skip(f"{chosen.name} is not installed; make bridge-live installs it")
    return chosen


@pytest.fixture
def record() -> Callable[[str, str, dict[str, Any]], None]:
    """Keeps what was seen, for the file that the table in the docs is made from."""

    def keep(agent: str, scene: str, seen: dict[str, Any]) -> None:
        folder = Path(os.environ["HOOKLINE_LIVE"], "seen")
        folder.mkdir(exist_ok=True)
        (folder / f"{agent}.{scene}.json").write_text(json.dumps(seen))

    return keep
