"""Hooks around tools: the two triggers, and the one door through which tools are run."""

import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.client import flow
from hookline.client.triggers.boundary import attempt, fire, system_of
from hookline.client.triggers.results import AskReason, Normalize, OnAsk, ToolCall, ToolResult, Validate, to_tool_result
from hookline.extensions import lazy_module
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.events import HookEventName
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.engine import event_table
    from hookline.engine.system import HookSystem
    from hookline.protocol.records import LogRecord
    from hookline.protocol.results import DefaultHookOutput
    from hookline.protocol.verdict import Verdict
else:  # nothing of the engine is loaded while hooks are disabled
    event_table = lazy_module("hookline.engine.event_table")

__all__ = [
    "ToolResult",
    "execute_tool_with_hooks",
    "fire_after_tool_hook",
    "fire_before_tool_hook",
    "fire_permission_hook",
]

ToolOutput = ToolResult | str | Mapping[str, Any]
ExecuteFn = Callable[[dict[str, Any]], Awaitable[ToolOutput]]


async def fire_before_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """Return the merged answer of the BeforeTool hooks; None if it changes nothing."""
    fields = {"tool_name": tool_name, "tool_input": tool_input}
    return _output(await fire(system_of(config), HookEventName.BEFORE_TOOL, fields, mcp_context))


async def fire_after_tool_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    tool_response: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> "DefaultHookOutput | None":
    """Return the merged answer of the AfterTool hooks; None if it changes nothing."""
    fields = {"tool_name": tool_name, "tool_input": tool_input, "tool_response": tool_response}
    return _output(await fire(system_of(config), HookEventName.AFTER_TOOL, fields, mcp_context))


class PermissionAnswer(NamedTuple):
    """Return the answer of other agents' PermissionRequest hooks before the user is asked."""

    allowed: bool = False
    """True when a hook allows the call, so that the user need not be asked."""
    refusal: AskReason | None = None
    """Why hooks refuse the call, and which hooks; None when they don't."""


async def fire_permission_hook(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    mcp_context: Mapping[str, Any] | None = None,
) -> PermissionAnswer:
    """Asks hooks for PermissionRequest of other agents, before the user is asked to allow a tool.

    A deny of one hook refuses the call, whatever the others say.
    """
    system = system_of(config)
    if system is None or not attempt(lambda: system.has_approval_hooks, otherwise=True):
        return PermissionAnswer()
    fields = {"tool_name": tool_name, "tool_input": tool_input}
    verdict = await fire(system, HookEventName.BEFORE_TOOL, fields, mcp_context, at_permission_request=True)
    if verdict is None:
        return PermissionAnswer()
    if verdict.blocked:
        return PermissionAnswer(refusal=AskReason(verdict.reason or "Blocked by hook", verdict.deciders))
    return PermissionAnswer(allowed=not verdict.ask and verdict.allowed)


async def execute_tool_with_hooks(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    execute_fn: ExecuteFn,
    *,
    normalize: Normalize | None = None,
    validate: Validate | None = None,
    on_ask: OnAsk | None = None,
    mcp_context: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Runs a tool between its hooks and returns the result with everything that they answered applied.

    `execute_fn` gets the arguments to run with and returns a `ToolResult`, a text or a mapping; it is not called when
    a hook blocks or stops. `normalize` gets the whole arguments, before the first hook and after each rewrite, and
    returns them under their proper names, with defaults; what a hook changed comes last. `validate` returns what is
    wrong with rewritten arguments, or None. When a hook wants the user to be asked, `on_ask` gets the reason (with the
    hooks' names in its `hooks`) and the arguments, and returns True or False, or an awaitable of that: whether the call
    may run (TypeError for anything else). `on_ask="allow"` runs such calls without a question. Without `on_ask` the
    call runs if only scripts ask, which is logged and reported, and is refused if any other hook asks.
    Only what `execute_fn` and `on_ask` raise reaches the caller.
    """
    rules = None if normalize is None and validate is None else ToolArguments.of(normalize, validate)
    options: Any = {"on_ask": on_ask, "unasked": flow.Unasked.SCRIPTS_PASS, "mcp_context": mcp_context}
    return await run_tool(config, tool_name, tool_input, execute_fn, rules, **options)


async def run_tool(
    config: "Config",
    tool_name: str,
    tool_input: Mapping[str, Any],
    execute_fn: ExecuteFn,
    rules: ToolArguments | None,
    *,
    on_ask: OnAsk | None = None,
    asked: str = "on_ask",
    unasked: flow.Unasked = flow.Unasked.REFUSED,
    mcp_context: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Does the same with rules that know what a hook changed; refuses a call about which no user can be asked."""
    flow.check_on_ask(on_ask)
    system = system_of(config)
    if system is None:
        arguments = dict(tool_input) if rules is None else rules.normal(tool_input)
        if rules is None or rules.fault is None:
            return to_tool_result(await execute_fn(arguments))
    program = _program(config, system, on_ask, asked, unasked)
    call = ToolCall(name=tool_name, arguments=tool_input, mcp_context=mcp_context)  # type: ignore[arg-type]
    return await flow.run(flow.run_tool(program, call, rules, execute_fn))


def refuse_tool(config: "Config", name: str, arguments: Mapping[str, Any], why: str, hooks: Sequence[str]) -> None:
    """Log a call that is not run because of the hooks that restricted the tools."""
    program = _program(config, system_of(config), None, "", flow.Unasked.REFUSED)
    flow.refused(program, ToolCall(name=name, arguments=dict(arguments)), why, by=tuple(hooks), is_invalid=False)


def write_in_session(config: "Config", system: "HookSystem | None", record: "LogRecord") -> None:
    """Logs a record under the session of the program."""
    with suppress(Exception):  # a decision takes effect even if it can't be logged
        if system is not None:
            system.log_in_session(record, config.get_session_id())


def _program(
    config: "Config", system: "HookSystem | None", on_ask: OnAsk | None, asked: str, unasked: flow.Unasked
) -> flow.Program:
    def write(record: "LogRecord") -> None:
        write_in_session(config, system, record)

    def warn_once(text: str) -> None:
        warned = _warned.setdefault(config, set())
        if (session := config.get_session_id()) not in warned:
            warned.add(session)
            warn_user(text)

    return flow.Program(
        fire=partial(fire, system), write=write, on_ask=on_ask, asked=asked, unasked=unasked, warn_once=warn_once
    )


# The sessions of a program that were warned that a hook's question is not asked.
_warned: "weakref.WeakKeyDictionary[Config, set[str]]" = weakref.WeakKeyDictionary()


def _output(verdict: "Verdict | None") -> "DefaultHookOutput | None":
    if verdict is None or verdict.answer is None:
        return None
    return event_table.EVENT_TABLE[verdict.event].output.of(verdict.answer)
