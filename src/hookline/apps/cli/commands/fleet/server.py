"""The server that the settings name, and what a command reads there."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookline.apps.cli.log_options import time_of
from hookline.apps.cli.options import make_config, read_config
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from hookline.fleet import names, query
    from hookline.fleet.query import FleetSelection
else:
    names = lazy_module("hookline.fleet.names")
    query = lazy_module("hookline.fleet.query")


def fleet_of(given: argparse.Namespace) -> FleetSettings:
    """The fleet that the settings name; UsageError if they name no server."""
    fleet = make_config(given, log_file=False).get_settings().options.fleet
    if fleet is None or not fleet.servers:
        raise UsageError(f"the settings name no server; {names.NAME_A_SERVER}")
    return fleet


def selection_of(given: argparse.Namespace) -> "FleetSelection":
    """The machines and records that the options choose; a command need not have each option."""
    since = time_of("--since", getattr(given, "since", None))
    return query.FleetSelection(getattr(given, "stream", ""), given.team, given.machine, since)


def policy_keys_of(given: argparse.Namespace) -> Sequence[str]:
    """The keys that sign policies, if this machine's settings name them."""
    # Quietly: `fleet_of` has reported the problems of these settings.
    policy = read_config(given, log_file=False).get_settings().options.policy
    return () if policy is None else policy.public_keys
