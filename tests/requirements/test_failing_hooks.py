import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

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
