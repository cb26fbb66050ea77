"""The records of the log about tool calls before they ran, by session."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import parse_json

Clean = Callable[[Any], Any]

_BEFORE_TOOL = HookEventName.BEFORE_TOOL.value
_KINDS = frozenset({"hook", "event", "unmatched", "cancel", "bridge", "fault"})
_HIDDEN = "[redacted]"


@dataclass(slots=True, kw_only=True)
class Asked:
    """One event before a tool call, for which hooks ran."""

    fire: str
    time: str
    tool: str
    digest: str | None = None
    """Of its arguments; None where the log does not have them whole."""
    arguments: Any = None
    """As hooks rewrote them so far."""
    rewritten: str | None = None
    """The digest of the rewritten arguments, which some agents write into their transcripts."""
    failed: list[str] = field(default_factory=list)
    """Hooks that could not do their work, and why."""
    blocked: bool = False
    is_used: bool = False


@dataclass(slots=True)
class SessionEvidence:
    """The records of one session."""

    asked: list[Asked] = field(default_factory=list)
    quiet: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often no hook ran, by tool and reason."""
    unfinished: Counter[str] = field(default_factory=Counter)
    """How often hooks started, and the agent did not wait for their end, by tool."""
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Evidence:
    """The records of the requested sessions."""

    path: Path
    begins: str | None = None
    """The time of the oldest record; None for an empty log."""
    sessions: Mapping[str, SessionEvidence] = field(default_factory=dict)


def read_evidence(path: Path, sessions: Collection[str], clean: Clean, since: str | None = None) -> Evidence:
    """The evidence of these sessions; `clean` hides the secrets that the log hides."""
    found: defaultdict[str, SessionEvidence] = defaultdict(SessionEvidence)
    open_events: dict[str, Asked] = {}
    with LogReader(path) as reader:
        begins = min((one.first for one in reader.sessions().values() if one.first), default=None)
        for record in reader.whole(LogQuery(kinds=_KINDS, event=_BEFORE_TOOL, since=since)):
            session = str(record.get("session"))
            if session in sessions:
                _take(record, found[session], open_events, clean)
        for start in reader.entries(LogQuery(kinds=frozenset({"start"}), event=_BEFORE_TOOL, since=since)):
            if start.session is not None and start.session in sessions:
                found[start.session].unfinished[start.subject or ""] += 1
    return Evidence(path=path, begins=begins, sessions=dict(found))


def _take(record: Mapping[str, Any], session: SessionEvidence, events: dict[str, Asked], clean: Clean) -> None:
    tool, fire = str(record.get("subject") or ""), str(record.get("fire"))
    match record.get("kind"):
        case "hook":
            asked = events.setdefault(fire, Asked(fire=fire, time=str(record.get("time")), tool=tool))
            if asked.arguments is None and (given := input_of(record)) is not None:
                asked.arguments = given
                asked.digest = digest_of(clean(given))
            _rewrite(asked, record)
            if record.get("level") == "warn":
                asked.failed.append(_failure(record))
        case "event":
            asked = events.setdefault(fire, Asked(fire=fire, time=str(record.get("time")), tool=tool))
            del events[fire]
            asked.blocked = record.get("blocked") is True or record.get("stop") is True
            asked.rewritten = digest_of(clean(asked.arguments))
            asked.arguments = None
            session.asked.append(asked)
        case "unmatched":
            session.quiet[tool, str(record.get("reason"))] += int(record.get("count") or 1)
        case "cancel":
            session.unfinished[tool] += 1
        case "bridge" if record.get("blocked") is not True:
            pass  # about an answer that could not be put into the agent's words
        case _:  # the bridge refused it without asking a hook, or hookline failed
            session.faults.append(str(record.get("message")))


def digest_of(arguments: Any) -> str | None:
    """Return the hash by which arguments are compared; None if a secret in them was hidden."""
    text = json.dumps(arguments, sort_keys=True, default=str)
    return None if _HIDDEN in text else hashlib.sha256(text.encode()).hexdigest()


def input_of(record: Mapping[str, Any]) -> Any:
    """Return the arguments in a hook's input, in hookline's format; None if the log cut them."""
    told = None if record.get("dialect") else _object_in(record.get("stdin"))
    return None if told is None else told.get("tool_input")


def _rewrite(asked: Asked, record: Mapping[str, Any]) -> None:
    answer = _object_in(record.get("stdout"))
    changes = None if answer is None else answer.get("hookSpecificOutput")
    changes = changes.get("tool_input") if isinstance(changes, dict) else None
    if isinstance(changes, dict) and isinstance(asked.arguments, dict):
        asked.arguments = {**asked.arguments, **changes}


def _object_in(text: Any) -> dict[str, Any] | None:
    try:
        value = parse_json(text) if isinstance(text, str) and text else None
    except (ValueError, RecursionError):  # the log keeps 64 KiB of a text
        return None
    return value if isinstance(value, dict) else None


def _failure(record: Mapping[str, Any]) -> str:
    name = str(record.get("hook"))
    if record.get("timedOut") is True:
        return f"{name} timed out"
    return f"{name} failed ({record.get('error') or record.get('message')})"
