"""Fires hooks for the client's requests about tools: changes what the server receives and what the client is sent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.client import Hooks, Selection, Session, ToolCall, flow
from hookline.gateway import results
from hookline.gateway.elicitation import Elicitation
from hookline.gateway.messages import Message, read_object, to_raw
from hookline.protocol.events import HookEventName
from hookline.protocol.inputs import mcp_tool_name
from hookline.protocol.llm import LLMRequest

_TASK_METHODS = frozenset({"tasks/result", "tasks/get"})
GUARDED = frozenset({"tools/call", "tools/list"}) | _TASK_METHODS
"""The methods of requests that pass through the guard."""

# The gateway sees no model request, so BeforeToolSelection hooks get an empty one.
_NO_REQUEST: LLMRequest = {"model": "", "messages": []}

_hook_name = lru_cache(mcp_tool_name)


class InvalidCallError(ValueError):
    """A call that can't be read, and therefore can't be judged."""


@dataclass(frozen=True, slots=True)
class GuardedRequest:
    """A request as the server receives it."""

    message: Message
    call: ToolCall | None = None
    """The tool call that the server's answer belongs to."""


class ToolGuard:
    """The hooks of one connection. A stop and a tool selection remain in effect for later calls."""

    def __init__(self, hooks: Hooks, session: Session, facts: Mapping[str, Any], elicitation: Elicitation) -> None:
        """`facts` describe the server to hooks; `elicitation` asks the user of the client."""
        self._hooks = hooks
        self._session = session
        self._facts = facts
        self._elicitation = elicitation
        self._selection: Selection | None = None
        """The tool selection of hooks; None until a hook makes one."""
        self._stop_reason: str | None = None
        self._texts: list[str] = []
        """Texts for the model that go out with the next result."""
        self._tasks: dict[str, ToolCall] = {}
        """Calls that the server runs as tasks, by task id."""
        self._is_ready = asyncio.Event()

    @property
    def is_stopped(self) -> bool:
        """True after a hook stopped the use of the server's tools."""
        return self._stop_reason is not None

    def start(self) -> None:
        """Apply the result of the SessionStart hooks; calls and lists wait for it."""
        started = self._session.started
        self._keep(started.context, started.system_message)
        if started.should_stop:
            self._stop(started.stop_reason)
        self._is_ready.set()

    def request_without_hooks(self, message: Message) -> GuardedRequest | None:
        """Return the request for the server if no hook has to run first; if None, `request` must be awaited."""
        if message.method == "tools/list":
            return GuardedRequest(message)
        if message.method in _TASK_METHODS:
            return GuardedRequest(message, self._tasks.get(_task_of_request(message)))
        params, name = _read_call(message)
        if not self._is_ready.is_set() or self.is_stopped or self._selection is not None:
            return None
        call = self._tool_call(message, name, params.get("arguments", {}))
        passes = self._session.passes
        is_free = passes(HookEventName.BEFORE_TOOL_SELECTION) and passes(HookEventName.BEFORE_TOOL, call.name)
        return _guarded(message, params, call) if is_free and isinstance(call.arguments, dict) else None

    async def request(self, message: Message) -> GuardedRequest | Message:
        """Return the request for the server, or the answer for the client if the call is refused."""
        params, name = _read_call(message)
        arguments = params.get("arguments")
        call = self._tool_call(message, name, {} if arguments is None else arguments)
        await self._is_ready.wait()
        if not self.is_stopped and self._selection is None:
            await self._select([call.name])
        if self.is_stopped:
            return self._answer(message, results.refuse(f"{self._stop_text} {name} was not run."))
        can_ask = self._elicitation.is_supported
        steps = self._session.judging(
            call.name, call.arguments, call.call_id, call.mcp_context, leaves_questions=can_ask
        )
        call = await flow.run(steps)
        if call.stop:
            self._stop(call.stop_reason)
        if call.ask and can_ask:
            why = await self._elicitation.why_refused(call, name)
            call = self._session.answered(call, asked="the user of the MCP client", why_not=why)
        if call.blocked:
            return self._answer(message, results.refuse(str(call.refusal.llm_content)))
        return _guarded(message, params, call)

    def passes_answer(self, request: GuardedRequest) -> bool:
        """Return True if the client gets the server's answer unchanged, because no hook has to run."""
        if request.message.method != "tools/call" or request.call is None:
            return request.call is None and request.message.method in _TASK_METHODS
        is_unchanged = request.call.verdict is None and not self._texts
        return is_unchanged and self._session.passes(HookEventName.AFTER_TOOL, request.call.name)

    async def answer(self, request: GuardedRequest, answer: Message) -> Message:
        """Return the server's answer as hooks changed it."""
        if request.message.method == "tools/list":
            return answer if answer.result is UNSET else await self._list(answer)
        if request.call is None:
            return answer
        if request.message.method != "tasks/get":
            return await self._result(request.call, answer)
        task = {} if answer.result is UNSET else read_object(answer.result)
        if not isinstance(task.get("result"), dict):
            return answer
        inner = await self._result(request.call, _with_result(answer, task["result"]))
        return _with_result(answer, {**task, "result": read_object(inner.result)})

    def notification(self, message: Message) -> Message:
        """Return a notification of the server without a task's result that no hook has seen."""
        if not self._tasks or not str(message.method).startswith("notifications/tasks"):
            return message
        params = read_object(message.params)
        changed = params.pop("result", None) is not None
        return msgspec.structs.replace(message, params=to_raw(params)) if changed else message

    async def _list(self, answer: Message) -> Message:
        """Return the list of tools without those that hooks removed."""
        await self._is_ready.wait()
        result = read_object(answer.result)
        listed = result.get("tools")
        names = {
            index: _hook_name(self._facts["server_name"], tool["name"])
            for index, tool in enumerate(listed if isinstance(listed, list) else [])
            if isinstance(tool, dict) and isinstance(tool.get("name"), str)
        }
        selection = await self._select(list(names.values()))
        offered = [
            tool
            for index, tool in enumerate(listed if isinstance(listed, list) else [])
            if index not in names or selection.permits(names[index])
        ]
        if self._hooks.has_hooks(HookEventName.AFTER_TOOL):
            # A rewritten result may lack structured content, and clients refuse that where a schema is declared.
            offered = [_without_output_schema(tool) for tool in offered]
        return answer if offered == listed else _with_result(answer, {**result, "tools": offered})

    async def _result(self, call: ToolCall, answer: Message) -> Message:
        result = None if answer.result is UNSET else read_object(answer.result)
        if result is not None:
            if results.needs_input(result):
                return answer
            if (task := results.task_of(result)) is not None:
                self._tasks[task] = call
                return answer
        output = results.read_error(read_object(answer.error)) if result is None else results.read_result(result)
        final = await self._session.after_tool(call, output)
        if final.should_stop:
            self._stop(final.stop_reason)
            return self._answer(answer, results.refuse(f"{self._stop_text} The tool ran; its result is hidden."))
        if final is output and not self._texts:
            return answer
        result = results.refuse(output.llm_content) if result is None else result
        return self._answer(answer, result if final is output else results.apply_changes(result, output, final))

    async def _select(self, names: list[str]) -> Selection:
        selection = await self._session.select_tools(_NO_REQUEST, names)
        # Not kept if no hook ran: hooks may be added later, and repeating it costs nothing.
        self._selection = None if selection.verdict is None or selection.verdict.plan is None else selection
        self._keep(None, selection.note)
        if selection.stop:
            self._stop(selection.stop_reason)
        return selection

    def _tool_call(self, message: Message, name: str, arguments: Any) -> ToolCall:
        context = {**self._facts, "tool_name": name}
        tool = _hook_name(self._facts["server_name"], name)
        return ToolCall(name=tool, arguments=arguments, call_id=str(message.id), mcp_context=context)

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
            result = results.add_text(result, text)
        return _with_result(message, result)


def _read_call(message: Message) -> tuple[dict[str, Any], str]:
    params = read_object(message.params)
    name = params.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidCallError("tools/call needs the tool's name")
    # A server that ignores case would read another name or other arguments than the hooks.
    if len({key.casefold() for key in params}) < len(params):
        raise InvalidCallError("two members of its params differ only in case")
    return params, name


def _guarded(message: Message, params: dict[str, Any], call: ToolCall) -> GuardedRequest:
    if call.arguments or "arguments" in params:
        params["arguments"] = call.arguments
    return GuardedRequest(msgspec.structs.replace(message, params=to_raw(params)), call)


def _task_of_request(message: Message) -> str:
    task = read_object(message.params).get("taskId")
    return task if isinstance(task, str) else ""


def _with_result(message: Message, result: Mapping[str, Any]) -> Message:
    return Message(id=message.id, result=to_raw(result))


def _without_output_schema(tool: Any) -> Any:
    return {name: value for name, value in tool.items() if name != "outputSchema"} if isinstance(tool, dict) else tool
