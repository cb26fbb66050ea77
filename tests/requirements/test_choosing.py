import asyncio
from typing import Any

import pytest

from hookline import AggregatedHookResult, Config, HookEventName


def fire(config: Config, tool: str) -> AggregatedHookResult:
    """BeforeTool for a tool of this name."""

    async def main() -> AggregatedHookResult:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        return await system.get_event_handler().fire_before_tool_event(tool, {})

    return asyncio.run(main())


def ran(config: Config, tool: str) -> list[str | None]:
    """The commands that ran."""
    return [result.hook.command for result in fire(config, tool).results]


@pytest.mark.req("HOOK-088")
@pytest.mark.parametrize(
    ("matcher", "matched", "others"),
    [
        pytest.param(
            "*_file",
            "*_file",
            ["write_file", "_file", "*", "x*_file", "*_files", "*_FILE", " *_file", "_"],
            id="glob",
        ),
        pytest.param(" (read ", "(read", ["read", "(", "(read_file", "my(read", "(Read"], id="parenthesis"),
        pytest.param("[a-", "[a-", ["a", "[a", "[a-z", "[A-"], id="bracket"),
    ],
)
def test_a_broken_pattern_is_the_whole_name(scene: Any, matcher: str, matched: str, others: list[str]) -> None:
    """A matcher that is not a regular expression is compared as text: trimmed, as a whole and in the same case."""
    config = scene.config({"BeforeTool": [{"command": "true", "matcher": matcher}]})
    assert ran(config, matched) == ["true"]
    assert {tool: ran(config, tool) for tool in others} == {tool: [] for tool in others}


@pytest.mark.req("HOOK-090", "HOOK-091")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({}, {}, id="same"),
        pytest.param({"name": "one"}, {"name": "other"}, id="name"),
        pytest.param({"timeout": 5000}, {"timeout": 6000}, id="timeout"),
        pytest.param({"matcher": "l"}, {"matcher": "s"}, id="matcher"),
        pytest.param({"sequential": False}, {"sequential": True}, id="sequential"),
        pytest.param({"description": "one"}, {}, id="description"),
    ],
)
def test_a_command_runs_once_whatever_else_its_entries_say(
    scene: Any, first: dict[str, Any], second: dict[str, Any]
) -> None:
    """Two entries with one command are one hook: the first runs, the second is recorded as a duplicate."""
    command = "echo ran >> ran"
    result = fire(scene.config({"BeforeTool": [{"command": command, **first}, {"command": command, **second}]}), "ls")
    assert (scene.project / "ran").read_text() == "ran\n"
    (ran_as,) = [result.hook for result in result.results]
    assert ran_as.location == "hooks.BeforeTool[0].hooks[0]"
    assert (ran_as.name, ran_as.matcher, ran_as.timeout_ms) == (
        first.get("name"),
        first.get("matcher"),
        first.get("timeout", 60_000),
    )
    (skip,) = scene.records("skip")
    assert skip["location"] == "hooks.BeforeTool[1].hooks[0]"
    assert skip["reason"].startswith("duplicate")


@pytest.mark.req("HOOK-091")
@pytest.mark.parametrize("other", ["TRUE=1 true", "true ", " true", "true;", "true true"])
def test_commands_that_differ_in_any_way_both_run(scene: Any, other: str) -> None:
    """Only the same command is a duplicate; commands that a shell would read alike are not."""
    assert len(ran(scene.config({"BeforeTool": ["true", other]}), "ls")) == 2
    assert scene.records("skip") == []


@pytest.mark.req("HOOK-091")
def test_a_twin_that_does_not_match_is_no_duplicate(scene: Any) -> None:
    """Duplicates are looked for among the hooks that match, within one event."""
    twins = [{"command": "echo ran >> ran", "matcher": matcher} for matcher in ("write", "ls")]
    config = scene.config({"BeforeTool": twins, "AfterTool": ["echo ran >> ran"]})
    (result,) = fire(config, "ls").results
    assert result.hook.location == "hooks.BeforeTool[1].hooks[0]"
    system = config.get_hook_system()
    asyncio.run(system.get_event_handler().fire_after_tool_event("ls", {}, {}))
    assert (scene.project / "ran").read_text() == "ran\nran\n"
    assert [record["reason"].partition(":")[0] for record in scene.records("skip")] == ["matcher"]


@pytest.mark.req("HOOK-080")
def test_every_group_of_an_event_counts(scene: Any) -> None:
    """An event's list may have any number of groups, each with its own hooks."""
    assert ran(scene.config({"BeforeTool": ["true", "true 2", "true 3"]}), "ls") == ["true", "true 2", "true 3"]


@pytest.mark.req("HOOK-006", "HOOK-142")
def test_the_system_has_one_of_each_part(scene: Any) -> None:
    """Its registry and its handler are always the same, and belong together: what one switches off, the other skips."""

    async def main() -> list[int]:
        system = scene.config({"BeforeTool": [{"command": "true", "name": "guard"}]}).get_hook_system()
        await system.initialize()
        registry, handler = system.get_registry(), system.get_event_handler()
        counts = []
        for enabled in (True, False, True):
            assert registry.set_hook_enabled("guard", enabled=enabled)
            counts.append(len((await handler.fire_before_tool_event("ls", {})).results))
            await system.initialize()
            assert (system.get_registry(), system.get_event_handler()) == (registry, handler)
        assert registry.get_hooks_for_event(HookEventName.BEFORE_TOOL) == system.get_all_hooks()
        return counts

    assert asyncio.run(main()) == [1, 0, 1]
    assert not [name for name in dir(scene.config({}).get_hook_system()) if name in _INNER]


_INNER = {f"{prefix}{part}" for prefix in ("", "get_") for part in ("planner", "runner", "aggregator")}
