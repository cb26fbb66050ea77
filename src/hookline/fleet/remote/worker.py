"""A worker: runs its own hooks for events of other machines, which come over NATS."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.client.config import Config
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.mediation import failed
from hookline.errors import HooklineError
from hookline.fleet.names import NAME_A_SERVER, NoClientError, UnreachableError, machine_name, server_of
from hookline.fleet.nats.connection import asks_who_connects, close, connect
from hookline.fleet.remote.channel import Channel
from hookline.protocol.constants import HookType
from hookline.protocol.events import HookEventName
from hookline.protocol.messages import Message
from hookline.protocol.verdict import SkipKind
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from nats.aio.client import Client

    from hookline.engine.system import HookSystem

AGENT = "worker"
"""Under this name the log has events whose asker does not say which agent it is."""
_AGAIN_S = 1.0
# Return why no hook ran, where that must not let an event pass.
_UNGUARDED = (SkipKind.UNTRUSTED, SkipKind.DISABLED)

Tell = Callable[[str], None]


class RemoteWorker:
    """One process of a queue group. HooklineError for settings that it can't work with."""

    def __init__(self, config: Config, subject: str, concurrency: int, *, tell: Tell, on_ready: Tell) -> None:
        self._subject = subject
        self._concurrency = concurrency
        self._tell = tell
        self._on_ready = on_ready
        self._fleet = _fleet_of(config)
        self._system = _system_of(config)
        self._name = f"{machine_name(self._fleet.machine)}-{os.getpid()}"
        self._ending = asyncio.Event()

    async def run(self) -> None:
        """Serves until a signal; then takes no more events, and returns when those that run are answered."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        client = await self._connected()
        if client is None:
            return
        try:
            await self._serve(client)
        finally:
            await close(client)
            await asyncio.to_thread(self._system.dispose)

    async def _connected(self) -> "Client | None":
        """Return the connection, however long the server takes to start; None after `stop`."""
        last = ""
        while not self._ending.is_set():
            try:
                return await connect(server_of(self._fleet), f"worker {self._name}", on_change=self._note)
            except NoClientError:
                raise
            except UnreachableError as error:
                if str(error) != last:
                    self._tell(str(error))
                last = str(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _AGAIN_S)
        return None

    def _note(self, words: str) -> None:
        if not self._ending.is_set():  # the connection is of no further use
            self._tell(words)

    async def _serve(self, client: "Client") -> None:
        server, team = server_of(self._fleet), self._fleet.team
        is_authenticated = server.shows_who_asks and asks_who_connects(client)
        channel = Channel(client, team=team, subject=self._subject, name=self._name)
        await channel.start()
        await channel.serve(
            lambda message: self._answer(message, is_authenticated=is_authenticated),
            concurrency=self._concurrency,
            on_fault=lambda error: self._tell(f"an event could not be answered: {error!r}"),
        )
        if not is_authenticated:
            self._tell("the server does not authenticate machines, so hooks get no asker; see docs/remote-hooks.md")
        hooks = sum(hook.enabled for hook in self._system.get_all_hooks())
        about = f"{self._subject} of team {team} at {server.shown}"
        count = f"{hooks} hook{'' if hooks == 1 else 's'}"
        self._on_ready(f"READY worker {self._name}: {about}, {count}, {self._concurrency} events at a time")
        await self._ending.wait()
        await channel.leave()

    async def _answer(self, message: Message, *, is_authenticated: bool) -> Message:
        if (why := self._why_unguarded(message)) is not None:
            return failed(message.get("correlationId"), "no_hook", why, {})
        return await self._system.get_event_handler().respond(message, is_authenticated=is_authenticated)

    def _why_unguarded(self, message: Message) -> str | None:
        """Why nothing here would judge the event, or not everything that should; None if all is well.

        An answer that says nothing would let it pass.
        """
        event = _event_of(message)
        if event is None:
            return None
        if not self._system.get_registry().get_hooks_for_event(event):
            return f"it has no hook for {event}"
        field = EVENT_TABLE[event].subject
        fields: Mapping[str, Any] = message.get("input") or {}
        subject = fields.get(field) if field is not None and isinstance(fields, Mapping) else None
        plan = self._system.explain(event, subject if isinstance(subject, str) else None)
        skip = next((skip for skip in plan.skips if skip.kind in _UNGUARDED), None)
        if skip is None or (skip.kind is SkipKind.DISABLED and plan.hooks):
            return None
        return f"its hook {skip.hook.label} does not run: {skip.reason}"


def _event_of(message: Message) -> HookEventName | None:
    with suppress(ValueError):
        return HookEventName(str(message.get("eventName")))
    return None


def _fleet_of(config: Config) -> FleetSettings:
    fleet = config.get_settings().options.fleet
    if fleet is None or not fleet.servers:
        raise HooklineError(f"no server is named to listen on; {NAME_A_SERVER}")
    return fleet


def _system_of(config: Config) -> "HookSystem":
    system = config.get_hook_system()
    if system is None:
        raise HooklineError('hooks are off here, so a worker would judge nothing; set "enableHooks": true')
    system.start()
    if not system.get_all_hooks():
        raise HooklineError("no hook is configured here, so a worker would judge nothing; see docs/remote-hooks.md")
    remote = next((hook for hook in system.get_all_hooks() if hook.type is HookType.REMOTE), None)
    if remote is not None:
        # Workers that ask each other would go on for ever.
        why = f"{remote.origin}: {remote.location} is a remote hook, and a worker runs its hooks itself"
        raise HooklineError(f"{why}; name the settings of the worker with --settings")
    return system
