"""The only place that runs tools: here every call of the model is checked, approved and passed through its hooks."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hookline.agent.approval import Approval, Approver, Permissions, RefusedError, Scope
from hookline.agent.background import BackgroundHooks
from hookline.agent.progress import Progress
from hookline.agent.tool import CallStatus, Tool, ToolCall, ToolContext, failure
from hookline.agent.toolbox import ToolBox
from hookline.triggers.results import ToolResult
from hookline.triggers.tools import execute_tool_with_hooks

if TYPE_CHECKING:
    from hookline.config import Config

__all__ = ["Approval", "Approver", "ToolScheduler"]

_DRAIN_S = 5.0
_INTERRUPTED = "It was cancelled before it finished; its effects may be incomplete."


@dataclass(frozen=True, slots=True)
class _Ready:
    """A call that passed its checks."""

    index: int
    call: ToolCall
    tool: Tool


class ToolScheduler:
    """Runs the tool calls of each response, and remembers what the user has allowed for the session."""

    def __init__(
        self,
        *,
        config: "Config",
        toolbox: ToolBox,
        context: ToolContext,
        approve: Approver | None,
        on_change: Callable[[ToolCall], None],
        background: BackgroundHooks | None = None,
    ) -> None:
        """Sets up a scheduler.

        Args:
            config: the session, with its hooks.
            toolbox: the tools; a tool that is added later can be called at once.
            context: where tools work.
            approve: asks the user; None approves everything without a Notification event.
            on_change: called with each new status; finished calls come in the order of the calls.
            background: runs Notification hooks; by default one of its own, which `aclose()` ends.
        """
        self._config = config
        self._toolbox = toolbox
        self._context = context
        self._on_change = on_change
        self._background = background or BackgroundHooks()
        self._permissions = Permissions(config=config, context=context, approve=approve, background=self._background)

    async def run(self, calls: Sequence[ToolCall], *, allowed: Collection[str] | None = None) -> list[ToolCall]:
        """Runs the calls and returns them with their results, in the same order; `allowed` limits the tools by name.

        Read-only calls run at the same time. A call that may write waits for all before it, and blocks all after it.
        Cancelling this ends the running calls, and reports calls without a result as cancelled.
        """
        progress = Progress(calls, self._on_change)
        try:
            ready = [
                ready for index, call in enumerate(calls) if (ready := self._check(progress, index, call, allowed))
            ]
            for group in _groups(ready):
                await self._run_group(progress, group)
        except BaseException:
            progress.cancel_rest(_INTERRUPTED)
            raise
        return progress.calls()

    async def aclose(self) -> None:
        """Gives running Notification hooks a bounded time to finish."""
        await self._background.drain(_DRAIN_S)

    def _check(self, progress: Progress, index: int, call: ToolCall, allowed: Collection[str] | None) -> _Ready | None:
        """The call as it will run, or None when it failed its checks and has an error as its result."""
        progress.change(index, call, CallStatus.VALIDATING)
        tool = self._toolbox.get(call.name)
        if tool is None:
            fault = self._toolbox.unknown(call.name, allowed)
        elif allowed is not None and call.name not in allowed:
            others = ", ".join(name for name in self._toolbox.names() if name in allowed)
            fault = f"{call.name} was not run: it may not be called now. Allowed tools: {others or 'none'}."
        else:
            call = replace(call, arguments=tool.normalize(call.arguments))
            invalid = self._toolbox.fault(tool, call.arguments)
            if invalid is None:
                progress.change(index, call, CallStatus.SCHEDULED)
                return _Ready(index, call, tool)
            fault = f"{call.name} was not run: {invalid}"
        progress.finish(index, call, CallStatus.ERROR, failure(fault))
        return None

    async def _run_group(self, progress: Progress, group: list[_Ready]) -> None:
        if len(group) == 1:
            await self._run_one(progress, group[0])
            return
        async with asyncio.TaskGroup() as tasks:
            for ready in group:
                tasks.create_task(self._run_one(progress, ready))

    async def _run_one(self, progress: Progress, ready: _Ready) -> None:
        running = _RunningCall(self._config, self._toolbox, self._context, self._permissions, progress, ready)
        try:
            result = await running.result()
        except RefusedError as refusal:
            progress.finish(ready.index, running.call, CallStatus.CANCELLED, failure(str(refusal)))
        else:
            progress.finish(ready.index, running.call, running.status(result), result)


class _RunningCall:
    """One call, from its approval through its hooks to its result."""

    def __init__(
        self,
        config: "Config",
        toolbox: ToolBox,
        context: ToolContext,
        permissions: Permissions,
        progress: Progress,
        ready: _Ready,
    ) -> None:
        self.call = ready.call
        self._config = config
        self._toolbox = toolbox
        self._context = context
        self._permissions = permissions
        self._progress = progress
        self._index = ready.index
        self._tool = ready.tool
        self._given: Scope | None = None
        self._has_run = False

    async def result(self) -> ToolResult:
        """The result of the call and its hooks. Raises RefusedError when it must not run."""
        self._check_stopped()
        await self._obtain_permission()
        self._check_stopped()
        self._change(CallStatus.EXECUTING)
        return await execute_tool_with_hooks(
            self._config,
            self._tool.name,
            self.call.arguments,
            self._execute,
            normalize=self._normalized,
            validate=lambda arguments: self._toolbox.fault(self._tool, arguments),
            mcp_context=self._tool.mcp_context,
        )

    def status(self, result: ToolResult) -> CallStatus:
        """The final status of the call: idle when a hook kept it from running."""
        if result.error is not None:
            return CallStatus.ERROR
        return CallStatus.SUCCESS if self._has_run else CallStatus.IDLE

    async def _execute(self, arguments: dict[str, Any]) -> ToolResult:
        """Runs the tool with the arguments as hooks left them."""
        if arguments != self.call.arguments:
            self.call = replace(self.call, arguments=arguments)
            await self._obtain_permission()
            self._change(CallStatus.EXECUTING)
        self._has_run = True
        try:
            return await self._tool.execute(self.call.arguments, self._context)
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            return failure(f"{self._tool.name} cancelled itself.")
        except Exception as error:  # noqa: BLE001 - tools are foreign code: their exceptions become results
            return failure(f"{self._tool.name} failed: {type(error).__name__}: {error}")

    def _normalized(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with a hook's changes under their proper names: `path` may mean `file_path`."""
        before = self.call.arguments
        changes = {name: value for name, value in arguments.items() if name not in before or before[name] != value}
        return {**before, **self._tool.normalize(changes)}

    async def _obtain_permission(self) -> None:
        self._given = await self._permissions.obtain(self._tool, self.call, self._given, self._await_approval)

    def _await_approval(self) -> None:
        # Another call may have stopped the agent while this one waited for its question.
        self._check_stopped()
        self._change(CallStatus.AWAITING_APPROVAL)

    def _check_stopped(self) -> None:
        if self._progress.stop_reason is not None:
            raise RefusedError(self._progress.stop_reason)

    def _change(self, status: CallStatus) -> None:
        self._progress.change(self._index, self.call, status)


def _groups(ready: Sequence[_Ready]) -> Iterator[list[_Ready]]:
    """The calls in order, with neighbouring read-only calls in one group."""
    group: list[_Ready] = []
    for one in ready:
        if group and not (one.tool.is_read_only and group[-1].tool.is_read_only):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
