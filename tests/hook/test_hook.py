"""The words of hooks written in Python, and the scripts that are made of them: real processes, run by hookline."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hookline
from hookline import Config
from hookline.engine.event_table import EVENT_TABLE
from hookline.hook import (
    Allow,
    Answer,
    Ask,
    BeforeTool,
    Context,
    Deny,
    Event,
    InputError,
    Note,
    Redact,
    Respond,
    Restrict,
    Rewrite,
    Stop,
    Suppress,
    Tell,
)
from hookline.hook.answers import read_answer
from hookline.hook.events import EVENTS, read_event
from hookline.protocol.events import HookEventName
from hookline.protocol.inputs import HookInput
from hookline.protocol.verdict import Verdict

PACKAGE = Path(hookline.__file__).parent
TOOL = {"hook_event_name": "BeforeTool", "tool_name": "write_file", "tool_input": {"file_path": "a"}}
FIELDS: dict[str, dict[str, Any]] = {
    "BeforeTool": {"tool_name": "t", "tool_input": {"a": 1}},
    "AfterTool": {"tool_name": "t", "tool_input": {"a": 1}, "tool_response": {"llmContent": "x"}},
    "BeforeModel": {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "hello"}]}},
    "AfterModel": {"llm_request": {"model": "m", "messages": []}, "llm_response": {"text": "hello"}},
    "BeforeToolSelection": {"llm_request": {"model": "m", "messages": []}},
    "BeforeAgent": {"prompt": "p"},
    "AfterAgent": {"prompt": "p", "prompt_response": "r", "stop_hook_active": False},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "exit"},
    "PreCompress": {"trigger": "auto"},
    "Notification": {"notification_type": "ToolPermission", "message": "m", "details": {}},
}


def test_importing_it_loads_nothing() -> None:
    """A script pays for `json` when it reads its event, and for nothing else."""
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); import os; before = {{*sys.modules}}; "
        "import hookline.hook; print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["hookline", "hookline.hook", "hookline.hook.answers", "hookline.hook.events"]


def test_an_event_has_its_own_fields_whoever_was_asked_before() -> None:
    """They are learned on first use, and not from a base."""

    class Later(Event):
        word: str

    assert "word" not in Event._kinds
    assert (Later._kinds["word"], Later._needed) == (str, ("word",))


@pytest.mark.parametrize("event", HookEventName, ids=str)
def test_every_event_has_a_class_with_its_fields(event: HookEventName) -> None:
    """The attributes of an event are the fields of its input, and those that must be there are the same."""
    told = EVENT_TABLE[event].input
    kind = EVENTS[event.value]
    assert set(kind._kinds) == told.__required_keys__ | told.__optional_keys__  # type: ignore[attr-defined]
    assert set(kind._needed) == told.__required_keys__ - HookInput.__required_keys__  # type: ignore[attr-defined]
    read = read_event({"hook_event_name": event.value, "session_id": "s", **FIELDS[event.value]})
    assert {name: getattr(read, name) for name in FIELDS[event.value]} == FIELDS[event.value]
    assert (read.session_id, type(read).__name__) == ("s", event.value)
    assert kind.can_block or not EVENT_TABLE[event].can_block


def test_events_have_shortcuts() -> None:
    """The conversation and the text of the model can be read without knowing the form of a request."""
    before = read_event({"hook_event_name": "BeforeModel", **FIELDS["BeforeModel"]})
    after = read_event({"hook_event_name": "AfterModel", **FIELDS["AfterModel"]})
    assert isinstance(before, EVENTS["BeforeModel"])
    assert (before.messages[0]["content"], after.text) == ("hello", "hello")  # type: ignore[attr-defined]


def test_an_event_can_not_be_set() -> None:
    """An author who sets a field learns at once that this changes nothing."""
    event = BeforeTool(TOOL)
    with pytest.raises(AttributeError, match="return an answer such as Rewrite"):
        event.tool_name = "other"
    assert event == BeforeTool(dict(TOOL))


@pytest.mark.parametrize(
    ("given", "message", "can_block"),
    [
        ([], "the event is not a JSON object", True),
        ({}, "hook_event_name None is not an event; expected BeforeTool", True),
        ({"hook_event_name": "PreToolUse"}, "hook_event_name 'PreToolUse' is not an event", True),
        ({"hook_event_name": "BeforeTool", "tool_name": "t"}, "tool_input is missing", True),
        ({**TOOL, "tool_input": "x"}, "tool_input is not an object", True),
        ({**TOOL, "session_id": 1}, "session_id is not a string", True),
        ({"hook_event_name": "SessionStart"}, "the SessionStart event can't be read: source is missing", False),
    ],
)
def test_bad_events(given: Any, message: str, *, can_block: bool) -> None:
    """A value that is not an event is refused, and may block unless it is certain that the event can't."""
    with pytest.raises(InputError) as raised:
        read_event(given)
    assert message in str(raised.value)
    assert raised.value.can_block is can_block


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        (Deny("no"), {"decision": "deny", "reason": "no"}),
        (Deny, {"decision": "deny"}),
        (Deny(ValueError("no")), {"decision": "deny", "reason": "no"}),
        (Allow, {"decision": "allow"}),
        (Ask("sure?"), {"decision": "ask", "reason": "sure?"}),
        (Stop("enough"), {"continue": False, "stopReason": "enough"}),
        (Note("n"), {"systemMessage": "n"}),
        (Suppress(), {"suppressOutput": True}),
        (Context("c"), {"hookSpecificOutput": {"additionalContext": "c"}}),
        (Rewrite(tool_input={"a": 1}), {"hookSpecificOutput": {"tool_input": {"a": 1}}}),
        (Rewrite(llm_request={"model": "m"}), {"hookSpecificOutput": {"llm_request": {"model": "m"}}}),
        (Rewrite(tool_output="o"), {"hookSpecificOutput": {"tool_output": "o"}}),
        (Rewrite(prompt="p"), {"hookSpecificOutput": {"prompt": "p"}}),
        (Tell("t"), {"userMessage": "t"}),
        (Redact("r"), {"hookSpecificOutput": {"llm_response": {"text": "r"}}}),
        (Restrict("read_file"), {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["read_file"]}}}),
        (Restrict(mode="NONE"), {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}),
        (
            Deny("no") & Note("n") & Context("c") & Rewrite(tool_input={"a": 1}),
            {
                "decision": "deny",
                "reason": "no",
                "systemMessage": "n",
                "hookSpecificOutput": {"additionalContext": "c", "tool_input": {"a": 1}},
            },
        ),
        ({"decision": "block"}, {"decision": "block"}),
        (None, None),
    ],
)
def test_answers_in_hook_form(answer: Any, fields: dict[str, Any] | None) -> None:
    """Each answer is the JSON that a script would print; a class stands for an answer without a reason."""
    assert read_answer(answer) == fields


def test_answers_that_contradict_each_other_are_an_error() -> None:
    """Two decisions in one answer are a mistake of the author, and neither of them is dropped silently."""
    with pytest.raises(ValueError, match="decision is 'deny' and 'allow'"):
        Deny("no") & Allow()
    assert Deny("no") & Deny("no") == Deny("no")


@pytest.mark.parametrize(
    ("wrong", "advice"), [("deny", "returned str; return an answer"), (True, r"returned True \(bool\)")]
)
def test_other_values_are_no_answers(wrong: Any, advice: str) -> None:
    """A text or a flag is not guessed at."""
    with pytest.raises(TypeError, match=advice):
        read_answer(wrong)


@pytest.mark.parametrize("empty", [Rewrite, Restrict])
def test_answers_without_content_are_errors(empty: type[Answer]) -> None:
    """A rewrite of nothing and a restriction to nothing are mistakes."""
    with pytest.raises(TypeError, match="needs"):
        empty()  # type: ignore[call-arg]


Script = Callable[[str], Path]


@pytest.fixture
def script(hook_script: Callable[..., Path]) -> Script:
    """A script on hookline.hook with this body."""

    def write(body: str) -> Path:
        return hook_script(f"#!{sys.executable}\nfrom hookline.hook import *\n{body}\n", "hook.py")

    return write


def run(path: Path, given: Any) -> tuple[int, str, str]:
    text = given if isinstance(given, str) else json.dumps(given)
    done = subprocess.run([path], input=text, capture_output=True, text=True, check=False, timeout=45)
    return done.returncode, done.stdout, done.stderr


def fire(project: Path, event: str, path: Path, fields: dict[str, Any], **options: Any) -> Verdict:
    """Return the result of an event with this script."""
    hook = {"type": "command", "command": str(path), **options}
    config = Config(project, settings={"enableHooks": True, "hooks": {event: [{"hooks": [hook]}]}})
    system = config.get_hook_system()
    assert system is not None

    async def fired() -> Verdict:
        await system.initialize()
        return await system.get_event_handler().fire(HookEventName(event), fields)

    verdict = asyncio.run(fired())
    system.dispose()
    return verdict


EFFECTS = [
    pytest.param("BeforeTool", 'return Deny("no")', {"blocked": True, "reason": "no"}, id="deny"),
    pytest.param("BeforeTool", 'deny("no")', {"blocked": True, "reason": "no"}, id="deny-now"),
    pytest.param("BeforeTool", 'raise Deny("no")', {"blocked": True, "reason": "no"}, id="deny-raised"),
    pytest.param("BeforeTool", "return Deny", {"blocked": True}, id="deny-class"),
    pytest.param("BeforeTool", 'ask("sure?")', {"ask": True, "reason": "sure?"}, id="ask"),
    pytest.param("BeforeTool", "allow()", {"blocked": False}, id="allow"),
    pytest.param("BeforeTool", "return", {"blocked": False, "answer": None}, id="nothing"),
    pytest.param("BeforeTool", 'stop("enough")', {"stop": True, "stop_reason": "enough", "blocked": True}, id="stop"),
    pytest.param(
        "BeforeTool", 'return Rewrite(tool_input={"a": 2})', {"arguments": {"a": 2}, "blocked": False}, id="rewrite"
    ),
    pytest.param("BeforeTool", 'return {"decision": "block", "reason": "r"}', {"blocked": True}, id="a-dict"),
    pytest.param("AfterTool", 'return Context("c") & Note("n")', {"context": "c", "note": "n"}, id="context"),
    pytest.param("AfterTool", 'return Rewrite(tool_output="o") & Tell("t")', {"tool_output": "o"}, id="output"),
    pytest.param("AfterTool", "return Suppress()", {"suppress": True}, id="suppress"),
    pytest.param(
        "BeforeModel",
        'return Rewrite(llm_request={"model": "other"})',
        {"request": {"model": "other", "messages": [{"role": "user", "content": "hello"}]}},
        id="request",
    ),
    pytest.param(
        "BeforeModel",
        'return Respond("from a hook")',
        {
            "blocked": True,
            "response": {
                "text": "from a hook",
                "candidates": [{"content": {"role": "model", "parts": ["from a hook"]}}],
            },
        },
        id="respond",
    ),
    pytest.param(
        "BeforeToolSelection",
        'return Restrict(["a", "b"], mode="ANY")',
        {"tools_dict": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}},
        id="restrict",
    ),
]


@pytest.mark.parametrize(("event", "line", "expected"), EFFECTS)
def test_every_effect_by_a_script(
    event: str, line: str, expected: dict[str, Any], project: Path, script: Script
) -> None:
    """A function and `main` are a hook with every effect."""
    path = script(f"def hook(event: {event}):\n    print('debugging')\n    {line}\nmain(hook)")
    verdict = fire(project, event, path, FIELDS[event])
    assert [run.error for run in verdict.runs] == [None]
    found = {**{name: getattr(verdict, name, None) for name in expected}}
    if verdict.tools is not None:
        found["tools_dict"] = verdict.tools.to_dict()
    assert found == expected
    assert verdict.runs[0].stderr == "debugging\n"


def test_redaction_by_a_script(project: Path, script: Script) -> None:
    """The model's response is replaced."""
    path = script('def hook(event: AfterModel):\n    return Redact(event.text.replace("hello", "x"))\nmain(hook)')
    verdict = fire(project, "AfterModel", path, FIELDS["AfterModel"])
    assert verdict.response is not None
    assert verdict.response["text"] == "x"


def test_an_async_function_is_a_script_too(script: Script) -> None:
    """The function that a program registers can be run as a script unchanged."""
    path = script(
        "import asyncio\nasync def hook(event):\n    await asyncio.sleep(0)\n    return Deny('no')\nmain(hook)"
    )
    assert run(path, TOOL) == (0, '{"decision": "deny", "reason": "no"}', "")


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        pytest.param("BaseExceptionGroup('t', [ZeroDivisionError(), ExceptionGroup('u', [Deny('no')])])", 0, id="deny"),
        pytest.param("ExceptionGroup('t', [Note('x'), ZeroDivisionError()])", 1, id="note-and-error"),
    ],
)
def test_answers_in_a_group_of_exceptions(raised: str, code: int, script: Script) -> None:
    """A task group wraps what its tasks raise: a deny in it blocks, and other answers apply only if nothing failed."""
    ended, stdout, stderr = run(script(f"def hook(event):\n    raise {raised}\nmain(hook)"), TOOL)
    assert ended == code
    assert stdout == ('{"decision": "deny", "reason": "no"}' if code == 0 else "")
    assert ("ZeroDivisionError" in stderr) == (code != 0)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        pytest.param("", 2, "stdin is not the JSON of an event", id="nothing"),
        pytest.param("{", 2, "stdin is not the JSON of an event", id="no-json"),
        pytest.param("[" * 100_000, 2, "stdin is not the JSON of an event", id="too-deep"),
        pytest.param([], 2, "the event is not a JSON object", id="no-object"),
        pytest.param({"hook_event_name": "PreToolUse"}, 2, "is not an event", id="foreign-event"),
        pytest.param({"hook_event_name": "BeforeTool"}, 2, "tool_name is missing", id="no-fields"),
        pytest.param(
            {"hook_event_name": "BeforeModel", **FIELDS["BeforeModel"]},
            2,
            "this hook is for BeforeTool and AfterTool, and was given BeforeModel",
            id="another-event-that-can-block",
        ),
        pytest.param(
            {"hook_event_name": "SessionStart", "source": "startup"}, 1, "was given SessionStart", id="another-event"
        ),
        pytest.param({"hook_event_name": "AfterTool", **FIELDS["AfterTool"]}, 0, "", id="the-second-of-two"),
    ],
)
@pytest.mark.parametrize("later", ["", "from __future__ import annotations\n"], ids=["types", "texts"])
def test_bad_input_fails_closed(given: Any, code: int, message: str, later: str, hook_script: Any) -> None:
    """A guard that can't read its event denies it, unless the event can't block."""
    body = "def hook(event: BeforeTool | AfterTool):\n    pass\nmain(hook)"
    path = hook_script(f"#!{sys.executable}\n{later}from hookline.hook import *\n{body}\n", "hook.py")
    ended, stdout, stderr = run(path, given)
    assert (ended, stdout) == (code, "")
    assert message in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("line", "error"),
    [('return "deny"', "returned str; return an answer"), ("1 / 0", "ZeroDivisionError"), ("exit(3)", "")],
)
def test_a_failing_handler_is_a_failed_hook(line: str, error: str, project: Path, script: Script) -> None:
    """An exception or a wrong type is exit code 1 and a traceback, and what it means is up to onError."""
    path = script(f"def hook(event):\n    {line}\nmain(hook)")
    verdict = fire(project, "BeforeTool", path, FIELDS["BeforeTool"], onError="block")
    assert (verdict.blocked, verdict.runs[0].failed) == (True, True)
    assert error in verdict.runs[0].stderr


def test_a_deny_that_nobody_reads_is_an_exit_code(script: Script) -> None:
    """When stdout is gone, the exit code and stderr still say no."""
    path = script("def hook(event):\n    import os, time\n    time.sleep(.2)\n    deny('no')\nmain(hook)")
    started = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stdout is not None
    started.stdout.close()
    assert started.stdin is not None
    assert started.stderr is not None
    started.stdin.write(json.dumps(TOOL))
    started.stdin.close()
    assert (started.wait(45), started.stderr.read()) == (2, "no\n")
    started.stderr.close()


def test_strange_text_arrives(script: Script) -> None:
    """A lone surrogate and a byte-order mark are read, and what is answered can be printed."""
    path = script("def hook(event):\n    deny(event.tool_input['x'])\nmain(hook)")
    given = '\ufeff{"hook_event_name":"BeforeTool","tool_name":"t","tool_input":{"x":"\\ud800ä"}}'
    code, stdout, _ = run(path, given)
    assert (code, json.loads(stdout)["reason"]) == (0, "\ud800ä")
    assert read_answer(Respond("x")) == Respond("x").fields


@pytest.mark.parametrize(("path", "code"), [("a/.env", "deny"), ("a.py", None)])
def test_the_script_of_the_guide(path: str, code: str | None, hook_script: Callable[..., Path]) -> None:
    """The examples of docs/hook-authors.md can be copied."""
    page = (Path(__file__).parents[2] / "docs" / "hook-authors.md").read_text()
    shown = re.search(r"<!-- example: guard.py -->\n```python\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    script = hook_script(f"#!{sys.executable}\n{shown[1]}", "guard.py")
    ended, stdout, _ = run(script, {**TOOL, "tool_input": {"file_path": path}})
    assert (ended, json.loads(stdout)["decision"] if stdout else None) == (0, code)
