"""A session for code that does not await."""

import inspect
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.client._checks import rules_of
from hookline.client.flow import run_blocking
from hookline.client.results import ModelAnswer, ModelGate, Selection, ToolCall, ToolFunction, ToolOutput
from hookline.client.triggers.results import (
    AfterAgentHookResult,
    BeforeAgentHookResult,
    Normalize,
    PreCompressHookResult,
    SessionStartHookResult,
    ToolResult,
    Validate,
)
from hookline.protocol.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.protocol.llm import LLMRequest, LLMResponse

if TYPE_CHECKING:
    from hookline.client.blocking import BlockingLoop
    from hookline.client.events import SessionEvents
    from hookline.client.flow import Flow

Result = TypeVar("Result")


class SyncSession:
    """The methods of a session, blocking: from any thread, also inside a running event loop, which then waits."""

    __slots__ = ("_loop", "_session")

    def __init__(self, session: "SessionEvents", loop: "BlockingLoop") -> None:
        self._session = session
        self._loop = loop

    def select_tools(self, request: LLMRequest, tools: Iterable[str]) -> Selection:
        """Fires BeforeToolSelection: which of these tools may be offered to the model."""
        return self._loop.run(self._session.select_tools(request, tools))

    def before_model(self, request: LLMRequest) -> ModelGate:
        """Fires BeforeModel: whether the call is made, and with which request."""
        return self._loop.run(self._session.before_model(request))

    def after_model(self, request: LLMRequest, response: LLMResponse) -> ModelAnswer:
        """Fires AfterModel on the complete response: which text to go on with."""
        return self._loop.run(self._session.after_model(request, response))

    def before_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        mcp_context: Mapping[str, Any] | None = None,
        normalize: Normalize | None = None,
        validate: Validate | None = None,
    ) -> ToolCall:
        """Fires BeforeTool: whether the tool runs, and with which arguments; `on_ask` is called in this thread."""
        rules = rules_of(normalize, validate)
        return self._run(self._session.judging(name, arguments, call_id, mcp_context, rules))

    def after_tool(self, call: ToolCall, result: ToolOutput) -> ToolResult:
        """Fires AfterTool and returns the result with everything applied that the hooks of both events answered."""
        return self._run(self._session.finishing(call, result))

    def run_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        fn: ToolFunction,
        *,
        call_id: str | None = None,
        mcp_context: Mapping[str, Any] | None = None,
        normalize: Normalize | None = None,
        validate: Validate | None = None,
    ) -> ToolResult:
        """Runs a tool in this thread, between its hooks, and returns the result with everything applied."""
        rules = rules_of(normalize, validate, fn)
        return self._run(self._session.running(name, arguments, fn, call_id, mcp_context, rules))

    def before_agent(self, prompt: str) -> BeforeAgentHookResult:
        """Fires BeforeAgent: whether a prompt is answered, and what is added to it."""
        return self._loop.run(self._session.before_agent(prompt))

    def after_agent(self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False) -> AfterAgentHookResult:
        """Fires AfterAgent: whether the agent has to go on."""
        return self._loop.run(self._session.after_agent(prompt, prompt_response, stop_hook_active=stop_hook_active))

    def session_start(self, source: SessionStartSource | str) -> SessionStartHookResult:
        """Fires SessionStart: what hooks add to the session."""
        return self._loop.run(self._session.session_start(source))

    def session_end(self, reason: SessionEndReason | str) -> None:
        """Fires SessionEnd, whose hooks only watch."""
        self._loop.run(self._session.session_end(reason))

    def pre_compress(self, trigger: PreCompressTrigger | str) -> PreCompressHookResult:
        """Fires PreCompress, before the history is compressed."""
        return self._loop.run(self._session.pre_compress(trigger))

    def notify(self, notification_type: str, message: str, details: Mapping[str, Any]) -> None:
        """Fires Notification, whose hooks only watch."""
        self._loop.run(self._session.notify(notification_type, message, details))

    def _run(self, steps: "Flow[Result]") -> Result:
        """Run a flow in this thread, except for its coroutines, which run on the loop of the hooks."""
        return run_blocking(steps, self._wait)

    def _wait(self, value: Awaitable[Any]) -> Any:
        return self._loop.run(value if inspect.iscoroutine(value) else _awaited(value))


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
