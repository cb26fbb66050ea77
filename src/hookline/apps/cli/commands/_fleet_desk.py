"""The page over a fleet: its records as one log, and its machines. Nothing can be changed there."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hookline.apps.cli.commands._desk import CommandDesk
from hookline.apps.cli.commands._fleet_forms import policy_keys_of, read_status
from hookline.apps.cli.report.fleet import machine_rows
from hookline.errors import HooklineError
from hookline.fleet.names import server_of
from hookline.inspect.proof.evidence import Clean
from hookline.inspect.proof.shadow import TriedHook
from hookline.settings.decode.schema import FleetSettings

Report = dict[str, Any]

_ELSEWHERE = "these are records of other machines; nothing can be {} from here"


class FleetDesk(CommandDesk):
    """The records and machines of a company."""

    def __init__(self, given: argparse.Namespace, log: Path, fleet: FleetSettings) -> None:
        super().__init__(given, log)
        self._fleet = fleet

    def settings(self) -> Report:
        """Which fleet it is."""
        return {**super().settings(), "fleet": True, "project": f"fleet {server_of(self._fleet).shown}"}

    def _ask_transcripts(self, tried: Sequence[TriedHook], clean: Clean) -> None:
        """The transcripts of the machines are not here."""

    def machines(self) -> Report:
        """What `hookline fleet status` shows."""
        return {"machines": machine_rows(read_status(self._fleet, self._given, policy_keys_of(self._given)))}

    async def replay(self, fire: str) -> Report:
        """Refused: the hooks of this machine are not those that judged it."""
        del fire
        raise HooklineError(_ELSEWHERE.format("replayed"))

    def switch(self, name: str, *, is_on: bool) -> Report:
        """Refused."""
        del name, is_on
        raise HooklineError(_ELSEWHERE.format("switched"))
