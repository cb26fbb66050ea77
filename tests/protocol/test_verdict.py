import json
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from hookline.protocol.answers import HookAnswer, ToolSelection, deny, read_object, warning_from_stderr
from hookline.protocol.constants import ConfigSource, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, Plugin
from hookline.protocol.verdict import (
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
    Override,
    Skip,
    SkipKind,
    Verdict,
)

GUARD = HookEntry(
    event=HookEventName.BEFORE_TOOL,
    source=ConfigSource.USER,
    origin="settings.json",
    location="hooks.BeforeTool[0].hooks[0]",
    run=CommandLine("guard"),
    name="the guard",
    matcher="write",
    env={"LEVEL": "high"},
    rank=2,
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
    "final": False,
}


def run(answer: HookAnswer | None = None, **fields: Any) -> HookExecutionResult:
    return HookExecutionResult(
        **{"hook": GUARD, "event": GUARD.event, "success": True, "exit_code": 0, "answer": answer, **fields}
    )


def test_what_a_run_shows() -> None:
    """A run has a form that JSON takes, in wire spelling."""
    ran = run(
        deny("no"), success=False, exit_code=2, duration_ms=1.23456, stdin=b"{}", stderr="no", advice=("look out",)
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
        "way": "cold",
        "stdout": "",
        "stderr": "no",
        "output": {"decision": "deny", "reason": "no"},
        "error": None,
        "complaints": ["look out"],
    }
    assert run().to_dict()["output"] is None
    json.dumps(ran.to_dict(), allow_nan=False)


@pytest.mark.parametrize("kind", SkipKind)
def test_what_a_plan_shows(kind: SkipKind) -> None:
    """A plan shows its hooks, and of each hook that does not run the kind of reason and the sentence."""
    skip = Skip(hook=GUARD, kind=kind, detail="for a reason")
    plan = HookExecutionPlan(event=GUARD.event, hooks=(GUARD,), sequential=True, skips=(skip,))
    assert skip.reason == f"{kind.value}: for a reason"
    assert plan.to_dict() == {
        "sequential": True,
        "hooks": [DESCRIBED],
        "skipped": [{**DESCRIBED, "kind": kind.value, "reason": skip.reason}],
    }
    json.dumps(plan.to_dict(), allow_nan=False)


def test_every_way_not_to_run_has_a_kind() -> None:
    """Nobody has to look at the beginning of a sentence to find out why a hook did not run."""
    assert {kind.value for kind in SkipKind} == {
        *("disabled", "matcher", "duplicate", "untrusted", "chain stopped", "condition"),
    }


@pytest.mark.parametrize(
    ("answer", "blocks", "decision"),
    [
        (None, False, None),
        (read_object({}), False, None),
        (read_object({"decision": "ask"}), False, "ask"),
        (read_object({"decision": "block"}), True, "block"),
        (read_object({"hookSpecificOutput": {"permissionDecision": "block"}}), True, "deny"),
        (read_object({"decision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}}), True, "deny"),
        (warning_from_stderr("x"), False, "allow"),
    ],
)
def test_what_a_run_decided(answer: HookAnswer | None, blocks: bool, decision: str | None) -> None:
    """Whichever field a hook used to block, its decision is a deny."""
    assert (run(answer).blocks, run(answer).decision) == (blocks, decision)


@pytest.mark.req("HOOK-160")
@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({}, False),
        ({"success": False, "exit_code": 2}, False),
        ({"success": False, "exit_code": 1}, True),
        ({"success": False, "exit_code": 0, "signal": 9}, True),
        ({"success": False, "exit_code": 2, "error": "timed out"}, True),
        ({"success": False, "exit_code": None, "error": "could not be started"}, True),
    ],
)
def test_a_deliberate_deny_is_no_failure(fields: dict[str, Any], failed: bool) -> None:
    """Exit code 2 is a hook that did its work, unless it also timed out."""
    assert run(**fields).failed is failed


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
        ({"name": None, "run": Plugin(reference="p:n")}, "p:n"),
    ],
)
def test_a_hook_has_a_label(changes: dict[str, object], label: str) -> None:
    """A hook is called by its name, else its command, else its type."""
    assert msgspec.structs.replace(GUARD, **changes).label == label


@pytest.mark.req("HOOK-083", "HOOK-120")
def test_what_a_hook_is_by_default() -> None:
    """A hook that says nothing more than its command runs, for a minute at most, beside the others, and fails open."""
    assert (GUARD.enabled, GUARD.timeout_ms, GUARD.sequential, GUARD.on_error) == (True, 60_000, False, OnError.ALLOW)
    assert not msgspec.structs.replace(GUARD, disabled_by="a person").enabled


EMPTY = Verdict(event=HookEventName.BEFORE_TOOL)
WHOLE = Verdict(
    event=HookEventName.BEFORE_TOOL,
    subject="write_file",
    blocked=True,
    denied=True,
    stop=True,
    ask=True,
    go_on=True,
    reason="r",
    stop_reason="s",
    note="n",
    context="c",
    suppress=True,
    arguments={"a": [1, None, {"b": "é"}]},
    request={"model": "m"},
    response={"text": "t"},
    tools=ToolSelection(mode="ANY", names=("ls",)),
    prompt="p",
    holders={"decision": (0,)},
    overridden=(Override("decision", "b", "a"),),
    answer=HookAnswer(decision="deny", reason=None, tool_input={"a": None}, tools=ToolSelection(names=())),
    success=False,
    errors=(HookError("e", stage="planning", details={"x": 1}),),
    duration_ms=1.5,
    plan=HookExecutionPlan(
        event=GUARD.event,
        subject="write_file",
        hooks=(GUARD,),
        sequential=True,
        skips=(Skip(hook=GUARD, kind=SkipKind.DISABLED, detail="by a person"),),
    ),
    runs=(
        run(
            read_object({"decision": "deny", "mine": 1, "hookSpecificOutput": {"tool_input": None}}, rank=2),
            stdin=b'{"a":"\xff"}',
            stdout="out",
            advice=("look out",),
            signal=9,
        ),
        run(warning_from_stderr("x"), success=False, exit_code=1, error="late", timed_out=True, truncated=True),
    ),
    skipped=(Skip(hook=GUARD, kind=SkipKind.CHAIN_STOPPED, detail="guard blocked"),),
)


@pytest.mark.parametrize("verdict", [EMPTY, WHOLE], ids=["empty", "whole"])
def test_a_verdict_goes_through_json_unchanged(verdict: Verdict) -> None:
    """`to_dict` returns plain JSON, and `from_dict` makes the same verdict of it."""
    text = json.dumps(verdict.to_dict(), allow_nan=False)
    assert Verdict.from_dict(json.loads(text)) == verdict
    assert Verdict.from_dict(verdict.to_dict()).to_dict() == verdict.to_dict()


def test_a_verdict_as_json_is_in_wire_spelling() -> None:
    """Names are in camel case, and what has its default is left out."""
    assert EMPTY.to_dict() == {"event": "BeforeTool"}
    assert msgspec.structs.replace(EMPTY, stop=True, stop_reason="s", holders={"continue": (0,)}).to_dict() == {
        "event": "BeforeTool",
        "stop": True,
        "stopReason": "s",
        "holders": {"continue": [0]},
    }


class _Word(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), None),
        (2.0, 2),
        (_Word("x"), "x"),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        ({1: "one"}, {"1": "one"}),
        (b"x", "eA=="),
        ("\ud800", "\ud800"),
    ],
    ids=["nan", "integral", "str-subclass", "mapping", "number-as-key", "bytes", "lone-surrogate"],
)
def test_foreign_values_in_a_verdict_become_json(value: object, shown: object) -> None:
    """A caller's arguments may hold anything; the verdict can be written down all the same, and read again."""
    verdict = msgspec.structs.replace(EMPTY, arguments={"a": value})
    assert verdict.to_dict() == {"event": "BeforeTool", "arguments": {"a": shown}}
    again = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict(), allow_nan=False)))
    assert again.arguments == {"a": shown}


@pytest.mark.parametrize(
    "given", [{}, {"event": "Unknown"}, {"event": "BeforeTool", "blocked": "yes"}, {"event": "BeforeTool", "runs": 5}]
)
def test_what_is_no_verdict_is_refused(given: dict[str, Any]) -> None:
    """`from_dict` reads what `to_dict` wrote, and raises ValueError for anything else."""
    with pytest.raises(ValueError, match=r"at `\$|missing required field|Invalid enum value"):
        Verdict.from_dict(given)


@pytest.mark.parametrize(
    ("fields", "effect"),
    [
        ({}, None),
        ({"arguments": {"a": 1}}, {"tool_input": {"a": 1}}),
        ({"arguments": {}}, {"tool_input": {}}),
        ({"request": {"model": "m"}}, {"llm_request": {"model": "m"}}),
        ({"response": {"text": "t"}}, {"llm_response": {"text": "t"}}),
        ({"tools": ToolSelection(names=())}, {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": []}}),
        ({"prompt": "p"}, {"prompt": "p"}),
    ],
)
def test_an_effect_goes_by_its_name_on_the_wire(fields: dict[str, Any], effect: dict[str, Any] | None) -> None:
    """The changed values to continue with, under the names that hooks use."""
    assert msgspec.structs.replace(EMPTY, **fields).effect == effect


def test_a_fault_is_the_engines_own_error() -> None:
    """An error without a stage is a hook's."""
    fault = HookError("planning failed", stage="planning")
    assert EMPTY.fault is None
    assert msgspec.structs.replace(EMPTY, errors=(HookError("slow timed out"),)).fault is None
    assert msgspec.structs.replace(EMPTY, errors=(HookError("slow timed out"), fault)).fault is fault


def test_who_decided() -> None:
    """The hooks that block or stop are the ones that decided; hooks that only speak are not."""
    names = iter("abcde")
    answers = (
        None,
        read_object({"systemMessage": "m"}),
        deny("no"),
        read_object({"continue": False}),
        warning_from_stderr("x"),
    )
    runs = tuple(run(answer, hook=msgspec.structs.replace(GUARD, name=next(names))) for answer in answers)
    assert msgspec.structs.replace(EMPTY, runs=runs, blocked=True, denied=True, stop=True).deciders == ("c", "d")
    assert msgspec.structs.replace(EMPTY, runs=runs).deciders == ()
