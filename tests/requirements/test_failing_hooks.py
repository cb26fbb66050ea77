import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.patience import with_enough_time

from hookline import AggregatedHookResult, HookEventHandler

Fire = Callable[[HookEventHandler], Awaitable[AggregatedHookResult]]

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {}}
RESPONSE = {"text": "ho", "candidates": [{"content": {"role": "model", "parts": ["ho"]}}]}

EVENTS: list[Any] = [
    pytest.param(
        "BeforeTool", lambda h: h.fire_before_tool_event("ls", {}), id="BeforeTool", marks=pytest.mark.req("HOOK-023")
    ),
    pytest.param(
        "AfterTool", lambda h: h.fire_after_tool_event("ls", {}, {}), id="AfterTool", marks=pytest.mark.req("HOOK-031")
    ),
    pytest.param(
        "BeforeModel",
        lambda h: h.fire_before_model_event(REQUEST),
        id="BeforeModel",
        marks=pytest.mark.req("HOOK-042"),
    ),
    pytest.param(
        "AfterModel",
        lambda h: h.fire_after_model_event(REQUEST, RESPONSE),
        id="AfterModel",
        marks=pytest.mark.req("HOOK-052"),
    ),
    pytest.param(
        "BeforeToolSelection",
        lambda h: h.fire_before_tool_selection_event(REQUEST),
        id="BeforeToolSelection",
        marks=pytest.mark.req("HOOK-060"),
    ),
]


@pytest.mark.req("HOOK-068", "HOOK-110", "HOOK-198", "HOOK-214")
@pytest.mark.parametrize(("event", "fire"), EVENTS)
@pytest.mark.parametrize("code", [1, 3, 127, 255])
def test_a_failed_hook_is_logged_as_a_warning(scene: Any, says: Any, event: str, fire: Fire, code: int) -> None:
    """Any exit code but 0 and 2 is a warning, at that very level, with code and stderr; what it printed is not read."""
    blocking = {"decision": "deny", "continue": False, "suppressOutput": True, "hookSpecificOutput": {"tool_input": {}}}
    system = scene.config({event: [f"{says(blocking)}; echo oops >&2; exit {code}"]}).get_hook_system()

    async def main() -> AggregatedHookResult:
        await system.initialize()
        return await fire(system.get_event_handler())

    result = asyncio.run(main())
    (hook,) = scene.records("hook")
    assert (hook["level"], hook["exitCode"], hook["stderr"], hook["success"]) == ("warn", code, "oops\n", False)
    assert [record["level"] for record in scene.records() if record["level"] in ("warn", "error")] == ["warn"]
    assert result.success is False
    assert result.final_output is not None
    assert not result.final_output.is_blocking_decision()
    assert not result.final_output.should_stop_execution()
    assert not result.final_output.suppress_output


@pytest.mark.req("HOOK-023", "HOOK-110")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("exit 1", id="exit 1"),
        pytest.param("kill -9 $$", id="killed"),
        pytest.param("./no-such-program", id="no such program"),
        pytest.param("sleep 9", id="timeout", marks=pytest.mark.req("HOOK-119")),
    ],
)
@pytest.mark.parametrize(("event", "fire"), [EVENTS[0], EVENTS[2]])
@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_failure_blocks_only_if_its_hook_says_so(
    scene: Any, event: str, fire: Fire, command: str, on_error: str
) -> None:
    """After any failure of a hook the operation proceeds, unless its `onError` is `block`; then the failure denies."""
    hook = {"command": command, "onError": on_error, "timeout": 300, "name": "guard"}
    system = scene.config({event: [hook]}).get_hook_system()

    async def main() -> AggregatedHookResult:
        await system.initialize()
        return await fire(system.get_event_handler())

    result = asyncio.run(main())
    output = result.final_output
    assert (output is not None and output.is_blocking_decision()) is (on_error == "block")
    if on_error == "block":
        assert output is not None
        assert "guard" in output.get_effective_reason()
    assert [record["level"] for record in scene.records("hook")] == ["warn"]


@pytest.mark.req("HOOK-117")
def test_a_timeout_terminates_the_whole_group(scene: Any) -> None:
    """At its timeout everything that a hook has started gets SIGTERM, not the hook alone, and at once."""
    child = """trap 'echo terminated > child; exit' TERM; touch ready; while :; do sleep 0.05; done"""
    parent = 'trap "" TERM; until [ -e ready ]; do sleep 0.01; done; touch waits; wait; wait; exit 3'
    hook = {"command": f'sh -c "{child}" & {parent}'}

    def attempt(timeout_ms: float) -> Any:
        system = scene.config({"BeforeTool": [{**hook, "timeout": timeout_ms}]}).get_hook_system()

        async def main() -> Any:
            await system.initialize()
            return await system.get_event_handler().fire_before_tool_event("ls", {})

        (result,) = asyncio.run(main()).results
        return result, timeout_ms

    result, timeout_ms = with_enough_time(400, scene.project / "waits", attempt)
    assert result.timed_out
    # It has ended by itself, within the five seconds after which it would have been killed.
    assert (result.exit_code, result.duration_ms < timeout_ms + 5_000) == (3, True)
    assert (scene.project / "child").read_text() == "terminated\n"
