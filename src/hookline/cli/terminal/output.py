"""What `hookline agent` prints: text for people, one JSON object or a stream of them for programs."""

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Protocol

from hookline.agent.events import (
    AgentEvent,
    HistoryCompressed,
    HookEnded,
    HooksFinished,
    HooksStarted,
    ModelText,
    Note,
    SessionStarted,
    ToolCallChanged,
    TurnEnded,
)
from hookline.agent.tool import CallStatus, ToolCall
from hookline.cli.report.style import Style
from hookline.contract.wire import stringify_json

_ENDINGS = (CallStatus.SUCCESS, CallStatus.ERROR, CallStatus.CANCELLED, CallStatus.IDLE)
_MAX_LINES = 20
_TYPES: Mapping[type, str] = {
    SessionStarted: "session",
    ModelText: "text",
    HooksStarted: "hooks_started",
    HookEnded: "hook_ended",
    HooksFinished: "hook_decision",
    HistoryCompressed: "compression",
    Note: "note",
}


class Output(Protocol):
    """A listener that prints, and is told of an error that ends everything."""

    def listen(self, event: AgentEvent) -> None:
        """Takes what the agent tells."""

    def failed(self, message: str) -> None:
        """Takes what went wrong; it is also said on stderr."""


class TextOutput:
    """The answer on stdout, what else happens on stderr."""

    def __init__(self) -> None:
        self._style = Style.for_stdout(sys.stderr)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What a hook says is shown, whatever is in it and whatever the terminal can show.
            sys.stdout.reconfigure(errors="backslashreplace")

    def listen(self, event: AgentEvent) -> None:
        """Prints what a person wants to see."""
        match event:
            case ModelText():
                sys.stdout.write(f"{event.text}\n" if event.is_final else event.text)
                sys.stdout.flush()
            case ToolCallChanged() if event.call.status in _ENDINGS:
                self._say(self._style.dim(f"[{event.call.name}: {event.call.status.value}]"))
                lines = shown_display(event.call).splitlines()
                for line in lines[:_MAX_LINES]:
                    self._say(f"  {line}")
                if len(lines) > _MAX_LINES:
                    self._say(self._style.dim(f"  … {len(lines) - _MAX_LINES} more lines"))
            case Note():
                self._say(f"hookline: {event.text}")
            case HistoryCompressed():
                self._say(f"hookline: the history was compressed to about {event.after_tokens} tokens")
            case TurnEnded() if event.stopped and event.response != event.stop_reason:
                sys.stdout.write(f"Stopped by a hook: {event.stop_reason}\n")
                sys.stdout.flush()
            case _:
                pass

    def failed(self, message: str) -> None:
        """Leaves it to stderr."""

    def _say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")


class JsonOutput:
    """One JSON object at the end."""

    def __init__(self) -> None:
        self._session: SessionStarted | None = None

    def listen(self, event: AgentEvent) -> None:
        """Prints the object when the turn has ended."""
        if isinstance(event, SessionStarted):
            self._session = event
        elif isinstance(event, TurnEnded) and self._session is not None:
            _print(result_object(self._session, event))

    def failed(self, message: str) -> None:
        """Prints an object all the same: a program that waits for one gets to know why there is no result."""
        _print({"sessionId": self._session and self._session.session_id, "response": None, "error": message})


class StreamOutput:
    """One JSON object for everything that happens."""

    def __init__(self) -> None:
        self._session: SessionStarted | None = None

    def listen(self, event: AgentEvent) -> None:
        """Prints the event as an object with a type."""
        if isinstance(event, SessionStarted):
            self._session = event
        _print(self._object(event))

    def failed(self, message: str) -> None:
        """Prints it as the last event."""
        _print({"type": "error", "message": message})

    def _object(self, event: AgentEvent) -> Mapping[str, Any]:
        match event:
            case ToolCallChanged():
                return {"type": "tool_call", "id": event.call.id, **call_object(event.call)}
            case TurnEnded():
                return {"type": "result", **(result_object(self._session, event) if self._session else {})}
            case _:
                own = {_camel(field.name): getattr(event, field.name) for field in fields(event)}
                return {"type": _TYPES[type(event)], **own}


OUTPUTS: Mapping[str, Callable[[], Output]] = {"text": TextOutput, "json": JsonOutput, "stream-json": StreamOutput}


def result_object(session: SessionStarted, ended: TurnEnded) -> dict[str, Any]:
    """What came of a prompt, for programs; `response` and `display` are what a person was shown."""
    return {
        "sessionId": session.session_id,
        "response": ended.response,
        "stopped": ended.stopped,
        "stopReason": ended.stop_reason,
        "turns": ended.turns,
        "toolCalls": [call_object(call) for call in ended.calls],
        "transcriptPath": session.transcript_path,
    }


def call_object(call: ToolCall) -> dict[str, Any]:
    """A tool call for programs."""
    return {
        "name": call.name,
        "input": call.arguments,
        "status": call.status.value,
        "llmContent": None if call.result is None else call.result.llm_content,
        "display": shown_display(call),
    }


def shown_display(call: ToolCall) -> str:
    """What a person is shown of a call: nothing where a hook suppressed it."""
    if call.result is None or call.result.suppress_display or call.result.return_display is None:
        return ""
    return str(call.result.return_display)


def _print(value: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(stringify_json(value) + b"\n")
    sys.stdout.buffer.flush()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
