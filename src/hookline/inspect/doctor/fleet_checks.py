"""Check the company's policy, record and server."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.inspect.doctor.diagnostic import Diagnostic, Severity, error, ok, warning
from hookline.inspect.view import Setup
from hookline.log.paths import log_path
from hookline.protocol.hook_entry import RemoteSubject
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.text.readable import plural, show_ago, show_size
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from hookline.fleet import names
    from hookline.fleet.record import backlog, shipper
    from hookline.fleet.remote import client as remote
    from hookline.log.read import verify
    from hookline.settings.decode.settings import Settings
    from hookline.settings.read.policy_state import PolicyState
else:
    shipper = lazy_module("hookline.fleet.record.shipper")
    backlog = lazy_module("hookline.fleet.record.backlog")
    verify = lazy_module("hookline.log.read.verify")
    names = lazy_module("hookline.fleet.names")
    remote = lazy_module("hookline.fleet.remote.client")


def policy_checks(settings: "Settings") -> Iterator[Diagnostic]:
    """Check the policy in force: its key, its expiry, its problems, and what its switches disable."""
    state = settings.policy
    if state is None:
        return
    if state.version is not None:
        yield ok("policy", _in_force(state, is_alone=settings.managed_only))
    # Without a policy its guards do not run; and if everything is blocked, no hook is asked.
    severity = Severity.ERROR if state.version is None or state.blocks is not None else Severity.WARNING
    for fault in state.warnings:
        yield Diagnostic("policy", Severity.ERROR if fault == state.agents_off else severity, fault)
    here = {hook.label for hook in settings.hooks}
    for name, why in state.hooks_off.items():
        yield Diagnostic("policy", Severity.ERROR if name in here else Severity.WARNING, f"hook {name} is off by {why}")


def _in_force(state: "PolicyState", *, is_alone: bool) -> str:
    until = "" if state.expires is None else f" until {utc_timestamp(state.expires)[:16].replace('T', ' ')} UTC"
    alone = "; only its own hooks run (managedOnly)" if is_alone else ""
    signed = f"signed by {state.key}; when it has expired: {state.on_expiry}"
    return f"version {state.version} is in force{until} for the team {state.team}, {signed}{alone}"


async def fleet_checks(setup: Setup) -> list[Diagnostic]:
    """Check that the log is sent, that the company's server can be reached, and that each remote hook has a worker."""
    fleet = setup.options.fleet
    if fleet is None or not fleet.servers:
        return []
    hooks = [hook for hook in setup.hooks if hook.enabled and not hook.refusal]
    subjects = sorted({hook.run.subject for hook in hooks if isinstance(hook.run, RemoteSubject)})
    found = await remote.find_workers(fleet, subjects)
    return [*_record(setup, fleet), *_server(fleet, subjects, found)]


def _record(setup: Setup, fleet: FleetSettings) -> Iterator[Diagnostic]:
    """Check that the log is sent to the company's record; report the progress and dropped records."""
    if not fleet.sends_records:
        yield ok("record", "hooksConfig.fleet.audit is false, so the log stays here")
        return
    if not setup.options.log.enabled:
        yield warning("record", "hooksConfig.log.enabled is false, so there is nothing to send")
        return
    path = log_path(setup.options.log.path)
    dropped = shipper.read_progress(path).dropped
    if dropped:
        yield warning("record", f"{plural(dropped, 'record')} were dropped before they were sent")
    how_far = _how_far(path, fleet.spool_bytes)
    if shipper.is_sent(path):
        yield ok("record", f"a service sends the log; {how_far}")
    else:
        remedy = "run hookline fleet run, as a service (contrib/hookline-fleet.service)"
        yield warning("record", f"no service sends the log; {how_far}; {remedy}")


def _how_far(path: Path, most_bytes: int) -> str:
    sent = shipper.read_progress(path)
    head, waiting, when = None, 0, ""
    with suppress(HooklineError):  # another check reports a log that can't be read
        head = verify.log_head(path)
        waiting = backlog.waiting_bytes(path, sent.cursor)
    with suppress(OSError):  # nothing was ever sent
        when = f" {show_ago(utc_timestamp(shipper.progress_path(path).stat().st_mtime))}"
    how_far = f"record {sent.cursor.seq} of {head.seq if head else 0} was sent last{when}"
    return f"{how_far}; {show_size(waiting)} of at most {show_size(most_bytes)} wait"


def _server(fleet: FleetSettings, subjects: list[str], found: "remote.Reach") -> Iterator[Diagnostic]:
    if found.fault is not None:
        yield Diagnostic("fleet", Severity.ERROR if subjects else Severity.WARNING, found.fault)
        return
    known = "" if found.is_authenticated else "; it does not ask who connects, so workers are not told who asks"
    yield ok("fleet", f"{names.server_of(fleet).shown} accepts connections of team {fleet.team}{known}")
    for subject, worker in found.workers.items():
        yield ok("fleet", f"worker {worker} would answer remote hooks about {subject}")
    for subject, why in found.missing.items():
        remedy = f"start one: hookline fleet worker --subject {subject}"
        yield error("fleet", f"nobody answers remote hooks about {subject}: {why}; {remedy}")
