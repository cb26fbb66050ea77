"""`HooklineMiddleware`: where hooks run in agents of LangChain."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse, PrivateStateAttr
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tracers import BaseTracer
from langgraph.config import get_config
from langgraph.types import Command

from hookline.adapters.blocking import asynchronous, finished
from hookline.adapters.langchain import format as messages
from hookline.adapters.run import AgentRun, CannedResponse, tool_result
from hookline.adapters.table import adapter_named
from hookline.client import Hooks, Selection, ToolCall
from hookline.client.config import new_session_id
from hookline.client.triggers.results import ToolResult

_ADAPTER = adapter_named("langchain")


def _merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    # Tool calls of one turn run side by side, and each of them may write.
    return {**(old or {}), **new}


class HooklineState(AgentState[Any]):
    """The state of a run: its session, the permitted tools, a note to the model, a stop."""

    hookline: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, _merged]]  # type: ignore[valid-type]


class HooklineMiddleware(AgentMiddleware[Any, Any, Any]):
    """The hooks of a program around every model call and every tool call of an agent."""

    state_schema = HooklineState

    def __init__(self, hooks: Hooks, *, agent: str | None = None) -> None:
        """`agent` is which of the program's agents it is, for the log."""
        super().__init__()
        self._hooks = hooks
        self._agent = agent
        _ADAPTER.report(hooks)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ARG002 - LangChain calls it by these names
        """Begins a run: nothing is restricted or stopped yet."""
        _ADAPTER.report(self._hooks)
        thread = runtime.execution_info.thread_id if runtime.execution_info is not None else None
        # Whether the state of this run is kept for the thread's next one, as far as LangGraph shows it.
        is_kept = get_config().get("configurable", {}).get("__pregel_checkpointer", True) is not None
        began = {"session": thread or new_session_id(), "is_alone": not thread or not is_kept}
        return {"hookline": {**began, "names": None, "mode": None, "stop": None}}

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - the same
        """Ends the run if a hook has stopped the agent."""
        if (reason := (state.get("hookline") or {}).get("stop")) is None:
            return None
        last = state["messages"][-1] if state["messages"] else None
        is_said = isinstance(last, AIMessage) and last.text == reason
        return {"jump_to": "end", "messages": [] if is_said else [AIMessage(reason)]}

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The model call between its hooks."""
        return finished(_call_model(self._run(request, is_blocking=True), request, asynchronous(handler)))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The model call between its hooks."""
        return await _call_model(self._run(request), request, handler)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The tool call between its hooks."""
        return finished(_call_tool(self._run(request, is_blocking=True), request, asynchronous(handler)))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The tool call between its hooks."""
        return await _call_tool(self._run(request), request, handler)

    def _run(self, request: Any, *, is_blocking: bool = False) -> AgentRun:
        kept: dict[str, Any] = request.state.get("hookline") or {}
        how: Any = {"is_lasting": not kept.get("is_alone", False), "is_blocking": is_blocking, "keeps_notes": False}
        run = AgentRun(_ADAPTER, messages, self._hooks, kept.get("session"), agent=self._agent, **how)
        run.note, names = kept.get("note"), kept.get("names")
        run.session.selection = Selection(names=None if names is None else frozenset(names), mode=kept.get("mode"))
        return run


async def _call_model(run: AgentRun, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    native = messages.request_of(request)
    wanted = await run.before_model(native)
    if isinstance(wanted, CannedResponse):
        return _end(run, wanted)
    request = request if wanted is native else messages.changed(request, wanted)
    with _held_back(request, is_held=run.hooks.must_hold_stream) as quiet:
        response = await handler(quiet)
    said = next(message for message in response.result if isinstance(message, AIMessage))
    answer = await run.after_model(said)
    if isinstance(answer, CannedResponse):
        return _end(run, answer)
    if not said.tool_calls:
        run.end()
    chosen = run.session.selection or Selection()
    names = None if chosen.names is None else sorted(chosen.names)
    response = response if answer is said else messages.with_answer(response, said, answer)
    return _response(response, names=names, mode=chosen.mode, note=run.note)


async def _call_tool(run: AgentRun, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    given = request.tool_call
    output = message = ToolMessage("", name=given["name"], tool_call_id=given["id"], status="error")

    async def call(call: ToolCall) -> ToolResult:
        nonlocal output, message
        output = await handler(request.override(tool_call={**given, "args": call.arguments}))
        message = messages.tool_message_of(output, given["id"])
        return tool_result("") if message is None else tool_result(message.content, is_error=message.status == "error")

    result = await run.call_tool(given["name"], given["args"], call, given["id"])
    if message is not None:
        output = messages.with_tool_content(output, message, result.llm_content)
    if run.stop.reason is None:
        return output
    command = Command(update={"messages": [output]}) if isinstance(output, ToolMessage) else output
    update = command.update if isinstance(command.update, dict) else {}
    return replace(command, update={**update, "hookline": {"stop": run.stop.reason}})


def _end(run: AgentRun, said: CannedResponse) -> Any:
    """The answer in place of the model's, with which the run ends."""
    # Another middleware may send the agent back to the model, and then it still has to end.
    return _response(ModelResponse(result=[said.response()]), stop=said.text, note=run.note)


def _response(response: Any, **kept: Any) -> Any:
    return ExtendedModelResponse(model_response=response, command=Command(update={"hookline": kept}))


@contextmanager
def _held_back(request: Any, *, is_held: bool) -> Iterator[Any]:
    """The request whose tokens no callback shows, if they are held; its message is streamed when the node ends."""
    if not is_held:
        yield request
        return
    config, own = ensure_config(), getattr(request.model, "callbacks", None)
    token = var_child_runnable_config.set({**config, "callbacks": _without_tokens(config.get("callbacks"))})
    try:
        left = _without_tokens(own)
        yield request if left is own else request.override(model=request.model.model_copy(update={"callbacks": left}))
    finally:
        var_child_runnable_config.reset(token)


def _without_tokens(callbacks: Any) -> Any:
    """The callbacks, a list or a manager, that show no tokens; the same object if all of them are such."""
    handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
    shown = [one for one in handlers if _shows_tokens(one)]
    if not shown:
        return callbacks
    if isinstance(callbacks, list):
        return [one for one in callbacks if one not in shown]
    left = callbacks.copy()
    for handler in shown:
        left.remove_handler(handler)
    return left


def _shows_tokens(handler: Any) -> bool:
    if hasattr(handler, "tap_output_iter"):  # LangChain's own streams and events
        return True
    silent = (BaseCallbackHandler.on_llm_new_token, AsyncCallbackHandler.on_llm_new_token)
    return not isinstance(handler, BaseTracer) and type(handler).on_llm_new_token not in silent
