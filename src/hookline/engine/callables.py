"""Hooks that are functions: called with an event, they return or raise an answer."""

import asyncio
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hookline.child.job import ChildOutcome
from hookline.contract.endings import show_ms
from hookline.contract.hooks import HookEntry
from hookline.contract.vocabulary import RunWay
from hookline.contract.wire import parse_json, stringify_json
from hookline.engine._eager import begin
from hookline.engine._threads import THREADS, describe
from hookline.engine.functions import load_plugin
from hookline.errors import HooklineError
from hookline.hook import Answer, answer_in, read_answer, read_event

_LONGEST_TIMER_S = 86400.0
_WAY = RunWay.FUNCTION
# A task that nobody refers to may vanish. These were cancelled and have not ended yet.
_left: set["asyncio.Future[Any]"] = set()


async def run_callables(
    hooks: Sequence[HookEntry], stdin: bytes, on_end: Callable[[int], None] | None = None
) -> list[ChildOutcome]:
    """Calls all hooks at the same time, and returns their outcomes in order, in the form of a process's.

    Each gets an event of its own, read from the JSON that a script would get, and its answer becomes the JSON that a
    script would print: so a function changes nothing by changing what it was given, or later what it returned.
    """
    batch = _Batch(hooks, stdin, on_end)
    try:
        if batch.running:
            await batch.wait()
    finally:
        batch.close()
    return batch.outcomes


class _Batch:
    """The calls of one event; those that wait have a task and a timer each."""

    _ended: "asyncio.Future[None] | None" = None

    def __init__(self, hooks: Sequence[HookEntry], stdin: bytes, on_end: Callable[[int], None] | None) -> None:
        self.outcomes = [ChildOutcome(way=_WAY)] * len(hooks)
        self.running: dict[int, tuple[asyncio.Future[Any], asyncio.TimerHandle]] = {}
        self._hooks = hooks
        self._on_end = on_end
        self._began = time.perf_counter()
        loop = asyncio.get_running_loop()
        for index, hook in enumerate(hooks):
            task = begin(_ask(hook, stdin), loop)
            if task.done():
                self._keep(index, _outcome(task, self._took_ms()))
            else:
                delay = min(hook.timeout_ms / 1000, _LONGEST_TIMER_S)
                self.running[index] = task, loop.call_later(delay, self._expire, index)
                task.add_done_callback(partial(self._finish, index))

    async def wait(self) -> None:
        """Waits until each call has ended, or its time is over."""
        self._ended = asyncio.get_running_loop().create_future()
        await self._ended

    def close(self) -> None:
        """Ends the calls that still run, because the caller does not wait any longer."""
        for task, timer in self.running.values():
            timer.cancel()
            _cancel(task)
        self.running.clear()

    def _finish(self, index: int, task: "asyncio.Future[Any]") -> None:
        if index in self.running:
            self.running.pop(index)[1].cancel()
            self._keep(index, _outcome(task, self._took_ms()))

    def _expire(self, index: int) -> None:
        task, _ = self.running.pop(index)
        _cancel(task)
        error = f"timed out after {show_ms(self._hooks[index].timeout_ms)}"
        callback = self._hooks[index].call
        if callback is not None and callback.in_thread:
            error = f"{error}; its thread goes on ({THREADS.busy} of at most {THREADS.most} are in use)"
        self._keep(index, ChildOutcome(timed_out=True, error=error, duration_ms=self._took_ms(), way=_WAY))

    def _took_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def _keep(self, index: int, outcome: ChildOutcome) -> None:
        self.outcomes[index] = outcome
        if not self.running and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        if self._on_end is not None:
            self._on_end(index)


async def _ask(hook: HookEntry, stdin: bytes) -> dict[str, Any] | None:
    try:
        callback = hook.call or await THREADS.run(load_plugin, hook.plugin)
        if callback.in_thread:
            returned = await THREADS.run(_call, callback.function, stdin)
        else:
            returned = _call(callback.function, stdin)
        if hasattr(returned, "__await__"):
            returned = await returned
        return read_answer(returned)
    except Answer as raised:
        return raised.fields
    except BaseExceptionGroup as group:
        if (answer := answer_in(group)) is None:
            raise
        return answer.fields
    except SystemExit as exited:  # asyncio would end the whole program with it
        raise HooklineError(f"called sys.exit({exited.code!r}); return an answer such as Deny") from exited


def _call(function: Callable[[Any], Any], stdin: bytes) -> Any:
    return function(read_event(parse_json(stdin.decode())))


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
