from dataclasses import replace
from typing import Any

import msgspec
import pytest

from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry
from hookline.contract.outputs import BeforeToolHookOutput, DefaultHookOutput
from hookline.contract.results import AggregatedHookResult, HookError, HookExecutionPlan, HookExecutionResult
from hookline.engine.aggregator import HookAggregator, overridden
from hookline.formats.outputs import BeforeModelHookOutput

BEFORE_TOOL, BEFORE_MODEL = HookEventName.BEFORE_TOOL, HookEventName.BEFORE_MODEL
HOOK = HookEntry(event=BEFORE_TOOL, source=ConfigSource.USER, origin="o", location="l", command="guard")


def result(
    output: dict[str, Any] | None = None, *, name: str = "guard", success: bool = True, error: str | None = None
) -> HookExecutionResult:
    return HookExecutionResult(
        hook=replace(HOOK, command=name),
        event=BEFORE_TOOL,
        success=success,
        exit_code=0 if success else 1,
        output=None if output is None else DefaultHookOutput(output),
        error=error,
    )


def aggregate(*results: HookExecutionResult, event: HookEventName = BEFORE_TOOL) -> AggregatedHookResult:
    return HookAggregator().aggregate_results(results, event)


@pytest.mark.req("HOOK-160", "HOOK-166", "HOOK-213")
def test_a_block_by_a_failed_run_is_a_block() -> None:
    """Exit 2 gives both: `success` false, which speaks of the run, and a blocking answer, which decides."""
    deny = {"decision": "deny", "reason": "no"}
    results = (result(deny, success=False), result())
    assert aggregate(*results) == AggregatedHookResult(
        success=False,
        final_output=BeforeToolHookOutput({"continue": True, "suppressOutput": False, **deny}),
        all_outputs=(BeforeToolHookOutput(deny),),
        results=results,
    )


@pytest.mark.req("HOOK-112", "HOOK-214")
def test_a_failing_hook_costs_no_other_answer() -> None:
    """A hook that timed out is counted among the errors, and the answers beside it are merged as ever."""
    merged = aggregate(
        result({"systemMessage": "a"}),
        result(success=False, error="timed out after 600ms", name="slow"),
        result(success=False),
        result({"systemMessage": "b"}),
    )
    assert merged.errors == (HookError("slow timed out after 600ms"),)
    assert not merged.success
    assert merged.final_output is not None
    assert merged.final_output.system_message == "a\nb"
    assert not merged.final_output.is_blocking_decision()


@pytest.mark.parametrize("results", [(), (result(), result())], ids=["no-hooks", "silent-hooks"])
def test_no_answers_make_no_answer(results: tuple[HookExecutionResult, ...]) -> None:
    """Where nobody said anything there is no final output, and all went well."""
    assert aggregate(*results) == AggregatedHookResult(success=True, results=results)


@pytest.mark.req("HOOK-166", "HOOK-190")
@pytest.mark.parametrize(
    ("event", "blocked"),
    [(BEFORE_TOOL, True), (BEFORE_MODEL, False), (HookEventName.NOTIFICATION, False)],
)
def test_the_events_own_rule_merges(event: HookEventName, blocked: bool) -> None:
    """The same two answers block or not, by the event's rule."""
    final = aggregate(result({"decision": "deny"}), result({"decision": "allow"}), event=event).final_output
    assert final is not None
    assert final.is_blocking_decision() is blocked


@pytest.mark.req("HOOK-200")
def test_answers_speak_for_their_event() -> None:
    """Answers come out in the event's own class, and the engine's own `allow` is still known as such."""
    plain = msgspec.structs.replace(
        result(), output=DefaultHookOutput({"decision": "allow", "systemMessage": "x"}, is_explicit=False)
    )
    merged = aggregate(result({"decision": "deny"}), plain, event=BEFORE_MODEL)
    assert [type(output) for output in merged.all_outputs] == [BeforeModelHookOutput, BeforeModelHookOutput]
    assert isinstance(merged.final_output, BeforeModelHookOutput)
    assert merged.final_output.is_blocking_decision()


def test_effect_plan_and_duration() -> None:
    """With the input, the effect is there; with a plan, it is passed on; with a start, the time is measured."""
    plan = HookExecutionPlan(event=BEFORE_TOOL, hooks=(HOOK,), sequential=False)
    changed = result({"hookSpecificOutput": {"tool_input": {"b": 2}}})
    merged = HookAggregator().aggregate_results(
        [changed], BEFORE_TOOL, {"tool_input": {"a": 1}}, plan=plan, started=0.0
    )
    assert merged.effect == {"tool_input": {"a": 1, "b": 2}}
    assert merged.plan is plan
    assert merged.total_duration > 0
    assert HookAggregator().aggregate_results([result()], BEFORE_TOOL, {"tool_input": {}}).effect is None


@pytest.mark.req("HOOK-098")
@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([{"decision": "deny"}, {"decision": "allow"}], ["b overrode the decision of a"]),
        ([{"decision": "deny"}, {"decision": None}], ["b overrode the decision of a"]),
        ([{"decision": "deny"}, {}], []),
        ([{"decision": "deny"}, None], []),
        ([{"decision": "allow"}, {"decision": "deny"}], []),
        ([{"decision": "deny"}, {"decision": "block"}, {"decision": "allow"}], ["c overrode the decision of b"]),
        ([{"continue": False}, {"continue": True}], ["b overrode the continue of a"]),
        ([{"decision": "deny"}, {"decision": "allow"}, {"decision": "allow"}], ["b overrode the decision of a"]),
    ],
)
def test_who_undid_whose_block(answers: list[dict[str, Any] | None], said: list[str]) -> None:
    """A block or a stop that a later hook undid is told with both names."""
    assert overridden([result(answer, name=name) for answer, name in zip(answers, "abc", strict=False)]) == said


def test_a_failed_hook_overrides_nobody() -> None:
    """The engine's own `allow` for a failed hook is not an override."""
    failed = msgspec.structs.replace(result(), output=DefaultHookOutput({"decision": "allow"}, is_explicit=False))
    assert overridden([result({"decision": "deny"}), failed]) == []
