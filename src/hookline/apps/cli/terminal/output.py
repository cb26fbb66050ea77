"""The output of `hookline agent` without a dialogue: text for people, one JSON object or a stream for programs."""

import io
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hookline.apps.agent.events import (
    Event,
    HistoryCompressed,
    ModelText,
    Note,
    SessionStarted,
    ToolCallChanged,
    TurnEnded,
)
from hookline.apps.agent.tool import CallStatus, ToolCall
from hookline.apps.cli.report.printer import Prose, print_lines, print_wire
from hookline.apps.cli.report.style import Style
from hookline.apps.cli.terminal.waiting import Waiting
from hookline.protocol.text.json_text import to_plain
from hookline.protocol.text.readable import plain, text_lines
from hookline.protocol.text.strings import warn_user

MAX_LINES = 20
"""How many lines of a tool's result are shown."""
_HEAD_LINES = 12

_ENDINGS = (CallStatus.SUCCESS, CallStatus.ERROR, CallStatus.CANCELLED, CallStatus.IDLE)


class TextOutput:
    """Prints the answer, or why there is none, on stdout and everything else on stderr."""

    def __init__(self) -> None:
        self._style = Style(sys.stderr)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A reason must be printed even if the terminal's encoding lacks one of its characters.
            sys.stdout.reconfigure(errors="backslashreplace")
        self._prose = Prose(sys.stdout)
        self.waiting = Waiting()
        """What is being waited for, on a terminal."""

    def listen(self, event: Event) -> None:
        """Prints the events that matter to a person."""
        self.waiting.listen(event)
        match event:
            case ModelText():
                self._prose.print(event.text + ("\n" if event.is_final else ""))
            case ToolCallChanged() if event.call.status in _ENDINGS:
                self._show_call(event.call)
            case Note():
                warn_user(event.text)
            case HistoryCompressed():
                tokens = event.after_tokens
                warn_user(f"the history was compressed to about {tokens} tokens")
            case TurnEnded():
                if (line := ending(event)) is not None:
                    print_lines(line, flush=True)
            case _:
                pass

    def close(self) -> None:
        """Does nothing: everything was printed when it happened."""

    def _show_call(self, call: ToolCall) -> None:
        is_blocked = call.status is CallStatus.IDLE
        status = f"blocked by {names(blocked_by(call))}" if is_blocked else call.status.value
        lines = (f"  {line}" for line in display_lines(call))
        print_lines(self._style.dim(f"[{call.name}: {status}]"), *lines, file=sys.stderr)


class JsonOutput:
    """One JSON object at the end."""

    waiting: Waiting | None = None

    def __init__(self) -> None:
        self._session: SessionStarted | None = None
        self._ended: TurnEnded | None = None
        self._notices: list[str] = []
        self.problems: list[str] = []
        """What keeps hooks from doing what the settings say."""

    def listen(self, event: Event) -> None:
        """Keeps what belongs into the object."""
        match event:
            case SessionStarted():
                self._session = event
            case Note():
                self._notices.append(event.text)
            case TurnEnded():
                self._ended = event
            case _:
                pass

    def close(self) -> None:
        """Prints the object, with what hooks had to say that nobody waited for."""
        if self._ended is not None:
            print_wire(self._result(self._ended))

    def failed(self, message: str) -> None:
        """Prints an object here too, so that a program learns why there is no result."""
        own_id = self._session and self._session.session_id
        report = {"sessionId": own_id, "response": None, "error": message}
        print_wire({**report, "problems": self.problems, "notices": self._notices})

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
            "promptSent": ended.is_sent,
            "turns": ended.turns,
            "toolCalls": [_call(call) for call in ended.calls],
            "transcriptPath": session and session.transcript_path,
            "problems": self.problems,
            "notices": self._notices,
        }


class StreamOutput(JsonOutput):
    """One JSON object per event; the result is the last one."""

    def listen(self, event: Event) -> None:
        """Prints the event as an object with a type."""
        match event:
            case ToolCallChanged():
                print_wire({"type": "tool_call", "id": event.call.id, **_call(event.call)})
            case TurnEnded():
                super().listen(event)
            case _:
                super().listen(event)
                print_wire(msgspec.to_builtins(event, enc_hook=to_plain))

    def close(self) -> None:
        """Prints the result as the last event."""
        if self._ended is not None:
            print_wire({"type": "result", **self._result(self._ended)})

    def failed(self, message: str) -> None:
        """Prints the error as the last event."""
        print_wire({"type": "error", "message": message, "problems": self.problems})


Output = TextOutput | JsonOutput
OUTPUTS: Mapping[str, Callable[[], Output]] = {"text": TextOutput, "json": JsonOutput, "stream-json": StreamOutput}


def ending(ended: TurnEnded) -> str | None:
    """The line that says why hooks ended the turn; None when they did not, or when the response says it."""
    if ended.stopped:
        return None if ended.response == ended.stop_reason else stopped(ended.stop_reason, ended.decided_by)
    if not ended.blocked or ended.response:
        return None
    return (not_called if ended.is_sent else not_sent)(ended.reason, ended.decided_by)


def not_called(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says that the model was not called, why, and which hooks decided it."""
    return f"The model was not called: {reason} (blocked by {names(hooks)})"


def not_sent(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says that the model was not given the prompt, why, and which hooks decided it."""
    return f"The prompt was not sent: {reason} (blocked by {names(hooks)})"


def stopped(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Says which hooks stopped the agent, and why."""
    return f"Stopped by {names(hooks)}: {reason}"


def names(hooks: tuple[str, ...]) -> str:
    """The hooks as they appear in a sentence."""
    return " and ".join(hooks) or "a hook"


def blocked_by(call: ToolCall) -> tuple[str, ...]:
    """The hooks that kept a call from running."""
    return call.result.decided_by if call.result is not None and call.status is CallStatus.IDLE else ()


def display_lines(call: ToolCall, hint: str = "") -> list[str]:
    """The lines of a call's result that a person is shown: of many, the first and the last."""
    lines = all_lines(call)
    if not is_cut(call):
        return lines
    more = f"… {len(lines) - MAX_LINES} more lines" + (f"; {hint}" if hint else "")
    return [*lines[:_HEAD_LINES], more, *lines[_HEAD_LINES - MAX_LINES :]]


def all_lines(call: ToolCall) -> list[str]:
    """All lines of a call's result that a person may see."""
    return ["(a hook hides this result)"] if _is_hidden(call) else text_lines(plain(_display(call)))


def is_cut(call: ToolCall) -> bool:
    """True when a result has more lines than are shown."""
    return len(all_lines(call)) > MAX_LINES


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
