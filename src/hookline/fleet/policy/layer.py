"""The policy as a layer of settings: read, verified and judged each time that one of its files changes."""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hookline.errors import HooklineError, MissingExtraError, install_command
from hookline.fleet.names import NAME_A_SERVER
from hookline.fleet.policy.documents import ALL_TEAMS, Bundle, Switches, is_public_key, show_moment
from hookline.fleet.policy.scripts import scripts_fault
from hookline.fleet.policy.store import DEFAULT_DIRECTORY, PolicyStore, Verified
from hookline.protocol.constants import OWN_DIALECT, POLICY_DIR_VARIABLE, ConfigSource, OnError
from hookline.protocol.hook_entry import HookEntry, PolicyMark
from hookline.settings.decode.schema import FleetSettings, PolicySettings, RolloutSettings
from hookline.settings.read.files import Layer
from hookline.settings.read.permissions import access_fault
from hookline.settings.read.policy_state import PolicyState, SwitchedOff
from hookline.settings.read.source import FileWatch

_NO_POLICY_YET = "no policy is installed here yet"


class PolicySetup(NamedTuple):
    """The policy options of the system's settings."""

    place: PolicyStore
    on_expiry: OnError
    fault: str | None = None
    """Why nothing of it can be used."""


def policy_setup(system: Layer) -> PolicySetup | None:
    """Return the policy options of the system's settings; None if they do not name a policy.

    Invalid options block: a typo must not disable the policy.
    """
    options = system.values.get("hooksConfig")
    if not isinstance(options, Mapping) or (raw := options.get("policy")) is None:
        return None
    fleet, fleet_fault = _fleet(options)
    try:
        given = msgspec.convert(raw, PolicySettings)
    except ValueError as error:
        why = f"hooksConfig.policy in {system.origin} can't be understood ({error}); fix it"
        return PolicySetup(PolicyStore(Path(DEFAULT_DIRECTORY), (), fleet.team), OnError.BLOCK, why)
    place = PolicyStore(Path(given.directory or DEFAULT_DIRECTORY).absolute(), given.public_keys, fleet.team)
    wrong = [key for key in given.public_keys if not is_public_key(key)]
    fault = fleet_fault
    if wrong or not given.public_keys:
        fault = f"hooksConfig.policy.publicKeys in {system.origin} has no key of the form ed25519:…; fix it"
    return PolicySetup(place, OnError.BLOCK if fault else given.on_expiry, fault)


def _fleet(options: Mapping[str, Any]) -> tuple[FleetSettings, str | None]:
    """The fleet as the system's file has it: a user must not choose another team's policy."""
    try:
        return msgspec.convert(options.get("fleet") or {}, FleetSettings), None
    except ValueError as error:
        return FleetSettings(), f"hooksConfig.fleet in the system's settings can't be understood ({error}); fix it"


class PolicyProvider:
    """The provider of the policy's layer, as `settings/read/provider.py` defines it."""

    def layers(self, system: Layer, watch: FileWatch) -> tuple[Layer, ...]:
        """Return the layer of the policy that the system's settings name; nothing if they name none."""
        setup = policy_setup(system)
        if setup is None:
            return ()
        layer = _policy_layer(setup, watch)
        watch.keep(layer)
        return (layer,)

    def scripts_fault(self, mark: PolicyMark) -> str | None:
        """Return why the scripts of a policy are not those that were signed, or None."""
        return scripts_fault(mark)

    def left_out(self, rollout: RolloutSettings, label: str, teams: Sequence[str]) -> str | None:
        """Return why a rollout does not reach this machine and user, or None if it does."""
        return left_out(rollout, label, teams)

    def remote_fault(self, hook: HookEntry, fleet: FleetSettings | None) -> str | None:
        """Return why a hook can't be asked on the server of these settings, with the remedy, or None."""
        if hook.dialect != OWN_DIALECT:
            return f'a remote hook answers in hookline\'s own words; add "dialect": "{OWN_DIALECT}" to its group'
        if fleet is None or not fleet.servers:
            if hook.source in (ConfigSource.POLICY, ConfigSource.SYSTEM):
                return (
                    "the system's settings name no server that its workers listen on, and a user's don't count for it"
                )
            return f"no server is named that its workers listen on; {NAME_A_SERVER}"
        if find_spec("nats") is None:
            return f"the client of NATS is not installed; run: {install_command('fleet')}"
        return None


def _policy_layer(setup: PolicySetup, watch: FileWatch) -> Layer:
    place = setup.place
    for file in (place.current, *place.switch_files, place.seen_file):
        watch.watch(file)
    layer, fresh = _read(setup)
    before = watch.previous(layer.origin)
    kept = None if before is None else before.policy
    if fresh.version is None and before is not None and kept is not None:
        # A verified policy stays in force: a damaged or deleted file must not disable a guard.
        fault = f"{fresh.fault}; version {kept.version} stays in force" if kept.version else fresh.fault
        layer, fresh = before, kept._replace(fault=fault)
    state = _with_switches(fresh, setup, () if kept is None else kept.switches)
    state = state._replace(latest=_latest(place, state, {} if kept is None else kept.latest))
    now = time.time()
    if expired := state.just_expired(now):
        state = state._replace(latest={**state.latest, **dict.fromkeys(expired, now)})
        place.remember_clock(state.latest)
    watch.expire_at(state.next_change(now))
    return layer._replace(policy=state)


def _read(setup: PolicySetup) -> tuple[Layer, PolicyState]:
    place = setup.place
    state = PolicyState(team=place.team, on_expiry=setup.on_expiry, remedy=_remedy(place))
    layer = Layer(source=ConfigSource.POLICY, origin=str(place.current))
    if setup.fault is not None:
        return layer, state._replace(fault=setup.fault, remedy="hookline fleet policy status looks again")
    try:
        verified = _verified(place)
    except HooklineError as error:
        is_unloadable = isinstance(error, MissingExtraError)
        what = "can't be verified: " if is_unloadable else ""
        return layer, state._replace(fault=f"{place.current} {what}{error}", is_unloadable=is_unloadable)
    if verified is None:
        return layer, state._replace(fault=_NO_POLICY_YET)
    bundle = verified.document
    assert isinstance(bundle, Bundle)
    mark = place.mark(verified)
    # Compiled modules beside the scripts would be unsigned files.
    env = {POLICY_DIR_VARIABLE: mark.directory, "PYTHONDONTWRITEBYTECODE": "1"}
    return layer._replace(values=bundle.settings, env=env), state._replace(
        version=bundle.version,
        expires=bundle.expires.timestamp(),
        mark=mark,
        key=verified.key,
    )


def _latest(place: PolicyStore, state: PolicyState, seen: Mapping[str, float]) -> Mapping[str, float]:
    """When a part of each document in force was last seen to expire, by this program or by another."""
    documents = {*(off.document for off in state.switches), *(() if state.mark is None else (state.mark.directory,))}
    known = place.clock()
    return {each: max(seen.get(each, 0.0), known.get(each, 0.0)) for each in documents}


def _verified(place: PolicyStore) -> Verified | None:
    try:
        status = place.current.stat()
        if fault := access_fault(place.current, status):
            raise HooklineError(f"{fault[0]}; {fault[1]}")
    except FileNotFoundError:
        pass  # `read` knows whether there ever was one
    except OSError as error:
        raise HooklineError(f"can't be read ({error.strerror})") from error
    return place.read(place.current)


def _with_switches(state: PolicyState, setup: PolicySetup, earlier: tuple[SwitchedOff, ...]) -> PolicyState:
    """The state with the switches of all files; what was off stays off while its file is damaged or gone."""
    found: list[SwitchedOff] = []
    faults = []
    if setup.fault is None:
        if state.version is not None and (fault := setup.place.memory_fault()) is not None:
            faults.append(fault)
        for file in setup.place.switch_files:
            kept = [off for off in earlier if off.file == str(file)]
            try:
                verified = setup.place.read(file)
            except HooklineError as error:
                faults.append(f"{file} {error}")
                found += kept
                continue
            found += kept if verified is None else _switched_off(verified, str(file))
    return state._replace(switches=tuple(found), switch_fault="; ".join(faults) or None)


def _switched_off(verified: Verified, file: str) -> list[SwitchedOff]:
    document = verified.document
    assert isinstance(document, Switches)
    return [
        SwitchedOff(
            what=each.what,
            hook=each.hook or "",
            why=f"{each.reason} (until {show_moment(each.expires)})",
            until=each.expires.timestamp(),
            file=file,
            document=verified.envelope.digest,
        )
        for each in document.switches
    ]


def _remedy(place: PolicyStore) -> str:
    team = "" if place.team == ALL_TEAMS else f" for team {place.team}"
    return f"put a valid one{team} in force: run: hookline fleet policy pull [FILE]"


_PARTS = 10_000


def left_out(rollout: RolloutSettings, label: str, teams: Sequence[str]) -> str | None:
    """Why the rollout does not reach this machine and user, or None if it does."""
    if rollout.teams is not None and not set(rollout.teams) & set(teams):
        own = ", ".join(teams) or "none"
        return f"its rollout is for the teams {', '.join(rollout.teams) or 'none'}; the teams of this machine: {own}"
    if rollout.percent is not None and share(label) >= rollout.percent:
        return f"its rollout reaches {rollout.percent:g} % of machines and users, and not this one"
    return None


def share(label: str) -> float:
    """A number from 0 to 100 that is always the same for this machine, this user and this hook."""
    text = f"{_machine()}\0{os.getuid()}\0{label}"
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")
    return number % _PARTS / (_PARTS / 100)


@cache
def _machine() -> str:
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            if text := Path(name).read_text("ascii").strip():
                return text
        except (OSError, ValueError):
            continue
    return os.uname().nodename
