"""One question of another agent → our hooks → its answer. A bridge that breaks says no itself."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from hookline.bridge.host import Heard, Host, Outcome, Payload, Said, combine, rules_of
from hookline.bridge.memory import StoppedSessions
from hookline.contract.answers import kind_of
from hookline.contract.events import HookEventName
from hookline.contract.records import BridgeRecord, LogLevel, agent_event
from hookline.contract.wire import parse_json
from hookline.engine.watchdog import event_deadline
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from hookline.bridge.systems import Lease

EXIT_BLOCK = 2

# The events of every agent at which a broken bridge refuses; elsewhere there is nothing to keep from happening.
_CAN_REFUSE = frozenset({HookEventName.BEFORE_TOOL, HookEventName.BEFORE_AGENT, HookEventName.BEFORE_MODEL})
_NEW_SESSION = frozenset({"startup", "clear"})


@lru_cache(maxsize=1)
def hosts() -> Mapping[str, Host]:
    """Every agent that can have hookline as its hook command, by name."""
    from hookline.bridge.claude import CLAUDE_HOST  # noqa: PLC0415 - a module that only names them needs none
    from hookline.bridge.codex import CODEX_HOST  # noqa: PLC0415
    from hookline.bridge.copilot import COPILOT_HOST  # noqa: PLC0415
    from hookline.bridge.cursor import CURSOR_HOST  # noqa: PLC0415
    from hookline.bridge.gemini import GEMINI_HOST  # noqa: PLC0415

    return {host.name: host for host in (CLAUDE_HOST, CODEX_HOST, GEMINI_HOST, CURSOR_HOST, COPILOT_HOST)}


def read_payload(host: Host, stdin: bytes) -> Payload:
    """What an agent wrote; HooklineError when it is not a JSON object."""
    try:
        payload = parse_json(stdin.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise HooklineError(f"what {host.agent} wrote on stdin is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise HooklineError(f"what {host.agent} wrote on stdin is {kind_of(payload)}, not an object")
    return payload


async def judge(host: Host, heard: Heard, lease: "Lease", deadline_s: float) -> Said:
    """Asks our hooks, and puts what they decide into the agent's words; it refuses what it can't judge in time."""
    agent_event.set(heard.theirs)
    event_deadline.set(time.monotonic() + deadline_s)
    try:
        async with asyncio.timeout(deadline_s):
            said = await _ask(host, heard, lease) if deadline_s > 0 else refusal(host, heard, "there is no time left")
    except TimeoutError:
        said = refusal(host, heard, f"the hooks did not answer within {deadline_s:g} s")
    except Exception as error:  # noqa: BLE001 - the door: every agent goes on when its hook command fails
        said = refusal(host, heard, f"the hooks could not be asked ({type(error).__name__}: {error})")
    for loss in said.lost:
        _log(host, heard, lease, f"not passed on: {loss}")
    if said.is_broken:
        _log(host, heard, lease, said.stderr, blocked=heard.event in _CAN_REFUSE)
    return said


def refusal(host: Host | None, heard: Heard | None, reason: str) -> Said:
    """The answer of a bridge that is broken; nearly every agent takes exit code 2 with a text for a no."""
    message = f"hookline: {reason}"
    if heard is not None and heard.event not in _CAN_REFUSE:
        return Said(stderr=message, is_broken=True)
    if host is None or heard is None or host.exit_2_blocks:
        return Said(stderr=message, exit_code=EXIT_BLOCK, is_broken=True)
    return replace(host.say(heard, Outcome(blocked=True, reason=message)), stderr=message, is_broken=True)


def deny_unreadable(host: Host, heard: Heard, lease: "Lease") -> Said:
    """Deny a call that can't be judged, in the agent's words. No hook is asked, and `--fail-open` has no effect."""
    _log(host, heard, lease, f"denied without asking the hooks: {heard.fault}", blocked=True)
    if heard.theirs not in host.events:
        # An answer in JSON names the event, and this one is unknown to the agent.
        return replace(refusal(host, heard, heard.fault), is_broken=False)
    return host.say(heard, Outcome(blocked=True, reason=f"hookline: {heard.fault}"))


async def _ask(host: Host, heard: Heard, lease: "Lease") -> Said:
    system = lease.system
    if system is None or heard.event is None:
        return Said()
    await system.initialize()
    # Without an id every session would be the same.
    stops = StoppedSessions() if heard.session_id else None
    stopped = None if stops is None else stops.why(host.name, heard.session_id)
    if stops is not None and stopped is not None:
        if heard.event in _CAN_REFUSE:
            reason = f"a hook stopped this session: {stopped}\nStart a new session to go on."
            _log(host, heard, lease, f"refused without asking the hooks: {reason}", blocked=True)
            return host.say(heard, Outcome(blocked=True, reason=reason))
        if _begins_or_ends(heard):
            stops.forget(host.name, heard.session_id)
    fire = system.get_event_handler().fire
    # Only the first question can be about the call itself; changes of a part of it can't be sent back.
    rules = (rules_of(heard), *[None] * len(heard.questions))
    questions = zip(heard.questions, rules, strict=False)
    verdicts = [await fire(heard.event, fields, lease.session, arguments) for fields, arguments in questions]
    if fault := next((verdict.fault for verdict in verdicts if verdict.fault is not None), None):
        raise HooklineError(fault.message)
    outcome = combine(heard, verdicts)
    if stopped is not None and heard.event is HookEventName.AFTER_AGENT:
        # Whatever a hook wants done yet, the session was stopped before.
        outcome = replace(outcome, blocked=False, stop=True, stop_reason=stopped)
    said = host.say(heard, outcome)
    if stops is not None and said.unsaid_stop:
        stops.stop(host.name, heard.session_id, said.unsaid_stop)
    return said


def _begins_or_ends(heard: Heard) -> bool:
    if heard.event is HookEventName.SESSION_START:
        return heard.questions[0].get("source") in _NEW_SESSION
    return heard.event is HookEventName.SESSION_END


def _log(host: Host, heard: Heard, lease: "Lease", message: str, *, blocked: bool | None = None) -> None:
    lease.log(
        BridgeRecord(
            level=LogLevel.WARN,
            message=f"{heard.theirs} of {host.agent}: {message}",
            session=heard.session_id or None,
            agent=host.name,
            agent_event=heard.theirs,
            event=heard.event and heard.event.value,
            blocked=blocked,
        )
    )
