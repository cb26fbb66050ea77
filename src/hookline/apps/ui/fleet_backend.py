"""The page over a fleet: its records as one log, and its machines. Nothing can be changed there."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hookline.apps.ui.backend import Backend, Report
from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.fleet.health.heartbeat import HookStatus
from hookline.fleet.health.status import MachineStatus
from hookline.fleet.names import server_of
from hookline.inspect.proof.evidence import Clean
from hookline.inspect.proof.shadow import TriedHook
from hookline.protocol.text.json_text import utc_timestamp
from hookline.settings.decode.schema import FleetSettings

_ELSEWHERE = "these are records of other machines; nothing can be {} from here"


class FleetBackend(Backend):
    """The records and machines of a company."""

    def __init__(
        self,
        log: Path,
        make_config: Callable[..., Config],
        fleet: FleetSettings,
        read_machines: Callable[[], list[MachineStatus]],
    ) -> None:
        super().__init__(log, make_config, _refuse_switch)
        self._fleet = fleet
        self._read_machines = read_machines

    def settings(self) -> Report:
        """The settings of this machine, with the name of the fleet."""
        return {**super().settings(), "fleet": True, "project": f"fleet {server_of(self._fleet).shown}"}

    def _ask_transcripts(self, tried: Sequence[TriedHook], clean: Clean) -> None:
        """The transcripts of the machines are not here."""

    def machines(self) -> Report:
        """The machines, as `hookline fleet status` shows them."""
        return {"machines": machine_rows(self._read_machines())}

    async def replay(self, fire: str) -> Report:
        """Refused: the hooks of this machine are not those that judged it."""
        del fire
        raise HooklineError(_ELSEWHERE.format("replayed"))

    def switch(self, name: str, *, is_on: bool) -> Report:
        """Refused."""
        del name, is_on
        _refuse_switch()


def _refuse_switch() -> NoReturn:
    raise HooklineError(_ELSEWHERE.format("switched"))


def machine_rows(found: Sequence[MachineStatus]) -> list[dict[str, Any]]:
    """The machines as the page shows them."""
    return [
        {
            "machine": status.machine,
            "user": status.user,
            "team": status.team,
            "problems": status.problems,
            "lastSeen": None if status.last_seen is None else utc_timestamp(status.last_seen),
            "policy": None if status.beat is None else status.beat.facts.policy,
            "hookline": None if status.beat is None else status.beat.hookline,
            "hooks": 0 if status.beat is None else len(status.beat.facts.hooks) + status.beat.facts.more_hooks,
            "running": 0 if status.beat is None else sum(hook.can_run for hook in status.beat.facts.hooks),
            "words": [] if status.beat is None else [_hook_row(hook) for hook in status.beat.facts.hooks],
            "canary": None if status.beat is None or status.beat.canary is None else status.beat.canary.time,
        }
        for status in found
    ]


def _hook_row(hook: HookStatus) -> dict[str, Any]:
    names = ("event", "name", "source", "state", "problem", "last_run", "last_block")
    return {name: getattr(hook, name) for name in names} | {"can_run": hook.can_run}
