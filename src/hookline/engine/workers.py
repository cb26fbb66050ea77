"""The workers of one engine: which hooks share one, and when it has to be a new one."""

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from hookline.child.batch import ChildJob, ChildLimits, ChildOutcome
from hookline.child.own_loop import OwnLoop
from hookline.child.worker import Worker, WorkerEvent
from hookline.contract.hooks import HookEntry
from hookline.contract.vocabulary import WORKER_VARIABLE, RunWay
from hookline.engine.telling import Asked
from hookline.settings.fingerprint import Fingerprinter

# How much longer than the deadline of an event we wait for the thread of the workers, which keeps it.
_LOST_S = 10.0
_LONGEST_TIMER_S = 86400.0
# How long workers have to end by themselves when the engine is closed.
_CLOSING_S = 0.7
_POLL_S = 0.005
_CLOSED = "the engine and its workers are closed"

_Key = tuple[Any, ...]
# Called with the hook, what a person should know of its worker (nothing, for stderr alone), and what it wrote there.
OnWorker = Callable[[HookEntry, str, bytes], None]


class _Running:
    """A worker and what it was started from."""

    def __init__(self, worker: Worker, env: Mapping[str, str], files: Mapping[str, str], seen: object) -> None:
        self.worker = worker
        self.env = env
        self.files = files
        self.seen = seen
        """The signatures of the files when they were last compared, or None."""


class Workers:
    """Gives each event to the worker of its hook. Can be used by several loops and threads."""

    def __init__(self, on_worker: OnWorker | None = None) -> None:
        self._note = _weakly(on_worker)
        self._lock = threading.Lock()
        self._loop = OwnLoop()
        self._running: dict[_Key, _Running] = {}
        self._leaving: list[Worker] = []
        self._fingerprinter = Fingerprinter()
        self._is_closed = False
        # None of these leads to this object: an engine that nobody uses any more ends with its workers.
        self._finalizer = weakref.finalize(self, _end_all, self._loop, self._running, self._leaving)
        _KNOWN.add(self)

    async def ask(self, asked: Asked, cwd: str, limits: ChildLimits, *, may_wait: bool = False) -> ChildOutcome | None:
        """What the hook answers; None if its worker is given up for now and the hook is to be run cold instead.

        With `may_wait` the loop stands still for a moment, because no other hook has to be asked.
        """
        hook = asked.hook
        try:
            worker = self._worker_for(asked, cwd, limits)
        except RuntimeError as error:
            return _failed(f"was not asked: {error}", is_shortage=not self._is_closed)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ChildOutcome | None] = loop.create_future()
        reply = partial(_reply, loop, threading.get_ident(), answer)
        event = WorkerEvent(hook.event.value, asked.stdin, hook.timeout_ms, reply)
        if worker.offer(event, may_wait=may_wait):
            if answer.done():
                return answer.result()
        else:
            try:
                self._call(worker.submit, event)
            except RuntimeError as error:
                return _failed(f"was not asked: {error}", is_shortage=not self._is_closed)
        outcome = await self._outcome(worker, event, answer)
        if outcome is None and hook.worker is not None and not hook.worker.runs_cold:
            return _failed(f"was not asked: {worker.why_given_up() or 'its worker failed too often'}")
        return outcome

    async def _outcome(
        self, worker: Worker, event: WorkerEvent, answer: "asyncio.Future[ChildOutcome | None]"
    ) -> ChildOutcome | None:
        delay = min(event.timeout_ms / 1000, _LONGEST_TIMER_S) + _LOST_S
        guard = answer.get_loop().call_later(delay, _give_up, answer)
        try:
            return await answer
        except asyncio.CancelledError:
            with suppress(RuntimeError):  # it was closed meanwhile
                self._call(worker.cancel, event)
            raise
        finally:
            guard.cancel()

    def distrust(self, hook: HookEntry) -> None:
        """Ends the workers of a hook at once: its program is not the one that was trusted."""
        with self._lock:
            for key in [key for key in self._running if key[0] == _own_key(hook)]:
                ended = self._running.pop(key)
                why = "its worker was ended, because its program is not trusted any more"
                self._loop.call(partial(ended.worker.close, why, at_once=True))

    def drain(self) -> None:
        """Ends all workers as soon as they have answered what they were sent."""
        with self._lock:
            while self._running:
                self._let_go(self._running.popitem()[1].worker)

    def close(self) -> None:
        """Ends all workers within bounded time."""
        with self._lock:  # whoever asks in another thread is answered before this, or starts nothing
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

    def _worker_for(self, asked: Asked, cwd: str, limits: ChildLimits) -> Worker:
        """The worker of a hook: another one if its program or its environment has changed."""
        hook, project = asked.hook, _resolved(cwd)
        key = (_own_key(hook), cwd, limits.output_bytes)
        # Before the content: what changes in between is seen at the next event.
        seen = self._fingerprinter.signatures(hook, project)
        with self._lock:
            if self._is_closed:
                raise RuntimeError(_CLOSED)
            known = self._running.get(key)
            if known is not None and _is_same(known.env, asked.env) and known.seen == seen is not None:
                return known.worker
            files = self._fingerprinter.fingerprint(hook, project).hashes
            if known is not None and known.files == files and _is_same(known.env, asked.env):
                known.seen = seen
                return known.worker
            if known is not None:
                self._let_go(known.worker)
            started = self._make(asked, cwd, limits, files)
            self._running[key] = _Running(started, asked.env, files, seen)
            return started

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

    def _make(self, asked: Asked, cwd: str, limits: ChildLimits, files: Mapping[str, str]) -> Worker:
        hook = asked.hook
        assert hook.worker is not None  # noqa: S101 - only such hooks come here
        job = ChildJob(
            command=hook.command or "",
            stdin=b"",
            cwd=cwd,
            env={**asked.env, WORKER_VARIABLE: "1"},
            timeout_ms=hook.timeout_ms,
            limits=hook.limits,
            ends_with_us=True,
        )
        fingerprinter = self._fingerprinter

        def why_outdated() -> str | None:
            now = fingerprinter.fingerprint(hook, _resolved(cwd)).hashes
            return None if now == files else "was started while its program changed"

        note = partial(self._note, hook)
        return Worker(job, hook.worker, most_bytes=limits.output_bytes, note=note, why_outdated=why_outdated)


def _own_key(hook: HookEntry) -> _Key:
    """What makes two hooks use the same worker: an event or a matcher does not."""
    return hook.command, tuple(sorted(hook.env.items())), hook.limits, hook.worker, hook.needs_trust


def _is_same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one is other or one == other  # a runner gives the same object while nothing has changed


@lru_cache(maxsize=8)
def _resolved(directory: str) -> str:
    return os.path.realpath(directory)


def _reply(
    loop: asyncio.AbstractEventLoop,
    thread: int,
    answer: "asyncio.Future[ChildOutcome | None]",
    outcome: ChildOutcome | None,
) -> None:
    if threading.get_ident() == thread:
        _settle(answer, outcome)
        return
    with suppress(RuntimeError):  # its loop is closed, and nobody waits
        loop.call_soon_threadsafe(_settle, answer, outcome)


def _settle(answer: "asyncio.Future[ChildOutcome | None]", outcome: ChildOutcome | None) -> None:
    if not answer.done():
        answer.set_result(outcome)


def _give_up(answer: "asyncio.Future[ChildOutcome | None]") -> None:
    _settle(answer, _failed("has no answer: the thread of its worker does not respond", is_shortage=True))


def _failed(why: str, *, is_shortage: bool = False) -> ChildOutcome:
    return ChildOutcome(error=why, is_shortage=is_shortage, way=RunWay.WORKER)


def _weakly(on_worker: OnWorker | None) -> OnWorker:
    """Calls a method without keeping its object: a worker that lives must not keep the engine alive."""
    method = None if on_worker is None else weakref.WeakMethod(on_worker)

    def note(hook: HookEntry, text: str, stderr: bytes) -> None:
        call: Callable[[HookEntry, str, bytes], None] | None = None if method is None else method()
        if call is not None:
            with suppress(Exception):  # the log must not keep a worker from its work
                call(hook, text, stderr)

    return note


def _end_all(loop: OwnLoop, running: dict[_Key, _Running], leaving: list[Worker], *, wait: bool = False) -> None:
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
