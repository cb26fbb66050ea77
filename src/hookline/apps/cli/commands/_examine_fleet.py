"""What `hookline doctor` looks at where a company has a part in it: its policy, its record and its server."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.cli.commands._signs import Health, Sign
from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.report.text import plural, show_ago, show_size
from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.inspect.view import Setup
from hookline.log.paths import log_path
from hookline.protocol.hook_entry import RemoteSubject
from hookline.protocol.text.json_text import utc_timestamp
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


def policy_signs(settings: "Settings") -> Iterator[Sign]:
    """Which policy is in force, by whom and until when; what is wrong with it; and what its switches keep off."""
    state = settings.policy
    if state is None:
        return
    if state.version is not None:
        yield Sign("policy", Health.GOOD, _in_force(state, is_alone=settings.managed_only))
    # Without a policy its guards do not run; and if everything is blocked, no hook is asked.
    health = Health.BAD if state.version is None or state.blocks is not None else Health.ODD
    for warning in state.warnings:
        yield Sign("policy", Health.BAD if warning == state.agents_off else health, warning)
    here = {hook.label for hook in settings.hooks}
    for name, why in state.hooks_off.items():
        yield Sign("policy", Health.BAD if name in here else Health.ODD, f"hook {name} is off by {why}")


def _in_force(state: "PolicyState", *, is_alone: bool) -> str:
    until = "" if state.expires is None else f" until {utc_timestamp(state.expires)[:16].replace('T', ' ')} UTC"
    alone = "; only its own hooks run (managedOnly)" if is_alone else ""
    signed = f"signed by {state.key}; when it has expired: {state.on_expiry}"
    return f"version {state.version} is in force{until} for the team {state.team}, {signed}{alone}"


def fleet_signs(setup: Setup) -> Iterator[Sign]:
    """Whether the log is sent, the company's server can be reached, and somebody works for each remote hook."""
    fleet = setup.options.fleet
    if fleet is None or not fleet.servers:
        return
    yield from _record(setup, fleet)
    hooks = [hook for hook in setup.hooks if hook.enabled and not hook.refusal]
    yield from _server(fleet, sorted({hook.run.subject for hook in hooks if isinstance(hook.run, RemoteSubject)}))


def _record(setup: Setup, fleet: FleetSettings) -> Iterator[Sign]:
    """Whether the log goes to the company's record, how far it has come, and what had to be dropped."""
    if not fleet.sends_records:
        yield Sign("record", Health.GOOD, "hooksConfig.fleet.audit is false, so the log stays here")
        return
    if not setup.options.log.enabled:
        yield Sign("record", Health.ODD, "hooksConfig.log.enabled is false, so there is nothing to send")
        return
    path = log_path(setup.options.log.path)
    dropped = shipper.read_progress(path).dropped
    if dropped:
        yield Sign("record", Health.ODD, f"{plural(dropped, 'record')} had to be dropped before they were sent")
    how_far = _how_far(path, fleet.spool_bytes)
    if shipper.is_sent(path):
        yield Sign("record", Health.GOOD, f"a service sends the log; {how_far}")
    else:
        remedy = "run hookline fleet run, as a service (contrib/hookline-fleet.service)"
        yield Sign("record", Health.ODD, f"no service sends the log; {how_far}; {remedy}")


def _how_far(path: Path, most_bytes: int) -> str:
    sent = shipper.read_progress(path)
    head, waiting, when = None, 0, ""
    with suppress(HooklineError):  # a log that can't be read has a line of its own
        head = verify.log_head(path)
        waiting = backlog.waiting_bytes(path, sent.cursor)
    with suppress(OSError):  # nothing was ever sent
        when = f" {show_ago(utc_timestamp(shipper.progress_path(path).stat().st_mtime))}"
    how_far = f"record {sent.cursor.seq} of {head.seq if head else 0} was sent last{when}"
    return f"{how_far}; {show_size(waiting)} of at most {show_size(most_bytes)} wait"


def _server(fleet: FleetSettings, subjects: list[str]) -> Iterator[Sign]:
    found = run_loop(remote.find_workers(fleet, subjects))
    if found.fault is not None:
        yield Sign("fleet", Health.BAD if subjects else Health.ODD, found.fault)
        return
    known = "" if found.is_authenticated else "; it does not ask who connects, so workers are not told who asks"
    yield Sign("fleet", Health.GOOD, f"{names.server_of(fleet).shown} accepts connections of team {fleet.team}{known}")
    for subject, worker in found.workers.items():
        yield Sign("fleet", Health.GOOD, f"worker {worker} would answer remote hooks about {subject}")
    for subject, why in found.missing.items():
        remedy = f"start one: hookline fleet worker --subject {subject}"
        yield Sign("fleet", Health.BAD, f"nobody answers remote hooks about {subject}: {why}; {remedy}")
