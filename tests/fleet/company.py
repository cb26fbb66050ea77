"""A company for tests: its key, the policies that it signs, and a machine that has its public key."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hookline.client.config import Config
from hookline.fleet.policy.documents import (
    Bundle,
    Document,
    PackedFile,
    SignedDocument,
    Switch,
    Switches,
    new_key,
    now,
    packed,
    sign,
    unsigned,
)
from hookline.fleet.policy.store import PolicyStore, Taken
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict

DENY = "echo no >&2; exit 2"
LATER = timedelta(days=1)


def settings(command: str = DENY, event: str = "BeforeTool", **hook: Any) -> dict[str, Any]:
    """Settings with one hook, whose name is guard."""
    return {"hooks": {event: [{"hooks": [{"type": "command", "name": "guard", "command": command, **hook}]}]}}


class Company:
    """Signs what machines get; the machine that it knows is the one of the test."""

    def __init__(self, root: Path, **policy: Any) -> None:
        self.root = root
        self.key_file = root / "policy.key"
        self.key = new_key(self.key_file)
        self.directory = root / "policy"
        self.write_system(**policy)

    def write_system(self, *, team: str | None = None, fleet: Mapping[str, Any] | None = None, **policy: Any) -> None:
        """The system's settings file, which names the key."""
        options: dict[str, Any] = {"policy": {"publicKeys": [self.key], "directory": str(self.directory), **policy}}
        if team is not None or fleet is not None:
            options["fleet"] = {**({"team": team} if team else {}), **(fleet or {})}
        file = Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"])
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"hooksConfig": options}))

    def place(self, team: str = "all") -> PolicyStore:
        """The directory of the machine."""
        return PolicyStore(self.directory, (self.key,), team)

    def bundle(
        self,
        content: Mapping[str, Any] | None = None,
        version: int = 1,
        *,
        expires: datetime | None = None,
        teams: Sequence[str] = ("all",),
        files: Mapping[str, str | PackedFile] | None = None,
    ) -> Bundle:
        """A bundle; files are given by their texts, and all are executable."""
        packed_files = {
            name: file if isinstance(file, PackedFile) else packed(file.encode(), executable=True)
            for name, file in (files or {}).items()
        }
        return Bundle(
            version=version,
            issued=now(),
            expires=expires or now() + LATER,
            teams=tuple(teams),
            settings=dict(settings() if content is None else content),
            files=packed_files,
        )

    def switches(self, *off: Switch, version: int = 1, teams: Sequence[str] = ("all",)) -> Switches:
        """Return switches that disable these subjects."""
        return Switches(version=version, issued=now(), teams=tuple(teams), switches=off)

    def signed(self, document: Document) -> SignedDocument:
        """The document with the company's signature."""
        return sign(unsigned(document), self.key_file)

    def gives(self, document: Document, team: str = "all") -> Taken:
        """Puts a document in force on the machine."""
        return self.place(team).take(self.signed(document).to_bytes())

    def gives_settings(self, content: Mapping[str, Any] | None = None, version: int = 1, **more: Any) -> Taken:
        """Puts a bundle in force on the machine."""
        return self.gives(self.bundle(content, version, **more))


def agents_off(reason: str = "incident 4711", expires: datetime | None = None) -> Switch:
    """The switch for all agents."""
    return Switch(what="agents", reason=reason, expires=expires or now() + LATER)


def hook_off(name: str, reason: str = "false alarms", expires: datetime | None = None) -> Switch:
    """The switch for one hook."""
    return Switch(what="hook", hook=name, reason=reason, expires=expires or now() + LATER)


class Machine:
    """A program on the machine that fires events."""

    def __init__(self, project: Path, **options: Any) -> None:
        self.config = Config(project, quiet=True, **options)

    def fires(self, event: str = "BeforeTool", **fields: Any) -> Verdict:
        """Fire an event, and return its verdict."""
        usual = {"tool_name": "write_file", "tool_input": {}} if "Tool" in event else {"llm_request": {"model": "m"}}
        system = self.config.get_hook_system()
        assert system is not None
        system.start()
        handler = system.get_event_handler()
        return asyncio.run(handler.fire(HookEventName(event), {**usual, **fields}))

    def close(self) -> None:
        """Closes its log."""
        if (system := self.config.get_hook_system()) is not None:
            system.dispose()
