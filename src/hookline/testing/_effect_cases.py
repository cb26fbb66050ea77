"""The rows of the table of effects: hooks as settings, a conversation, and what must be seen."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Ran = Sequence[tuple[str, Mapping[str, Any]]]
ToolName = Callable[[str], str]
"""The name under which the host knows a tool of the table."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the fake model: a text, a tool call, or both."""

    text: str = ""
    call: tuple[str, Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The input of the host: a system prompt, the user's prompt, and the answers of the fake model."""

    turns: tuple[Turn, ...]
    system: str = "You help."
    prompt: str = "My code is 4711. Please work."


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the model."""

    texts: tuple[str, ...]
    """Every text but those of tool results: of the system, the user and the model."""
    results: tuple[str, ...] = ()
    """The tool results, refusals included."""
    tools: tuple[str, ...] = ()
    """The names of the tools that were offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The result of a conversation."""

    shown: tuple[str, ...] = ()
    """The texts that the user saw, in order, whole or in pieces; also the exception that ended the run."""
    requests: tuple[Request, ...] = ()

    @property
    def text(self) -> str:
        """All that was shown."""
        return "".join(self.shown)

    def __str__(self) -> str:
        lines = [f"shown: {self.shown}", *(f"request {number}: {one}" for number, one in enumerate(self.requests, 1))]
        return "\n".join(line[:2000] for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectCase:
    """Hooks of one event, a conversation, and what is wrong with its outcome, if anything."""

    event: str
    settings: Mapping[str, Any]
    conversation: Conversation
    problem: Callable[[RunOutcome, Ran], str | None]
    name: str = ""
    may_be_refused: bool = False

    def __str__(self) -> str:
        return self.name or self.event


def _hook(event: str, command: str, matcher: str | None = None) -> dict[str, Any]:
    group: dict[str, Any] = {"hooks": [{"type": "command", "name": "guard", "command": command}]}
    if matcher is not None:
        group["matcher"] = matcher
    return {"enableHooks": True, "hooks": {event: [group]}}


def _answers(event: str, answer: Mapping[str, Any], matcher: str | None = None) -> dict[str, Any]:
    return _hook(event, f"printf %s {shlex.quote(json.dumps(answer))}", matcher)


def _runs(event: str, program: str) -> dict[str, Any]:
    """A hook in Python, with its input as `told`."""
    lines = f"import json, sys\ntold = json.load(sys.stdin)\n{program}"
    return _hook(event, shlex.join([sys.executable, "-I", "-S", "-c", lines]))


def _first(*problems: tuple[bool, str]) -> str | None:
    """The first of the claims that is false."""
    return next((claim for holds, claim in problems if not holds), None)


DONE = Turn("All done.")
WROTE = ("write_file", {"path": "a.txt", "text": "x"})


def _write(named: ToolName, text: str = "") -> Turn:
    return Turn(text, (named("write_file"), {"path": "a.txt", "text": "x"}))


def _delete(named: ToolName) -> Turn:
    return Turn(call=(named("delete_file"), {"path": "a.txt"}))


def _results(outcome: RunOutcome) -> str:
    """The tool results that the model saw last."""
    return "\n".join(outcome.requests[-1].results) if outcome.requests else ""


def _ended_well(outcome: RunOutcome) -> tuple[bool, str]:
    return "All done." in outcome.text, "the run must go on, and the user see the model's last answer"


def _asked(outcome: RunOutcome, times: int) -> tuple[bool, str]:
    return len(outcome.requests) == times, f"the model must have been asked {times} times"


# --- no hooks


def _plain(named: ToolName) -> Callable[[RunOutcome, Ran], str | None]:
    def problem(outcome: RunOutcome, ran: Ran) -> str | None:
        first = outcome.requests[0] if outcome.requests else Request(texts=())
        return _first(
            (list(ran) == [WROTE], "the tool must run with the model's arguments"),
            _asked(outcome, 2),
            (any("You help." in text for text in first.texts), "the first request must have the system prompt"),
            (any("4711" in text for text in first.texts), "the first request must have the user's prompt"),
            (set(first.tools) == {*map(named, ("write_file", "delete_file"))}, "both tools must be offered"),
            ("Wrote a.txt." in _results(outcome), "the model must see the tool's result"),
            ("I write." in outcome.text, "the user must see the model's first text"),
            _ended_well(outcome),
        )

    return problem


def no_hooks(named: ToolName) -> tuple[EffectCase, ...]:
    """Nothing changes without hooks, nor with hooks that have no answer."""
    events = ("BeforeToolSelection", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool")
    silent = {event: [{"hooks": [{"type": "command", "command": "true"}]}] for event in events}
    said, problem = Conversation((_write(named, "I write."), DONE)), _plain(named)
    settings = {"enableHooks": True, "hooks": silent}
    return (
        EffectCase(event="", name="plain", settings={}, conversation=said, problem=problem),
        EffectCase(event="", name="hooks that say nothing", settings=settings, conversation=said, problem=problem),
    )


# --- deny, input rewrite, context


def _denied(outcome: RunOutcome, ran: Ran) -> str | None:
    return _first(
        (not ran, "the tool must not run"),
        ("Nothing is deleted here." in _results(outcome), "the model must see the reason as the call's result"),
        _ended_well(outcome),
    )


def deny(named: ToolName) -> tuple[EffectCase, ...]:
    """A tool that a hook denies does not run."""
    return (
        EffectCase(
            event="BeforeTool",
            name="exit code 2",
            settings=_hook("BeforeTool", "echo 'Nothing is deleted here.' >&2; exit 2", f"^{named('delete_file')}$"),
            conversation=Conversation((_delete(named), DONE)),
            problem=_denied,
        ),
    )


def _rewritten(outcome: RunOutcome, ran: Ran) -> str | None:
    return _first(
        (list(ran) == [("write_file", {"path": "b.txt", "text": "x"})], "the tool must run with the hook's path"),
        ("Wrote b.txt." in _results(outcome), "the model must see the tool's result"),
        _ended_well(outcome),
    )


def input_rewrite(named: ToolName) -> tuple[EffectCase, ...]:
    """A tool runs with the hook's arguments."""
    return (
        EffectCase(
            event="BeforeTool",
            settings=_answers(
                "BeforeTool", {"hookSpecificOutput": {"tool_input": {"path": "b.txt"}}}, f"^{named('write_file')}$"
            ),
            conversation=Conversation((_write(named), DONE)),
            problem=_rewritten,
        ),
    )


def _has_context(outcome: RunOutcome, ran: Ran) -> str | None:
    return _first(
        (list(ran) == [WROTE], "the tool must run"),
        ("Wrote a.txt." in _results(outcome), "the model must see the tool's result"),
        ("Use tabs in it." in _results(outcome), "the model must see the context with the result"),
        _ended_well(outcome),
    )


def context(named: ToolName) -> tuple[EffectCase, ...]:
    """The model sees the hook's text with the result."""
    return tuple(
        EffectCase(
            event=event,
            settings=_answers(
                event, {"hookSpecificOutput": {"additionalContext": "Use tabs in it."}}, f"^{named('write_file')}$"
            ),
            conversation=Conversation((_write(named), DONE)),
            problem=_has_context,
        )
        for event in ("BeforeTool", "AfterTool")
    )


# --- requests and responses

_HIDE_NUMBER = """
request = told["llm_request"]
for message in request["messages"]:
    message["content"] = message["content"].replace("4711", "[number]")
answer = {"systemMessage": "Be brief.", "hookSpecificOutput": {"llm_request": {"messages": request["messages"]}}}
print(json.dumps(answer))
"""


def _hidden(outcome: RunOutcome, ran: Ran) -> str | None:
    sent = [" ".join((*request.texts, *request.results)) for request in outcome.requests]
    return _first(
        _asked(outcome, 2),
        (not any("4711" in text for text in sent), "no request may have the text that the hook replaced"),
        (all("[number]" in text for text in sent), "every request must have the hook's text"),
        (all("[System] Be brief." in text for text in sent), "every request must have the hook's note to the model"),
        (all("You help." in text for text in sent), "the system prompt must stay"),
        (list(ran) == [WROTE], "the tool must run"),
        ("Wrote a.txt." in _results(outcome), "the tool's result must stay in the rewritten request"),
        _ended_well(outcome),
    )


def request_rewrite(named: ToolName) -> tuple[EffectCase, ...]:
    """The model gets the hook's request."""
    return (
        EffectCase(
            event="BeforeModel",
            settings=_runs("BeforeModel", _HIDE_NUMBER),
            conversation=Conversation((_write(named), DONE)),
            problem=_hidden,
        ),
    )


_REDACT = """
text = told["llm_response"].get("text", "")
if "s3cret" in text:
    print(json.dumps({"hookSpecificOutput": {"llm_response": {"text": text.replace("s3cret", "[redacted]")}}}))
"""


def _no_leak(outcome: RunOutcome, _ran: Ran) -> str | None:
    told = [text for request in outcome.requests for text in (*request.texts, *request.results)]
    return _first(
        ("s3cret" not in outcome.text, "the user must not see the text that the hook redacts"),
        (not any("s3cret" in text for text in told), "the model must not be sent the text that the hook redacted"),
    )


def _redacted(outcome: RunOutcome, ran: Ran) -> str | None:
    return _no_leak(outcome, ran) or _first(
        ("It is [redacted]. All done." in outcome.text, "the user must see the hook's text"),
        (list(ran) == [WROTE], "the tool call beside the redacted text must run"),
    )


def _secrets(named: ToolName) -> Conversation:
    return Conversation((_write(named, "First s3cret words."), Turn("It is s3cret. All done.")))


def response_redaction(named: ToolName) -> tuple[EffectCase, ...]:
    """The hook's text takes the place of the model's."""
    return (
        EffectCase(
            event="AfterModel", settings=_runs("AfterModel", _REDACT), conversation=_secrets(named), problem=_redacted
        ),
    )


def no_leak(named: ToolName) -> tuple[EffectCase, ...]:
    """The same for a host that streams, which may refuse to."""
    return (
        EffectCase(
            event="AfterModel",
            settings=_runs("AfterModel", _REDACT),
            conversation=_secrets(named),
            problem=_no_leak,
            may_be_refused=True,
        ),
    )


def _synthetic(text: str) -> Callable[[RunOutcome, Ran], str | None]:
    def problem(outcome: RunOutcome, ran: Ran) -> str | None:
        return _first(
            (not outcome.requests, "the model must not be asked"),
            (text in outcome.text, f"the user must see {text!r}"),
            (not ran, "no tool may run"),
        )

    return problem


def synthetic_response(named: ToolName) -> tuple[EffectCase, ...]:
    """The model is not asked."""
    return (
        EffectCase(
            event="BeforeModel",
            name="with a response",
            settings=_answers(
                "BeforeModel",
                {
                    "decision": "deny",
                    "reason": "no",
                    "hookSpecificOutput": {"llm_response": {"text": "From the cache."}},
                },
            ),
            conversation=Conversation((_delete(named), DONE)),
            problem=_synthetic("From the cache."),
        ),
        EffectCase(
            event="BeforeModel",
            name="with a reason alone",
            settings=_answers("BeforeModel", {"decision": "deny", "reason": "Not on Fridays."}),
            conversation=Conversation((_delete(named), DONE)),
            problem=_synthetic("Not on Fridays."),
        ),
    )


# --- tool restriction, stop


def _restricted(named: ToolName) -> Callable[[RunOutcome, Ran], str | None]:
    def problem(outcome: RunOutcome, ran: Ran) -> str | None:
        offered = (named("write_file"),)
        return _first(
            (all(one.tools == offered for one in outcome.requests), "only write_file may be offered"),
            (list(ran) == [WROTE], "write_file must run, delete_file must not, though the model calls it"),
            _asked(outcome, 3),
            _ended_well(outcome),
        )

    return problem


def _none_allowed(outcome: RunOutcome, ran: Ran) -> str | None:
    return _first((not ran, "no tool may run, though the model calls one"), _ended_well(outcome))


def tool_restriction(named: ToolName) -> tuple[EffectCase, ...]:
    """Tools are neither offered nor run."""
    return (
        EffectCase(
            event="BeforeToolSelection",
            name="a list of tools",
            settings=_answers(
                "BeforeToolSelection",
                {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": [named("write_file")]}}},
            ),
            conversation=Conversation((_delete(named), _write(named), DONE)),
            problem=_restricted(named),
        ),
        EffectCase(
            event="BeforeToolSelection",
            name="no tools",
            settings=_answers("BeforeToolSelection", {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}),
            conversation=Conversation((_delete(named), DONE)),
            problem=_none_allowed,
        ),
    )


def _stopped(asked: int, ran_before: int) -> Callable[[RunOutcome, Ran], str | None]:
    def problem(outcome: RunOutcome, ran: Ran) -> str | None:
        return _first(
            (len(ran) == ran_before, f"{ran_before} tool calls must have run before the stop"),
            _asked(outcome, asked),
            ("The budget is spent." in outcome.text, "the user must see the reason of the stop"),
            ("All done." not in outcome.text, "the run must not go on"),
        )

    return problem


def stop(named: ToolName) -> tuple[EffectCase, ...]:
    """The run ends with a reason."""
    return tuple(
        EffectCase(
            event=event,
            settings=_answers(event, {"continue": False, "stopReason": "The budget is spent."}),
            conversation=Conversation((_write(named), DONE)),
            problem=_stopped(asked, ran_before),
        )
        for event, asked, ran_before in (
            ("BeforeToolSelection", 0, 0),
            ("BeforeModel", 0, 0),
            ("AfterModel", 1, 0),
            ("BeforeTool", 1, 0),
            ("AfterTool", 1, 1),
        )
    )
