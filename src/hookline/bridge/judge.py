"""One question of another agent → our hooks → its answer. A bridge that breaks says no itself."""

import asyncio
from collections.abc import Callable, Mapping

from hookline.bridge.host import Heard, Host, Said, combine
from hookline.config import Config
from hookline.contract.answers import kind_of
from hookline.contract.events import HookEventName
from hookline.contract.wire import parse_json
from hookline.errors import HooklineError

EXIT_BLOCK = 2

# The events of every agent at which a broken bridge refuses; elsewhere there is nothing to keep from happening.
_CAN_REFUSE = frozenset({HookEventName.BEFORE_TOOL, HookEventName.BEFORE_AGENT, HookEventName.BEFORE_MODEL})


def hosts() -> Mapping[str, Host]:
    """Every agent that can have hookline as its hook command, by name."""
    from hookline.bridge.claude import CLAUDE_HOST  # noqa: PLC0415 - a bridge call needs one of them
    from hookline.bridge.codex import CODEX_HOST  # noqa: PLC0415
    from hookline.bridge.copilot import COPILOT_HOST  # noqa: PLC0415
    from hookline.bridge.cursor import CURSOR_HOST  # noqa: PLC0415
    from hookline.bridge.gemini import GEMINI_HOST  # noqa: PLC0415

    return {host.name: host for host in (CLAUDE_HOST, CODEX_HOST, GEMINI_HOST, CURSOR_HOST, COPILOT_HOST)}


def read_question(host: Host, stdin: bytes, event: str | None) -> Heard:
    """The question that an agent wrote; HooklineError when it can't be read."""
    try:
        payload = parse_json(stdin.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise HooklineError(f"what {host.agent} wrote on stdin is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise HooklineError(f"what {host.agent} wrote on stdin is {kind_of(payload)}, not an object")
    return host.hear(payload, event)


async def judge(host: Host, heard: Heard, make_config: Callable[[Heard], Config], deadline_s: float) -> Said:
    """Asks our hooks, and puts what they decide into the agent's words; it refuses what it can't judge in time."""
    if heard.event is None:
        return Said(lost=(f"{heard.theirs} of {host.agent} has no counterpart here, so no hook was asked",))
    try:
        return await asyncio.wait_for(_ask(host, heard, make_config), deadline_s)
    except TimeoutError:
        return refusal(heard.event, f"the hooks did not answer within {deadline_s:g} s")
    except Exception as error:  # noqa: BLE001 - the door: every agent goes on when its hook command fails
        return refusal(heard.event, f"the hooks could not be asked ({type(error).__name__}: {error})")


def refusal(event: HookEventName | None, reason: str) -> Said:
    """The answer of a bridge that is broken: all five agents take exit code 2 with a text for a no."""
    refuses = event is None or event in _CAN_REFUSE
    return Said(stderr=f"hookline: {reason}", exit_code=EXIT_BLOCK if refuses else 0)


async def _ask(host: Host, heard: Heard, make_config: Callable[[Heard], Config]) -> Said:
    config = make_config(heard)
    if broken := [str(problem) for problem in config.get_problems() if problem.is_error]:
        raise HooklineError(broken[0])
    system = config.get_hook_system()
    if system is None or heard.event is None:
        return Said()
    await system.initialize()
    try:
        fire = system.get_event_handler().fire
        verdicts = [await fire(heard.event, fields) for fields in heard.questions]
    finally:
        system.dispose()
    if fault := next((verdict.fault for verdict in verdicts if verdict.fault is not None), None):
        raise HooklineError(fault.message)
    return host.say(heard, combine(heard, verdicts))
