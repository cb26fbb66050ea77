"""The decisions that all adapters share: hooks around an agent's calls, on its framework's requests and responses.

An adapter makes an `AgentRun` for each agent of each run, and awaits its methods around model calls and tool calls.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hookline.adapters._notes import notes_of, report_dropped
from hookline.adapters.blocking import Blocking
from hookline.adapters.table import Adapter, report_once
from hookline.client import Hooks, Selection, ToolCall
from hookline.client.results import ToolFunction
from hookline.client.triggers.results import ToolResult
from hookline.errors import AgentStoppedError

if TYPE_CHECKING:
    from hookline.protocol.llm import LLMRequest, LLMResponse, ToolMode

_BEFORE_MODEL = ("BeforeToolSelection", "BeforeModel")


class Format(Protocol):
    """The interface of every module of `hookline.formats`, for one kind of native requests and responses."""

    def to_hook_llm_request(self, native: Any, /) -> "LLMRequest":
        """Return the request as hooks see it."""

    def from_hook_llm_request(self, hook_request: Any, base: Any, /) -> Any:
        """The request to send."""

    def to_hook_llm_response(self, response: Any, /) -> "LLMResponse":
        """Return the response as hooks see it."""

    def from_hook_llm_response(self, hook_response: Mapping[str, Any], base: Any = None, /) -> Any:
        """The response with the hooks' text; without one, a new response of text alone."""

    def with_note(self, native: Any, text: str, /) -> Any:
        """The request with a hook's note to the model."""

    def offer(self, native: Any, permits: Callable[[str], bool], mode: "ToolMode | None", /) -> Any:
        """The request with the tools that are permitted."""

    def tool_names(self, native: Any, /) -> list[str]:
        """The names of the tools that the request offers."""


def tool_result(content: Any, *, is_error: bool = False) -> ToolResult:
    """A tool's output as hooks see it."""
    return ToolResult(llm_content=content, return_display=content, error=str(content) if is_error else None)


class StopFlag:
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
class CannedResponse:
    """A text in place of the model's answer."""

    text: str
    format: Format
    is_answer: bool = False
    """True for an answer that a hook wrote. Otherwise the text is the reason for the missing answer."""

    def response(self, *, is_text: bool = True) -> Any:
        """The framework's response with this text; AgentStoppedError for a reason where the run has to return data."""
        if not self.is_answer and not is_text:
            raise AgentStoppedError(self.text)
        return self.format.from_hook_llm_response({"text": self.text})


class AgentRun:
    """One agent in one run, or in all runs of a session."""

    def __init__(
        self,
        adapter: Adapter,
        form: Format,
        hooks: Hooks,
        session_id: str | None,
        *,
        agent: str | None = None,
        stop: StopFlag | None = None,
        keeps_notes: bool = True,
        is_lasting: bool | None = None,
        is_blocking: bool = False,
    ) -> None:
        """Makes a session for the agent.

        Args:
            adapter: what is known of the framework.
            form: the format of its requests and responses.
            hooks: the program's hooks.
            session_id: the framework's name of the session; None for a run that is a session of its own.
            agent: which of the program's agents it is, for the log.
            stop: that of the whole run, if several agents take part in it.
            keeps_notes: whether a note waits in memory for the session's next run; False if the framework keeps `note`.
            is_lasting: whether the session goes on after this run; if it has an id, unless given.
            is_blocking: for a thread without an event loop: awaiting a method suspends nothing, so that
                `hookline.adapters.blocking.finished` can run it.
        """
        self.adapter = adapter
        self.format = form
        self.hooks = hooks
        self.session = hooks.session(session_id, agent=agent)
        self.stop = stop or StopFlag()
        self.note: str | None = None
        """The note of a hook for the model's next request."""
        self.is_suppressed = False
        """Whether a hook wants the last answer not to be shown."""
        self._is_lasting = session_id is not None if is_lasting is None else is_lasting
        self._notes = notes_of(hooks) if keeps_notes and self._is_lasting else None
        self._calls: Any = Blocking(self.session) if is_blocking else self.session
        self._request: Any = None
        self._hook_request: LLMRequest | None = None

    async def before_model(self, native: Any) -> Any:
        """The request to send, or a `CannedResponse` in place of the answer.

        A request is read only if hooks of its events exist: a message of an unknown shape does not break an agent that
        has tool hooks alone.
        """
        if self.stop.reason is not None:
            return CannedResponse(self.stop.reason, self.format)
        note = self._taken_note()
        self._request, self._hook_request = self._noted(native, note), None
        if self._nothing_runs(*_BEFORE_MODEL):
            self.session.selection = Selection()
            return self._request
        return await self._ask(note)

    async def after_model(self, response: Any) -> Any:
        """The response to go on with, or a `CannedResponse` in its place, with which the run ends."""
        self.is_suppressed = False
        if self._nothing_runs("AfterModel"):
            return response
        told = self.format.to_hook_llm_request(self._request) if self._hook_request is None else self._hook_request
        answer = await self._calls.after_model(told, self.format.to_hook_llm_response(response))
        self.keep(answer.note)
        self.is_suppressed = answer.suppress
        if answer.suppress:
            self._report_suppression(self.adapter.suppression)
        if answer.stop:
            self.end()
            return CannedResponse(self.stop.end(answer.text or answer.stop_reason), self.format)
        return response if answer.response is None else self.format.from_hook_llm_response(answer.response, response)

    async def before_tool(self, name: str, arguments: Any, call_id: str | None = None) -> ToolCall | ToolResult:
        """The call to make, or the result in its place."""
        if self.stop.reason is None:
            call: ToolCall = await self._calls.before_tool(name, arguments, call_id=call_id)
            if call.blocked:
                return self._applied(call.refusal)
            if self.stop.reason is None:  # else another call was stopped while hooks were asked about this one
                return call
        return ToolResult(llm_content=self.stop.reason)

    async def after_tool(self, call: ToolCall, result: Any) -> ToolResult:
        """The result with everything that hooks add to it."""
        return self._applied(await self._calls.after_tool(call, result))

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
        return self._applied(await self._calls.run_tool(name, arguments, fn, **options))

    async def resume(self, native: Callable[[], Any]) -> None:
        """Selects the tools for calls of an answer from before this run, if there are any, as of this request.

        So a tool that a hook restricted stays refused after the user approved the call.
        """
        if self.session.selection is None and not self._nothing_runs("BeforeToolSelection"):
            request = native()
            told, names = self.format.to_hook_llm_request(request), self.format.tool_names(request)
            await self._calls.select_tools(told, names)

    def keep(self, note: str | None) -> None:
        """Keeps a note for the next request."""
        self.note = note
        if note is not None and self._notes is not None:
            self._notes.keep(self.session, note)

    def end(self) -> None:
        """Reports a note that no request will take, because the run has ended and its session with it."""
        if self.note is not None and not self._is_lasting:
            self.note = None
            report_dropped(self.session, self.adapter)

    async def _ask(self, note: str | None) -> Any:
        told = self.format.to_hook_llm_request(self._request)
        chosen = await self._calls.select_tools(told, self.format.tool_names(self._request))
        if chosen.stop:
            return self._ended(chosen.stop_reason, note, chosen.note)
        gate = await self._calls.before_model(told)
        if gate.blocked and gate.stop:
            return self._ended(gate.stop_reason or gate.reason, note, gate.note)
        if gate.blocked:
            self._keep_all(note, gate.note)
            text = (gate.response or {}).get("text")
            return (
                CannedResponse(gate.reason or "", self.format)
                if text is None
                else CannedResponse(text, self.format, is_answer=True)
            )
        self._hook_request = gate.request
        model = gate.request.get("model", told["model"])
        if model != told["model"] and not self.adapter.can_choose_model:
            report_once(f"a hook chose the model {model}, which a hook can't do in {self.adapter.framework}")
        wanted = self.format.from_hook_llm_request(gate.request, self._request) if gate.changed else self._request
        allowed = gate.selection or chosen
        return self._noted(self.format.offer(wanted, allowed.permits, allowed.mode), chosen.note)

    def _ended(self, reason: str | None, *notes: str | None) -> CannedResponse:
        self._keep_all(*notes)
        return CannedResponse(self.stop.end(reason), self.format)

    def _keep_all(self, *notes: str | None) -> None:
        self.keep("\n\n".join(filter(None, notes)) or None)
        self.end()

    def _nothing_runs(self, *events: str) -> bool:
        """Whether no hook has to run for the events, which then count as fired."""
        return not self.hooks.has_hooks(*events) and all(map(self.session.passes, events))

    def _taken_note(self) -> str | None:
        waiting = None if self._notes is None else self._notes.take(self.session)
        note, self.note = waiting or self.note, None
        return note

    def _noted(self, native: Any, note: str | None) -> Any:
        return native if note is None else self.format.with_note(native, note)

    def _applied(self, result: ToolResult) -> ToolResult:
        if result.suppress_display:
            self._report_suppression()
        if result.should_stop:
            self.stop.end(result.stop_reason)
        return result

    def _report_suppression(self, does: str = "") -> None:
        nothing = f"hides nothing in {self.adapter.framework}, which shows messages itself"
        report_once(f"a hook's suppressOutput {does or nothing}")


@dataclass(slots=True, eq=False)
class SharedRun:
    """One run in which several agents take part, each with its own tools; a stop ends it for all of them."""

    agents: dict[Hashable, AgentRun] = field(default_factory=dict)
    stop: StopFlag = field(default_factory=StopFlag)

    def agent(self, key: Hashable, make: Callable[[StopFlag], AgentRun]) -> AgentRun:
        """The agent of this run; `make` makes it."""
        if key not in self.agents:
            self.agents[key] = make(self.stop)
        return self.agents[key]

    def end(self) -> None:
        """The run has ended: no agent of it makes another request."""
        for agent in self.agents.values():
            agent.end()
