"""The hooks around an agent's calls, applied to its framework's own requests and responses: what all adapters share."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hookline.adapters._notes import Notes, report_dropped
from hookline.adapters.table import Adapter, report_once
from hookline.contract.llm import LLMRequest, LLMResponse, ToolMode
from hookline.hooks import Selection, Session, ToolCall
from hookline.hooks.results import ToolFunction
from hookline.triggers.results import ToolResult


class Format(Protocol):
    """What every module of `hookline.formats` has for one kind of native requests and responses."""

    def to_hook_llm_request(self, native: Any, /) -> LLMRequest:
        """What hooks see of a request."""

    def from_hook_llm_request(self, hook_request: Any, base: Any, /) -> Any:
        """The request to send."""

    def to_hook_llm_response(self, response: Any, /) -> LLMResponse:
        """What hooks see of a response."""

    def from_hook_llm_response(self, hook_response: Mapping[str, Any], base: Any, /) -> Any:
        """The response with the hooks' text."""

    def with_note(self, native: Any, text: str, /) -> Any:
        """The request with a hook's note to the model."""

    def offer(self, native: Any, permits: Callable[[str], bool], mode: ToolMode | None, /) -> Any:
        """The request with the tools that are permitted."""


class Stop:
    """Whether a hook has stopped a run, and why; agents of the same run share it."""

    __slots__ = ("reason",)

    def __init__(self) -> None:
        self.reason: str | None = None

    def end(self, reason: str | None) -> str:
        """Stops the run, and returns why it is stopped: the first reason counts."""
        if self.reason is None:
            self.reason = reason or ""
        return self.reason


@dataclass(frozen=True, slots=True)
class Said:
    """A text in place of the model's answer."""

    text: str
    is_answer: bool = False
    """True for an answer that a hook wrote; else it is the reason why there is none."""


@dataclass(slots=True, eq=False)
class AgentRun:
    """One agent in one run."""

    adapter: Adapter
    format: Format
    session: Session
    stop: Stop = field(default_factory=Stop)
    note: str | None = None
    """What a hook has to say to the model in the next request."""
    notes: Notes | None = None
    """Where notes wait for another run of the session; None where the host keeps them, or has no other run."""
    is_lasting: bool = True
    """Whether the session goes on after this run."""
    sent: LLMRequest = field(default_factory=LLMRequest)
    is_suppressed: bool = False
    """Whether a hook wants the last answer not to be shown."""

    async def select(self, native: Any, tools: Iterable[str]) -> Selection:
        """Which of the tools may be offered and called."""
        return await self.session.select_tools(self.format.to_hook_llm_request(native), tools)

    async def before_model(self, native: Any, tools: Iterable[str]) -> Any:
        """The request to send, or a `Said` in place of the answer."""
        if self.stop.reason is not None:
            return Said(self.stop.reason)
        note = self._taken_note()
        native = self._noted(native, note)
        chosen = await self.select(native, tools)
        if chosen.stop:
            self.keep(_joined(note, chosen.note))
            self.end()
            return Said(self.stop.end(chosen.stop_reason))
        told = self.format.to_hook_llm_request(native)
        gate = await self.session.before_model(told)
        if gate.blocked:
            self.keep(_joined(note, gate.note))
            self.end()
            if gate.stop:
                return Said(self.stop.end(gate.stop_reason or gate.reason))
            text = (gate.response or {}).get("text")
            return Said(gate.reason or "") if text is None else Said(text, is_answer=True)
        self.sent = gate.request
        model = gate.request.get("model", told["model"])
        if model != told["model"] and not self.adapter.can_choose_model:
            report_once(f"a hook chose the model {model}, which a hook can't do in {self.adapter.framework}")
        wanted = self.format.from_hook_llm_request(gate.request, native) if gate.changed else native
        allowed = gate.selection or chosen
        return self._noted(self.format.offer(wanted, allowed.permits, allowed.mode), chosen.note)

    async def after_model(self, response: Any) -> Any:
        """The response to go on with, or a `Said` in its place, with which the run ends."""
        answer = await self.session.after_model(self.sent, self.format.to_hook_llm_response(response))
        self.keep(answer.note)
        self.is_suppressed = answer.suppress
        if answer.suppress:
            self._report_suppression(self.adapter.suppression)
        if answer.stop:
            self.end()
            return Said(self.stop.end(answer.text or answer.stop_reason))
        return response if answer.response is None else self.format.from_hook_llm_response(answer.response, response)

    def keep(self, note: str | None) -> None:
        """Keeps a note for the next request."""
        self.note = note
        if note is not None and self.notes is not None:
            self.notes.keep(self.session, note)

    def end(self) -> None:
        """Reports a note that no request will take, because the run has ended and its session with it."""
        if self.note is not None and not self.is_lasting:
            self.note = None
            report_dropped(self.session, self.adapter)

    def _taken_note(self) -> str | None:
        waiting = None if self.notes is None else self.notes.take(self.session)
        note, self.note = waiting or self.note, None
        return note

    async def before_tool(self, name: str, arguments: Any, call_id: str | None = None) -> ToolCall | ToolResult:
        """The call to make, or the result in its place."""
        if self.stop.reason is None:
            call = await self.session.before_tool(name, arguments, call_id=call_id)
            if call.blocked:
                return self._applied(call.refusal)
            if self.stop.reason is None:  # else another call was stopped while hooks were asked about this one
                return call
        return ToolResult(llm_content=self.stop.reason)

    async def after_tool(self, call: ToolCall, result: Any) -> ToolResult:
        """The result with everything that hooks add to it."""
        return self._applied(await self.session.after_tool(call, result))

    async def call_tool(
        self, name: str, arguments: Any, fn: Callable[[ToolCall], Awaitable[Any]], call_id: str | None = None
    ) -> ToolResult:
        """Runs a tool between its hooks."""
        call = await self.before_tool(name, arguments, call_id)
        return call if isinstance(call, ToolResult) else await self.after_tool(call, await fn(call))

    async def run_tool(self, name: str, arguments: Any, fn: ToolFunction, **options: Any) -> ToolResult:
        """The same by `Session.run_tool`, which can also check arguments that a hook rewrote."""
        if self.stop.reason is not None:
            return ToolResult(llm_content=self.stop.reason)
        return self._applied(await self.session.run_tool(name, arguments, fn, **options))

    def _report_suppression(self, does: str = "") -> None:
        nothing = f"hides nothing in {self.adapter.framework}, which shows messages itself"
        report_once(f"a hook's suppressOutput {does or nothing}")

    def _applied(self, result: ToolResult) -> ToolResult:
        if result.suppress_display:
            self._report_suppression()
        if result.should_stop:
            self.stop.end(result.stop_reason)
        return result

    def _noted(self, native: Any, note: str | None) -> Any:
        return native if note is None else self.format.with_note(native, note)


def _joined(*notes: str | None) -> str | None:
    return "\n\n".join(filter(None, notes)) or None
