"""Ends code of hooks in this process that does not return in time: packs, functions and plugins on the event loop.

Such code holds up the loop, with all its timers. Another thread raises `HookTimeoutError` in it at its deadline, which
works between two instructions of Python. The commands use an alarm of the kernel instead (`use_alarm`), which also ends
a regular expression that takes too long; a program that embeds hookline may need that signal itself.
"""

import os
import threading
import time
from _signal import ITIMER_REAL, SIG_DFL, SIG_IGN, SIGALRM, SIGTERM, getsignal, raise_signal, setitimer  # type: ignore[import-not-found]
from _signal import signal as set_handler
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

event_deadline: ContextVar[float | None] = ContextVar("event_deadline", default=None)
"""When the caller of an event stops waiting, on the clock of `time.monotonic`."""

# Code that catches the exception gets it again.
_AGAIN_S = 0.05
# How long each step of a coroutine may take that was cancelled.
_CLEANUP_S = 1.0
_LONGEST_S = 86400.0


class HookTimeoutError(BaseException):
    """Raised inside a hook whose time is over; no `except Exception` catches it."""

    is_terminated = False
    """True if SIGTERM was the cause."""


class _Watch:
    """One call that is being watched."""

    __slots__ = ("deadline", "is_active", "is_expired", "is_terminated", "thread")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.thread = threading.get_ident()
        self.is_active = True
        self.is_expired = False
        self.is_terminated = False

    @property
    def is_over(self) -> bool:
        """Whether its time is over, even if nothing could be raised: its code may need the alarm for itself."""
        return self.is_expired or time.monotonic() >= self.deadline


class Watchdog:
    """Watches calls, in any thread."""

    def __init__(self) -> None:
        self._uses_alarm = False
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._watches: list[_Watch] = []
        self._alarmed: list[_Watch] = []
        self._is_running = False
        self._next = float("inf")

    def use_alarm(self) -> None:
        """End calls in the main thread by SIGALRM; for hookline's commands, which have the process for themselves."""
        if threading.current_thread() is threading.main_thread() and getsignal(SIGALRM) is SIG_DFL:
            set_handler(SIGALRM, self._on_alarm)
            self._uses_alarm = True

    def call(self, seconds: float, function: Callable[..., Any], *arguments: Any, may_go_on: bool = False) -> Any:
        """Return the function's result. Raises HookTimeoutError if its time is over or SIGTERM came.

        A function that catches that exception, or turns off the alarm, gains nothing: however it ends, its time is
        over. `may_go_on` is for a step of a coroutine, which may wait after it: that is ended by the coroutine's timer.
        """
        watch = _Watch(time.monotonic() + min(seconds, _LONGEST_S))
        is_main = self._uses_alarm and watch.thread == threading.main_thread().ident
        is_main = is_main and getsignal(SIGALRM) == self._on_alarm
        begin, end = (self._begin_alarm, self._end_alarm) if is_main else (self._begin, self._end)
        terminate = getsignal(SIGTERM) if is_main else None
        is_handled = terminate not in (None, SIG_DFL, SIG_IGN)
        try:
            try:
                begin(watch)
                if is_handled:
                    set_handler(SIGTERM, self._on_terminate)
                returned = function(*arguments)
            finally:
                end(watch)
        except HookTimeoutError as error:
            _surely(end, watch)
            if not watch.is_expired:
                raise  # the time of a call around this one is over
            error.is_terminated = watch.is_terminated
            raise
        except Exception as error:
            if not watch.is_over:
                raise
            raise _late(watch) from error
        finally:
            if is_handled:
                set_handler(SIGTERM, terminate)
        if watch.is_over and not may_go_on:
            raise _late(watch)
        return returned

    def _begin(self, watch: _Watch) -> None:
        with self._changed:
            self._watches.append(watch)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="hookline watchdog", daemon=True).start()
            elif watch.deadline < self._next:
                self._changed.notify()

    def _end(self, watch: _Watch) -> None:
        with self._changed:
            watch.is_active = False
            if watch in self._watches:
                self._watches.remove(watch)
            if watch.is_expired:
                _raise_in(watch.thread, None)  # what is on its way must not reach our own code

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for watch in self._watches:
                    if watch.deadline <= now:
                        watch.is_expired = True
                        _raise_in(watch.thread, HookTimeoutError)
                        watch.deadline = now + _AGAIN_S
                self._next = min((watch.deadline for watch in self._watches), default=float("inf"))
                self._changed.wait(min(self._next - now, _LONGEST_S))

    def _begin_alarm(self, watch: _Watch) -> None:
        self._alarmed.append(watch)
        self._set_alarm()

    def _end_alarm(self, watch: _Watch) -> None:
        if watch in self._alarmed:
            self._alarmed.remove(watch)
        self._set_alarm()

    def _set_alarm(self) -> None:
        left_s = min((watch.deadline for watch in self._alarmed), default=None)
        setitimer(ITIMER_REAL, 0 if left_s is None else max(0.001, left_s - time.monotonic()), _AGAIN_S)

    def _on_alarm(self, *_: object) -> None:
        self._raise_expired(time.monotonic())

    def _on_terminate(self, *_: object) -> None:
        if self._alarmed:
            self._alarmed[-1].is_terminated = True
            self._raise_expired(float("inf"))

    def _raise_expired(self, now: float) -> None:
        expired = [watch for watch in self._alarmed if watch.deadline <= now]
        if expired:
            expired[-1].is_expired = True
            raise HookTimeoutError


class Watched(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are all watched: none may hold up the loop beyond the hook's deadline."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], deadline: float) -> None:
        self._coroutine = coroutine
        self._deadline = deadline

    def send(self, value: Any) -> Any:
        """Takes the next step."""
        return self._step(self._coroutine.send, value)

    def throw(self, *raised: Any) -> Any:
        """Takes the next step with an exception."""
        return self._step(self._coroutine.throw, *raised)

    def close(self) -> None:
        """Ends the coroutine."""
        self._coroutine.close()

    def __await__(self) -> Any:
        raise NotImplementedError  # only tasks use it

    def _step(self, step: Callable[..., Any], *given: Any) -> Any:
        left_s = self._deadline - time.monotonic()
        try:
            return WATCHDOG.call(left_s if left_s > 0 else _CLEANUP_S, step, *given, may_go_on=True)
        except HookTimeoutError as error:
            if error.is_terminated:
                raise_signal(SIGTERM)
            raise


def deadline_after(timeout_s: float) -> float:
    """When a hook's time is over: after its timeout, or when the caller of its event stops waiting."""
    own = time.monotonic() + min(timeout_s, _LONGEST_S)
    given = event_deadline.get()
    return own if given is None else min(own, given)


def _late(watch: _Watch) -> HookTimeoutError:
    """Return the exception for a call that caught it and ended later in another way."""
    error = HookTimeoutError()
    error.is_terminated = watch.is_terminated
    return error


def _surely(end: Callable[[_Watch], None], watch: _Watch) -> None:
    """End a watch, however often its exception is raised during that."""
    while True:
        try:
            end(watch)
        except HookTimeoutError:
            continue
        return


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    import ctypes  # noqa: PLC0415 - hardly ever needed

    given = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)


WATCHDOG = Watchdog()
