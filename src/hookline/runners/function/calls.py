"""Hooks that are functions: called with an event, they return or raise an answer."""

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from signal import SIGTERM, raise_signal
from typing import Any

import msgspec

from hookline.errors import HooklineError
from hookline.hook.answers import Answer, WrongAnswerError, answer_in, read_answer
from hookline.hook.events import read_event
from hookline.protocol.constants import RunWay
from hookline.protocol.hook_entry import Callback, HookEntry, Plugin
from hookline.protocol.text.exit_text import show_ms
from hookline.protocol.text.json_text import parse_json, stringify_json
from hookline.runners.function.plugins import load_plugin, loaded_plugin
from hookline.runners.function.threads import THREADS
from hookline.runners.function.watchdog import WATCHDOG, HookTimeoutError, Watched, deadline_after
from hookline.runners.process.job import ChildOutcome

_LONGEST_TIMER_S = 86400.0
# How long the loop stands still for functions in threads: less than the start of a process takes, and longer than most
# functions. A turn of the loop for each of them takes more time than this saves.
_MOMENT_S = 0.0002
_WAY = RunWay.FUNCTION
_HELD_UP = "; it held up the event loop, and was ended"
_RUNNING = ChildOutcome(way=_WAY)
# Python may delete a task without references. These were cancelled and have not ended yet.
_left: set["asyncio.Future[Any]"] = set()


async def run_callables(
    hooks: Sequence[HookEntry], stdin: bytes, on_end: Callable[[int], None] | None = None
) -> list[ChildOutcome]:
    """Calls all hooks at the same time, and returns their outcomes in order, in the form of a process's.

    Each gets an event of its own, read from the JSON that a script would get, and its answer becomes the JSON that a
    script would print: so a function changes nothing by changing what it was given, or later what it returned.
    """
    calls = _Calls(hooks, stdin, on_end, asyncio.get_running_loop())
    try:
        for index, hook in enumerate(hooks):
            calls.begin(index, hook)
        if calls.in_threads:
            calls.wait_a_moment()
        if calls.running:
            await calls.wait()
    finally:
        calls.close()
    return calls.outcomes


class _Calls:
    """The calls of one event."""

    _ended: "asyncio.Future[None] | None" = None

    def __init__(
        self,
        hooks: Sequence[HookEntry],
        stdin: bytes,
        on_end: Callable[[int], None] | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.outcomes = [_RUNNING] * len(hooks)
        self.running: dict[int, tuple[Callable[[], object], asyncio.TimerHandle]] = {}
        """For each call that waits for something: how it is given up, and the timer that does it."""
        self.in_threads: list[tuple[int, Future[Any]]] = []
        """The calls in threads."""
        self._hooks = hooks
        self._stdin = stdin
        self._on_end = on_end
        self._loop = loop
        self._began = time.perf_counter()

    def begin(self, index: int, hook: HookEntry) -> None:
        """Begins a call; one that does not wait has ended when this returns."""
        callback = hook.run
        if isinstance(callback, Plugin):
            self._follow(index, self._begin(index, _settled(_offered(callback.reference, self._stdin))))
        elif not isinstance(callback, Callback):
            raise TypeError(f"{hook.label} is not a function")
        elif callback.in_thread:
            self._call_in_thread(index, callback.function)
        else:
            self._call_here(index, callback.function)

    async def wait(self) -> None:
        """Waits until each call has ended, or its time is over."""
        self._ended = self._loop.create_future()
        await self._ended

    def close(self) -> None:
        """Ends the calls that still run, because the caller does not wait any longer."""
        for give_up, timer in self.running.values():
            timer.cancel()
            give_up()
        self.running.clear()
        for _, future in self.in_threads:
            future.cancel()

    def _call_here(self, index: int, function: Callable[[Any], Any]) -> None:
        context = copy_context()
        try:
            left_s = deadline_after(self._hooks[index].timeout_ms / 1000) - time.monotonic()
            returned = WATCHDOG.call(left_s, context.run, _ask, function, self._stdin)
        except KeyboardInterrupt:
            raise
        except HookTimeoutError as error:
            self._end(index, self._timed_out(index, _HELD_UP))
            if error.is_terminated:
                raise_signal(SIGTERM)
            return
        except BaseException as error:  # noqa: BLE001 - foreign code: not even sys.exit() ends the program
            self._end(index, _raised(error, self._took_ms()))
            return
        self._take(index, returned, context)

    def _call_in_thread(self, index: int, function: Callable[[Any], Any]) -> None:
        """The thread reads the event and the answer, too."""
        try:
            self.in_threads.append((index, THREADS.submit(_ask_with_context, function, self._stdin)))
        except RuntimeError as error:  # the system allows no more threads
            self._end(index, ChildOutcome(error=f"could not be called: {error}", is_shortage=True, way=_WAY))

    def wait_a_moment(self) -> None:
        """Take the calls in threads that end at once, and have the loop wait for the others."""
        for index, future in self.in_threads:
            left_s = min(_MOMENT_S, self._hooks[index].timeout_ms / 1000) - (time.perf_counter() - self._began)
            with suppress(TimeoutError):
                future.exception(max(0.0, left_s))
            if future.done():
                self._finish(index, future)
            else:
                self.running[index] = future.cancel, self._timer(index)
                future.add_done_callback(partial(self._notify_loop, index))
        self.in_threads.clear()

    def _notify_loop(self, index: int, future: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._finish_later, index, future)

    def _finish_later(self, index: int, future: Future[Any]) -> None:
        if index in self.running:
            self._finish(index, future)
        elif not future.cancelled() and future.exception() is None:
            returned, _ = future.result()
            if isinstance(returned, Coroutine):  # the call was given up, so nothing awaits the coroutine
                returned.close()

    def _finish(self, index: int, future: Future[Any]) -> None:
        """Take what a thread returned or raised."""
        if (error := future.exception()) is None:
            self._take(index, *future.result())
        else:
            self._end(index, _raised(error, self._took_ms()))

    def _take(self, index: int, returned: Any, context: Context) -> None:
        """Takes the answer of a call, or what has to be awaited for it within the time that is left."""
        if hasattr(returned, "__await__"):
            self._follow(index, self._begin(index, _settled(returned), context))
        else:
            self._end(index, _answered(returned, self._took_ms()))

    def _begin(
        self, index: int, coroutine: Coroutine[Any, Any, Any], context: Context | None = None
    ) -> "asyncio.Future[Any]":
        deadline = deadline_after(self._hooks[index].timeout_ms / 1000 - self._took_ms() / 1000)
        return _started(Watched(coroutine, deadline), self._loop, context)

    def _follow(self, index: int, task: "asyncio.Future[Any]") -> None:
        if task.done():
            self._end(index, self._outcome(index, task))
            return
        _, timer = self.running.get(index) or (None, self._timer(index))
        self.running[index] = partial(_cancel, task), timer
        task.add_done_callback(partial(self._settle, index))

    def _settle(self, index: int, task: "asyncio.Future[Any]") -> None:
        """Takes how a task ended, unless it was given up."""
        if index in self.running:
            self._end(index, self._outcome(index, task))

    def _outcome(self, index: int, task: "asyncio.Future[Any]") -> ChildOutcome:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, HookTimeoutError):
            return self._timed_out(index, _HELD_UP)
        return _answered(task.result(), self._took_ms()) if error is None else _raised(error, self._took_ms())

    def _timed_out(self, index: int, more: str = "") -> ChildOutcome:
        # The caller of the event may have less time than the hook.
        took_ms = round(min(self._took_ms(), self._hooks[index].timeout_ms))
        error = f"timed out after {show_ms(took_ms if more else self._hooks[index].timeout_ms)}{more}"
        return ChildOutcome(timed_out=True, error=error, duration_ms=self._took_ms(), way=_WAY)

    def _timer(self, index: int) -> asyncio.TimerHandle:
        left_s = (self._hooks[index].timeout_ms - self._took_ms()) / 1000
        return self._loop.call_later(min(max(left_s, 0.0), _LONGEST_TIMER_S), self._expire, index)

    def _expire(self, index: int) -> None:
        give_up, _ = self.running[index]
        give_up()
        callback = self._hooks[index].run
        outcome = self._timed_out(index)
        if isinstance(callback, Callback) and callback.in_thread:
            more = f"; its thread still runs ({THREADS.busy} of at most {THREADS.most} are in use)"
            outcome = msgspec.structs.replace(outcome, error=f"{outcome.error}{more}")
        self._end(index, outcome)

    def _took_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def _end(self, index: int, outcome: ChildOutcome) -> None:
        self.outcomes[index] = outcome
        waited_for = self.running.pop(index, None)
        if waited_for is not None:
            waited_for[1].cancel()
            if not self.running and self._ended is not None and not self._ended.done():
                self._ended.set_result(None)
        if self._on_end is not None:
            self._on_end(index)


def _ask(function: Callable[[Any], Any], stdin: bytes) -> Any:
    """The answer of a function in hook form, or what is to be awaited for it."""
    try:
        returned = function(read_event(parse_json(stdin.decode())))
        return returned if hasattr(returned, "__await__") else read_answer(returned)
    except (Answer, BaseExceptionGroup) as raised:
        return _raised_fields(raised)


def _ask_with_context(function: Callable[[Any], Any], stdin: bytes) -> tuple[Any, Context]:
    """Return the same with the context of the call, in which a returned coroutine has to run."""
    return _ask(function, stdin), copy_context()


def _ask_for_loop(function: Callable[[Any], Any], stdin: bytes) -> Any:
    """Return the same, and raise only exceptions that a future of asyncio can hold."""
    try:
        return _ask(function, stdin)
    except SystemExit as exited:
        raise _exited(exited) from exited
    except BaseException as raised:
        if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
            raise
        raise HooklineError(f"raised {describe(raised)}") from raised


async def _offered(plugin: str, stdin: bytes) -> Any:
    """Return the answer of a function that an installed package offers."""
    loop = asyncio.get_running_loop()
    callback = loaded_plugin(plugin)
    if callback is None:
        callback = await loop.run_in_executor(THREADS, load_plugin, plugin)
    if callback.in_thread:
        returned = await loop.run_in_executor(THREADS, _ask_for_loop, callback.function, stdin)
    else:
        returned = _ask(callback.function, stdin)
    return await returned if hasattr(returned, "__await__") else returned


async def _settled(returned: Awaitable[Any]) -> dict[str, Any] | None:
    """The answer in hook form that is returned, or raised."""
    try:
        return read_answer(await returned)
    except (Answer, BaseExceptionGroup) as raised:
        return _raised_fields(raised)
    except SystemExit as exited:  # asyncio would end the whole program with it
        raise _exited(exited) from exited


def _raised_fields(raised: "Answer | BaseExceptionGroup[Any]") -> dict[str, Any]:
    """The answer that was raised; the error itself again if it is none."""
    answer = raised if isinstance(raised, Answer) else answer_in(raised)
    if answer is None:
        raise raised
    return answer.fields


def _answered(answer: dict[str, Any] | None, took_ms: float) -> ChildOutcome:
    stdout = b"" if answer is None else stringify_json(answer)
    return ChildOutcome(exit_code=0, stdout=stdout, duration_ms=took_ms, way=_WAY)


def _raised(error: BaseException, took_ms: float) -> ChildOutcome:
    if isinstance(error, asyncio.CancelledError):
        return ChildOutcome(error="was cancelled by its own code", duration_ms=took_ms, way=_WAY)
    if isinstance(error, SystemExit):
        error = _exited(error)
    trace = "".join(traceback.format_exception(error))
    is_plain = isinstance(error, HooklineError | WrongAnswerError)
    text = str(error) if is_plain else f"raised {describe(error)}"
    return ChildOutcome(error=text, stderr=trace.encode("utf-8", "backslashreplace"), duration_ms=took_ms, way=_WAY)


def describe(error: BaseException) -> str:
    """Return an exception of hook code as text; making the text may raise another exception."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - hook code: the hook has failed, and its event must end
        return name


def _exited(error: SystemExit) -> HooklineError:
    return HooklineError(f"called sys.exit({error.code!r}); return an answer such as Deny")


def _started(
    coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop, context: Context | None
) -> "asyncio.Future[Any]":
    """Return a task of a coroutine; where Python has eager tasks, its first step has run."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=loop, eager_start=True, context=context)
    return loop.create_task(coroutine, context=context)


def _cancel(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    _left.add(task)
    task.add_done_callback(_forget)


def _forget(task: "asyncio.Future[Any]") -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # or asyncio would report that it was never retrieved
