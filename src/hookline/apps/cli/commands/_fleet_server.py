"""The server that the settings name, for commands that read what is there."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.apps.cli.options import make_config
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from nats.aio.client import Client

    from hookline.fleet import names
    from hookline.fleet.nats import connection
else:
    names = lazy_module("hookline.fleet.names")
    connection = lazy_module("hookline.fleet.nats.connection")

# The options of `ui` need it where fleet/ is missing; the same as AUDIT_STREAM there.
DEFAULT_STREAM = "HOOKLINE_AUDIT"
Found = TypeVar("Found")

# Clocks of machines and of the server differ.
_SKEW_S = 3600.0


def fleet_of(given: argparse.Namespace) -> FleetSettings:
    """The fleet that the settings name; UsageError if they name no server."""
    fleet = make_config(given, log_file=False).get_settings().options.fleet
    if fleet is None or not fleet.servers:
        raise UsageError(f"the settings name no server; {names.NAME_A_SERVER}")
    return fleet


def ask(fleet: FleetSettings, work: Callable[["Client"], Coroutine[Any, Any, Found]]) -> Found:
    """What a coroutine finds that gets a connection."""

    async def go() -> Found:
        async with connection.connected(names.server_of(fleet), "command") as client:
            return await work(client)

    return asyncio.run(go())


def seconds_of(time: str | None) -> float | None:
    """From when on to read the stream for records that are not older than this."""
    return None if time is None else datetime.fromisoformat(time).timestamp() - _SKEW_S


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose machines."""
    parser.add_argument("--machine", metavar="NAME", help="only of this machine (default: all)")
    parser.add_argument("--team", metavar="NAME", help="only of this team (default: all)")


def add_stream_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option for companies whose teams have streams of their own."""
    parser.add_argument(
        "--stream", metavar="NAME", default=DEFAULT_STREAM, help=f"where the records are (default: {DEFAULT_STREAM})"
    )
