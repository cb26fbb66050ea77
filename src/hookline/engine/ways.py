"""How hooks of each type are run: one row per type."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from hookline.child.batch import ChildJob, ChildLimits, ChildOutcome, run_children
from hookline.contract.hooks import HookEntry, HttpTarget
from hookline.contract.inputs import current_session
from hookline.contract.vocabulary import OWN_DIALECT, HookType, OnError
from hookline.engine.callables import run_callables
from hookline.engine.stays import Stays
from hookline.engine.telling import Asked
from hookline.engine.warmth import Warmth
from hookline.shell.quoting import quote_project_variables

if TYPE_CHECKING:
    from hookline.contract.messages import AskerFacts

_POWERSHELLS = ("pwsh", "powershell")
# What Claude Code itself puts into the words of a command with `args`.
_PLACE = re.compile(r"\$\{(CLAUDE_[A-Z_]+)\}|\$(CLAUDE_[A-Z_]+)")


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What hooks are run with."""

    limits: ChildLimits = ChildLimits()
    cwd: str
    http_allow: tuple[str, ...] = ()
    """Other machines that may be asked."""
    agent: str | None = None
    """The agent that asks, as workers on other machines are told."""
    warmth: Warmth
    stays: Stays
    """What outlives an event."""
    is_alone: bool = False
    """True if no other hook of the event has to be started at the same time."""


async def _run_command(asked: Asked, means: Means) -> ChildOutcome:
    hook = asked.hook
    job = ChildJob(
        command=hook.command or "",
        argv=_argv(hook, asked.env),
        stdin=asked.stdin,
        cwd=means.cwd,
        env=asked.env,
        timeout_ms=hook.timeout_ms,
        limits=hook.limits,
        parking=means.warmth.parking_for(hook),
    )
    (outcome,) = await run_children([job], limits=means.limits)
    return outcome


async def _ask_worker(asked: Asked, means: Means) -> ChildOutcome:
    outcome = await means.stays.workers.ask(asked, means.cwd, means.limits, may_wait=means.is_alone)
    return await _run_command(asked, means) if outcome is None else outcome


async def _call_function(asked: Asked, _means: Means) -> ChildOutcome:
    (outcome,) = await run_callables([asked.hook], asked.stdin)
    return outcome


async def _ask_server(asked: Asked, means: Means) -> ChildOutcome:
    # Loaded on use: few hooks are servers.
    from hookline.child.http import post  # noqa: PLC0415

    hook = asked.hook
    return await post(
        hook.target or HttpTarget(url=""),
        asked.stdin,
        env=asked.env,
        timeout_ms=hook.timeout_ms,
        most_bytes=means.limits.output_bytes,
        allowed=means.http_allow,
        connections=means.stays.connections,
    )


async def _ask_remote(asked: Asked, means: Means) -> ChildOutcome:
    # Loaded on use: few hooks are on another machine.
    from hookline.child.remote import RemoteJob  # noqa: PLC0415
    from hookline.log.consent import user_name  # noqa: PLC0415

    hook, session = asked.hook, current_session.get()
    agent = (None if session is None else session.get_agent()) or means.agent
    facts: AskerFacts = {
        "sessionId": str(asked.told["session_id"]),
        "cwd": str(asked.told["cwd"]),
        "project": means.cwd,
        "user": user_name(),
    }
    if agent is not None:
        facts["agent"] = agent
    job = RemoteJob(
        subject=hook.subject or "",
        told=asked.told,
        facts=facts,
        timeout_ms=hook.timeout_ms,
        most_bytes=means.limits.output_bytes,
        is_strict=hook.on_error is OnError.BLOCK,
    )
    return await means.stays.remote.ask(job)


def _argv(hook: HookEntry, env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The program and its arguments, where the hook has `args` or a shell of its own; None for the usual shell."""
    if hook.args is not None:
        return tuple(_filled(word, env) for word in (hook.command or "", *hook.args))
    if hook.shell is None:
        return None
    if hook.shell in _POWERSHELLS:
        return hook.shell, "-NoProfile", "-NonInteractive", "-Command", hook.command or ""
    return hook.shell, "-c", quote_project_variables(hook.command or "")


def _filled(word: str, env: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: env.get(place[1] or place[2], place[0]), word)


# Gets a hook with what it is told, and never raises; whatever it returns is read as a process's exit code and output.
Way = Callable[[Asked, Means], Awaitable[ChildOutcome]]
# Hooks of a type that is not here fail.
WAYS: Mapping[HookType, Way] = {
    HookType.COMMAND: _run_command,
    HookType.HTTP: _ask_server,
    HookType.REMOTE: _ask_remote,
    HookType.CALLABLE: _call_function,
    HookType.PLUGIN: _call_function,
    HookType.PACK: _call_function,
}


def way_of(hook: HookEntry) -> Way | None:
    """How a hook is run; None for one that can't be, such as a plugin that does not name its entry point."""
    if hook.worker is not None and hook.dialect == OWN_DIALECT:
        return _ask_worker
    return None if hook.type is HookType.PLUGIN and hook.plugin is None else WAYS.get(hook.type)
