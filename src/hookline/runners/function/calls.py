"""Hooks that are functions: called with an event, they return or raise an answer."""

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextvars import Context, copy_context
from signal import SIGTERM, raise_signal
from typing import Any

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
_WAY = RunWay.FUNCTION
_HELD_UP = "; it held up the event loop, and was ended"
_RUNNING = ChildOutcome(way=_WAY)
# Python may delete a task without references. These were cancelled and have not ended yet.
_left: set["asyncio.Future[Any]"] = set()


async def run_callables(
    hooks: Sequence[HookEntry], stdin: bytes, on_end: Callable[[int], None] | None = None
) -> list[ChildOutcome]:
    """Call all hooks at the same time, and return their outcomes in order, in the form of a process's.

    Each gets a separate event, read from the JSON that a script would get, and its answer becomes the JSON that a
    script would print: so a function changes nothing by changing what it was given, or later what it returned.
    """
    began = time.perf_counter()
    calls = [_Call(hook, stdin, began) for hook in hooks]
    outcomes = [_RUNNING] * len(hooks)
    pending: dict[int, asyncio.Future[Any]] = {}

    def end(index: int, outcome: ChildOutcome) -> None:
        outcomes[index] = outcome
        if on_end is not None:
            on_end(index)

    async def wait(index: int, future: "asyncio.Future[Any]") -> None:
        end(index, await calls[index].wait(future))

    try:
        for index, call in enumerate(calls):
            begun = call.begin()
            if isinstance(begun, ChildOutcome):
                end(index, begun)
            else:
                pending[index] = begun
    except BaseException:
        for index, future in pending.items():
            calls[index].give_up(future)
        raise
    if len(pending) == 1:  # without a task
        await wait(*pending.popitem())
    elif pending:
        await asyncio.gather(*(wait(index, future) for index, future in pending.items()))
    return outcomes


class _Call:
    """One call: of a function on the loop, or in a thread, or of what a package offers."""

    _thread: Future[tuple[Any, Context]] | None = None
    """The call in a thread, until its result is taken."""

    def __init__(self, hook: HookEntry, stdin: bytes, began: float) -> None:
        self._hook = hook
        self._stdin = stdin
        self._began = began

    def begin(self) -> "ChildOutcome | asyncio.Future[Any]":
        """Return the outcome of a call that ended at once; else what `wait` takes, or `give_up`."""
        callback = self._hook.run
        if isinstance(callback, Plugin):
            return self._task(_offered(callback.reference, self._stdin))
        if not isinstance(callback, Callback):
            raise TypeError(f"{self._hook.label} is not a function")
        if not callback.in_thread:
            return self._call_here(callback.function)
        try:
            self._thread = THREADS.submit(_ask_in_thread, callback.function, self._stdin)
        except RuntimeError as error:  # the system allows no more threads
            return ChildOutcome(error=f"could not be called: {error}", is_shortage=True, way=_WAY)
        return asyncio.wrap_future(self._thread)

    async def wait(self, future: "asyncio.Future[Any]") -> ChildOutcome:
        """Return the outcome of the call when it has ended, or its time is over."""
        if not await self._has_ended(future):
            return self._expired()
        if self._thread is not None and not future.cancelled() and future.exception() is None:
            self._thread = None
            returned, context = future.result()
            if not hasattr(returned, "__await__"):
                return _answered(returned, self._took_ms())
            future = self._task(returned, context)
            if not await self._has_ended(future):
                return self._expired()
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, HookTimeoutError):
            return self._timed_out(_HELD_UP)
        return self._raised(error) if error is not None else _answered(future.result(), self._took_ms())

    def give_up(self, future: "asyncio.Future[Any]") -> None:
        """End the call, because the caller does not wait any longer."""
        future.cancel()
        _left.add(future)
        future.add_done_callback(_forget)
        if self._thread is not None:
            self._thread.add_done_callback(_close_unawaited)

    def _call_here(self, function: Callable[[Any], Any]) -> "ChildOutcome | asyncio.Future[Any]":
        context = copy_context()
        try:
            left_s = deadline_after(self._hook.timeout_ms / 1000) - time.monotonic()
            returned = WATCHDOG.call(left_s, context.run, _ask, function, self._stdin)
        except KeyboardInterrupt:
            raise
        except HookTimeoutError as error:
            if error.is_terminated:
                raise_signal(SIGTERM)
            return self._timed_out(_HELD_UP)
        except BaseException as error:  # noqa: BLE001 - foreign code: not even sys.exit() ends the program
            return self._raised(error)
        if hasattr(returned, "__await__"):
            return self._task(returned, context)
        return _answered(returned, self._took_ms())

    def _task(self, returned: Awaitable[Any], context: Context | None = None) -> "asyncio.Task[Any]":
        """Return a task of what a function returned; where Python has eager tasks, its first step has run."""
        coroutine = Watched(_settled(returned), deadline_after(self._left_s()))
        loop = asyncio.get_running_loop()
        if sys.version_info >= (3, 12):
            return asyncio.Task(coroutine, loop=loop, eager_start=True, context=context)
        return loop.create_task(coroutine, context=context)

    async def _has_ended(self, future: "asyncio.Future[Any]") -> bool:
        """Wait until it is done or the time is over; it is given up then, and also if the caller is cancelled."""
        try:
            if not future.done():
                await asyncio.wait((future,), timeout=min(max(self._left_s(), 0.0), _LONGEST_TIMER_S))
        finally:
            if not future.done():
                self.give_up(future)
        return future.done() and future not in _left

    def _expired(self) -> ChildOutcome:
        if self._thread is None:
            return self._timed_out()
        return self._timed_out(f"; its thread still runs ({THREADS.busy} of at most {THREADS.most} are in use)")

    def _timed_out(self, more: str = "") -> ChildOutcome:
        # The caller of the event may have less time than the hook.
        limit_ms = self._hook.timeout_ms
        shown_ms = round(min(self._took_ms(), limit_ms)) if more == _HELD_UP else limit_ms
        error = f"timed out after {show_ms(shown_ms)}{more}"
        return ChildOutcome(timed_out=True, error=error, duration_ms=self._took_ms(), way=_WAY)

    def _raised(self, error: BaseException) -> ChildOutcome:
        if isinstance(error, asyncio.CancelledError):
            return ChildOutcome(error="was cancelled by its own code", duration_ms=self._took_ms(), way=_WAY)
        if isinstance(error, SystemExit):
            error = _exited(error)
        trace = "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace")
        is_plain = isinstance(error, HooklineError | WrongAnswerError)
        text = str(error) if is_plain else f"raised {describe(error)}"
        return ChildOutcome(error=text, stderr=trace, duration_ms=self._took_ms(), way=_WAY)

    def _took_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def _left_s(self) -> float:
        return (self._hook.timeout_ms - self._took_ms()) / 1000


def _ask(function: Callable[[Any], Any], stdin: bytes) -> Any:
    """The answer of a function in hook form, or what is to be awaited for it."""
    try:
        returned = function(read_event(parse_json(stdin.decode())))
        return returned if hasattr(returned, "__await__") else read_answer(returned)
    except (Answer, BaseExceptionGroup) as raised:
        return _raised_fields(raised)


def _ask_in_thread(function: Callable[[Any], Any], stdin: bytes) -> tuple[Any, Context]:
    """Return the same, and the context in which a returned coroutine has to run.

    Raises only exceptions that a future of asyncio can hold.
    """
    try:
        return _ask(function, stdin), copy_context()
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
        returned, _ = await loop.run_in_executor(THREADS, _ask_in_thread, callback.function, stdin)
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


def describe(error: BaseException) -> str:
    """Return an exception of hook code as text; making the text may raise another exception."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - hook code: the hook has failed, and its event must end
        return name


def _exited(error: SystemExit) -> HooklineError:
    return HooklineError(f"called sys.exit({error.code!r}); return an answer such as Deny")


def _forget(task: "asyncio.Future[Any]") -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # or asyncio would report that it was never retrieved


def _close_unawaited(call: Future[tuple[Any, Context]]) -> None:
    """Close a coroutine that a thread has returned after its call was given up."""
    if not call.cancelled() and call.exception() is None and isinstance(call.result()[0], Coroutine):
        call.result()[0].close()
