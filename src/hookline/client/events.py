"""The events of one session: one method per event, each of which returns what its hooks decided."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hookline.client import flow, results
from hookline.client._checks import check_call, check_names, check_text, check_type, read_word, rules_of
from hookline.client.blocking import BlockingLoop
from hookline.client.config import Config
from hookline.client.results import ModelAnswer, ModelGate, Selection, ToolCall, ToolFunction, ToolOutput
from hookline.client.triggers import session as lifecycle
from hookline.client.triggers.boundary import fire, passes, system_of
from hookline.client.triggers.results import (
    AfterAgentHookResult,
    BeforeAgentHookResult,
    Normalize,
    OnAsk,
    PreCompressHookResult,
    SessionStartHookResult,
    ToolResult,
    Validate,
)
from hookline.errors import SessionClosedError
from hookline.extensions import lazy_module
from hookline.formats.checks import check_request, check_response
from hookline.protocol.arguments import ToolArguments, own_copy
from hookline.protocol.events import (
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionFacts,
    SessionStartSource,
)
from hookline.protocol.llm import LLMRequest, LLMResponse

if TYPE_CHECKING:
    from hookline.engine import selection as tool_limits
    from hookline.engine.system import HookSystem
    from hookline.protocol.records import LogRecord
    from hookline.protocol.verdict import Verdict
else:  # nothing of the engine is loaded while hooks are disabled
    tool_limits = lazy_module("hookline.engine.selection")


@dataclass(slots=True)
class Engine:
    """The parts that all sessions of a program share."""

    config: Config
    on_ask: OnAsk | None = None
    blocking: BlockingLoop = field(default_factory=BlockingLoop)
    """Runs the events of `session.sync`."""
    is_closed: bool = False

    @property
    def system(self) -> "HookSystem | None":
        """The hook system; None while hooks are disabled."""
        return system_of(self.config)


class SessionEvents:
    """The events of one session."""

    __slots__ = ("_engine", "_is_closed", "_on_ask", "_selection", "_tool_limits", "facts")

    def __init__(self, engine: Engine, facts: SessionFacts, on_ask: OnAsk | None = None) -> None:
        self._engine = engine
        self._on_ask = engine.on_ask if on_ask is None else on_ask
        self.facts = facts
        """The session as hooks and the log see it: its id, directory, transcript and agent."""
        self._selection: Selection | None = None
        self._tool_limits: tool_limits.ToolLimits | None = None
        self._is_closed = False

    @property
    def selection(self) -> Selection | None:
        """The selection that `before_tool` enforces; set it in a session that continues another's turn.

        It is the last `select_tools`, less what a BeforeModel hook took from it.
        """
        return self._selection

    @selection.setter
    def selection(self, selection: Selection | None) -> None:
        check_type("selection", selection, Selection | None, "a Selection or None")
        self._selection = selection
        if self._tool_limits is not None or selection is not None:
            self._limits().set(results.limits_of(selection))

    def _limits(self) -> "tool_limits.ToolLimits":
        """The limits that the engine enforces in this session."""
        if self._tool_limits is None:
            self._tool_limits = tool_limits.ToolLimits()
        return self._tool_limits

    async def select_tools(self, request: LLMRequest, tools: Iterable[str]) -> Selection:
        """Fires BeforeToolSelection: which of these tools may be offered to the model.

        `before_tool` refuses the others from now on, until the next selection.
        """
        check_request(request)
        names = check_names(tools)
        verdict = await self._fire(HookEventName.BEFORE_TOOL_SELECTION, {"llm_request": request})
        self._selection = selection = results.read_selection(verdict, request, names)
        return selection

    async def before_model(self, request: LLMRequest) -> ModelGate:
        """Fires BeforeModel: whether the call is made, and with which request."""
        check_request(request)
        verdict = await self._fire(HookEventName.BEFORE_MODEL, {"llm_request": request})
        if verdict is None:
            return ModelGate(request=request)
        gate = results.read_model_gate(verdict, request, self._selection)
        self._selection = gate.selection or self._selection
        return gate

    async def after_model(self, request: LLMRequest, response: LLMResponse) -> ModelAnswer:
        """Fires AfterModel on the complete response: which text to go on with."""
        check_request(request)
        fields = {"llm_request": request, "llm_response": check_response(response)}
        verdict = await self._fire(HookEventName.AFTER_MODEL, fields)
        return ModelAnswer() if verdict is None else results.read_model_answer(verdict)

    async def before_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        mcp_context: Mapping[str, Any] | None = None,
        normalize: Normalize | None = None,
        validate: Validate | None = None,
    ) -> ToolCall:
        """Fires BeforeTool: whether the tool runs, and with which arguments.

        A tool that the last `select_tools` does not permit is blocked, and so is a call whose arguments are no
        mapping; no hook runs for them. Where a hook wants the user to be asked, `on_ask` is called; without it the call
        is blocked. `normalize` and `validate` are those of `run_tool`.
        """
        rules = rules_of(normalize, validate)
        return await flow.run(self.judging(name, arguments, call_id, mcp_context, rules))

    async def after_tool(self, call: ToolCall, result: ToolOutput) -> ToolResult:
        """Fires AfterTool and returns the result with everything applied that the hooks of both events answered.

        For a call that is blocked it fires nothing, and returns the refusal.
        """
        return await flow.run(self.finishing(call, result))

    async def run_tool(
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
        """Runs a tool between its hooks, and returns the result with everything applied.

        `fn` gets the arguments; it may be async, and return a text, a mapping or a `ToolResult`. `normalize` gets the
        whole arguments, before the first hook and after each rewrite, and returns them under their proper names, with
        defaults; what a hook changed comes last. `validate` returns what is wrong with rewritten arguments, or None.
        What `fn` raises reaches the caller, and then AfterTool is not fired.
        """
        rules = rules_of(normalize, validate, fn)
        return await flow.run(self.running(name, arguments, fn, call_id, mcp_context, rules))

    def passes(self, event: HookEventName | str, tool_name: str = "") -> bool:
        """Whether no hook has to run for a tool's event, so that a program can save the time of firing it.

        It counts as fired then. The answer holds for this moment only: settings may change.
        """
        self._check_open()
        check_type("tool_name", tool_name, str, "a text")
        system = self._engine.system
        limits = None if system is None else self._limits()
        return passes(system, HookEventName(event), tool_name, self.facts, limits)

    async def before_agent(self, prompt: str) -> BeforeAgentHookResult:
        """Fires BeforeAgent: whether a prompt is answered, and what is added to it, if `lifecycle` is "apply"."""
        check_type("prompt", prompt, str, "a text")
        verdict = await self._fire(HookEventName.BEFORE_AGENT, {"prompt": prompt})
        return lifecycle.result_of(BeforeAgentHookResult, verdict)

    async def after_agent(
        self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False
    ) -> AfterAgentHookResult:
        """Fires AfterAgent: whether the agent has to go on; `stop_hook_active` if a hook has made it go on before."""
        check_type("prompt", prompt, str, "a text")
        check_type("prompt_response", prompt_response, str, "a text")
        check_type("stop_hook_active", stop_hook_active, bool, "True or False")
        fields = lifecycle.after_agent_fields(prompt, prompt_response, stop_hook_active=stop_hook_active)
        verdict = await self._fire(HookEventName.AFTER_AGENT, fields)
        return lifecycle.result_of(AfterAgentHookResult, verdict)

    async def session_start(self, source: SessionStartSource | str) -> SessionStartHookResult:
        """Fires SessionStart: what hooks add to the session. As a context manager a session does this itself."""
        fields = {"source": read_word("source", source, SessionStartSource)}
        verdict = await self._fire(HookEventName.SESSION_START, fields)
        return lifecycle.result_of(SessionStartHookResult, verdict)

    async def session_end(self, reason: SessionEndReason | str) -> None:
        """Fires SessionEnd, whose hooks only watch."""
        fields = {"reason": read_word("reason", reason, SessionEndReason)}
        await self._fire(HookEventName.SESSION_END, fields)

    async def pre_compress(self, trigger: PreCompressTrigger | str) -> PreCompressHookResult:
        """Fires PreCompress, before the history is compressed."""
        fields = {"trigger": read_word("trigger", trigger, PreCompressTrigger)}
        verdict = await self._fire(HookEventName.PRE_COMPRESS, fields)
        return lifecycle.result_of(PreCompressHookResult, verdict)

    async def notify(self, notification_type: str, message: str, details: Mapping[str, Any]) -> None:
        """Fires Notification, whose hooks only watch."""
        check_text("notification_type", notification_type)
        check_type("message", message, str, "a text")
        check_type("details", details, Mapping, "a mapping")
        fields = {"notification_type": notification_type, "message": message, "details": details}
        await self._fire(HookEventName.NOTIFICATION, fields)

    def running(
        self,
        name: str,
        arguments: Mapping[str, Any],
        fn: ToolFunction,
        call_id: str | None,
        mcp_context: Mapping[str, Any] | None,
        rules: ToolArguments | None,
    ) -> flow.Flow[ToolResult]:
        """The steps of `run_tool`."""
        call = yield from self.judging(name, arguments, call_id, mcp_context, rules)
        return (yield from flow.run_judged(self._program(), call, fn))

    def judging(
        self,
        name: str,
        arguments: Mapping[str, Any],
        call_id: str | None,
        mcp_context: Mapping[str, Any] | None,
        rules: ToolArguments | None = None,
        *,
        leaves_questions: bool = False,
    ) -> flow.Flow[ToolCall]:
        """The steps of `before_tool`; `leaves_questions` is for a program that asks the user in its own way."""
        check_text("the tool's name", name)
        if call_id is not None or mcp_context is not None:
            check_call(call_id, mcp_context)
        self._check_open()
        call = ToolCall(name=name, arguments=arguments, call_id=call_id, mcp_context=mcp_context)  # type: ignore[arg-type]
        program = self._program(leaves_questions=leaves_questions)
        if _is_mapping(arguments) and self._selection is not None and not self._selection.permits(name):
            why, hooks = results.restricted_call(call, self._selection)
            call = replace(call, arguments=own_copy(arguments) or {})
            return flow.refused(program, call, why, by=hooks, is_invalid=False)
        return (yield from flow.before_tool(program, call, rules))

    def answered(self, call: ToolCall, *, asked: str, why_not: str | None) -> ToolCall:
        """The call of `judging` after the program asked `asked` in its own way; `why_not` is None for a yes."""
        return flow.answered(replace(self._program(), asked=asked), call, why_not is None, why_not)

    def finishing(self, call: ToolCall, result: ToolOutput) -> flow.Flow[ToolResult]:
        """The steps of `after_tool`."""
        self._check_open()
        check_type("call", call, ToolCall, "what `before_tool` returned")
        return (yield from flow.after_tool(self._program(), call, result))

    @property
    def can_ask(self) -> bool:
        """Whether the program has decided what happens when a hook wants the user to be asked."""
        return self._on_ask is not None

    def _program(self, *, leaves_questions: bool = False) -> flow.Program:
        unasked = flow.Unasked.LEFT_OPEN if leaves_questions else flow.Unasked.REFUSED
        on_ask = None if leaves_questions else self._on_ask
        return flow.Program(fire=self._fire, write=self.write, on_ask=on_ask, unasked=unasked)

    def write(self, record: "LogRecord") -> None:
        """Logs a record under this session."""
        with suppress(Exception):  # a decision takes effect even if it can't be logged
            if (system := self._engine.system) is not None:
                system.log_in_session(record, self.facts.session_id, self.facts.agent)

    async def _fire(
        self,
        event: HookEventName,
        fields: Mapping[str, Any],
        mcp_context: Mapping[str, Any] | None = None,
        *,
        arguments: ToolArguments | None = None,
    ) -> "Verdict | None":
        self._check_open()
        if (system := self._engine.system) is None:
            return None
        return await fire(system, event, fields, mcp_context, self.facts, arguments, limits=self._limits())

    @property
    def is_open(self) -> bool:
        """False after `close` of the session or of its `Hooks`."""
        return not self._is_closed and not self._engine.is_closed

    def close(self) -> None:
        """End the session: from now on its methods raise SessionClosedError."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._engine.is_closed:
            raise SessionClosedError(
                f"`Hooks` of the session {self.facts.session_id}", "make another `Hooks`, and close it at the end"
            )
        if self._is_closed:
            raise SessionClosedError(f"the session {self.facts.session_id}")


def _is_mapping(arguments: object) -> bool:
    return isinstance(arguments, Mapping)
