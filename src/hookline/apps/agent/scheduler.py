"""Checks each tool call of the model, fires its hooks, asks for approval and runs it. Nothing else runs tools."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.apps.agent.approval.approver import (
    THE_USER,
    Approval,
    Grant,
    Permissions,
    RefusedError,
    with_message,
)
from hookline.apps.agent.tool import AgentCall, AgentTool, CallStatus, ToolContext, failure
from hookline.apps.agent.toolbox import ToolBox
from hookline.apps.agent.tools.paths import resolve_paths
from hookline.client.triggers.results import AskReason, ToolResult
from hookline.client.triggers.tools import refuse_tool, run_tool
from hookline.protocol.arguments import ToolArguments

if TYPE_CHECKING:
    from hookline.client.config import Config

_INTERRUPTED = "It was cancelled before it finished; its effects may be incomplete."
_NOT_STARTED = "It was cancelled before it started, so it had no effect."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolScheduler:
    """Runs the tool calls of each response."""

    config: "Config"
    toolbox: ToolBox
    permissions: Permissions
    on_change: Callable[[AgentCall], None]
    """Called with each new status; finished calls are reported in the order of the calls."""

    async def run(
        self, calls: Sequence[AgentCall], *, allowed: Collection[str] | None = None, restricted_by: Sequence[str] = ()
    ) -> list[AgentCall]:
        """Run the calls and return them with their results, in the same order.

        `allowed` limits the tools by name for the hooks in `restricted_by`. Neighbouring read-only calls run in
        parallel, all others alone. Cancelling this ends the running calls, and reports calls without a result as
        cancelled.
        """
        progress = _CallProgress(calls, self.on_change)
        try:
            restriction = _Restriction(allowed, restricted_by)
            checked = [self._check(progress, index, restriction) for index in range(len(calls))]
            for group in _groups([running for running in checked if running is not None]):
                await _run_group(group)
        except BaseException:
            progress.cancel_rest()
            raise
        return progress.calls

    def _check(self, progress: "_CallProgress", index: int, restriction: "_Restriction") -> "_RunningCall | None":
        """Return the checked call, or None if a check failed and its result is an error."""
        call = progress.calls[index]
        progress.change(index, call, CallStatus.VALIDATING)
        tool = self.toolbox.get(call.name)
        if tool is None:
            fault = self.toolbox.unknown(call.name, restriction.allowed)
        elif (forbidden := restriction.why_not(call.name, self.toolbox.names())) is not None:
            fault = f"{call.name} was not run: {forbidden}"
            refuse_tool(self.config, call.name, call.arguments, fault, restriction.hooks)
        else:
            call = replace(call, arguments=tool.normalize(call.arguments))
            invalid = self.toolbox.fault(tool, call.arguments)
            if invalid is None:
                progress.change(index, call, CallStatus.SCHEDULED)
                return _RunningCall(self, progress, index, tool)
            fault = f"{call.name} was not run: {invalid}"
        progress.change(index, call, CallStatus.ERROR, failure(fault))
        return None


class _Restriction(NamedTuple):
    """The tools that may be called after hooks restricted them."""

    allowed: Collection[str] | None
    hooks: Sequence[str]

    def why_not(self, name: str, known: Iterable[str]) -> str | None:
        """Return why a tool may not be called, or None."""
        if self.allowed is None or name in self.allowed:
            return None
        by = f", because {' and '.join(self.hooks)} restricted the tools" if self.hooks else ""
        others = ", ".join(one for one in known if one in self.allowed)
        return f"it may not be called now{by}. Allowed tools: {others or 'none'}."


class _CallProgress:
    """The state of the calls; a result is reported after those of all earlier calls."""

    def __init__(self, calls: Sequence[AgentCall], on_change: Callable[[AgentCall], None]) -> None:
        self.calls = list(calls)
        self.stop_reason: str | None = None
        """The reason why no further call may start, or None."""
        self.started: set[int] = set()
        """The indexes of calls whose tools were started."""
        self._on_change = on_change
        self._finished: set[int] = set()
        self._published = 0

    def change(self, index: int, call: AgentCall, status: CallStatus, result: ToolResult | None = None) -> None:
        """Store and report a new status of a call."""
        self.calls[index] = replace(call, status=status, result=result)
        if result is None:
            self._on_change(self.calls[index])
            return
        self._finished.add(index)
        if result.should_stop and self.stop_reason is None:
            reason = f" ({result.stop_reason})" if result.stop_reason else ""
            who = " and ".join(result.decided_by) or "a hook"
            self.stop_reason = f"It was not run, because {who} stopped the agent{reason}."
        while self._published in self._finished:
            # Counted first, so that no call is reported twice if the listener raises.
            self._published += 1
            self._on_change(self.calls[self._published - 1])

    def cancel_rest(self) -> None:
        """Mark every call without a result as cancelled."""
        for index, call in enumerate(self.calls):
            if index not in self._finished:
                reason = _INTERRUPTED if index in self.started else _NOT_STARTED
                self.change(index, call, CallStatus.CANCELLED, failure(reason))


class _RunningCall:
    """One checked call, from its hooks through its approval to its result."""

    def __init__(self, scheduler: ToolScheduler, progress: _CallProgress, index: int, tool: AgentTool) -> None:
        self.tool = tool
        self._scheduler = scheduler
        self._progress = progress
        self._index = index
        self._call = progress.calls[index]
        resolve_paths(self._call.arguments, self._context)
        self._model_arguments = self._call.arguments
        self._given: Grant | None = None
        self._message = ""
        """The user's message to the model about a refusal."""
        self._has_run = False

    async def run(self) -> None:
        """Run the call, unless it must not run, and store its result."""
        try:
            result = await self._result()
        except RefusedError as refusal:
            result = failure(str(refusal))
            if refusal.hooks:
                result = replace(result, error=None, decided_by=refusal.hooks)
            status = CallStatus.IDLE if refusal.hooks else CallStatus.CANCELLED
            self._progress.change(self._index, self._call, status, result)
        else:
            blocked_or_success = CallStatus.SUCCESS if self._has_run else CallStatus.IDLE
            status = CallStatus.ERROR if result.error is not None else blocked_or_success
            self._progress.change(self._index, self._call, status, result)

    async def _result(self) -> ToolResult:
        self._check_stopped()
        if (fault := self.tool.fault(self._call.arguments, self._context)) is not None:
            return failure(fault)
        self._change(CallStatus.EXECUTING)
        # The hooks decide first, so the user is asked once, and only about a call that no hook blocks.
        result = await run_tool(
            self._scheduler.config,
            self.tool.name,
            self._call.arguments,
            self._execute,
            ToolArguments(self._normalized, lambda arguments: self._scheduler.toolbox.fault(self.tool, arguments)),
            on_ask=self._ask_user if self._scheduler.permissions.can_ask else None,
            asked=THE_USER,
            mcp_context=self.tool.mcp_context,
        )
        if not self._message:
            return result
        return replace(result, llm_content=with_message(str(result.llm_content), self._message))

    async def _ask_user(self, reason: AskReason, arguments: Mapping[str, Any]) -> bool:
        """Return True if the user allows the call with the arguments that hooks changed."""
        self._call = replace(self._call, arguments=dict(arguments))
        reply, grant = await self._scheduler.permissions.ask_for_hook(
            self.tool, self._call, self._await_approval, asked=reason, before=self._changed_from()
        )
        if reply.decision is Approval.REFUSE:
            self._message = reply.message
            return False
        self._given = grant
        self._change(CallStatus.EXECUTING)
        return True

    async def _execute(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool with the arguments that hooks may have changed."""
        self._call = replace(self._call, arguments=arguments)
        self._given = await self._scheduler.permissions.obtain(
            self.tool, self._call, self._await_approval, given=self._given, before=self._changed_from()
        )
        self._check_stopped()
        reported = self._progress.calls[self._index]
        if (reported.status, reported.arguments) != (CallStatus.EXECUTING, arguments):
            self._change(CallStatus.EXECUTING)
        self._has_run = True
        self._progress.started.add(self._index)
        try:
            return await self.tool.execute(self._call.arguments, self._context)
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            return failure(f"{self.tool.name} cancelled itself.")
        except Exception as error:  # noqa: BLE001 - a tool may raise anything; the model must get a result
            return failure(f"{self.tool.name} failed: {type(error).__name__}: {error}")

    def _normalized(self, arguments: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with a hook's changes under their canonical names (`file_path` for `path`)."""
        kept = {name: value for name, value in arguments.items() if name not in changes}
        normal = {**kept, **self.tool.normalize(changes)}
        resolve_paths(normal, self._context)
        return normal

    @property
    def _context(self) -> ToolContext:
        return ToolContext.of(self._scheduler.config, self._call)

    def _changed_from(self) -> Mapping[str, Any] | None:
        """Return the model's arguments if hooks changed them."""
        return None if self._call.arguments == self._model_arguments else self._model_arguments

    def _await_approval(self) -> None:
        # Another call may have stopped the agent while this one waited.
        self._check_stopped()
        self._change(CallStatus.AWAITING_APPROVAL)

    def _check_stopped(self) -> None:
        if self._progress.stop_reason is not None:
            raise RefusedError(self._progress.stop_reason)

    def _change(self, status: CallStatus) -> None:
        self._progress.change(self._index, self._call, status)


def _groups(calls: Sequence[_RunningCall]) -> Iterator[list[_RunningCall]]:
    """Yield the calls in order, with neighbouring read-only calls in one group."""
    for is_read_only, group in groupby(calls, key=lambda call: call.tool.is_read_only):
        together = list(group)
        yield from [together] if is_read_only else [[call] for call in together]


async def _run_group(group: list[_RunningCall]) -> None:
    if len(group) == 1:
        await group[0].run()
        return
    async with asyncio.TaskGroup() as tasks:
        for call in group:
            tasks.create_task(call.run())


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
