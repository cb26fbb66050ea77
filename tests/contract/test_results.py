import dataclasses
import json

import msgspec
import pytest

from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry, HookType, OnError
from hookline.contract.outputs import DefaultHookOutput
from hookline.contract.results import (
    AggregatedHookResult,
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
    ProcessedHookResult,
    SkippedHook,
    make_empty_success_result,
)

GUARD = HookEntry(
    event=HookEventName.BEFORE_TOOL,
    source=ConfigSource.USER,
    origin="settings.json",
    location="hooks.BeforeTool[0].hooks[0]",
    command="guard",
    name="the guard",
    matcher="write",
)
DESCRIBED = {
    "command": "guard",
    "name": "the guard",
    "type": "command",
    "source": "user",
    "origin": "settings.json",
    "location": "hooks.BeforeTool[0].hooks[0]",
    "matcher": "write",
    "timeout": 60000,
    "sequential": False,
}


@pytest.mark.req("HOOK-145", "DELTA-HFAIL-004")
def test_each_empty_success_is_a_fresh_one() -> None:
    """Nothing ran, nothing failed, nothing was said; and no two callers share the object."""
    result = make_empty_success_result()
    assert result == AggregatedHookResult(
        success=True, final_output=None, all_outputs=(), errors=(), total_duration=0.0, results=(), plan=None
    )
    assert result is not make_empty_success_result()
    assert result.to_dict() == {
        "success": True,
        "finalOutput": None,
        "allOutputs": [],
        "errors": [],
        "totalDuration": 0.0,
    }


def test_results_as_json() -> None:
    """Every result has a form that JSON takes, in wire spelling."""
    answer = DefaultHookOutput({"decision": "deny", "reason": "no"})
    ran = HookExecutionResult(
        hook=GUARD,
        event=GUARD.event,
        success=False,
        exit_code=2,
        duration_ms=1.23456,
        stderr="no",
        output=answer,
        complaints=("hm",),
    )
    aggregated = AggregatedHookResult(
        success=False, final_output=answer, all_outputs=(answer,), errors=(HookError("e"),), total_duration=2.34567
    )
    processed = ProcessedHookResult(
        aggregated=aggregated, should_stop=True, stop_reason="s", system_message=None, suppress_output=False
    )
    plan = HookExecutionPlan(
        event=GUARD.event, hooks=(GUARD,), sequential=True, held_back=(SkippedHook(hook=GUARD, reason="r"),)
    )
    assert ran.to_dict() == {
        "command": "guard",
        "name": "the guard",
        "success": False,
        "exitCode": 2,
        "signal": None,
        "timedOut": False,
        "truncated": False,
        "duration": 1.235,
        "stdout": "",
        "stderr": "no",
        "output": {"decision": "deny", "reason": "no"},
        "error": None,
        "complaints": ["hm"],
    }
    assert msgspec.structs.replace(ran, output=None).to_dict()["output"] is None
    assert aggregated.to_dict() == {
        "success": False,
        "finalOutput": {"decision": "deny", "reason": "no"},
        "allOutputs": [{"decision": "deny", "reason": "no"}],
        "errors": [{"message": "e"}],
        "totalDuration": 2.346,
    }
    assert processed.to_dict() == {
        "shouldStop": True,
        "stopReason": "s",
        "systemMessage": None,
        "suppressOutput": False,
    }
    assert plan.to_dict() == {"sequential": True, "hooks": [DESCRIBED], "skipped": [{**DESCRIBED, "reason": "r"}]}
    json.dumps([ran.to_dict(), aggregated.to_dict(), processed.to_dict(), plan.to_dict()], allow_nan=False)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (HookError("m"), {"message": "m"}),
        (
            HookError("m", stage="planning", details={"a": 1}),
            {"message": "m", "stage": "planning", "details": {"a": 1}},
        ),
    ],
)
def test_an_error_shows_what_it_knows(error: HookError, shown: dict[str, object]) -> None:
    """A stage and details are there only where they say something."""
    assert error.to_dict() == shown


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, "the guard"),
        ({"name": None}, "guard"),
        ({"name": None, "command": None, "type": HookType.PLUGIN}, "plugin hook"),
    ],
)
def test_a_hook_has_a_label(changes: dict[str, object], label: str) -> None:
    """A hook is called by its name, else its command, else its type."""
    assert dataclasses.replace(GUARD, **changes).label == label  # type: ignore[arg-type]  # a table of changes


@pytest.mark.req("HOOK-083", "HOOK-120")
def test_what_a_hook_is_by_default() -> None:
    """A hook that says nothing more than its command runs, for a minute at most, beside the others, and fails open."""
    assert (GUARD.enabled, GUARD.timeout_ms, GUARD.sequential, GUARD.on_error) == (True, 60_000, False, OnError.ALLOW)
    assert not dataclasses.replace(GUARD, disabled_by="a person").enabled
