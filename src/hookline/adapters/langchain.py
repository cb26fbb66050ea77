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

from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from hookline.adapters.table import adapter, missing, report_inabilities, report_suppression
from hookline.config import new_session_id
from hookline.hooks import Hooks, ModelGate, Selection, Session
from hookline.triggers.results import ToolResult

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse, PrivateStateAttr
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.types import Command

    from hookline.adapters import _langchain_messages as messages
    from hookline.adapters import _langchain_streams as streams
except ModuleNotFoundError as error:
    raise missing("langchain") from error

__all__ = ["HooklineMiddleware"]

_SELF = adapter("langchain")
Steps = Generator[Callable[[Any], Any], Any, Any]


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
        report_inabilities(hooks, _SELF.framework, _SELF.cannot)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ARG002 - LangChain calls it by these names
        """Begins a run: nothing is restricted or stopped yet."""
        report_inabilities(self._hooks, _SELF.framework, _SELF.cannot)
        info = runtime.execution_info
        session_id = (info.thread_id if info is not None else None) or new_session_id()
        return {"hookline": {"session": session_id, "names": None, "mode": None, "note": None, "stop": None}}

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
        return _run(self._session(request.state), self._model_call(request, handler))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The model call between its hooks."""
        return await _arun(self._session(request.state), self._model_call(request, handler))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The tool call between its hooks."""
        return _run(self._session(request.state), _tool_call(request, handler))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The tool call between its hooks."""
        return await _arun(self._session(request.state), _tool_call(request, handler))

    def _session(self, state: Any) -> Session:
        kept = _kept(state)
        session = self._hooks.session(kept.get("session"), agent=self._agent)
        names, mode = kept.get("names"), kept.get("mode")
        session.selection = Selection(names=None if names is None else frozenset(names), mode=mode)
        return session

    def _model_call(self, request: Any, handler: Callable[[Any], Any]) -> Steps:
        if pending := _kept(request.state).get("note"):
            request = request.override(messages=[*request.messages, messages.note(pending)])
        native = messages.to_native(request)
        told = messages.to_hook_request(native)
        chosen = yield lambda session: session.select_tools(told, filter(None, map(messages.name_of, request.tools)))
        if chosen.stop:
            return _end(chosen.stop_reason)
        gate = yield lambda session: session.before_model(told)
        if gate.blocked:
            return _end(_text_of(gate), note=gate.note)
        allowed = gate.selection or chosen
        request = _offered(messages.apply_request(request, gate.request, native), allowed)
        if chosen.note is not None:
            request = request.override(messages=[*request.messages, messages.note(chosen.note)])
        if self._hooks.must_hold_stream:
            with streams.held_back():
                response = yield lambda _session: handler(streams.quiet(request))
        else:
            response = yield lambda _session: handler(request)
        return (yield from _answer(response, gate.request, allowed))


def _answer(response: Any, sent: Any, chosen: Selection) -> Steps:
    said = next(message for message in response.result if isinstance(message, AIMessage))
    after = yield lambda session: session.after_model(sent, messages.to_hook_response(said))
    if after.stop:
        return _end(after.text or after.stop_reason, note=after.note)
    if after.suppress:
        report_suppression(_SELF.framework)
    if after.text is not None:
        result = [messages.with_text(one, after.text) if one is said else one for one in response.result]
        # What was parsed from the old text would show it.
        structured = response.structured_response if said.tool_calls else None
        response = ModelResponse(result=result, structured_response=structured)
    names = None if chosen.names is None else sorted(chosen.names)
    return _response(response, names=names, mode=chosen.mode, note=after.note)


def _tool_call(request: Any, handler: Callable[[Any], Any]) -> Steps:
    given = request.tool_call
    call = yield lambda session: session.before_tool(given["name"], given["args"], call_id=given["id"])
    if call.blocked:
        message = ToolMessage("", name=given["name"], tool_call_id=given["id"], status="error")
        return _result(message, message, call.refusal)
    output = yield lambda _session: handler(request.override(tool_call={**given, "args": call.arguments}))
    message = _message_in(output, given["id"])
    result = yield lambda session: session.after_tool(call, _tool_result(message))
    return _result(output, message, result)


def _run(session: Session, steps: Steps) -> Any:
    """Runs the steps of a call, each with the session; what one raises ends them."""
    try:
        step = next(steps)
        while True:
            value = step(session.sync)
            try:
                step = steps.send(value)
            except StopIteration as end:
                return end.value
    finally:
        steps.close()


async def _arun(session: Session, steps: Steps) -> Any:
    try:
        step = next(steps)
        while True:
            value = await step(session)
            try:
                step = steps.send(value)
            except StopIteration as end:
                return end.value
    finally:
        steps.close()


def _kept(state: Any) -> dict[str, Any]:
    kept: dict[str, Any] = state.get("hookline") or {}
    return kept


def _text_of(gate: ModelGate) -> str | None:
    response = {} if gate.response is None or gate.stop else gate.response
    return response.get("text") or gate.stop_reason or gate.reason


def _end(text: str | None, note: str | None = None) -> Any:
    """The answer in place of the model's, with which the run ends."""
    message = AIMessage(text or "")
    # Another middleware may send the agent back to the model, and then it still has to end.
    return _response(ModelResponse(result=[message]), stop=message.content, note=note)


def _response(response: Any, **kept: Any) -> Any:
    return ExtendedModelResponse(model_response=response, command=Command(update={"hookline": kept}))


def _offered(request: Any, chosen: Selection) -> Any:
    tools = [tool for tool in request.tools if (name := messages.name_of(tool)) is None or chosen.permits(name)]
    has_calls = any(isinstance(message, ToolMessage) for message in request.messages)
    if not tools and request.tools and has_calls:
        # Some providers refuse a conversation with tool calls and no tools; calls are refused when they come.
        tools = request.tools
    choice = {"tool_choice": "any"} if chosen.mode == "ANY" and tools else {}
    return request if len(tools) == len(request.tools) and not choice else request.override(tools=tools, **choice)


def _message_in(output: Any, call_id: str | None) -> Any:
    """The tool message of an output, which may be a `Command` with one among its updates; None without any."""
    if isinstance(output, ToolMessage):
        return output
    update = output.update if isinstance(output.update, dict) else {}
    found = (one for one in update.get("messages", ()) if getattr(one, "tool_call_id", None) == call_id)
    return next(found, None)


def _tool_result(message: Any) -> ToolResult:
    content = "" if message is None else message.content
    is_error = message is not None and message.status == "error"
    return ToolResult(llm_content=content, return_display=content, error=str(content) if is_error else None)


def _result(output: Any, message: Any, result: ToolResult) -> Any:
    """The tool's output with the hooks' result in its message; a `Command` if the agent has to stop."""
    if result.suppress_display:
        report_suppression(_SELF.framework)
    if message is not None:
        changed = message.model_copy(update={"content": _content(result.llm_content)})
        output = changed if output is message else _with_message(output, message, changed)
    if not result.should_stop:
        return output
    stop = {"hookline": {"stop": result.stop_reason or ""}}
    if isinstance(output, ToolMessage):
        return Command(update={"messages": [output], **stop})
    return replace(output, update={**(output.update if isinstance(output.update, dict) else {}), **stop})


def _with_message(command: Any, message: Any, changed: Any) -> Any:
    listed = [changed if one is message else one for one in command.update["messages"]]
    return replace(command, update={**command.update, "messages": listed})


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    # A note that a hook added to a list of blocks has no type.
    return [one if isinstance(one, str) or "type" in one else {"type": "text", **one} for one in content]
