"""Hooks around the requests of a client that are about tools: what the server gets, and what the client is answered."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.client import Hooks, Selection, Session, ToolCall, flow
from hookline.gateway import tasks
from hookline.gateway.asking import Asker
from hookline.gateway.messages import Message, read_object, to_raw
from hookline.gateway.results import read_error, read_result, refuse, wants_input, with_hooks, with_text
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import LLMRequest
from hookline.protocol.mcp import mcp_tool_name

GUARDED = frozenset({"tools/call", "tools/list", *tasks.METHODS})
"""The requests that hooks have to do with."""

# There is no model request: hooks that choose tools by the conversation see none.
_NO_REQUEST: LLMRequest = {"model": "", "messages": []}


@dataclass(frozen=True, slots=True)
class Question:
    """A request as the server gets it."""

    message: Message
    call: ToolCall | None = None
    """The call that the answer is the result of."""


class Guard:
    """The hooks of one connection. What they decide holds for the calls that follow, too."""

    def __init__(self, hooks: Hooks, session: Session, facts: Mapping[str, Any], asker: Asker) -> None:
        """`facts` are what hooks are told about the server; the asker asks the client's person."""
        self._asker = asker
        self._hooks = hooks
        self._session = session
        self._facts = facts
        self._server = str(facts["server_name"])
        self._names: dict[str, str] = {}
        self._selection: Selection | None = None
        """What hooks have chosen; None while no hook did."""
        self._stop_reason: str | None = None
        self._texts: list[str] = []
        """For the model, with the next result."""
        self._tasks: dict[str, ToolCall] = {}
        """Calls whose results are fetched later, by the ids of their tasks."""
        self._is_ready = asyncio.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether a hook has stopped the use of the server's tools."""
        return self._stop_reason is not None

    def start(self) -> None:
        """Takes over what the hooks of SessionStart answered; calls and lists wait for it."""
        started = self._session.started
        self._keep(started.context, started.system_message)
        if started.should_stop:
            self._stop(started.stop_reason)
        self._is_ready.set()

    def question_at_once(self, message: Message) -> Question | None:
        """The request for the server, if no hook has to run before; None if `question` has to be awaited."""
        if message.method == "tools/list":
            return Question(message)
        if message.method in tasks.METHODS:
            return Question(message, self._tasks.get(tasks.task_of_request(message)))
        params, name = _read_call(message)
        if not self._is_ready.is_set() or self._stop_reason is not None or self._selection is not None:
            return None
        tool = self._hook_name(name)
        is_free = self._session.passes(HookEventName.BEFORE_TOOL_SELECTION) and self._session.passes(
            HookEventName.BEFORE_TOOL, tool
        )
        arguments = params.get("arguments", {})
        if not is_free or not isinstance(arguments, dict):
            return None
        return self._call(message, params, self._tool_call(message, tool, name, arguments))

    async def question(self, message: Message) -> Question | Message:
        """The request for the server, or the answer for the client in its place."""
        params, name = _read_call(message)
        tool = self._hook_name(name)
        await self._is_ready.wait()
        if self._stop_reason is None and self._selection is None:
            await self._select([tool])
        if self._stop_reason is not None:
            return self._answer(message, refuse(f"{self._stop_text} {name} was not run."))
        call = self._tool_call(message, tool, name, {} if (given := params.get("arguments")) is None else given)
        steps = self._session.judging(tool, call.arguments, call.call_id, call.mcp_context, leaves_questions=True)
        call = await flow.run(steps)
        if call.stop:
            self._stop(call.stop_reason)
        if call.ask:
            why = await self._asker.why_refused(call, name)
            call = self._session.answered(call, asked="the user of the MCP client", why_not=why)
        if call.blocked:
            return self._answer(message, refuse(str(call.refusal.llm_content)))
        return self._call(message, params, call)

    def passes_answer(self, question: Question) -> bool:
        """Whether the client gets the server's answer as it is, because no hook has to run."""
        if question.message.method != "tools/call" or question.call is None:
            return question.call is None and question.message.method in tasks.METHODS
        is_plain = question.call.verdict is None and not self._texts
        return is_plain and self._session.passes(HookEventName.AFTER_TOOL, question.call.name)

    async def answer(self, question: Question, answer: Message) -> Message:
        """The answer for the client: the server's, as hooks want it."""
        if question.message.method == "tools/list":
            return answer if answer.result is UNSET else await self._list(answer)
        if question.call is None:
            return answer
        if question.message.method == "tasks/get":
            return await tasks.inner_result(answer, lambda inner: self._result(question.call, inner))
        return await self._result(question.call, answer)

    def notification(self, message: Message) -> Message:
        """A notification of the server, as the client gets it."""
        return tasks.without_result(message) if self._tasks else message

    async def _list(self, answer: Message) -> Message:
        """The server's tools without those that hooks don't allow."""
        await self._is_ready.wait()
        result = read_object(answer.result)
        listed = result.get("tools")
        tools = listed if isinstance(listed, list) else []
        selection = await self._select([self._hook_name(tool["name"]) for tool in tools if _has_name(tool)])
        offered = [tool for tool in tools if not _has_name(tool) or selection.permits(self._hook_name(tool["name"]))]
        if self._hooks.has_hooks(HookEventName.AFTER_TOOL):
            # A result that a hook rewrote may have no structured content, and clients would refuse it then.
            offered = [_without_output_schema(tool) for tool in offered]
        return answer if offered == listed else _with_result(answer, {**result, "tools": offered})

    async def _result(self, call: ToolCall | None, answer: Message) -> Message:
        result = None if answer.result is UNSET else read_object(answer.result)
        if call is None or (result is not None and wants_input(result)):
            return answer
        if result is not None and (task := tasks.task_of_result(result)) is not None:
            self._tasks[task] = call
            return answer
        given = read_error(read_object(answer.error)) if result is None else read_result(result)
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
        selection = await self._session.select_tools(_NO_REQUEST, names)
        # A choice that no hook made costs nothing to repeat, and hooks may be added: it is asked for again.
        self._selection = None if selection.verdict is None or selection.verdict.plan is None else selection
        self._keep(None, selection.note)
        if selection.stop:
            self._stop(selection.stop_reason)
        return selection

    def _tool_call(self, message: Message, tool: str, name: str, arguments: Any) -> ToolCall:
        context = {**self._facts, "tool_name": name}
        return ToolCall(name=tool, arguments=arguments, call_id=str(message.id), mcp_context=context)

    def _call(self, message: Message, params: dict[str, Any], call: ToolCall) -> Question:
        if call.arguments or "arguments" in params:
            params["arguments"] = call.arguments
        return Question(msgspec.structs.replace(message, params=to_raw(params)), call)

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
        if (name := self._names.get(tool)) is None:
            name = self._names[tool] = mcp_tool_name(self._server, tool)
        return name


class InvalidCallError(ValueError):
    """A call that can't be understood, so that no hook could judge it."""


def _read_call(message: Message) -> tuple[dict[str, Any], str]:
    params = read_object(message.params)
    name = params.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidCallError("tools/call needs the tool's name")
    # A server that ignores case must not read another name, or other arguments, than hooks do.
    if len({key.casefold() for key in params}) < len(params):
        raise InvalidCallError("two members of its params differ in case only")
    return params, name


def _with_result(message: Message, result: Mapping[str, Any]) -> Message:
    return Message(id=message.id, result=to_raw(result))


def _has_name(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def _without_output_schema(tool: Any) -> Any:
    if not isinstance(tool, dict) or "outputSchema" not in tool:
        return tool
    return {name: value for name, value in tool.items() if name != "outputSchema"}
