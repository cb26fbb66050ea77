"""One tool call between its hooks: the only place where what hooks decide about a tool call is put into effect.

A flow is a generator, so that async and blocking callers run the same code. It yields functions without arguments, and
is sent what they return; where that is awaitable, what it comes to. `run` does this for async callers. A program that
runs the tool itself, such as an MCP gateway, uses the two halves alone: `before_tool` and `after_tool`.
"""

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hookline.client.triggers.results import AskReason, OnAsk, ToolCall, ToolResult, to_tool_result
from hookline.extensions import lazy_module
from hookline.protocol.arguments import ToolArguments, own_copy
from hookline.protocol.events import HookEventName

if TYPE_CHECKING:
    from hookline.engine import event_log, handler
    from hookline.protocol import answers, constants, records, verdict
    from hookline.protocol.records import AnswerRecord, LogRecord
    from hookline.protocol.text import call_summary, outcome_words
    from hookline.protocol.text.outcome_words import UserAnswer
    from hookline.protocol.verdict import HookExecutionResult, Verdict
else:  # nothing of the engine is loaded while hooks are disabled
    event_log = lazy_module("hookline.engine.event_log")
    handler = lazy_module("hookline.engine.handler")
    answers = lazy_module("hookline.protocol.answers")
    constants = lazy_module("hookline.protocol.constants")
    records = lazy_module("hookline.protocol.records")
    verdict = lazy_module("hookline.protocol.verdict")
    call_summary = lazy_module("hookline.protocol.text.call_summary")
    outcome_words = lazy_module("hookline.protocol.text.outcome_words")

Result = TypeVar("Result")
Flow = Generator[Callable[[], Any], Any, Result]

_NOBODY = "a hook wants the user to be asked about this call, and nobody can be asked here"


class Unasked(Enum):
    """The consequence of a hook's `ask` where the program has no `on_ask`."""

    REFUSED = auto()
    """The call is refused, with the reason."""
    SCRIPTS_PASS = auto()
    """The call runs if only scripts ask, as the specification has it; any other hook's `ask` refuses it."""
    LEFT_OPEN = auto()
    """The program asks in its own way: the call has `ask` set, and `answered` gives the answer."""


class Fire(Protocol):
    """Fires one event."""

    def __call__(
        self,
        event: HookEventName,
        fields: Mapping[str, Any],
        mcp_context: Mapping[str, Any] | None,
        *,
        arguments: ToolArguments | None = None,
    ) -> "Awaitable[Verdict | None]":
        """Return the verdict; None if no hook had to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program around a tool call: everything in which programs differ."""

    fire: Fire
    """Fires one event in the program's session."""
    write: "Callable[[LogRecord], None]"
    """Logs a record in the program's session."""
    on_ask: OnAsk | None = None
    asked: str = "on_ask"
    """The name of the user or program that `on_ask` asks, for the log."""
    unasked: Unasked = Unasked.REFUSED
    warn_once: Callable[[str], None] = lambda _: None
    """Reports on stderr, once per session."""


def check_on_ask(on_ask: object) -> None:
    """TypeError for anything but a function, "allow" or None: it must not count as a yes."""
    if on_ask is not None and not callable(on_ask) and on_ask != "allow":
        raise TypeError(f'on_ask is {on_ask!r}; expected a function, "allow" or None')


async def run(flow: Flow[Result], wait: Callable[[Awaitable[Any]], Any] | None = None) -> Result:
    """Run a flow and return its result; `wait` replaces `await`. Exceptions of its functions reach the caller."""
    value: Any = None
    while True:
        try:
            step = flow.send(value)
        except StopIteration as end:
            result: Result = end.value
            return result
        value = step()
        if inspect.isawaitable(value):
            value = await value if wait is None else wait(value)


def run_blocking(flow: Flow[Result], wait: Callable[[Awaitable[Any]], Any]) -> Result:
    """Run a flow in this thread; `wait` blocks until an awaitable has its result."""
    try:
        run(flow, wait).send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise RuntimeError("`wait` has not blocked")


def run_tool(
    program: Program, call: ToolCall, rules: ToolArguments | None, fn: Callable[[dict[str, Any]], Any]
) -> Flow[ToolResult]:
    """Runs a tool between its hooks, and returns its result with everything applied that they answered."""
    return (yield from run_judged(program, (yield from before_tool(program, call, rules)), fn))


def run_judged(program: Program, call: ToolCall, fn: Callable[[dict[str, Any]], Any]) -> Flow[ToolResult]:
    """Runs the tool of a call that `before_tool` returned, unless it is blocked."""
    if call.blocked:
        return call.refusal
    # The tool gets a copy: AfterTool hooks read the arguments it was called with, even if it changes them.
    output = yield partial(fn, own_copy(call.arguments) or {})
    return (yield from after_tool(program, call, output))


def before_tool(program: Program, call: ToolCall, rules: ToolArguments | None) -> Flow[ToolCall]:
    """Fires BeforeTool, and asks the user if hooks want that: whether the tool runs, and with which arguments.

    `call` has the arguments as the caller gave them. Hooks, the user and the tool get their normal form.
    """
    given: Any = call.arguments  # a model may have written anything
    if not isinstance(given, Mapping) or (arguments := own_copy(given)) is None:
        kind = type(given).__name__
        return refused(
            program, replace(call, arguments={}), f"its arguments are a {kind} that can't be read as a mapping"
        )
    if rules is not None:
        arguments = rules.normal(arguments)
    call = replace(call, arguments=arguments)
    if rules is not None and rules.fault is not None:
        return refused(program, call, f"its arguments can't be used: {rules.fault}")
    fields = {"tool_name": call.name, "tool_input": arguments}
    call = judged(
        call, (yield partial(program.fire, HookEventName.BEFORE_TOOL, fields, call.mcp_context, arguments=rules))
    )
    if not call.ask:
        return call
    if program.on_ask is None:
        return _unasked(program, call)
    if not callable(program.on_ask):  # "allow": `check_on_ask` lets nothing else in
        return call
    reason = AskReason(call.reason or "", call.decided_by)
    return answered(program, call, (yield partial(program.on_ask, reason, own_copy(call.arguments) or {})))


def after_tool(program: Program, call: ToolCall, output: Any) -> Flow[ToolResult]:
    """Fires AfterTool, and returns the result with everything applied that the hooks of both events answered.

    For a call that is blocked it fires nothing, and returns the refusal.
    """
    if call.blocked:
        return call.refusal
    result = to_tool_result(output)
    fields = {"tool_name": call.name, "tool_input": call.arguments, "tool_response": result.to_tool_response()}
    after = yield partial(program.fire, HookEventName.AFTER_TOOL, fields, call.mcp_context)
    if call.verdict is None and after is None:
        return result
    return applied(result, call.verdict, after)


def judged(call: ToolCall, before: "Verdict | None") -> ToolCall:
    """The call as its BeforeTool hooks decided."""
    if before is None or before.answer is None:
        return replace(call, verdict=before)
    return replace(
        call,
        arguments=call.arguments if before.arguments is None else before.arguments,
        changed=before.arguments is not None,
        blocked=before.blocked,
        reason=before.reason,
        ask=before.ask,
        note=before.note,
        context=before.context,
        stop=before.stop,
        stop_reason=before.stop_reason,
        decided_by=before.deciders if before.blocked or before.ask or before.stop else (),
        verdict=before,
    )


def answered(program: Program, call: ToolCall, answer: object, why_not: str | None = None) -> ToolCall:
    """The call after the user was asked about it, which the log records with the answer.

    TypeError for an answer that is neither True nor False: the text "no" is true.
    """
    if not isinstance(answer, bool):
        raise TypeError(f"the answer of on_ask is {answer!r}; expected True or False")
    word = outcome_words.UserAnswer.YES if answer else outcome_words.UserAnswer.NO
    program.write(answer_record(call, word, program.asked, why_not))
    reason = call.reason if answer or why_not is None else f"{call.reason} ({why_not})"
    decided_by = call.decided_by if answer else (program.asked,)
    return replace(call, ask=False, blocked=not answer, reason=reason, decided_by=decided_by)


def answer_record(call: ToolCall, answer: "UserAnswer", asked: str, why: str | None = None) -> "AnswerRecord":
    """The record of an answer about a call; `why` is the reason for it, where there is one."""
    by = f" (asked by {', '.join(call.decided_by)})" if call.decided_by else ""
    shown = f"{asked} answered {answer}{by}" if why is None else f"{answer}{by}: {why}"
    return _answer_record(call, shown, answer=answer.value, asked=asked, blocked=answer is outcome_words.UserAnswer.NO)


def unasked_record(call: ToolCall, why: str, *, blocked: bool = True) -> "AnswerRecord":
    """The record of a question that could not be put to a user."""
    return _answer_record(call, f"blocked: {why}" if blocked else why, blocked=blocked)


def _answer_record(call: ToolCall, shown: str, **facts: Any) -> "AnswerRecord":
    return records.AnswerRecord(
        level=records.LogLevel.INFO if "asked" in facts else records.LogLevel.WARN,
        message=f"BeforeTool {call.name}: {shown}",
        fire=None if call.verdict is None else call.verdict.fire,
        event="BeforeTool",
        subject=call.name,
        call=call_summary.call_of(call.arguments),
        reason=call.reason,
        by=call.decided_by,
        **facts,
    )


def refused(
    program: Program, call: ToolCall, why: str, *, by: tuple[str, ...] = (), is_invalid: bool = True
) -> ToolCall:
    """A call that is refused before any hook runs; the log has a record of it.

    `is_invalid` is for arguments that can't be used, which is an error of the call.
    """
    reason = f"{call.name} was not run: {why}" if is_invalid else why
    refusal = verdict.Verdict(
        event=HookEventName.BEFORE_TOOL,
        subject=call.name,
        blocked=True,
        denied=True,
        decider=None if is_invalid else constants.Decider.HOOK,
        by=by,
        invalid=why if is_invalid else None,
        reason=reason,
        answer=answers.deny(reason),
    )
    program.write(event_log.decided_record(refusal, handler.new_fire_id(), call.arguments))
    return judged(call, refusal)


def _unasked(program: Program, call: ToolCall) -> ToolCall:
    """The call if hooks want the user to be asked and the program has no way to do that."""
    if program.unasked is Unasked.LEFT_OPEN:
        return call
    by = ", ".join(call.decided_by) or "a hook"
    asks = f"{by} asks ({call.reason})"
    if program.unasked is Unasked.SCRIPTS_PASS and call.verdict is not None and _only_scripts_ask(call.verdict.runs):
        asks = f"{asks}, but this program gives no on_ask"
        program.write(unasked_record(call, f"{asks}, so the call goes on", blocked=False))
        remedy = 'give on_ask, or on_ask="allow" if that is what you want'
        program.warn_once(f"BeforeTool {call.name}: {asks}, so the call runs without a question; {remedy}")
        return replace(call, ask=False)
    program.write(unasked_record(call, f"{asks}, and nobody can be asked here"))
    return replace(call, blocked=True, reason=f"{call.reason} ({_NOBODY})")


def _only_scripts_ask(runs: "tuple[HookExecutionResult, ...]") -> bool:
    """True if every hook that asks is a command in hookline's own format."""
    own = constants.OWN_DIALECT
    asking = [run.hook for run in runs if run.answer is not None and run.answer.asks and run.hook.is_enforced]
    return all(hook.type is constants.HookType.COMMAND and hook.dialect == own for hook in asking)


def applied(result: ToolResult, before: "Verdict | None", after: "Verdict | None") -> ToolResult:
    """The tool's result with both events' notes, context, suppression and stop applied."""
    content = result.llm_content
    if after is not None and after.tool_output is not None:
        content = after.tool_output
    if before is not None:
        content = _append(content, _context(before.context) + _system_note(before.note))
    if after is None or after.answer is None:
        return result if content is result.llm_content else replace(result, llm_content=content)
    content = _append(content, _context(after.context))
    if after.denied:
        # The tool has run and can't be blocked any more, but the model should know what the hook objects to.
        content = _append(content, _system_note(after.reason))
    content = _append(content, _system_note(after.note))
    suppress = result.suppress_display or after.suppress
    result = replace(result, llm_content=content, suppress_display=suppress)
    if not after.stop:
        return result
    return replace(result, should_stop=True, stop_reason=after.stop_reason, decided_by=after.deciders)


def _context(text: str | None) -> str:
    return f"\n\n{text}" if text else ""


def _system_note(text: str | None) -> str:
    return f"\n\n[System] {text}" if text else ""


def _append(content: Any, text: str) -> Any:
    if not text:
        return content
    if content is None or isinstance(content, str):
        return (content or "") + text
    parts = list(content) if isinstance(content, list | tuple) else [content]
    return [*parts, {"text": text}]
