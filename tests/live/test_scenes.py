"""Every scene in every real agent: what must never be seen is not, and the rest is as it was recorded."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.live.agents import AGENTS, Agent, Place, program_of, run
from tests.live.scenes import OUTPUT, SCENES, SECRET
from tests.live.stage import Played, play
from tests.live.table import recorded

from hookline.bridge.agents import HOSTS

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

CASES = [
    pytest.param(name, agent, id=f"{agent}-{name}")
    for name, scene in SCENES.items()
    for agent in AGENTS
    if agent in scene.only
]


@pytest.mark.parametrize(("name", "agent"), CASES, indirect=["agent"])
def test_what_a_hook_decides_is_what_the_agent_does(
    name: str, agent: Agent, place: Place, record: Callable[[str, str, dict[str, Any]], None]
) -> None:
    """A deny is never lost, a missing objection grants nothing, and everything else is as the docs say."""
    scene = SCENES[name]
    played = play(scene, agent, place)
    shown = f"{played.ended.stdout}\n{played.ended.stderr}"
    if not scene.may_run and agent.name not in scene.unless:
        assert played.seen.tool != "ran", shown
    if not scene.allowed:
        assert played.seen.tool == "did not run", shown
    assert SECRET not in _written_by_us(played)
    if SECRET not in json.dumps(played.requests[:1]) and name != "secret":
        assert SECRET not in shown
    if name == "replace-result":
        assert not any(OUTPUT in json.dumps(request) for request in played.requests)
    if name == "selection":
        assert [_chosen(request) for request in played.requests] == [["grep_search"]] * 2
    seen = played.seen.to_dict()
    if agent.name in scene.varies:
        seen = {"tool": seen["tool"]}
    record(agent.name, name, seen)
    assert seen == recorded()["agents"][agent.name]["seen"][name], shown


def _written_by_us(played: Played) -> str:
    """The log, the server's messages and whatever else is in the state directory."""
    files = (file for file in (played.place.root / "state").rglob("*") if file.is_file())
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in files)


def _chosen(request: dict[str, Any]) -> list[str]:
    names: list[str] = request["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"]
    return names


@pytest.mark.parametrize("agent", AGENTS, indirect=True)
def test_the_version_that_runs_is_the_one_that_we_say(agent: Agent, place: Place) -> None:
    """The docs, `explain` and `status` name it."""
    program: Path | None = program_of(agent)
    got = run([str(program), "--version"], place, place.environ())
    assert HOSTS[agent.name].version in got.stdout
    assert recorded()["agents"][agent.name]["version"] == HOSTS[agent.name].version
