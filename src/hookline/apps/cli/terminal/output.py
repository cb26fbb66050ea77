"""The output of `hookline agent --prompt`: text for users, one JSON object or a stream of JSON for programs."""

import io
import sys
from typing import Any

import msgspec

from hookline.apps.agent.events import (
    AgentEvent,
    HistoryCompressed,
    ModelText,
    Notice,
    SessionStarted,
    ToolCallChanged,
    TurnEnded,
)
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.apps.cli.report.printer import Prose, print_lines, print_wire
from hookline.apps.cli.report.style import Style
from hookline.protocol.text.json_text import to_plain
from hookline.protocol.text.readable import plain, text_lines
from hookline.stderr import warn_user

MAX_LINES = 20
"""The number of lines that are shown of a tool's result."""
_HEAD_LINES = 12

_ENDINGS = (CallStatus.SUCCESS, CallStatus.ERROR, CallStatus.CANCELLED, CallStatus.IDLE)


class TextOutput:
    """Prints the answer, or why there is none, on stdout, and everything else on stderr."""

    def __init__(self) -> None:
        self._style = Style(sys.stderr)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A reason must be printed even if the terminal's encoding lacks one of its characters.
            sys.stdout.reconfigure(errors="backslashreplace")
        self._prose = Prose(sys.stdout)

    def listen(self, event: AgentEvent) -> None:
        """Print the events that concern the user."""
        match event:
            case ModelText():
                self._prose.print(event.text + ("\n" if event.is_final else ""))
            case ToolCallChanged() if event.call.status in _ENDINGS:
                self._show_call(event.call)
            case Notice():
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
        """Do nothing: everything is printed already."""

    def _show_call(self, call: AgentCall) -> None:
        is_blocked = call.status is CallStatus.IDLE
        status = f"blocked by {names(blocked_by(call))}" if is_blocked else call.status.value
        lines = (f"  {line}" for line in display_lines(call))
        print_lines(self._style.dim(f"[{call.name}: {status}]"), *lines, file=sys.stderr)


class JsonOutput:
    """One JSON object at the end."""

    def __init__(self) -> None:
        self._session: SessionStarted | None = None
        self._ended: TurnEnded | None = None
        self._notices: list[str] = []
        self.problems: list[str] = []
        """Problems of the settings, and hooks that do not run."""

    def listen(self, event: AgentEvent) -> None:
        """Collect the parts of the object."""
        match event:
            case SessionStarted():
                self._session = event
            case Notice():
                self._notices.append(event.text)
            case TurnEnded():
                self._ended = event
            case _:
                pass

    def close(self) -> None:
        """Print the object, with notices of background hooks."""
        if self._ended is not None:
            print_wire(self._result(self._ended))

    def failed(self, message: str) -> None:
        """Print an object with the error."""
        own_id = self._session and self._session.session_id
        report = {"sessionId": own_id, "response": None, "error": message}
        print_wire({**report, "problems": self.problems, "notices": self._notices})

    def _result(self, ended: TurnEnded) -> dict[str, Any]:
        """Return the result of a prompt; `response` and `display` are the texts that a user would see."""
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

    def listen(self, event: AgentEvent) -> None:
        """Print the event as an object with a type."""
        match event:
            case ToolCallChanged():
                print_wire({"type": "tool_call", "id": event.call.id, **_call(event.call)})
            case TurnEnded():
                super().listen(event)
            case _:
                super().listen(event)
                print_wire(msgspec.to_builtins(event, enc_hook=to_plain))

    def close(self) -> None:
        """Print the result as the last event."""
        if self._ended is not None:
            print_wire({"type": "result", **self._result(self._ended)})

    def failed(self, message: str) -> None:
        """Print the error as the last event."""
        print_wire({"type": "error", "message": message, "problems": self.problems})


Output = TextOutput | JsonOutput


def ending(ended: TurnEnded) -> str | None:
    """Return the line about hooks that ended the turn; None if they did not, or if the response says it."""
    if ended.stopped:
        return None if ended.response == ended.stop_reason else stopped(ended.stop_reason, ended.decided_by)
    if not ended.blocked or ended.response:
        return None
    return (not_called if ended.is_sent else not_sent)(ended.reason, ended.decided_by)


def not_called(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Return the line about a blocked model call."""
    return f"The model was not called: {reason} (blocked by {names(hooks)})"


def not_sent(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Return the line about a blocked prompt."""
    return f"The prompt was not sent: {reason} (blocked by {names(hooks)})"


def stopped(reason: str | None, hooks: tuple[str, ...]) -> str:
    """Return the line about hooks that stopped the agent."""
    return f"Stopped by {names(hooks)}: {reason}"


def names(hooks: tuple[str, ...]) -> str:
    """Return the hooks for a sentence."""
    return " and ".join(hooks) or "a hook"


def blocked_by(call: AgentCall) -> tuple[str, ...]:
    """Return the hooks that blocked a call."""
    return call.result.decided_by if call.result is not None and call.status is CallStatus.IDLE else ()


def display_lines(call: AgentCall, hint: str = "") -> list[str]:
    """Return the lines of a call's result for the user: of many, the first and the last."""
    lines = all_lines(call)
    if not is_cut(call):
        return lines
    more = f"… {len(lines) - MAX_LINES} more lines" + (f"; {hint}" if hint else "")
    return [*lines[:_HEAD_LINES], more, *lines[_HEAD_LINES - MAX_LINES :]]


def all_lines(call: AgentCall) -> list[str]:
    """Return all lines of a call's result for the user."""
    return ["(a hook hides this result)"] if _is_hidden(call) else text_lines(plain(_display(call)))


def is_cut(call: AgentCall) -> bool:
    """Return True if a result has more lines than are shown."""
    return len(all_lines(call)) > MAX_LINES


def first_lines(lines: list[str], most: int) -> list[str]:
    """Return the first of many lines, and the number of further lines."""
    return lines if len(lines) <= most else [*lines[:most], f"… {len(lines) - most} more lines"]


def _call(call: AgentCall) -> dict[str, Any]:
    """Return a call for programs; a suppressed result is hidden from them as well."""
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


def _is_hidden(call: AgentCall) -> bool:
    return call.result is not None and call.result.suppress_display


def _display(call: AgentCall) -> str:
    return "" if call.result is None or call.result.return_display is None else str(call.result.return_display)
