"""Hooks for agents of LangChain: `create_agent(..., middleware=[HooklineMiddleware(hooks)])`.

- It works for `invoke`, `ainvoke` and every kind of stream.
- While AfterModel hooks exist, the model's answer is held back until they have answered: a stream has it as one
  message, and callbacks that read tokens do not see the model calls. Tracers do, and see what the model really said.
- Put it last in the list of middleware: it then sees requests and arguments as they are sent.
- A thread of LangGraph is a session with the thread's id. What the middleware remembers of a run is private state of
  the graph, so a checkpointer keeps it.
- When a hook stops the agent, or blocks a model call, the run ends with that text as its last message. There is no
  structured output then, nor when a hook changed the text that it was read from.
- A hook can't choose another model, and `suppressOutput` hides nothing, because LangChain shows messages itself.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from hookline.adapters._run import AgentRun, Said
from hookline.adapters.table import loaded, missing
from hookline.config import new_session_id
from hookline.hooks import Hooks, Selection, ToolCall
from hookline.triggers.results import ToolResult

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse, PrivateStateAttr
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.types import Command

    from hookline.adapters import _langchain_calls as calls
    from hookline.formats import langchain as messages
except ModuleNotFoundError as error:
    raise missing("langchain") from error

__all__ = ["HooklineMiddleware"]

_SELF = loaded("langchain")


def _merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    # Tool calls of one turn run side by side, and each of them may write.
    return {**(old or {}), **new}


class HooklineState(AgentState[Any]):
    """What the middleware keeps of a run: its session, which tools are allowed, a note to the model, a stop."""

    hookline: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, _merged]]  # type: ignore[valid-type]


class HooklineMiddleware(AgentMiddleware[Any, Any, Any]):
    """The hooks of a program around every model call and every tool call of an agent.

    A thread of LangGraph is a session with the thread's id; a run without a thread is a session of its own.
    """

    state_schema = HooklineState

    def __init__(self, hooks: Hooks, *, agent: str | None = None) -> None:
        """`agent` is which of the program's agents it is, for the log."""
        super().__init__()
        self._hooks = hooks
        self._agent = agent
        _SELF.report(hooks)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ARG002 - LangChain calls it by these names
        """Begins a run: nothing is restricted or stopped yet."""
        _SELF.report(self._hooks)
        info = runtime.execution_info
        thread = info.thread_id if info is not None else None
        began = {"session": thread or new_session_id(), "is_alone": not thread or not _has_checkpointer()}
        return {"hookline": {**began, "names": None, "mode": None, "stop": None}}

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - the same
        """Ends the run if a hook has stopped the agent."""
        if (reason := _kept(state).get("stop")) is None:
            return None
        last = state["messages"][-1] if state["messages"] else None
        is_said = isinstance(last, AIMessage) and last.text == reason
        return {"jump_to": "end", "messages": [] if is_said else [AIMessage(reason)]}

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The model call between its hooks."""
        run = self._run(request, calls.Blocking)
        return calls.finished(self._call_model(run, request, calls.asynchronous(handler)))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The model call between its hooks."""
        return await self._call_model(self._run(request), request, handler)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The tool call between its hooks."""
        run = self._run(request, calls.Blocking)
        return calls.finished(_call_tool(run, request, calls.asynchronous(handler)))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The tool call between its hooks."""
        return await _call_tool(self._run(request), request, handler)

    def _run(self, request: Any, made: Callable[[Any], Any] = lambda session: session) -> AgentRun:
        kept = _kept(request.state)
        session = self._hooks.session(kept.get("session"), agent=self._agent)
        names = kept.get("names")
        session.selection = Selection(names=None if names is None else frozenset(names), mode=kept.get("mode"))
        is_lasting = not kept.get("is_alone", False)
        return AgentRun(_SELF, messages, made(session), note=kept.get("note"), is_lasting=is_lasting)

    async def _call_model(self, run: AgentRun, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        native = calls.to_native(request)
        wanted = await run.before_model(native, messages.tool_names(native))
        if isinstance(wanted, Said):
            return _end(run, wanted.text)
        request = request if wanted is native else calls.changed(request, wanted)
        with calls.held_back(request, is_held=self._hooks.must_hold_stream) as quiet:
            response = await handler(quiet)
        said = next(message for message in response.result if isinstance(message, AIMessage))
        answer = await run.after_model(said)
        if isinstance(answer, Said):
            return _end(run, answer.text)
        if not said.tool_calls:
            run.end()
        if answer is not said:
            result = [answer if one is said else one for one in response.result]
            # What was parsed from the old text would show it.
            structured = response.structured_response if said.tool_calls else None
            response = ModelResponse(result=result, structured_response=structured)
        chosen = run.session.selection or Selection()
        names = None if chosen.names is None else sorted(chosen.names)
        return _response(response, names=names, mode=chosen.mode, note=run.note)


async def _call_tool(run: AgentRun, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    given = request.tool_call
    message: Any = ToolMessage("", name=given["name"], tool_call_id=given["id"], status="error")
    output = message

    async def call(call: ToolCall) -> ToolResult:
        nonlocal output, message
        output = await handler(request.override(tool_call={**given, "args": call.arguments}))
        message = _message_in(output, given["id"])
        content = "" if message is None else message.content
        is_error = message is not None and message.status == "error"
        return ToolResult(llm_content=content, return_display=content, error=str(content) if is_error else None)

    result = await run.call_tool(given["name"], given["args"], call, given["id"])
    if message is not None:
        changed = message.model_copy(update={"content": _content(result.llm_content)})
        output = changed if output is message else _with_message(output, message, changed)
    if run.stop.reason is None:
        return output
    stop = {"hookline": {"stop": run.stop.reason}}
    if isinstance(output, ToolMessage):
        return Command(update={"messages": [output], **stop})
    return replace(output, update={**(output.update if isinstance(output.update, dict) else {}), **stop})


def _has_checkpointer() -> bool:
    """Whether the state of this run is kept for the thread's next one, as far as LangGraph shows it."""
    return get_config().get("configurable", {}).get("__pregel_checkpointer", True) is not None


def _kept(state: Any) -> dict[str, Any]:
    kept: dict[str, Any] = state.get("hookline") or {}
    return kept


def _end(run: AgentRun, text: str) -> Any:
    """The answer in place of the model's, with which the run ends."""
    # Another middleware may send the agent back to the model, and then it still has to end.
    return _response(ModelResponse(result=[AIMessage(text)]), stop=text, note=run.note)


def _response(response: Any, **kept: Any) -> Any:
    return ExtendedModelResponse(model_response=response, command=Command(update={"hookline": kept}))


def _message_in(output: Any, call_id: str | None) -> Any:
    """The tool message of an output, which may be a `Command` with one among its updates; None without any."""
    if isinstance(output, ToolMessage):
        return output
    update = output.update if isinstance(output.update, dict) else {}
    found = (one for one in update.get("messages", ()) if getattr(one, "tool_call_id", None) == call_id)
    return next(found, None)


def _with_message(command: Any, message: Any, changed: Any) -> Any:
    listed = [changed if one is message else one for one in command.update["messages"]]
    return replace(command, update={**command.update, "messages": listed})


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    # A note that a hook added to a list of blocks has no type.
    return [one if isinstance(one, str) or "type" in one else {"type": "text", **one} for one in content]
