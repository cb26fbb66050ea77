"""A follower in this process; it reports to stderr and to the log."""

import asyncio
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.cli.commands.fleet.policy.machine import system_layer
from hookline.client.config import Config
from hookline.engine.system import file_sinks
from hookline.errors import HooklineError
from hookline.fleet.names import ServerAddress, server_of
from hookline.fleet.policy.follow import Follower
from hookline.fleet.policy.layer import policy_setup
from hookline.log.redact.redactor import Redactor
from hookline.protocol.records import LogLevel, SettingsRecord
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.fleet.policy.follow import PolicyUpdate
    from hookline.fleet.policy.store import PolicyStore


async def follow_here(server: ServerAddress, place: "PolicyStore") -> None:
    """Follows until it is cancelled."""
    config = Config(".", quiet=True)
    options = config.get_settings().options
    sinks = file_sinks(options, Redactor(options.redact, config.get_environ()))

    def report(news: "PolicyUpdate") -> None:
        warn_user(news.message)
        level = LogLevel.WARN if news.is_problem else LogLevel.INFO
        for sink in sinks:
            sink.write(SettingsRecord(level=level, message=news.message, origin=str(place.current)))

    try:
        await Follower(server, place, report).run()
    finally:
        for sink in sinks:
            sink.close()


def follow_if_configured() -> None:
    """Follows beside whatever this program does, where settings name a server and a policy that this user may write.

    Elsewhere a service of root does it: contrib/ has it.
    """
    config = Config(".", quiet=True)
    fleet = config.get_settings().options.fleet
    if fleet is None or not fleet.servers:
        return
    try:
        setup = policy_setup(system_layer())
    except HooklineError:  # every event reports problems of the file
        return
    if setup is None or setup.fault is not None or not _may_write(setup.place.directory):
        return
    place = setup.place

    def run() -> None:
        try:
            asyncio.run(follow_here(server_of(fleet), place))
        except HooklineError as error:
            warn_user(str(error))
        except asyncio.CancelledError:
            pass

    threading.Thread(target=run, name="policy", daemon=True).start()


def _may_write(directory: Path) -> bool:
    """Whether this user may write there, or make it."""
    place = directory
    while not place.exists() and place.parent != place:
        place = place.parent
    return os.access(place, os.W_OK | os.X_OK)
