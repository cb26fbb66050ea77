"""A resident hook: its program is started once and receives one line for each event.

A worker belongs to one event loop in a separate thread, so that programs with several loops and threads share it. An
event is sent at most once: one that was sent and not answered has failed.
"""

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Callable
from itertools import count

from hookline.protocol.hook_entry import WorkerOptions
from hookline.protocol.text.exit_text import show_ms
from hookline.runners.process.command import RESOURCE_ERRNOS
from hookline.runners.process.job import ChildJob, ChildOutcome
from hookline.runners.process.limit import ON_SHORTAGE
from hookline.runners.worker.backoff import CrashBackoff
from hookline.runners.worker.event import WorkerEvent
from hookline.runners.worker.lines import WrongLineError, read_answer, read_ready, request_line, shown
from hookline.runners.worker.process import WorkerProcess

MOST_WAITING = 1000
# Between starts that fail for lack of descriptors, processes or memory.
_SHORTAGE_PAUSES_S = (0.01, 0.02, 0.04, 0.08, 0.16)
_MEMORY_LOOKED_AT_EVERY = 32
_REMEMBERED = 256


class Worker:
    """The queue of one worker, and its process, which is started again when it crashed."""

    def __init__(
        self,
        job: ChildJob,
        options: WorkerOptions,
        *,
        most_bytes: int,
        note: Callable[[str, bytes], None],
        is_outdated: Callable[[], bool] = lambda: False,
    ) -> None:
        """Store the options; start no process yet.

        Args:
            job: the command, and where and with what it runs.
            options: when its process is replaced.
            most_bytes: of one line, and of stderr for one event.
            note: called with a message for the user (empty for stderr alone), and the worker's stderr.
            is_outdated: whether the program has changed since the first event; asked before each start, and when the
                process is ready. If it has, events that wait are handed back.
        """
        self._job = job
        self._options = options
        self._most_bytes = most_bytes
        self._note = note
        self._is_outdated = is_outdated
        self._process: WorkerProcess | None = None
        self._retired: list[WorkerProcess] = []
        self._is_ready = False
        self._at_once = 1
        self._waiting: deque[WorkerEvent] = deque()
        self._sent: dict[str, WorkerEvent] = {}
        self._answered: deque[str] = deque(maxlen=_REMEMBERED)
        self._count = 0
        # A worker can't guess them, so it can't answer an event before it was sent.
        self._ids = map("%s-%d".__mod__, zip(iter(lambda: os.urandom(4).hex(), ""), count(1), strict=False))
        self.crash_backoff = CrashBackoff()
        """The recent failures."""
        self._shortages = 0
        self._started_at = 0.0
        self._restart: asyncio.TimerHandle | None = None
        # One timer for all events, and when it rings: a later deadline needs no other one.
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._is_draining = False
        self._is_leaving = False
        self._is_closed = False

    @property
    def is_at_rest(self) -> bool:
        """Whether it has nothing to do and no process, not even one that is ending by itself."""
        is_idle = self._process is None and not self._waiting
        return is_idle and all(process.is_over for process in self._retired)

    def enqueue(self, event: WorkerEvent) -> None:
        """Sends an event as soon as it is its turn."""
        if self._is_closed:
            event.end(_unasked("its worker has been ended"))
        elif self.why_given_up() is not None:
            event.end(None)
        elif len(self._waiting) >= MOST_WAITING:
            event.end(_unasked(f"{MOST_WAITING} events wait for its worker already"))
        else:
            self._set_alarm(event.deadline)
            self._waiting.append(event)
            self._advance()

    def cancel(self, event: WorkerEvent) -> None:
        """Drop an event whose caller has stopped waiting. One that was sent keeps its place, and its deadline."""
        if event in self._waiting:
            self._waiting.remove(event)
            event.end(ChildOutcome())

    def why_given_up(self) -> str | None:
        """Why no process is started at the moment, or None."""
        return self.crash_backoff.why_given_up()

    def drain(self) -> None:
        """Ends the process when all events are answered, also those that wait; another worker gets later ones."""
        self._is_leaving = True
        self._advance()

    def close(self, why: str, *, at_once: bool = False) -> list[WorkerProcess]:
        """Fails all events, and returns the processes that are left to end by themselves."""
        self._is_closed = True
        for timer in (self._restart, self._alarm):
            if timer is not None:
                timer.cancel()
        events = (*self._sent.values(), *self._waiting)
        process, self._process = self._process, None
        if process is not None:
            if self._sent or at_once:
                process.end()
            else:
                self._retire(process)
        self._sent = {}
        self._waiting.clear()
        for event in events:
            event.end(ChildOutcome(error=f"has no answer: {why}"))
        return [process for process in self._retired if not process.is_over]

    def forget(self) -> None:
        """Closes what a forked program has inherited."""
        for process in (*self._retired, *([self._process] if self._process else [])):
            process.forget()

    def on_line(self, process: WorkerProcess, line: bytes) -> None:
        """Handle a line of the process."""
        if process is not self._process:
            return
        try:
            if self._is_ready:
                self._take_answer(line)
            else:
                self._at_once = read_ready(line)
                self._begin()
        except WrongLineError as error:
            self._fail(str(error))

    def on_end(self, process: WorkerProcess, why: str, *, is_clean: bool) -> None:
        """Handle the end of the process."""
        is_ours = process is self._process
        # It may end between two events.
        if is_ours and not (is_clean and self._count and not self._sent):
            self._fail(why, is_status_lost=process.is_status_lost)
            return
        self._note_stderr(process)
        if is_ours:
            self._process = None
            self._advance()

    def _begin(self) -> None:
        if self._is_outdated():
            self._return_unsent()
            return
        self._is_ready = True
        self._advance()

    def _return_unsent(self) -> None:
        """Ends a process that was sent nothing yet, and hands back the events that wait for it."""
        process, self._process = self._process, None
        if process is not None:
            self._note_stderr(process)
            process.end()
        events = tuple(self._waiting)
        self._waiting.clear()
        for event in events:
            event.return_unsent()

    def _take_answer(self, line: bytes) -> None:
        event_id, outcome = read_answer(line)
        if event_id not in self._sent:
            what = "answered twice" if event_id in self._answered else "answered an event that it was not asked about"
            raise WrongLineError(f"{what}: {event_id!r}")
        self._note_stderr(self._process)
        if event_id in self._sent:  # or it wrote too much to stderr
            self._answer(event_id, outcome)
            self._advance()

    def _advance(self) -> None:
        """Takes the next step: starts a process, sends events, or replaces the process."""
        if self._is_over_memory():
            self._is_draining = True
        is_done = self._is_draining or (self._is_leaving and not self._waiting)
        if is_done and not self._sent:
            self._replace()
        if self._process is None:
            if self._waiting and not self._is_closed and self._restart is None:
                self._start_soon()
            return
        while self._waiting and self._has_room():
            # Stderr from after the last answer does not belong to this event; too much of it ends the process.
            self._note_stderr(self._process)
            if self._waiting and self._has_room():
                self._send(self._waiting.popleft())

    def _has_room(self) -> bool:
        """Whether the process waits for an event."""
        can_answer = self._is_ready and self._process is not None and self._process.can_answer
        return can_answer and len(self._sent) < self._at_once and not self._is_draining

    def _send(self, event: WorkerEvent) -> None:
        assert self._process is not None
        event_id = next(self._ids)
        self._sent[event_id] = event
        self._process.write(request_line(event_id, event.event, event.stdin))
        self._is_draining = self._reached_event_limit()

    def _answer(self, event_id: str, outcome: ChildOutcome) -> None:
        event = self._sent.pop(event_id)
        self._answered.append(event_id)
        self._count += 1
        event.end(outcome)

    def _reached_event_limit(self) -> bool:
        most = self._options.restart_after
        return most is not None and self._count + len(self._sent) >= most

    def _is_over_memory(self) -> bool:
        if self._process is None or self._count == 0 or self._count % _MEMORY_LOOKED_AT_EVERY:
            return False
        size = self._process.resident_bytes()
        if self._is_draining or size <= self._options.memory_bytes:
            return False
        self._note(f"its worker uses {size >> 20} MB of memory and is replaced", b"")
        return True

    def _replace(self) -> None:
        self._is_draining = False
        process, self._process = self._process, None
        if process is not None:
            self._note_stderr(process)
            self._retire(process)

    def _retire(self, process: WorkerProcess) -> None:
        process.retire()
        self._retired = [each for each in (*self._retired, process) if not each.is_over]

    def _start_soon(self) -> None:
        pause_s = self.crash_backoff.pause_s()
        if pause_s <= 0:
            self._start()
        else:
            self._start_later(pause_s)

    def _start_later(self, pause_s: float) -> None:
        self._restart = asyncio.get_running_loop().call_later(pause_s, self._start)

    def _start(self) -> None:
        self._restart = None
        if self._is_closed or not self._waiting:
            self._shortages = 0
            return
        # The user may have to trust a changed program before any of it runs.
        if self._is_outdated():
            self._return_unsent()
            return
        self._is_ready, self._is_draining, self._count = False, False, 0
        try:
            self._process = WorkerProcess(self._job, self, most_bytes=self._most_bytes)
        except (OSError, ValueError) as error:
            why = f"could not be started: {getattr(error, 'strerror', None) or error}"
            if getattr(error, "errno", None) in RESOURCE_ERRNOS:
                self._wait_for_resources(why)
            else:
                self._fail(why)
        else:
            self._shortages, self._started_at = 0, time.monotonic()

    def _wait_for_resources(self, why: str) -> None:
        """Tries the start again soon; in the end all events fail that wait. The program has done nothing wrong."""
        for free_resources in ON_SHORTAGE:
            free_resources()
        if self._shortages < len(_SHORTAGE_PAUSES_S):
            self._start_later(_SHORTAGE_PAUSES_S[self._shortages])
            self._shortages += 1
            return
        self._shortages = 0
        self._note(f"its worker {why}", b"")
        events = tuple(self._waiting)
        self._waiting.clear()
        for event in events:
            event.end(_unasked(f"its worker {why}", is_shortage=True))

    def _set_alarm(self, at: float) -> None:
        if at < self._alarm_at and not self._is_closed:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = at
            self._alarm = asyncio.get_running_loop().call_later(max(0.0, at - time.monotonic()), self._on_alarm)

    def _on_alarm(self) -> None:
        """Ends the events whose time is over, and sets the alarm for the next."""
        self._alarm, self._alarm_at = None, math.inf
        now = time.monotonic()
        for event in (*self._sent.values(), *self._waiting):
            if event.deadline <= now and not event.is_over:
                self._expire(event)
        if left := [event.deadline for event in (*self._sent.values(), *self._waiting)]:
            self._set_alarm(min(left))

    def _expire(self, event: WorkerEvent) -> None:
        if event in self._waiting:
            # The first of them is the one that the process was started for.
            is_starting = self._waiting[0] is event and self._process is not None and not self._is_ready
            # A pause before the start is not its fault; the next event gives it more time.
            is_starting = is_starting and self._had_half_the_timeout(event)
            self._waiting.remove(event)
            error = _not_ready(event, self._unfinished()) if is_starting else self._why_not_asked(event)
            event.end(ChildOutcome(timed_out=True, error=error, is_unasked=not is_starting))
            if is_starting:
                self._fail("did not say that it is ready in time", is_counted_event=False)
            return
        event.end(ChildOutcome(timed_out=True, error=self._why_no_answer(event)))
        self._sent = {event_id: other for event_id, other in self._sent.items() if other is not event}
        self._fail("did not answer in time")

    def _had_half_the_timeout(self, event: WorkerEvent) -> bool:
        """Whether the process was there for half of the event's time, which is over."""
        return 2 * (time.monotonic() - self._started_at) * 1000 >= event.timeout_ms

    def _why_not_asked(self, event: WorkerEvent) -> str:
        """Why an event was not sent within its time."""
        late = f"was not asked within {show_ms(event.timeout_ms)}"
        if self._is_ready or not self.crash_backoff.last:
            return f"{late}: its worker was busy with other events"
        return f"{late}: its worker {self.crash_backoff.last}, and is started again in a moment"

    def _why_no_answer(self, event: WorkerEvent) -> str | None:
        """Return a hint if the worker has never answered, or has begun to; None if it is just late."""
        late = f"timed out after {show_ms(event.timeout_ms)}"
        if unfinished := self._unfinished():
            return f"{late}{unfinished}"
        return None if self._count else f"{late}: its worker has answered nothing yet; each line must be flushed"

    def _unfinished(self) -> str:
        text = b"" if self._process is None else self._process.unfinished
        return f"; its worker wrote {shown(text)} without a line break behind it" if text else ""

    def _fail(self, why: str, *, is_counted_event: bool = True, is_status_lost: bool = False) -> None:
        """Ends the process, and fails what it was asked; an event that was not sent yet gets the next process."""
        stderr = b""
        effect = "" if self._process is None else "; all of its processes were ended"
        if self._process is not None:
            process, self._process = self._process, None
            stderr = process.take_stderr()
            process.end()
        self.crash_backoff.add(why)
        asked = failed = list(self._sent.values())
        self._sent = {}
        if not self._is_ready and self._waiting and is_counted_event:
            failed = [*asked, self._waiting.popleft()]
        self._is_ready = False
        self._note(f"its worker {why}{effect}", stderr)
        for event in failed:
            error = f"has no answer: its worker {why}"
            event.end(ChildOutcome(error=error, stderr=stderr, is_status_lost=is_status_lost and event in asked))
        if (given_up := self.why_given_up()) is not None:
            then = "runs cold" if self._options.runs_cold else "fails"
            self._note(f"{given_up}; until then the hook {then} at each event", b"")
            for event in self._waiting:
                event.end(None)
            self._waiting.clear()
        self._advance()

    def _note_stderr(self, process: WorkerProcess | None) -> None:
        if process is not None and (stderr := process.take_stderr()):
            self._note("", stderr)


def _unasked(why: str, *, is_shortage: bool = False) -> ChildOutcome:
    return ChildOutcome(error=f"was not asked: {why}", is_unasked=True, is_shortage=is_shortage)


def _not_ready(event: WorkerEvent, unfinished: str) -> str:
    first = 'the first line of its worker is to be {"ready": true}, and must be flushed'
    return f"timed out after {show_ms(event.timeout_ms)}: {first}{unfinished}"
