"""The door of every trigger: asks for the system, initializes it on the first event, and lets no fault out."""

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hookline.contract.events import LIFECYCLE_EVENTS
from hookline.contract.text import tell
from hookline.errors import MissingExtraError

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.arguments import ToolArguments
    from hookline.contract.events import HookEventName
    from hookline.contract.inputs import SharedSession
    from hookline.contract.verdict import Verdict
    from hookline.system import HookSystem

Applied = TypeVar("Applied")


def system_of(config: "Config") -> "HookSystem | None":
    """The hook system; None when hooks are disabled or a fault of ours prevented it and does not block."""
    try:
        return config.get_hook_system()
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return _NoSystem(error) if attempt(config.blocks_on_fault, otherwise=False) else None  # type: ignore[return-value]


async def fire(
    system: "HookSystem | None",
    event: "HookEventName",
    fields: Mapping[str, Any],
    mcp_context: Mapping[str, Any] | None = None,
    session: "SharedSession | None" = None,
    arguments: "ToolArguments | None" = None,
) -> "Verdict | None":
    """What the event came to; None when hooks are disabled or a fault of ours prevented it and does not block."""
    if system is None:
        return None
    try:
        if mcp_context is not None:
            fields = {**fields, "mcp_context": mcp_context}
        if system.handler is None:
            await system.initialize()
        verdict = await (system.handler or system.get_event_handler()).fire(event, fields, session, arguments)
        return verdict if event not in LIFECYCLE_EVENTS else _reported(system, verdict)
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return _blocked(event, error) if attempt(lambda: system.blocks_on_fault, otherwise=False) else None


def passes(
    system: "HookSystem | None", event: "HookEventName", subject: str, session: "SharedSession | None" = None
) -> bool:
    """Whether no hook has to run for an event, so that it need not be fired; False if that is not known at once."""
    if system is None:
        return True
    try:
        return system.handler is not None and system.handler.passes(event, subject, session)
    except Exception:  # noqa: BLE001 - the door: firing the event reports it
        return False


def _reported(system: "HookSystem", verdict: "Verdict | None") -> "Verdict | None":
    if verdict is not None:
        system.report_unapplied(verdict)
    return verdict


class _NoSystem:
    """In place of a system that could not be made: every event that can block does so."""

    blocks_on_fault = True
    has_approval_hooks = True

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.handler = self

    async def fire(
        self,
        event: "HookEventName",
        _fields: Mapping[str, Any],
        _session: "SharedSession | None" = None,
        _arguments: "ToolArguments | None" = None,
    ) -> "Verdict | None":
        return _blocked(event, self._error)

    def passes(self, *_: object) -> bool:
        return False

    def awaits(self, _event: "HookEventName", _subject: str | None) -> bool:
        return True

    def report_unapplied(self, _verdict: "Verdict") -> None:
        """Does nothing: no hook has run."""


def _blocked(event: "HookEventName", error: Exception) -> "Verdict | None":
    from hookline.contract.results import as_block, failure_verdict  # noqa: PLC0415 - not loaded while hooks are disabled
    from hookline.engine.event_table import EVENT_TABLE  # noqa: PLC0415 - the same

    if not EVENT_TABLE[event].can_block:
        return None
    why = f"hookline failed while starting ({type(error).__name__})"
    return as_block(failure_verdict(event, None, error, "starting"), why)


async def fire_and_apply(
    config: "Config",
    event: "HookEventName",
    fields: Mapping[str, Any],
    apply: "Callable[[Verdict, Attempt], Applied]",
    otherwise: Applied,
) -> Applied:
    """What `apply` makes of the verdict; `otherwise` where no hook answered or a fault of ours prevented it."""
    system = system_of(config)
    verdict = await fire(system, event, fields)
    if system is None or verdict is None or verdict.answer is None:
        return otherwise
    attempt_here = _logged_attempt(system, event)
    try:
        return apply(verdict, attempt_here)
    except Exception as error:  # noqa: BLE001 - the door: the SDK may be missing
        report(error)
        if not verdict.blocked and system.blocks_on_fault:
            verdict = _blocked(event, error) or verdict
        return _undone(otherwise, verdict)


def _undone(otherwise: Applied, verdict: "Verdict") -> Applied:
    """What stands of a verdict that could not be applied: its block and its stop."""
    from dataclasses import fields, replace  # noqa: PLC0415 - loaded with the class of the result

    stands: dict[str, Any] = {
        "blocked": verdict.blocked,
        "reason": verdict.reason if verdict.blocked else None,
        "should_stop": verdict.stop,
        "stop_reason": verdict.stop_reason,
    }
    known = {field.name for field in fields(otherwise)}  # type: ignore[arg-type]  # every result is a dataclass
    changes = {name: value for name, value in stands.items() if name in known}
    undone: Applied = replace(otherwise, **changes)  # type: ignore[type-var]
    return undone


class Attempt(Protocol):
    """What `make` returns, or `otherwise` if it fails, which is reported."""

    def __call__(self, make: Callable[[], Applied], otherwise: Applied, consequence: str) -> Applied:
        """What `make` returns, or `otherwise`."""


def attempt(
    make: Callable[[], Applied],
    otherwise: Applied,
    consequence: str = "hooks had no effect",
    log: Callable[[str], None] = lambda _: None,
) -> Applied:
    """What `make` returns, or `otherwise` if it fails; the fault is reported, and no block or stop is lost."""
    try:
        return make()
    except MissingExtraError as error:  # no fault of ours: whoever installed this can mend it
        message = f"{consequence}: {error}"
        log(message)
        tell(message)
        return otherwise
    except Exception as error:  # noqa: BLE001 - the door: the SDK may be missing, or refuse what a hook wrote
        report(error, consequence)
        return otherwise


def _logged_attempt(system: "HookSystem", event: "HookEventName") -> Attempt:
    """`attempt` that logs, too, what can't be applied for lack of a package."""
    from hookline.contract.records import AdviceRecord, LogLevel  # noqa: PLC0415 - not loaded while hooks are disabled

    def log(message: str) -> None:
        record = AdviceRecord(level=LogLevel.WARN, message=f"{event}: {message}", event=event.value)
        system.get_log().write(record)

    def try_it(make: Callable[[], Applied], otherwise: Applied, consequence: str) -> Applied:
        return attempt(make, otherwise, consequence, log)

    return try_it


def report(error: Exception, consequence: str = "hooks had no effect") -> None:
    """Reports on stderr a fault that can't be logged."""
    where = traceback.format_exception(error)[-2].strip().splitlines()[0] if error.__traceback__ else ""
    tell(f"{consequence}, because of a fault in hookline: {error!r} {where}")
