import time
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hookline.engine.decide import HookAggregator, decide
from hookline.engine.event_table import EVENT_TABLE
from hookline.formats.outputs import BeforeModelHookOutput
from hookline.protocol.answers import ToolSelection, read_stdout, warning_from_stderr
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import LIFECYCLE_EVENTS, HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.results import AggregatedHookResult, BeforeToolHookOutput
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.verdict import (
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
    Override,
    Skip,
    SkipKind,
    Verdict,
)

E = HookEventName
HOOK = HookEntry(event=E.BEFORE_TOOL, source=ConfigSource.USER, origin="o", location="l", run=CommandLine("guard"))
TOOL = {"tool_name": "ls", "tool_input": {"path": "/a", "mode": "w"}}


def response(text: str) -> dict[str, Any]:
    return {"text": text, "candidates": [{"content": {"role": "model", "parts": [text]}}]}


MODEL = {"llm_request": {"model": "m"}, "llm_response": response("secret")}
RESPONSE = {"llm_response": {"text": "hi"}}
STOP: dict[str, Any] = {"continue": False}
DENY: dict[str, Any] = {"decision": "deny"}


def run(
    given: dict[str, Any] | None = None,
    *,
    event: HookEventName = E.BEFORE_TOOL,
    name: str = "guard",
    success: bool = True,
    error: str | None = None,
    rank: int = 0,
) -> HookExecutionResult:
    reads = EVENT_TABLE[event].reads
    return HookExecutionResult(
        hook=replace(HOOK, event=event, run=CommandLine(name), rank=rank),
        event=event,
        success=success,
        exit_code=0 if success else 1,
        answer=None if given is None else read_stdout(stringify_json(given).decode(), reads, rank=rank),
        error=error,
    )


def crashed(*, event: HookEventName, name: str = "guard") -> HookExecutionResult:
    return msgspec.structs.replace(run(event=event, name=name, success=False), answer=warning_from_stderr("boom"))


def verdict(event: HookEventName, *given: dict[str, Any] | None, told: dict[str, Any] | None = None) -> Verdict:
    """The verdict on what the hooks a, b and c answered."""
    return decide(
        event, told or {}, [run(one, event=event, name=name) for one, name in zip(given, "abc", strict=False)]
    )


def aggregate(*runs: HookExecutionResult, event: HookEventName = E.BEFORE_TOOL) -> AggregatedHookResult:
    return HookAggregator().aggregate_results(runs, event)


@pytest.mark.req("HOOK-160", "HOOK-166", "HOOK-213")
def test_a_block_by_a_failed_run_is_a_block() -> None:
    """Exit 2 gives both: `success` false, which speaks of the run, and a blocking answer, which decides."""
    deny = {"decision": "deny", "reason": "no"}
    runs = (run(deny, success=False), run())
    result = aggregate(*runs)
    assert (result.success, result.errors, result.results) == (False, (), runs)
    assert result.final_output == BeforeToolHookOutput({"continue": True, "suppressOutput": False, **deny})
    assert result.all_outputs == (BeforeToolHookOutput(deny),)
    assert result.verdict is not None
    assert (result.verdict.blocked, result.verdict.denied, result.verdict.reason) == (True, True, "no")


@pytest.mark.req("HOOK-112", "HOOK-214")
def test_a_failing_hook_costs_no_other_answer() -> None:
    """A hook that timed out is counted among the errors, and the answers beside it are merged as usual."""
    made = decide(
        E.BEFORE_TOOL,
        TOOL,
        [
            run({"systemMessage": "a"}),
            run(success=False, error="timed out after 600ms", name="slow"),
            run(success=False),
            run({"systemMessage": "b"}),
        ],
    )
    assert made.errors == (HookError("slow timed out after 600ms"),)
    assert (made.success, made.blocked, made.note) == (False, False, "a\nb")


@pytest.mark.parametrize("runs", [(), (run(), run())], ids=["no-hooks", "silent-hooks"])
def test_no_answers_decide_nothing(runs: tuple[HookExecutionResult, ...]) -> None:
    """Without an answer there is no final output, and the event succeeded."""
    assert decide(E.BEFORE_TOOL, TOOL, runs) == Verdict(event=E.BEFORE_TOOL, runs=runs)
    result = aggregate(*runs)
    assert (result.success, result.final_output, result.all_outputs) == (True, None, ())


@pytest.mark.req("HOOK-166", "HOOK-190")
@pytest.mark.parametrize(
    ("event", "blocked"), [(E.BEFORE_TOOL, True), (E.BEFORE_MODEL, False), (E.NOTIFICATION, False)]
)
def test_the_events_own_rule_merges(event: HookEventName, blocked: bool) -> None:
    """The same two answers block or not, by the event's rule."""
    final = aggregate(run(DENY), run({"decision": "allow"}), event=event).final_output
    assert final is not None
    assert final.is_blocking_decision() is blocked


@pytest.mark.req("HOOK-200")
def test_answers_speak_for_their_event() -> None:
    """Answers come out in the event's own class, and the engine's own `allow` is still known as such."""
    merged = aggregate(run(DENY, event=E.BEFORE_MODEL), crashed(event=E.BEFORE_MODEL), event=E.BEFORE_MODEL)
    assert [type(output) for output in merged.all_outputs] == [BeforeModelHookOutput, BeforeModelHookOutput]
    assert isinstance(merged.final_output, BeforeModelHookOutput)
    assert merged.final_output.is_blocking_decision()


def test_plan_skips_and_duration_are_passed_on() -> None:
    """The verdict carries the plan, its subject, the hooks of the chain that did not run, and the time it took."""
    plan = HookExecutionPlan(event=E.BEFORE_TOOL, subject="ls", hooks=(HOOK,), sequential=False)
    skip = Skip(hook=HOOK, kind=SkipKind.CHAIN_STOPPED, detail="a blocked")
    made = decide(E.BEFORE_TOOL, TOOL, [run()], plan=plan, skipped=(skip,), started=time.perf_counter())
    assert (made.plan, made.subject, made.skipped) == (plan, "ls", (skip,))
    assert 0 < made.duration_ms < 10_000
    assert decide(E.BEFORE_TOOL, TOOL, [run()]).duration_ms == 0


@pytest.mark.req("HOOK-178", "HOOK-180", "HOOK-181", "HOOK-182")
@pytest.mark.parametrize("event", HookEventName)
def test_what_a_deny_comes_to(event: HookEventName) -> None:
    """A deny blocks what has not begun, and makes the agent go on after its turn; elsewhere it is only known."""
    made = verdict(event, {"decision": "deny", "reason": "no"})
    can_block = event in (E.BEFORE_TOOL, E.BEFORE_MODEL, E.BEFORE_AGENT, E.PRE_COMPRESS)
    assert made.go_on is (event is E.AFTER_AGENT)
    denied = event is not E.BEFORE_TOOL_SELECTION  # its merge keeps no decision
    assert (made.blocked, made.denied, made.stop) == (can_block, denied, False)
    assert made.reason == ("no" if denied else None)


@pytest.mark.req("HOOK-058", "HOOK-097")
@pytest.mark.parametrize("event", HookEventName)
def test_what_a_stop_comes_to(event: HookEventName) -> None:
    """A stop also keeps an operation that has not begun from taking place; where hooks only watch, nothing stops."""
    made = verdict(event, {"continue": False, "stopReason": " enough "})
    before = event in (E.BEFORE_TOOL, E.BEFORE_MODEL, E.BEFORE_TOOL_SELECTION, E.BEFORE_AGENT, E.PRE_COMPRESS)
    stops = event not in (E.SESSION_END, E.NOTIFICATION)
    assert (made.blocked, made.denied, made.stop) == (before, False, stops)
    assert made.stop_reason == ("enough" if stops else None)


@pytest.mark.req("HOOK-169", "HOOK-199")
@pytest.mark.parametrize("event", HookEventName)
def test_the_compatibility_field_counts_before_tools_only(event: HookEventName) -> None:
    """`permissionDecision` denies on BeforeTool, and on no other event."""
    made = verdict(event, {"hookSpecificOutput": {"permissionDecision": "deny"}})
    assert made.denied is (event is E.BEFORE_TOOL)


@pytest.mark.req("HOOK-182")
@pytest.mark.parametrize(
    ("given", "ask", "reason"),
    [
        ([{"decision": "ask", "reason": "sure?"}], True, "sure?"),
        ([{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}], True, "sure?"),
        ([{"decision": "ask"}, {"decision": "deny", "reason": "no"}], False, "no"),
        ([{"decision": "allow"}], False, None),
    ],
    ids=["decision", "permission", "a-deny-beside-it", "allow"],
)
def test_an_ask_asks_and_blocks_nothing(given: list[dict[str, Any]], ask: bool, reason: str | None) -> None:
    """`ask` reaches the verdict with its reason, unless a deny has made the question needless."""
    made = verdict(E.BEFORE_TOOL, *given)
    assert (made.ask, made.reason) == (ask, reason)
    assert made.blocked is not (ask or reason is None)


@pytest.mark.req("HOOK-092", "HOOK-171", "HOOK-199")
@pytest.mark.parametrize(
    ("event", "given", "reason"),
    [
        pytest.param(E.BEFORE_TOOL, [DENY], "No reason given", id="default"),
        pytest.param(E.BEFORE_TOOL, [{**DENY, "reason": "  "}], "No reason given", id="blank"),
        pytest.param(
            E.BEFORE_TOOL,
            [
                {**DENY, "reason": "a"},
                {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "b"}},
            ],
            "a\nb",
            id="both-fields",
        ),
        pytest.param(
            E.BEFORE_MODEL, [{**DENY, "reason": "a"}, {**DENY, "reason": "b"}], "b\na", id="replaced-on-a-model-event"
        ),
        pytest.param(E.BEFORE_MODEL, [{**DENY, "reason": "a"}, {"reason": "b"}], "b\na", id="reason-without-a-block"),
        pytest.param(E.BEFORE_MODEL, [{**DENY, "reason": "a"}, {**DENY, "reason": "a"}], "a", id="said-twice"),
        pytest.param(E.BEFORE_MODEL, [{**DENY, "reason": "a"}, {"decision": "allow"}], "a", id="undone"),
        pytest.param(E.BEFORE_TOOL, [{"decision": "allow", "reason": "fine"}], "fine", id="no-block"),
    ],
)
def test_the_reasons_of_all_hooks_that_block_reach_the_verdict(
    event: HookEventName, given: list[dict[str, Any]], reason: str
) -> None:
    """Whichever field they used, and also where a later hook's text replaced theirs in the merged answer."""
    assert verdict(event, *given).reason == reason


@pytest.mark.req("HOOK-019", "HOOK-055", "HOOK-156", "HOOK-177", "HOOK-179", "HOOK-216")
@pytest.mark.parametrize(
    ("event", "common", "specific", "effect"),
    [
        pytest.param(
            E.BEFORE_TOOL,
            {},
            {"tool_input": {"path": "/b"}},
            {"arguments": {"path": "/b", "mode": "w"}},
            id="arguments",
        ),
        pytest.param(E.BEFORE_TOOL, {}, {"tool_input": {"path": "/a"}}, {}, id="the-same-arguments"),
        pytest.param(E.BEFORE_TOOL, {}, {"tool_input": 5}, {}, id="odd-arguments"),
        pytest.param(E.BEFORE_TOOL, DENY, {"tool_input": {"path": "/b"}}, {}, id="blocked"),
        pytest.param(E.BEFORE_TOOL, STOP, {"tool_input": {"path": "/b"}}, {}, id="stopped"),
        pytest.param(
            E.BEFORE_TOOL, {}, {"tool_input": {"path": "/b"}, "permissionDecision": "deny"}, {}, id="blocked-otherwise"
        ),
        pytest.param(
            E.BEFORE_MODEL,
            {},
            {"llm_request": {"config": {"topK": 1}}, **RESPONSE},
            {"request": {"model": "m", "config": {"topK": 1}}},
            id="request",
        ),
        pytest.param(E.BEFORE_MODEL, {}, {"llm_request": {"model": "m"}}, {}, id="the-same-request"),
        pytest.param(E.BEFORE_MODEL, {}, RESPONSE, {}, id="a-response-without-a-block"),
        pytest.param(
            E.BEFORE_MODEL,
            DENY,
            {"llm_request": {"model": "x"}, **RESPONSE},
            {"response": {"text": "hi"}},
            id="answered-instead",
        ),
        pytest.param(E.BEFORE_MODEL, STOP, {"llm_request": {"model": "x"}}, {}, id="stopped-without-response"),
        pytest.param(E.AFTER_MODEL, {}, RESPONSE, {"response": response("hi")}, id="text-alone-replaces"),
        pytest.param(E.AFTER_MODEL, STOP, RESPONSE, {"response": response("hi")}, id="replaced-and-stopped"),
        pytest.param(E.AFTER_MODEL, {}, {"llm_response": response("secret")}, {}, id="the-same-response"),
        pytest.param(E.AFTER_MODEL, {}, {"llm_response": "hi"}, {}, id="odd-response"),
        pytest.param(
            E.BEFORE_TOOL_SELECTION,
            {},
            {"toolConfig": {"mode": "ANY", "allowedFunctionNames": []}},
            {"tools": ToolSelection(mode="ANY", names=())},
            id="tools",
        ),
        pytest.param(
            E.BEFORE_TOOL_SELECTION,
            STOP,
            {"toolConfig": {"mode": "ANY"}},
            {"tools": ToolSelection(mode="ANY")},
            id="tools-beside-a-stop",
        ),
        pytest.param(E.BEFORE_TOOL_SELECTION, {}, {"toolConfig": {"mode": "some"}}, {}, id="unknown-mode"),
        pytest.param(E.BEFORE_TOOL_SELECTION, {}, {}, {}, id="no-tools"),
        pytest.param(E.BEFORE_AGENT, {}, {"additionalContext": "c"}, {}, id="context-is-no-prompt"),
        pytest.param(E.BEFORE_AGENT, {}, {"prompt": "q", "additionalContext": "c"}, {"prompt": "q"}, id="prompt"),
        pytest.param(E.BEFORE_AGENT, DENY, {"prompt": "q"}, {}, id="blocked-prompt"),
        pytest.param(E.AFTER_TOOL, {}, {"tool_input": {"path": "/b"}}, {}, id="none"),
    ],
)
def test_what_the_caller_goes_on_with(
    event: HookEventName, common: dict[str, Any], specific: dict[str, Any], effect: dict[str, Any]
) -> None:
    """The changed value, whole; nothing without a change, or if the operation is blocked."""
    told = {**TOOL, **MODEL, "prompt": "p"}
    made = verdict(event, {**common, "hookSpecificOutput": specific}, told=told)
    names = ("arguments", "request", "response", "tools", "prompt")
    assert {name: value for name in names if (value := getattr(made, name)) is not None} == effect


def lifecycle(event: HookEventName, *given: tuple[dict[str, Any], bool, int]) -> Verdict:
    """The verdict on answers of the hooks a, b and c, each with whether it is applied and its rank."""
    runs = [
        msgspec.structs.replace(made, hook=replace(made.hook, is_applied=is_applied))
        for (one, is_applied, rank), name in zip(given, "abc", strict=False)
        for made in [run(one, event=event, name=name, rank=rank)]
    ]
    return decide(event, {"prompt": "p"}, runs)


BLOCK = {"decision": "block", "reason": "no"}
CONTEXT = {"hookSpecificOutput": {"additionalContext": "c", "prompt": "q"}}
HALT = {"continue": False, "stopReason": "enough"}


@pytest.mark.req("HOOK-203")
@pytest.mark.parametrize("event", sorted(LIFECYCLE_EVENTS))
def test_what_is_not_applied_decides_nothing_and_is_named(event: HookEventName) -> None:
    """Answers that are only logged block, stop, change and add nothing; the verdict says whose they were."""
    made = lifecycle(event, ({**BLOCK, **HALT, **CONTEXT, "systemMessage": "m"}, False, 0))
    assert (made.blocked, made.stop, made.go_on) == (False, False, False)
    assert (made.stop_reason, made.note, made.context, made.prompt) == (None, None, None, None)
    assert made.denied
    assert made.deciders == ()
    (unapplied,) = made.unapplied
    assert (unapplied.hook.label, unapplied.wishes[:2]) == ("a", ("a block", "a stop"))
    assert made.answer is not None
    assert made.answer.stops


def test_a_guard_of_a_tool_always_counts() -> None:
    """`is_applied` is about lifecycle events: on no other event can it cost a deny."""
    made = lifecycle(E.BEFORE_TOOL, (BLOCK, False, 0))
    assert (made.blocked, made.unapplied) == (True, ())


@pytest.mark.parametrize(
    ("event", "given", "fields"),
    [
        pytest.param(
            E.BEFORE_AGENT,
            [(BLOCK, False, 0), (CONTEXT, True, 0)],
            {"blocked": False, "denied": True, "prompt": "q", "context": "c"},
            id="block-of-a-watcher",
        ),
        pytest.param(
            E.BEFORE_AGENT,
            [(BLOCK, True, 0), ({**DENY, "reason": "other"}, False, 0)],
            {"blocked": True, "denied": True, "reason": "no"},
            id="reason-of-a-watcher",
        ),
        pytest.param(
            E.AFTER_AGENT,
            [(BLOCK, True, 0), (HALT, False, 0)],
            {"go_on": True, "stop": False, "reason": "no"},
            id="stop-of-a-watcher",
        ),
        pytest.param(
            E.AFTER_AGENT,
            [(BLOCK, True, 0), (HALT, True, 0)],
            {"go_on": False, "stop": True, "stop_reason": "enough"},
            id="a-stop-wins",
        ),
        pytest.param(
            E.BEFORE_AGENT,
            [({"decision": "allow"}, True, 0), (BLOCK, True, 2), ({"decision": "allow"}, True, 1)],
            {"blocked": True, "reason": "no"},
            id="a-less-trusted-allow",
        ),
        pytest.param(
            E.BEFORE_AGENT,
            [
                ({"hookSpecificOutput": {"prompt": "system"}}, True, 2),
                ({"hookSpecificOutput": {"prompt": "x"}}, True, 1),
            ],
            {"blocked": False, "prompt": "system"},
            id="a-less-trusted-prompt",
        ),
        pytest.param(
            E.PRE_COMPRESS,
            [(BLOCK, True, 0), ({"decision": "allow"}, True, 0)],
            {"blocked": True, "denied": True, "reason": "no"},
            id="a-block-outlives-the-last-answer",
        ),
        pytest.param(E.SESSION_START, [(BLOCK, True, 0)], {"blocked": False, "denied": True}, id="no-block-at-start"),
        pytest.param(E.SESSION_START, [(HALT, True, 0)], {"blocked": False, "stop": True}, id="stop-at-start"),
        pytest.param(E.NOTIFICATION, [({**BLOCK, **HALT}, True, 0)], {"blocked": False, "stop": False}, id="watches"),
    ],
)
def test_only_applied_answers_decide(
    event: HookEventName, given: list[tuple[dict[str, Any], bool, int]], fields: dict[str, Any]
) -> None:
    """Of several hooks on a lifecycle event those that are applied decide, a stop before a block, by rank."""
    made = lifecycle(event, *given)
    assert {name: getattr(made, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("given", "deciders"),
    [
        ([(BLOCK, True, 0), (BLOCK, False, 0), ({}, True, 0)], ("a",)),
        ([(BLOCK, True, 0), (HALT, True, 0)], ("b",)),
    ],
    ids=["goes-on", "stops"],
)
def test_who_makes_the_agent_go_on(given: list[tuple[dict[str, Any], bool, int]], deciders: tuple[str, ...]) -> None:
    """The hooks that decided are named, without those that only watch or were outvoted."""
    assert lifecycle(E.AFTER_AGENT, *given).deciders == deciders


def test_notes_context_and_suppression() -> None:
    """The fields beside a decision are in the verdict, read once."""
    specific = {"hookSpecificOutput": {"additionalContext": "c"}}
    made = verdict(E.AFTER_TOOL, {"systemMessage": " m ", "suppressOutput": True, **specific}, {"systemMessage": " "})
    assert (made.note, made.context, made.suppress) == (" m ", "c", True)
    made = verdict(E.AFTER_TOOL, {"suppressOutput": "yes", "hookSpecificOutput": {"additionalContext": " "}})
    assert (made.note, made.context, made.suppress) == (None, None, False)


def test_who_decided_what() -> None:
    """For each field of the merged answer the verdict names the hooks that its value is from."""
    made = verdict(
        E.BEFORE_TOOL,
        {"decision": "deny", "hookSpecificOutput": {"tool_input": {"a": 1}}},
        None,
        {"decision": "deny", "reason": "no", "hookSpecificOutput": {"tool_input": {"a": 2, "b": 2}}},
    )
    assert made.decided_by == {
        "decision": ("a", "c"),
        "reason": ("c",),
        "hookSpecificOutput.tool_input": ("a", "c"),
        "hookSpecificOutput.tool_input.a": ("c",),
        "hookSpecificOutput.tool_input.b": ("c",),
    }
    assert made.deciders == ("a", "c")
    assert verdict(E.BEFORE_TOOL, {}).decided_by == {}


@pytest.mark.req("HOOK-098")
@pytest.mark.parametrize(
    ("event", "given", "overridden"),
    [
        (E.BEFORE_MODEL, [DENY, {"decision": "allow"}], (Override("decision", "b", "a"),)),
        (E.BEFORE_MODEL, [DENY, {"decision": None}], (Override("decision", "b", "a"),)),
        (E.BEFORE_MODEL, [DENY, {}], ()),
        (E.BEFORE_MODEL, [DENY, None], ()),
        (E.BEFORE_MODEL, [{"decision": "allow"}, DENY], ()),
        (E.BEFORE_MODEL, [DENY, {"decision": "block"}, {"decision": "allow"}], (Override("decision", "c", "b"),)),
        (E.BEFORE_MODEL, [DENY, None, {"decision": "allow"}], (Override("decision", "c", "a"),)),
        (E.AFTER_MODEL, [STOP, {"continue": True}], (Override("continue", "b", "a"),)),
        (E.BEFORE_MODEL, [DENY, {"decision": "allow"}, {"decision": "allow"}], (Override("decision", "b", "a"),)),
        (E.BEFORE_TOOL, [DENY, {"decision": "allow"}], ()),
        (
            E.BEFORE_TOOL,
            [
                {"hookSpecificOutput": {"permissionDecision": "deny"}},
                {"hookSpecificOutput": {"permissionDecision": "allow"}},
            ],
            (),
        ),
    ],
)
def test_who_undid_whose_block(
    event: HookEventName, given: list[dict[str, Any] | None], overridden: tuple[Override, ...]
) -> None:
    """A block or a stop that a later hook undid is reported with both names."""
    assert verdict(event, *given).overridden == overridden


@pytest.mark.req("HOOK-098", "HOOK-110")
def test_a_failed_hook_overrides_nobody() -> None:
    """The engine's own `allow` for a failed hook is not an override, and removes no earlier message."""
    first = run({**DENY, "systemMessage": "a"}, event=E.BEFORE_MODEL)
    made = decide(E.BEFORE_MODEL, {}, [first, crashed(event=E.BEFORE_MODEL, name="b")])
    assert (made.blocked, made.overridden, made.note) == (True, (), "a\nWarning: boom")


def test_a_less_trusted_hook_undoes_no_block() -> None:
    """A project's hook can't undo the deny of a user's, on any event."""
    for event in (E.BEFORE_MODEL, E.BEFORE_TOOL):
        runs = [run(DENY, event=event, rank=2), run({"decision": "allow"}, event=event, rank=1)]
        made = decide(event, {}, runs)
        assert (made.blocked, made.overridden) == (True, ())
