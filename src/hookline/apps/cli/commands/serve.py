"""Keep hookline loaded, so that each event of another agent is answered at once. `hookline bridge` starts it by itself.

Examples:
  hookline serve                  serve in this terminal, until ten minutes without a call
  hookline serve --status         show whether a server runs
  hookline serve --stop           end it; the next event starts another one

To do without it: --no-serve on the bridge's command, HOOKLINE_SERVE=0, or "hooksConfig": {"serve": false}.
"""

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from hookline.apps.cli.options import add_json_option, at_least
from hookline.apps.cli.report.printer import print_report
from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.files import state_path
from hookline.runners.function.watchdog import WATCHDOG
from hookline.settings.read.provider import missing_provider
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.apps.cli.commands.fleet.policy import follow
    from hookline.bridge.server import control, serve
    from hookline.fleet import service as fleet_service
    from hookline.fleet.service import ServiceThread
    from hookline.inspect import machine as facts
else:
    control = lazy_module("hookline.bridge.server.control")
    serve = lazy_module("hookline.bridge.server.serve")
    follow = lazy_module("hookline.apps.cli.commands.fleet.policy.follow")
    facts = lazy_module("hookline.inspect.machine")
    fleet_service = lazy_module("hookline.fleet.service")

_IDLE_S = 600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--status", action="store_true", help="show the server that runs, if there is one")
    what.add_argument("--stop", action="store_true", help="end the server that runs")
    parser.add_argument(
        "--idle",
        metavar="SECONDS",
        type=at_least(0, float),
        default=_IDLE_S,
        help="end after this long without a call (default 600; 0: never)",
    )
    add_json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Serves, or speaks to the server; with --status the exit code is 1 when there is none."""
    if sys.platform != "linux":
        raise HooklineError("the server needs Linux; hookline bridge works without it")
    if given.status or given.stop:
        return _control(given)
    WATCHDOG.use_alarm()
    return asyncio.run(_serve(given.idle))


def _control(given: argparse.Namespace) -> int:
    status = control.ask_server("--stop" if given.stop else "--status")
    if status is None:
        print_report(given, {"running": False}, ["No server runs."])
        return 0 if given.stop else 1
    line = "{pid}: {calls} calls in {uptime:.0f} s, {running} of them now, on {socket}".format_map(status)
    report = {**status, "calls_running": status["running"], "running": True}
    print_report(given, report, [f"{'Ending' if given.stop else 'Running as'} process {line}"])
    return 0


async def _serve(idle_s: float) -> int:
    folder = state_path("").absolute()
    server = serve.Server(folder, idle_s)
    if missing_provider() is None:
        follow.follow_if_configured()
    fleet = fleet_thread()
    try:
        await server.run(lambda: control.has_started(folder))
    finally:
        if fleet is not None:
            await asyncio.to_thread(fleet.stop)
    return 0


def fleet_thread() -> "ServiceThread | None":
    """This machine's part in the fleet, if the settings name a server; whatever goes wrong stops no hook."""
    try:
        fleet = Config(os.path.expanduser("~"), quiet=True, log_file=False).get_settings().options.fleet
        if fleet is None or not fleet.servers:
            return None
        if (missing := missing_provider()) is not None:
            warn_user(f"this machine's records are not sent: {missing}")
            return None
        service = facts.machine_service(warn_user)
    except (HooklineError, OSError) as error:
        warn_user(f"this machine's records are not sent: {error}")
        return None
    return None if service is None else fleet_service.ServiceThread(service)
