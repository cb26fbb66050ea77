"""Hooks around the requests of a client that are about tools: what the server gets, and what the client is answered."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from hookline.contract.events import HookEventName
from hookline.contract.llm import LLMRequest
from hookline.contract.mcp import mcp_tool_name
from hookline.gateway.messages import INVALID_PARAMS, UNSET, Message, error_answer, read_object, to_raw
from hookline.gateway.results import read_result, refuse, with_hooks, with_text
from hookline.hooks import Hooks, Selection, Session, ToolCall
from hookline.triggers.results import ToolResult

Ask = Callable[[Message], Awaitable[Message]]
"""Sends a request to the server and returns its answer."""

# There is no model request: hooks that choose tools by the conversation see none.
_NO_REQUEST: LLMRequest = {"model": "", "messages": []}
_UNANSWERED_ASK = "a hook wants a person to be asked about this call, and nobody could be asked"


class Guard:
    """The hooks of one connection. What they decide holds for the calls that follow, too."""

    def __init__(self, hooks: Hooks, session: Session, facts: Mapping[str, Any]) -> None:
        """`facts` are what hooks are told about the server."""
        self._hooks = hooks
        self._session = session
        self._facts = facts
        self._server = str(facts["server_name"])
        self._selection: Selection | None = None
        self._stop_reason: str | None = None
        self._texts: list[str] = []
        """For the model, with the next result."""
        self._is_ready = asyncio.Event()
        """Set when the hooks of SessionStart have answered."""
        self._tasks: dict[str, ToolCall] = {}
        """Calls whose results are fetched later, by the ids of their tasks."""
        self.methods: Mapping[str, Callable[[Message, Ask], Awaitable[Message]]] = {
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
            "tasks/result": self.task_result,
            "tasks/get": self.task_result,
        }

    def start(self) -> None:
        """Takes over what the hooks of SessionStart answered, where that is applied."""
        started = self._session.started
        self._keep(started.context, started.system_message)
        if started.should_stop:
            self._stop(started.stop_reason)
        self._is_ready.set()

    async def list_tools(self, message: Message, ask: Ask) -> Message:
        """The server's tools without those that hooks don't allow."""
        answer = await ask(message)
        if answer.result is UNSET:
            return answer
        result = read_object(answer.result)
        listed = result.get("tools")
        tools = listed if isinstance(listed, list) else []
        await self._is_ready.wait()
        names = [self._hook_name(tool["name"]) for tool in tools if _has_name(tool)]
        selection = await self._select(names)
        offered = [tool for tool in tools if not _has_name(tool) or selection.permits(self._hook_name(tool["name"]))]
        if self._hooks.has_hooks(HookEventName.AFTER_TOOL):
            # A result that a hook rewrote may have no structured content, and clients would refuse it then.
            offered = [_without_output_schema(tool) for tool in offered]
        return answer if offered == listed else _with_result(answer, {**result, "tools": offered})

    async def call_tool(self, message: Message, ask: Ask) -> Message:
        """The answer to a call: the server's, as hooks want it, or a refusal."""
        params = read_object(message.params)
        name = params.get("name")
        # A server that ignores case must not read another name than hooks do.
        if not isinstance(name, str) or not name or len({key.casefold() for key in params}) < len(params):
            return error_answer(message.id or None, INVALID_PARAMS, "tools/call needs the tool's name, once")
        call = await self._before(name, params, str(message.id))
        if call is None or call.blocked:
            return self._answer(message, refuse(self._refusal(name, call)))
        if call.arguments or "arguments" in params:
            params["arguments"] = call.arguments
        answer = await ask(msgspec.structs.replace(message, params=to_raw(params)))
        return await self._after(call, answer)

    async def task_result(self, message: Message, ask: Ask) -> Message:
        """The result of a call that the server has run as a task."""
        call = self._tasks.get(str(read_object(message.params).get("taskId")))
        answer = await ask(message)
        if call is None or answer.result is UNSET:
            return answer
        if message.method == "tasks/result":
            return await self._after(call, answer)
        task = read_object(answer.result)
        if not isinstance(task.get("result"), dict):
            return answer
        inner = await self._after(call, _with_result(answer, task["result"]))
        return _with_result(answer, {**task, "result": read_object(inner.result)})

    def notification(self, message: Message) -> Message:
        """A notification of the server, without a task's result, which no hook has seen."""
        if not self._tasks or not str(message.method).startswith("notifications/tasks"):
            return message
        params = read_object(message.params)
        return (
            message if params.pop("result", None) is None else msgspec.structs.replace(message, params=to_raw(params))
        )

    async def _before(self, name: str, params: Mapping[str, Any], call_id: str) -> ToolCall | None:
        """The call as hooks judge it; None when a hook has stopped everything."""
        tool = self._hook_name(name)
        if not self._is_ready.is_set():
            await self._is_ready.wait()
        # A selection that no hook made costs nothing to repeat, and hooks may have been added.
        if self._stop_reason is None and (self._selection is None or self._selection.verdict is None):
            await self._select([tool])
        if self._stop_reason is not None:
            return None
        arguments = {} if (given := params.get("arguments")) is None else given
        context = {**self._facts, "tool_name": name}
        call = await self._session.before_tool(tool, arguments, call_id=call_id, mcp_context=context)
        if call.stop:
            self._stop(call.stop_reason)
        return call

    async def _after(self, call: ToolCall, answer: Message) -> Message:
        result = None if answer.result is UNSET else read_object(answer.result)
        if result is not None and (task := _task_id(result)) is not None:
            self._tasks[task] = call
            return answer
        if result is not None and _wants_input(result):
            return answer
        given = _error_result(read_object(answer.error)) if result is None else read_result(result)
        wanted = await self._session.after_tool(call, given)
        if wanted.should_stop:
            self._stop(wanted.stop_reason)
            return self._answer(answer, refuse(f"{self._stop_text} The tool has run; its result is not shown."))
        if wanted is given and not self._texts:
            return answer
        if result is None:
            result = refuse(given.llm_content)
        return self._answer(answer, result if wanted is given else with_hooks(result, given, wanted))

    async def _select(self, names: list[str]) -> Selection:
        self._selection = selection = await self._session.select_tools(_NO_REQUEST, names)
        self._keep(None, selection.note)
        if selection.stop:
            self._stop(selection.stop_reason)
        return selection

    def _refusal(self, name: str, call: ToolCall | None) -> str:
        if call is None:
            return f"{self._stop_text} {name} was not run."
        text = str(call.refusal.llm_content)
        was_asked = call.verdict is not None and call.verdict.ask
        return f"{text} ({_UNANSWERED_ASK})" if was_asked else text

    @property
    def _stop_text(self) -> str:
        return f"A hook has stopped the use of this server's tools: {self._stop_reason}"

    def _stop(self, reason: str | None) -> None:
        self._stop_reason = reason or "no reason was given."

    def _keep(self, context: str | None, note: str | None) -> None:
        self._texts += [text for text in (context, f"[System] {note}" if note else None) if text]

    def _answer(self, message: Message, result: dict[str, Any]) -> Message:
        texts, self._texts = self._texts, []
        for text in texts:
            result = with_text(result, text)
        return _with_result(message, result)

    def _hook_name(self, tool: str) -> str:
        return mcp_tool_name(self._server, tool)


def _with_result(message: Message, result: Mapping[str, Any]) -> Message:
    return Message(id=message.id, result=to_raw(result))


def _has_name(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def _without_output_schema(tool: Any) -> Any:
    if not isinstance(tool, dict) or "outputSchema" not in tool:
        return tool
    return {name: value for name, value in tool.items() if name != "outputSchema"}


def _task_id(result: Mapping[str, Any]) -> str | None:
    """The task that the server runs the call as, if it has not ended yet."""
    task = result.get("task") if "task" in result else result if result.get("resultType") == "task" else None
    found = task.get("taskId") if isinstance(task, Mapping) and not _has_output(result) else None
    return found if isinstance(found, str) else None


def _wants_input(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required" and not _has_output(result)


def _has_output(result: Mapping[str, Any]) -> bool:
    return "content" in result or "structuredContent" in result


def _error_result(error: Mapping[str, Any]) -> ToolResult:
    text = str(error.get("message") or "The server gave no reason.")
    return ToolResult(llm_content=text, return_display=text, error=text)
