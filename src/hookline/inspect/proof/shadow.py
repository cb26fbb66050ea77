"""Hooks in the mode shadow: what they would have decided, next to what became of these calls."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from msgspec.structs import replace

from hookline.bridge.transcript_events import events_for_call
from hookline.dialects.transcripts.find import AGENTS, OWN, read_transcript, transcripts_of
from hookline.dialects.transcripts.tool_call import Fate
from hookline.inspect.proof.evidence import Clean, digest_of, input_of
from hookline.log.read.entry import LogEntry, LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.read.statistics import Durations
from hookline.protocol.events import BLOCKING_DECISIONS, HookDecision, HookEventName
from hookline.protocol.text.json_text import parse_json

MOST_EXAMPLES = 5
_KINDS = frozenset({"hook", "event"})
_BEFORE, _AFTER = HookEventName.BEFORE_TOOL.value, HookEventName.AFTER_TOOL.value
_KEEPS_BACK = frozenset({"block", "stop", "ask"})
# The names of transcripts have at least this much of the session's id.
_ID_IN_NAMES = 8


class Sequel(StrEnum):
    """What happened to a call that a hook would have stopped."""

    RAN = "ran"
    REFUSED = "refused"
    """A person, or a rule of the agent, did not let it run."""
    BLOCKED = "blocked"
    """Another hook blocked it."""
    UNKNOWN = "unknown"
    """The hooks let it pass, and nothing that was read says more."""


@dataclass(slots=True, kw_only=True, eq=False)
class TriedCall:
    """One event that a hook would have kept back."""

    fire: str
    event: str
    time: str
    session: str
    subject: str
    agent: str | None
    asker: str | None
    """The program that fired the event, for users."""
    person: str
    """Where the log is of a fleet: the user and the machine."""
    digest: str | None
    """Of a tool call's arguments; None where the log does not have them whole."""
    sequel: Sequel = Sequel.UNKNOWN

    @property
    def same(self) -> tuple[str, str, str | None]:
        """The key that a repeated call shares with the first."""
        return (self.session, self.subject, self.digest)


@dataclass(slots=True, kw_only=True)
class TriedHook:
    """The results of one hook in shadow mode."""

    event: str
    hook: str
    origin: str
    source: str
    mode: str
    location: str = ""
    """Known if it would ever have kept something back."""
    runs: int = 0
    failures: int = 0
    would: Counter[str] = field(default_factory=Counter)
    """How often it would have decided what: block, stop, ask, change."""
    calls: list[TriedCall] = field(default_factory=list)
    """The calls that it would have blocked, stopped, or asked about."""
    newest: list[tuple[TriedCall, Mapping[str, Any]]] = field(default_factory=list)
    """The last of them, each with the record of the run."""
    machines: set[str] = field(default_factory=set)
    durations: Durations = field(default_factory=Durations)
    since: str = ""
    last: str = ""

    @property
    def repeated(self) -> int:
        """How many of the calls are the same as an earlier one of their session."""
        known = [call.same for call in self.calls if call.digest is not None]
        return len(known) - len(set(known))

    def count(self, sequel: Sequel) -> int:
        """Of how many calls this became."""
        return sum(call.sequel is sequel for call in self.calls)


def read_trials(reader: LogReader, query: LogQuery, clean: Clean) -> list[TriedHook]:
    """The hooks that were tried out, in the order of their first runs; `clean` hides what the log hides."""
    reading = _TrialReader(query, clean)
    # Neither the records of events nor those after a call name the hook.
    for entry, line in reader.lines(replace(query, kinds=_KINDS, hook=None, event=None)):
        if not entry.is_canary:
            reading.add(entry, line)
    return list(reading.hooks.values())


def ask_transcripts(hooks: Iterable[TriedHook], clean: Clean) -> None:
    """Looks in the agents' transcripts on this machine for what became of calls of which the log does not know it."""
    alike: defaultdict[tuple[str, str, str | None], list[TriedCall]] = defaultdict(list)
    for call in {call.fire: call for hook in hooks for call in hook.calls}.values():
        if call.digest is not None:
            alike[call.same].append(call)
    wanted = [call for calls in alike.values() for call in calls if call.sequel is Sequel.UNKNOWN]
    if not wanted:
        return
    fates = _fates({(call.agent or OWN, call.session) for call in wanted}, clean)
    for same, calls in alike.items():
        _assign(calls, fates.get(same, ()))


class _TrialReader:
    """Reads records in their order."""

    def __init__(self, query: LogQuery, clean: Clean) -> None:
        self.hooks: dict[tuple[str | None, ...], TriedHook] = {}
        self._query = query
        self._clean = clean
        self._open: dict[str, TriedCall] = {}
        self._passed: defaultdict[tuple[str, str], list[TriedCall]] = defaultdict(list)
        """Tool calls that the hooks let pass, by session and tool."""
        self._after = ""

    def add(self, entry: LogEntry, line: bytes) -> None:
        """Takes the next record."""
        if entry.kind == "event":
            self._end(entry)
        elif entry.mode is not None and self._is_wanted(entry):
            self._run(entry, line)
        if entry.is_run and entry.event == _AFTER:
            self._ran(entry, line)

    def _is_wanted(self, entry: LogEntry) -> bool:
        return self._query.hook in (None, entry.hook) and self._query.event in (None, entry.event)

    def _run(self, entry: LogEntry, line: bytes) -> None:
        key = (entry.event, entry.hook, entry.origin, entry.mode)
        if (hook := self.hooks.get(key)) is None:
            hook = self.hooks[key] = TriedHook(
                event=entry.event or "",
                hook=entry.hook or "",
                origin=entry.origin or "",
                source=entry.source or "",
                mode=entry.mode or "",
                since=entry.time or "",
            )
        hook.runs += 1
        hook.failures += entry.is_failure
        hook.durations.add(entry.took_ms)
        hook.last = entry.time or hook.last
        if entry.machine is not None:
            hook.machines.add(entry.machine)
        would = _would(entry)
        hook.would.update(would)
        if not _KEEPS_BACK.isdisjoint(would):
            record = _record(line)
            hook.location = str(record.get("location") or hook.location)
            call = self._call(entry, record)
            hook.calls.append(call)
            hook.newest = [*hook.newest, (call, record)][-MOST_EXAMPLES:]

    def _call(self, entry: LogEntry, record: Mapping[str, Any]) -> TriedCall:
        fire = entry.fire or ""
        if (call := self._open.get(fire)) is None:
            given = input_of(record) if entry.event == _BEFORE else None
            call = self._open[fire] = TriedCall(
                fire=fire,
                event=entry.event or "",
                time=entry.time or "",
                session=entry.session or "",
                subject=entry.subject or "",
                agent=entry.agent,
                asker=entry.shown_asker,
                person="" if entry.machine is None else f"{entry.user or 'somebody'} at {entry.machine}",
                digest=None if given is None else digest_of(self._clean(given)),
            )
        return call

    def _end(self, entry: LogEntry) -> None:
        call = self._open.pop(entry.fire or "", None)
        if call is None:
            return
        if entry.blocked is True:
            call.sequel = Sequel.BLOCKED
        elif call.event != _BEFORE:
            call.sequel = Sequel.RAN  # only tool calls have a decision after the hooks
        elif call.digest is not None:
            self._passed[call.session, call.subject].append(call)

    def _ran(self, entry: LogEntry, line: bytes) -> None:
        """A hook that runs after a tool shows that the tool ran; several hooks of one event show it once."""
        passed = self._passed.get((entry.session or "", entry.subject or ""))
        if not passed or entry.fire == self._after:
            return
        self._after = entry.fire or ""
        given = input_of(_record(line))
        digest = None if given is None else digest_of(self._clean(given))
        if (call := next((call for call in passed if call.digest == digest), None)) is not None:
            call.sequel = Sequel.RAN
            passed.remove(call)


def _would(entry: LogEntry) -> Sequence[str]:
    if entry.would is not None:
        return entry.would
    # Records of older versions have the decision alone.
    if entry.decision in BLOCKING_DECISIONS:
        return ("block",)
    return ("ask",) if entry.decision == HookDecision.ASK else ()


def _record(line: bytes) -> Mapping[str, Any]:
    try:
        value = parse_json(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _fates(sessions: set[tuple[str, str]], clean: Clean) -> dict[tuple[str, str, str | None], list[Fate]]:
    """Return the fates of the calls of these sessions, by session, tool and arguments, in order."""
    found: defaultdict[tuple[str, str, str | None], list[Fate]] = defaultdict(list)
    for agent in {agent for agent, _ in sessions if agent == OWN or agent in AGENTS}:
        names = {session[:_ID_IN_NAMES] for of, session in sessions if of == agent and session}
        for path in transcripts_of(agent):
            if any(name in str(path) for name in names):
                for call in read_transcript(agent, path).calls:
                    for question in events_for_call(call):
                        digest = digest_of(clean(question["tool_input"]))
                        found[call.session, str(question["tool_name"]), digest].append(call.fate)
    return found


def _assign(calls: Sequence[TriedCall], fates: Sequence[Fate]) -> None:
    """Gives each call its fate, where that is certain: all have the same, or there is one for each."""
    for call, fate in zip(calls, _certain(len(calls), fates), strict=False):
        if call.sequel is Sequel.UNKNOWN and fate is not Fate.OPEN:
            call.sequel = Sequel.RAN if fate is Fate.RAN else Sequel.REFUSED


def _certain(count: int, fates: Sequence[Fate]) -> Iterator[Fate]:
    if len(set(fates)) == 1:
        yield from [fates[0]] * count
    elif len(fates) == count:
        yield from fates
