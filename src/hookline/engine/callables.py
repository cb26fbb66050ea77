"""Hooks that are functions: called with an event, they return or raise an answer."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from hookline.child.job import ChildOutcome
from hookline.contract.endings import show_ms
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionResult
from hookline.contract.vocabulary import RunWay
from hookline.contract.wire import parse_own_json, stringify_json
from hookline.engine._eager import begin
from hookline.engine._threads import THREADS, describe
from hookline.engine.functions import load_plugin
from hookline.engine.reading import in_this_context, notify, read_run
from hookline.errors import HooklineError
from hookline.hook import Answer, answer_in, read_answer, read_event

_LONGEST_TIMER_S = 86400.0
_WAY = RunWay.FUNCTION
_RUNNING = ChildOutcome(way=_WAY)
# A task that nobody refers to may vanish. These were cancelled and have not ended yet.
_left: set["asyncio.Future[Any]"] = set()


async def call_hooks(
    hooks: Sequence[HookEntry], told: Mapping[str, Any], on_end: Callable[[HookEntry], None] | None = None
) -> list[HookExecutionResult]:
    """Calls hooks that are functions of this program at the same time, and returns their results in order."""
    stdin = stringify_json(told)
    outcomes = await run_callables(
        hooks, stdin, None if on_end is None else partial(notify, in_this_context(on_end), hooks)
    )
    return [read_run(hook, outcome, stdin, told) for hook, outcome in zip(hooks, outcomes, strict=True)]


async def run_callables(
    hooks: Sequence[HookEntry], stdin: bytes, on_end: Callable[[int], None] | None = None
) -> list[ChildOutcome]:
    """Calls all hooks at the same time, and returns their outcomes in order, in the form of a process's.

    Each gets an event of its own, read from the JSON that a script would get, and its answer becomes the JSON that a
    script would print: so a function changes nothing by changing what it was given, or later what it returned.
    """
    began = time.perf_counter()
    loop = asyncio.get_running_loop()
    outcomes = [_RUNNING] * len(hooks)
    batch: _Batch | None = None
    for index, hook in enumerate(hooks):
        task = _begin(hook, stdin, loop)
        if task.done():
            outcomes[index] = _outcome(task, (time.perf_counter() - began) * 1000)
            if on_end is not None:
                on_end(index)
        else:
            batch = batch or _Batch(hooks, outcomes, on_end, began)
            batch.add(index, task, loop)
    if batch is not None:
        await batch.wait(loop)
    return outcomes


class _Batch:
    """The calls of one event that wait for something, with a future and a timer each."""

    _ended: "asyncio.Future[None] | None" = None

    def __init__(
        self,
        hooks: Sequence[HookEntry],
        outcomes: list[ChildOutcome],
        on_end: Callable[[int], None] | None,
        began: float,
    ) -> None:
        self._running: dict[int, tuple[asyncio.Future[Any], asyncio.TimerHandle]] = {}
        self._hooks = hooks
        self._outcomes = outcomes
        self._on_end = on_end
        self._began = began

    def add(self, index: int, task: "asyncio.Future[Any]", loop: asyncio.AbstractEventLoop) -> None:
        """Watches a call."""
        delay = min(self._hooks[index].timeout_ms / 1000, _LONGEST_TIMER_S)
        self._running[index] = task, loop.call_later(delay, self._expire, index)
        task.add_done_callback(partial(self._finish, index))

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Waits until each call has ended, or its time is over."""
        self._ended = loop.create_future()
        try:
            await self._ended
        finally:
            self._close()

    def _close(self) -> None:
        """Ends the calls that still run, because the caller does not wait any longer."""
        for task, timer in self._running.values():
            timer.cancel()
            _cancel(task)
        self._running.clear()

    def _finish(self, index: int, task: "asyncio.Future[Any]") -> None:
        if index not in self._running:
            return
        _, timer = self._running.pop(index)
        if not task.cancelled() and task.exception() is None and hasattr(returned := task.result(), "__await__"):
            # A function in a thread returned something to await, within the time that is left.
            rest = asyncio.ensure_future(_settled(returned))
            self._running[index] = rest, timer
            rest.add_done_callback(partial(self._finish, index))
            return
        timer.cancel()
        self._keep(index, _outcome(task, self._took_ms()))

    def _expire(self, index: int) -> None:
        task, _ = self._running.pop(index)
        _cancel(task)
        error = f"timed out after {show_ms(self._hooks[index].timeout_ms)}"
        callback = self._hooks[index].call
        if callback is not None and callback.in_thread:
            error = f"{error}; its thread goes on ({THREADS.busy} of at most {THREADS.most} are in use)"
        self._keep(index, ChildOutcome(timed_out=True, error=error, duration_ms=self._took_ms(), way=_WAY))

    def _took_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def _keep(self, index: int, outcome: ChildOutcome) -> None:
        self._outcomes[index] = outcome
        if not self._running and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        if self._on_end is not None:
            self._on_end(index)


def _begin(hook: HookEntry, stdin: bytes, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[Any]":
    """Begins a call; one in a thread needs no task, because the thread reads the answer, too."""
    callback = hook.call
    if callback is not None and callback.in_thread:
        return THREADS.run(_ask_in_thread, callback.function, stdin)
    return begin(_settled(_returned(hook, stdin)), loop)


def _ask_in_thread(function: Callable[[Any], Any], stdin: bytes) -> Any:
    """The answer in hook form, or what is to be awaited for it."""
    try:
        returned = _call(function, stdin)
        return returned if hasattr(returned, "__await__") else read_answer(returned)
    except (Answer, BaseExceptionGroup) as raised:
        return _raised_fields(raised)


async def _returned(hook: HookEntry, stdin: bytes) -> Any:
    """What a function returns that is called here, or that a package offers."""
    callback = hook.call or await THREADS.run(load_plugin, hook.plugin)
    if callback.in_thread:
        returned = await THREADS.run(_call, callback.function, stdin)
    else:
        returned = _call(callback.function, stdin)
    return await returned if hasattr(returned, "__await__") else returned


async def _settled(returned: Awaitable[Any]) -> dict[str, Any] | None:
    """The answer in hook form that is returned, or raised."""
    try:
        return read_answer(await returned)
    except (Answer, BaseExceptionGroup) as raised:
        return _raised_fields(raised)
    except SystemExit as exited:  # asyncio would end the whole program with it
        raise HooklineError(f"called sys.exit({exited.code!r}); return an answer such as Deny") from exited


def _raised_fields(raised: "Answer | BaseExceptionGroup[Any]") -> dict[str, Any]:
    """The answer that was raised; the error itself again if it is none."""
    answer = raised if isinstance(raised, Answer) else answer_in(raised)
    if answer is None:
        raise raised
    return answer.fields


def _call(function: Callable[[Any], Any], stdin: bytes) -> Any:
    return function(read_event(parse_own_json(stdin)))


def _outcome(task: "asyncio.Future[Any]", took_ms: float) -> ChildOutcome:
    if task.cancelled():
        return ChildOutcome(error="was cancelled by its own code", duration_ms=took_ms, way=_WAY)
    error = task.exception()
    if error is not None:
        trace = "".join(traceback.format_exception(error))
        said = str(error) if isinstance(error, HooklineError) else f"raised {describe(error)}"
        stderr = trace.encode("utf-8", "backslashreplace")
        return ChildOutcome(error=said, stderr=stderr, duration_ms=took_ms, way=_WAY)
    answer = task.result()
    return ChildOutcome(
        exit_code=0, stdout=b"" if answer is None else stringify_json(answer), duration_ms=took_ms, way=_WAY
    )


def _cancel(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    _left.add(task)
    task.add_done_callback(_forget)


def _forget(task: "asyncio.Future[Any]") -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # or asyncio would report that nobody has asked for it
