"""Machines of a fleet for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hookline.apps.cli.report.style import style
from hookline.fleet.health.heartbeat import Heartbeat
from hookline.fleet.health.status import MachineStatus
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.text.readable import one_line, plural

_SHOWN = 10


def status_report(found: Sequence[MachineStatus]) -> dict[str, Any]:
    """The machines as JSON."""
    return {
        "machines": [
            {
                **msgspec.to_builtins(status),
                "lastSeen": None if status.last_seen is None else utc_timestamp(status.last_seen),
                "ok": not status.problems,
            }
            for status in found
        ],
        "silent": sum(status.is_silent for status in found),
        "outdated": sum(status.is_outdated for status in found),
        "unguarded": sum(status.is_unguarded for status in found),
    }


def status_lines(found: Sequence[MachineStatus]) -> Iterator[str]:
    """The machines, those with problems in full."""
    good = [status for status in found if not status.problems]
    for status in found:
        if status.problems:
            yield f"{style.bold(_name(status))}{style.dim(_facts(status.beat))}"
            for problem in status.problems[:_SHOWN]:
                yield style.bad(one_line(f"  {problem}"))
            if len(status.problems) > _SHOWN:
                yield style.bad(f"  and {plural(len(status.problems) - _SHOWN, 'more problem')}")
    for status in good:
        yield f"{_name(status)}{style.dim(_facts(status.beat))}  {style.good('ok')}"
    words = [f"{plural(len(found), 'machine')}", f"{len(good)} without a problem"]
    for count, word in (
        (sum(status.is_silent for status in found), "silent"),
        (sum(status.is_outdated for status in found), "out of date"),
        (sum(status.is_unguarded for status in found), "whose guards do not run"),
    ):
        words += [style.bad(f"{count} {word}")] if count else []
    yield ", ".join(words)


def _name(status: MachineStatus) -> str:
    return one_line(f"{status.machine} {status.user}" + (f" ({status.team})" if status.team not in ("", "all") else ""))


def _facts(beat: Heartbeat | None) -> str:
    if beat is None:
        return ""
    facts = beat.facts
    running = sum(hook.can_run for hook in facts.hooks)
    words = [f"{plural(len(facts.hooks) + facts.more_hooks, 'hook')}, {running} can run"]
    words += [f"policy {facts.policy}"] if facts.policy else []
    if beat.canary is not None:
        words.append(f"canary {'denied' if beat.canary.is_denied else 'NOT denied'}")
    return "  " + one_line(f"{', '.join(words)}, hookline {beat.hookline}")
