import json
from typing import Any

import pytest
from msgspec.structs import replace

from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.notices.advice import IS_WORKER, OBSERVE_ONLY, advise
from hookline.protocol.answers import read_stdout, warning_from_stderr
from hookline.protocol.constants import LIFECYCLE_REMEDY, ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, WorkerCommand, WorkerOptions

E = HookEventName


def hook(event: HookEventName, *, is_applied: bool = True) -> HookEntry:
    return HookEntry(
        event=event, source=ConfigSource.USER, origin="u", location="l", run=CommandLine("c"), is_applied=is_applied
    )


def advice(event: HookEventName, given: dict[str, Any] | str, *, is_applied: bool = True) -> tuple[str, ...]:
    text = given if isinstance(given, str) else json.dumps(given)
    answer = read_stdout(text, EVENT_TABLE[event].reads)
    assert answer is not None
    return advise(hook(event, is_applied=is_applied), answer)


@pytest.mark.parametrize(
    ("given", "is_worker"),
    [
        ({"ready": True}, True),
        ({"ready": True, "concurrency": 4}, True),
        ({"ready": False}, False),
        ({"ready": "yes"}, False),
        ({"ready": True, "decision": "allow"}, False),
        ({}, False),
    ],
)
def test_the_first_line_of_a_worker_is_recognized(given: dict[str, Any], is_worker: bool) -> None:
    """Its program was started for one event, and everything passes."""
    assert (IS_WORKER in advice(E.BEFORE_TOOL, given)) is is_worker
    answer = read_stdout(json.dumps(given))
    assert answer is not None
    assert IS_WORKER not in advise(
        replace(hook(E.BEFORE_TOOL), run=WorkerCommand("c", options=WorkerOptions())), answer
    )


HEARD = 'a block only passes its reason on to the model on AfterTool; to end the session answer {"continue": false}'


def useless(event: HookEventName) -> str:
    return f'a block has no effect on {event}; to end the session answer {{"continue": false}}'


AFTER_TOOL_READS = "additionalContext, tool_output, updatedToolOutput"


@pytest.mark.req("HOOK-178", "HOOK-180", "HOOK-181")
@pytest.mark.parametrize(
    ("event", "given", "sentences"),
    [
        pytest.param(
            E.AFTER_TOOL,
            {"hookSpecificOutput": {"hookEventName": "AfterTool", "foreign": "x", "additionalContext": "c"}},
            [f"hookSpecificOutput.foreign changes nothing; this event reads {AFTER_TOOL_READS}"],
            id="unread",
        ),
        pytest.param(E.BEFORE_TOOL, {"hookSpecificOutput": {"tool_input": {}, "updatedInput": {}}}, [], id="read"),
        pytest.param(E.BEFORE_TOOL, {"decision": "ask"}, [], id="ask-before-a-tool"),
        pytest.param(
            E.BEFORE_MODEL,
            {"decision": "ask"},
            ["'ask' can't be asked on this event and means allow; to refuse answer deny"],
            id="ask-elsewhere",
        ),
        pytest.param(
            E.BEFORE_TOOL,
            {"hookSpecificOutput": {"decision": "deny"}},
            ['hookSpecificOutput.decision "deny" is read only at the top level'],
            id="misplaced-is-told-once",
        ),
        pytest.param(
            E.BEFORE_MODEL,
            {"hookSpecificOutput": {"llm_response": {}}},
            ["llm_response is used only beside a decision of block or deny; without one the model is called"],
            id="response-without-a-block",
        ),
        pytest.param(
            E.BEFORE_MODEL, {"decision": "block", "hookSpecificOutput": {"llm_response": {}}}, [], id="response"
        ),
        pytest.param(E.AFTER_MODEL, {"hookSpecificOutput": {"llm_response": {"text": "xxx"}}}, [], id="text-alone"),
        pytest.param(E.AFTER_TOOL, {"decision": "deny"}, [HEARD], id="heard-after-a-tool"),
        pytest.param(E.AFTER_MODEL, {"decision": "block"}, [useless(E.AFTER_MODEL)], id="useless-after-the-model"),
        pytest.param(
            E.BEFORE_TOOL_SELECTION, {"decision": "block"}, [useless(E.BEFORE_TOOL_SELECTION)], id="useless-selection"
        ),
        pytest.param(E.BEFORE_TOOL, {"decision": "deny"}, [], id="useful-before-a-tool"),
        pytest.param(E.BEFORE_MODEL, {"decision": "deny"}, [], id="useful-before-the-model"),
        pytest.param(
            E.BEFORE_TOOL_SELECTION,
            {"hookSpecificOutput": {"toolConfig": {"mode": "none"}}},
            ["toolConfig.mode 'none' is not one of AUTO, ANY, NONE"],
            id="tools-that-may-restrict-too-little",
            marks=pytest.mark.req("HOOK-074"),
        ),
        pytest.param(E.NOTIFICATION, {"hookSpecificOutput": {"additionalContext": "c"}}, [OBSERVE_ONLY], id="context"),
        pytest.param(E.SESSION_END, {"continue": False}, [OBSERVE_ONLY], id="stop-where-hooks-watch"),
        pytest.param(
            E.SESSION_END,
            {"decision": "deny"},
            [f"a block has no effect on SessionEnd: {OBSERVE_ONLY}"],
            id="block-where-hooks-watch",
        ),
        pytest.param(E.BEFORE_AGENT, {"decision": "deny"}, [], id="useful-before-a-prompt"),
        pytest.param(E.AFTER_AGENT, {"decision": "deny"}, [], id="useful-after-a-prompt"),
        pytest.param(E.PRE_COMPRESS, {"decision": "deny"}, [], id="useful-before-compressing"),
        pytest.param(E.SESSION_START, {"decision": "deny"}, [useless(E.SESSION_START)], id="useless-at-the-start"),
        pytest.param(E.SESSION_START, {"decision": "allow", "systemMessage": "hi"}, [], id="nothing-asked-for"),
        pytest.param(
            E.BEFORE_TOOL,
            {"decision": "maybe", "suppressOutput": 7},
            [
                "decision 'maybe' is not one of block, deny, allow, approve, ask; nothing was decided",
                "suppressOutput is a number, expected true or false; ignored",
            ],
            id="complaints-come-along",
        ),
    ],
)
def test_what_an_event_does_not_use_is_told(event: HookEventName, given: dict[str, Any], sentences: list[str]) -> None:
    """An author whose answer does nothing learns it from the log, and not from a leak."""
    assert list(advice(event, given)) == sentences


@pytest.mark.parametrize("event", HookEventName)
def test_plain_text_needs_no_advice(event: HookEventName) -> None:
    """The engine's reading of plain text, or of a crash, is not an explicit answer."""
    warning = warning_from_stderr("boom")
    assert warning is not None
    assert advise(hook(event), warning) == advice(event, "all good") == ()


@pytest.mark.parametrize("event", HookEventName)
def test_text_that_looks_like_an_answer_is_told(event: HookEventName) -> None:
    """Broken JSON is taken as text, and the log advises its author."""
    (sentence,) = advice(event, '{"decision": "deny"')
    assert sentence.startswith("stdout looks like JSON but is not valid JSON")


@pytest.mark.req("HOOK-203")
@pytest.mark.parametrize(
    ("event", "given", "asked"),
    [
        pytest.param(E.BEFORE_AGENT, {"decision": "deny", "continue": False}, "a block and a stop", id="both"),
        pytest.param(E.BEFORE_AGENT, {"hookSpecificOutput": {"prompt": "p"}}, "another prompt", id="prompt"),
        pytest.param(
            E.SESSION_START, {"hookSpecificOutput": {"additionalContext": "c"}}, "context for the model", id="context"
        ),
        pytest.param(E.AFTER_AGENT, {"systemMessage": "hi"}, None, id="nothing-asked-for"),
        pytest.param(E.BEFORE_TOOL, {"decision": "deny"}, None, id="no-lifecycle-event"),
    ],
)
def test_what_the_settings_do_not_apply_is_told_with_the_remedy(
    event: HookEventName, given: dict[str, Any], asked: str | None
) -> None:
    """The author of an answer that is only logged learns which setting applies it."""
    sentences = [] if asked is None else [f"it answers with {asked}, which has no effect; {LIFECYCLE_REMEDY}"]
    assert list(advice(event, given, is_applied=False)) == sentences
