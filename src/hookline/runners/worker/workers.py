"""The workers of one engine: which hooks share one, and when it has to be a new one."""

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from hookline.protocol.constants import WORKER_VARIABLE, RunWay
from hookline.protocol.hook_entry import HookEntry
from hookline.runners.invocation import HookInvocation
from hookline.runners.loop_thread import LoopThread
from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome
from hookline.runners.worker.event import WorkerEvent
from hookline.runners.worker.worker import Worker

# How much longer than the deadline of an event we wait for the thread of the workers, which keeps it.
_LOST_S = 10.0
_LONGEST_TIMER_S = 86400.0
# How long workers have to end by themselves when the engine is closed.
_CLOSING_S = 0.7
_POLL_S = 0.005
_CLOSED = "the engine and its workers are closed"
# How often one event is given to a worker whose program changes before it is ready.
_MOST_TRIES = 3

_Key = tuple[Any, ...]
# Called with the hook, a message about its worker (empty for stderr alone), and the worker's stderr.
OnWorker = Callable[[HookEntry, str, bytes], None]


class SourceSnapshot(Protocol):
    """The program of a worker at one moment; equal to another one of the same program."""

    def change(self, earlier: Any) -> str:
        """Return a file that differs from an earlier snapshot."""


class SourceReader(Protocol):
    """Reads the files of a worker's program."""

    def signatures(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> object | None:
        """Return the stat-based state of the files; None if a file changed too recently to trust its mtime."""

    def snapshot(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> SourceSnapshot:
        """Return the program as its files have it now."""


class _Running:
    """A worker and what it was started from."""

    def __init__(self, worker: Worker, env: Mapping[str, str], program: SourceSnapshot, seen: object) -> None:
        self.worker = worker
        self.env = env
        self.program = program
        self.seen = seen
        """The signatures of the program when it was last compared, or None."""
        self.admitted: set[_Key] = set()
        """The hooks whose events it was given, and that were not distrusted since."""


class Workers:
    """Gives each event to the worker of its hook. Can be used by several loops and threads."""

    def __init__(self, sources: SourceReader, on_worker: OnWorker | None = None) -> None:
        self._note = _weakly(on_worker)
        self._lock = threading.Lock()
        self._loop = LoopThread("hookline-workers")
        self._running: dict[_Key, _Running] = {}
        self._leaving: list[Worker] = []
        self._sources = sources
        self._is_closed = False
        # None of these refers to this object: a garbage-collected engine ends with its workers.
        self._finalizer = weakref.finalize(self, _end_all, self._loop, self._running, self._leaving)
        _KNOWN.add(self)

    async def ask(self, invocation: HookInvocation, cwd: str, limits: ChildLimits) -> ChildOutcome | None:
        """Return the outcome; None if the worker is given up for now and the hook must run cold."""
        hook, began = invocation.hook, time.monotonic()
        if hook.timeout_ms <= 0:
            return ChildOutcome(timed_out=True, way=RunWay.WORKER)
        loop = asyncio.get_running_loop()
        change = ""
        for tried in range(_MOST_TRIES):
            answer: asyncio.Future[ChildOutcome | None] = loop.create_future()
            reply = partial(_reply, loop, answer)
            event = WorkerEvent(hook.event.value, invocation.stdin, hook.timeout_ms, reply, began)
            try:
                running = self._running_for(invocation, cwd, limits, is_changing=tried > 0)
                self._call(running.worker.enqueue, event)
            except RuntimeError as error:
                return _unasked(str(error), is_shortage=not self._is_closed)
            outcome = await self._outcome(running.worker, event, answer)
            if outcome is not None:
                return outcome
            if not event.is_returned:
                return self._why_not_cold(invocation, cwd, running)
            change = self._sources.snapshot(hook, cwd, invocation.env).change(running.program)
            if hook.verify_each_event:
                return _unasked(_changed(change))
        return _unasked(
            f"{change} changed while its worker was started, {_MOST_TRIES} times in a row; "
            "if the worker itself writes to it, take its name out of the command"
        )

    def _why_not_cold(self, invocation: HookInvocation, cwd: str, running: _Running) -> ChildOutcome | None:
        """The failure of an event whose worker is given up; None if its hook is to be run cold instead."""
        hook = invocation.hook
        if hook.worker is not None and not hook.worker.runs_cold:
            return _unasked(running.worker.why_given_up() or "its worker failed too often")
        if hook.verify_each_event and (now := self._sources.snapshot(hook, cwd, invocation.env)) != running.program:
            return _unasked(_changed(now.change(running.program)))
        return None

    async def _outcome(
        self, worker: Worker, event: WorkerEvent, answer: "asyncio.Future[ChildOutcome | None]"
    ) -> ChildOutcome | None:
        delay = min(event.timeout_ms / 1000, _LONGEST_TIMER_S) + _LOST_S
        guard = answer.get_loop().call_later(delay, _give_up, answer)
        try:
            return await answer
        except asyncio.CancelledError:
            with suppress(RuntimeError):  # it is closed by now
                self._call(worker.cancel, event)
            raise
        finally:
            guard.cancel()

    def distrust(self, hook: HookEntry) -> None:
        """Ends the workers of a hook at once if their program has changed, or no other hook uses them."""
        with self._lock:
            for key in [key for key in self._running if key[0] == _own_key(hook)]:
                if self._may_stay(hook, key[1], self._running[key]):
                    continue
                ended = self._running.pop(key)
                why = "its worker was ended, because its program is not trusted any more"
                self._loop.call(partial(ended.worker.close, why, at_once=True))

    def _may_stay(self, hook: HookEntry, cwd: str, running: _Running) -> bool:
        """Whether a worker still has the program of other hooks, now that one is distrusted."""
        if (place := _place_of(hook)) in running.admitted:
            running.admitted.discard(place)
            if not running.admitted:
                return False
        return self._sources.snapshot(hook, cwd, running.env) == running.program

    def drain(self) -> None:
        """Ends all workers as soon as they have answered what they were sent."""
        with self._lock:
            while self._running:
                self._let_go(self._running.popitem()[1].worker)

    def close(self) -> None:
        """Ends all workers within bounded time."""
        with self._lock:  # a caller in another thread is answered before this, or starts nothing
            self._is_closed = True
        if self._finalizer.detach() is not None:
            _end_all(self._loop, self._running, self._leaving, wait=True)

    def forget(self) -> None:
        """Forgets everything after a fork: it belongs to the parent."""
        for worker in (*(each.worker for each in self._running.values()), *self._leaving):
            worker.forget()
        self._running.clear()
        self._leaving.clear()
        self._lock = threading.Lock()
        self._loop.forget()

    def _running_for(self, invocation: HookInvocation, cwd: str, limits: ChildLimits, *, is_changing: bool) -> _Running:
        """The worker of a hook: another one if its program or its environment has changed.

        The times of a program that `is_changing` are not enough to see that it is the same.
        """
        hook = invocation.hook
        key = (_own_key(hook), cwd, limits.output_bytes)
        # Before the content: what changes in between is seen at the next event.
        seen = None if is_changing else self._sources.signatures(hook, cwd, invocation.env)
        with self._lock:
            if self._is_closed:
                raise RuntimeError(_CLOSED)
            known = self._running.get(key)
            if known is None or not _is_same(known.env, invocation.env) or known.seen != seen or seen is None:
                known = self._compared(known, key, invocation, seen)
            known.admitted.add(_place_of(hook))
            return known

    def _compared(self, known: _Running | None, key: _Key, invocation: HookInvocation, seen: object) -> _Running:
        """A worker whose program is the one that would be started now: the known one, or else another."""
        _, cwd, most_bytes = key
        program = self._sources.snapshot(invocation.hook, cwd, invocation.env)
        if known is not None and known.program == program and _is_same(known.env, invocation.env):
            known.seen = seen
            return known
        if known is not None:
            if known.program != program:
                what = f"{program.change(known.program)} has changed, so its worker is replaced"
                self._loop.call(self._note, invocation.hook, what, b"")
            self._let_go(known.worker)
        worker = self._make(invocation, cwd, most_bytes, program)
        made = self._running[key] = _Running(worker, invocation.env, program, seen)
        return made

    def _call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Has the thread of the workers call a function; raises a RuntimeError if there is none any more."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError(_CLOSED)
            self._loop.call(function, *arguments)

    def _let_go(self, worker: Worker) -> None:
        """Lets a worker answer what it was sent, and end."""
        self._loop.call(worker.drain)
        self._leaving[:] = [worker, *(other for other in self._leaving if not other.is_at_rest)]

    def _make(self, invocation: HookInvocation, cwd: str, most_bytes: int, program: SourceSnapshot) -> Worker:
        hook, env, sources = invocation.hook, invocation.env, self._sources
        assert hook.worker is not None
        job = ChildJob(
            command=hook.command or "",
            stdin=b"",
            cwd=cwd,
            env={**env, WORKER_VARIABLE: "1"},
            timeout_ms=hook.timeout_ms,
            limits=hook.limits,
            ends_with_us=True,
        )

        def is_outdated() -> bool:
            return sources.snapshot(hook, cwd, env) != program

        note = partial(self._note, hook)
        return Worker(job, hook.worker, most_bytes=most_bytes, note=note, is_outdated=is_outdated)


def _own_key(hook: HookEntry) -> _Key:
    """Return the key that hooks with the same worker share; event and matcher are not part of it.

    Those of two layers have one each: a less trusted one's timeouts must not end a more trusted one's process.
    """
    policy = None if hook.policy is None else hook.policy.directory
    return hook.command, tuple(sorted(hook.env.items())), hook.limits, hook.worker, hook.needs_trust, hook.rank, policy


def _changed(what: str) -> str:
    since = "has changed since the hook was checked, while the event waited for its worker"
    return f"{what} {since}; look at what has changed"


def _place_of(hook: HookEntry) -> _Key:
    """Return the key that distinguishes hooks with the same worker."""
    return hook.origin, hook.location, hook.event


def _is_same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one is other or one == other  # a runner gives the same object while nothing has changed


def _reply(
    loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[ChildOutcome | None]", outcome: ChildOutcome | None
) -> None:
    with suppress(RuntimeError):  # its loop is closed, so no caller waits
        loop.call_soon_threadsafe(_settle, answer, outcome)


def _settle(answer: "asyncio.Future[ChildOutcome | None]", outcome: ChildOutcome | None) -> None:
    if not answer.done():
        answer.set_result(outcome)


def _give_up(answer: "asyncio.Future[ChildOutcome | None]") -> None:
    _settle(answer, _failed("has no answer: the thread of its worker does not respond", is_shortage=True))


def _failed(why: str, *, is_shortage: bool = False) -> ChildOutcome:
    return ChildOutcome(error=why, is_shortage=is_shortage, way=RunWay.WORKER)


def _unasked(why: str, *, is_shortage: bool = False) -> ChildOutcome:
    error = f"was not asked: {why}"
    return ChildOutcome(error=error, is_unasked=True, is_shortage=is_shortage, way=RunWay.WORKER)


def _weakly(on_worker: OnWorker | None) -> OnWorker:
    """Calls a method without keeping its object: a worker that lives must not keep the engine alive."""
    method = None if on_worker is None else weakref.WeakMethod(on_worker)

    def note(hook: HookEntry, text: str, stderr: bytes) -> None:
        call: Callable[[HookEntry, str, bytes], None] | None = None if method is None else method()
        if call is not None:
            with suppress(Exception):  # the log must not keep a worker from its work
                call(hook, text, stderr)

    return note


def _end_all(loop: LoopThread, running: dict[_Key, _Running], leaving: list[Worker], *, wait: bool = False) -> None:
    workers = [*(each.worker for each in running.values()), *leaving]
    running.clear()
    leaving.clear()

    async def end() -> None:
        left = [process for worker in workers for process in worker.close("the engine was closed")]
        deadline = time.monotonic() + _CLOSING_S
        while any(not process.is_over for process in left) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
        for process in left:
            process.end()

    loop.close(end, wait=wait)


_KNOWN: "weakref.WeakSet[Workers]" = weakref.WeakSet()


def _after_fork() -> None:
    for known in list(_KNOWN):
        known.forget()


os.register_at_fork(after_in_child=_after_fork)
