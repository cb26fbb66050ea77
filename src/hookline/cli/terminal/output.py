"""The output of `hookline agent` without a dialogue: text for people, one JSON object or a stream for programs."""

import io
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hookline.agent.events import Event, HistoryCompressed, ModelText, Note, SessionStarted, ToolCallChanged, TurnEnded
from hookline.agent.tool import CallStatus, ToolCall
from hookline.cli.report.plain import plain
from hookline.cli.report.style import Style
from hookline.contract.text import visible
from hookline.contract.wire import stringify_json, to_plain

MAX_LINES = 20
"""How many lines of a tool's result are shown."""

_ENDINGS = (CallStatus.SUCCESS, CallStatus.ERROR, CallStatus.CANCELLED, CallStatus.IDLE)


class TextOutput:
    """Prints the answer, or why there is none, on stdout and everything else on stderr."""

    def __init__(self) -> None:
        self._style = Style(sys.stderr)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A reason must be printed even if the terminal's encoding lacks one of its characters.
            sys.stdout.reconfigure(errors="backslashreplace")

    def listen(self, event: Event) -> None:
        """Prints the events that matter to a person."""
        match event:
            case ModelText():
                print(event.text, end="\n" if event.is_final else "", flush=True)
            case ToolCallChanged() if event.call.status in _ENDINGS:
                self._show_call(event.call)
            case Note():
                print(f"hookline: {event.text}", file=sys.stderr)
            case HistoryCompressed():
                tokens = event.after_tokens
                print(f"hookline: the history was compressed to about {tokens} tokens", file=sys.stderr)
            case TurnEnded():
                if (line := ending(event)) is not None:
                    print(line, flush=True)
            case _:
                pass

    def _show_call(self, call: ToolCall) -> None:
        is_blocked = call.status is CallStatus.IDLE
        status = f"blocked by {names(blocked_by(call))}" if is_blocked else call.status.value
        print(self._style.dim(f"[{call.name}: {visible(status)}]"), file=sys.stderr)
        for line in display_lines(call):
            print(f"  {line}", file=sys.stderr)


class JsonOutput:
    """One JSON object at the end."""

    def __init__(self) -> None:
        self._session: SessionStarted | None = None
        self.problems: list[str] = []
        """What keeps hooks from doing what the settings say."""

    def listen(self, event: Event) -> None:
        """Prints the object when the turn has ended."""
        if isinstance(event, SessionStarted):
            self._session = event
        if isinstance(event, TurnEnded):
            _print(self._result(event))

    def failed(self, message: str) -> None:
        """Prints an object here too, so that a program learns why there is no result."""
        own_id = self._session and self._session.session_id
        _print({"sessionId": own_id, "response": None, "error": message, "problems": self.problems})

    def _result(self, ended: TurnEnded) -> dict[str, Any]:
        """The result of a prompt; `response` and each call's `display` are what a person would be shown."""
        session = self._session
        return {
            "sessionId": session and session.session_id,
            "response": ended.response,
            "blocked": ended.blocked,
            "reason": ended.reason,
            "stopped": ended.stopped,
            "stopReason": ended.stop_reason,
            "decidedBy": ended.decided_by,
            "turns": ended.turns,
            "toolCalls": [_call(call) for call in ended.calls],
            "transcriptPath": session and session.transcript_path,
            "problems": self.problems,
        }


class StreamOutput(JsonOutput):
    """One JSON object per event; the result is the last one."""

    def listen(self, event: Event) -> None:
        """Prints the event as an object with a type."""
        match event:
            case ToolCallChanged():
                _print({"type": "tool_call", "id": event.call.id, **_call(event.call)})
            case TurnEnded():
                _print({"type": "result", **self._result(event)})
            case _:
                super().listen(event)
                _print(msgspec.to_builtins(event, enc_hook=to_plain))

    def failed(self, message: str) -> None:
        """Prints the error as the last event."""
        _print({"type": "error", "message": message, "problems": self.problems})


Output = TextOutput | JsonOutput
OUTPUTS: Mapping[str, Callable[[], Output]] = {"text": TextOutput, "json": JsonOutput, "stream-json": StreamOutput}


def ending(ended: TurnEnded) -> str | None:
    """The line that says why hooks ended the turn; None when they did not, or when the response says it."""
    if ended.stopped:
        return None if ended.response == ended.stop_reason else visible(stopped(ended.stop_reason, ended.decided_by))
    return visible(not_called(ended.reason, ended.decided_by)) if ended.blocked and not ended.response else None


def not_called(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says that the model was not called, why, and which hooks decided it."""
    return f"The model was not called: {reason} (blocked by {names(hooks)})"


def stopped(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says which hooks stopped the agent, and why."""
    return f"Stopped by {names(hooks)}: {reason}"


def names(hooks: tuple[str, ...]) -> str:
    """The hooks as they appear in a sentence."""
    return " and ".join(hooks) or "a hook"


def blocked_by(call: ToolCall) -> tuple[str, ...]:
    """The hooks that kept a call from running."""
    return call.result.decided_by if call.result is not None and call.status is CallStatus.IDLE else ()


def display_lines(call: ToolCall) -> list[str]:
    """The lines of a call's result that a person is shown."""
    if _is_hidden(call):
        return ["(a hook hides this result)"]
    return first_lines(plain(_display(call)).splitlines(), MAX_LINES)


def first_lines(lines: list[str], most: int) -> list[str]:
    """The first of many lines, and how many more there are."""
    return lines if len(lines) <= most else [*lines[:most], f"… {len(lines) - most} more lines"]


def _call(call: ToolCall) -> dict[str, Any]:
    """A call for programs, which see no more of a suppressed result than people."""
    is_hidden = _is_hidden(call)
    return {
        "name": call.name,
        "input": call.arguments,
        "status": call.status.value,
        "blockedBy": blocked_by(call),
        "suppressed": is_hidden,
        "llmContent": None if call.result is None or is_hidden else call.result.llm_content,
        "display": "" if is_hidden else _display(call),
    }


def _is_hidden(call: ToolCall) -> bool:
    return call.result is not None and call.result.suppress_display


def _display(call: ToolCall) -> str:
    return "" if call.result is None or call.result.return_display is None else str(call.result.return_display)


def _print(value: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(stringify_json(value) + b"\n")
    sys.stdout.buffer.flush()
