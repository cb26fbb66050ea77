"""Keep hookline loaded, so that each event of another agent is answered at once. `hookline bridge` starts it by itself.

Examples:
  hookline serve                  serve in this terminal, until nobody has asked for ten minutes
  hookline serve --status         show whether a server runs
  hookline serve --stop           end it; the next event starts another one
  hookline serve --http 8765      answer agents that have HTTP hooks, too, on this machine only

To do without it: --no-serve on the bridge's command, HOOKLINE_SERVE=0, or "hooksConfig": {"serve": false}.
"""

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from hookline.bridge.http import HttpForm
from hookline.cli.options import add_json_option, at_least
from hookline.cli.report.printer import print_lines, print_report
from hookline.config import Config
from hookline.contract.text import tell
from hookline.engine.watchdog import WATCHDOG
from hookline.errors import HooklineError, UsageError
from hookline.files import state_path

if TYPE_CHECKING:
    from hookline.fleet.service import ServiceThread

_IDLE_S = 600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--status", action="store_true", help="show the server that runs, if there is one")
    what.add_argument("--stop", action="store_true", help="end the server that runs")
    what.add_argument(
        "--http", metavar="PORT", type=at_least(0), help="also answer HTTP on 127.0.0.1; 0 takes any port"
    )
    parser.add_argument(
        "--idle",
        metavar="SECONDS",
        type=at_least(0, float),
        help="end when nobody has asked for so long (default 600; 0, and the default with --http: never)",
    )
    add_json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Serves, or speaks to the server; with --status the exit code is 1 when there is none."""
    if sys.platform != "linux":
        raise HooklineError("the server needs Linux; hookline bridge works without it")
    if given.status or given.stop:
        return _control(given)
    idle_s = (0.0 if given.http is not None else _IDLE_S) if given.idle is None else given.idle
    WATCHDOG.use_alarm()
    return asyncio.run(_serve(idle_s, given.http))


def _control(given: argparse.Namespace) -> int:
    from hookline.bridge.control import ask_server  # noqa: PLC0415 - needs Linux

    status = ask_server("--stop" if given.stop else "--status")
    if status is None:
        print_report(given, {"running": False}, ["No server runs."])
        return 0 if given.stop else 1
    line = "{pid}: {calls} calls in {uptime:.0f} s, {running} of them now, on {socket}".format_map(status)
    report = {**status, "calls_running": status["running"], "running": True}
    print_report(given, report, [f"{'Ending' if given.stop else 'Running as'} process {line}"])
    return 0


async def _serve(idle_s: float, port: int | None) -> int:
    from hookline.bridge.control import has_started  # noqa: PLC0415 - needs Linux
    from hookline.bridge.serve import Server  # noqa: PLC0415

    folder = state_path("").absolute()
    server = Server(folder, idle_s)
    web: HttpForm | None = None
    if port is not None:
        web = HttpForm(folder, dict(os.environ), server.note_call)
        try:
            await web.start(int(port))
        except OSError as error:
            raise UsageError(f"port {port} can't be used: {error.strerror}") from error
        print_lines(f"http://127.0.0.1:{web.port}/bridge/AGENT/EVENT  token in {web.token_file}", flush=True)
    from hookline.cli.commands._policy_follow import follow_if_configured  # noqa: PLC0415 - reads settings

    follow_if_configured()
    fleet = fleet_thread()
    try:
        await server.run(lambda: has_started(folder))
    finally:
        if fleet is not None:
            await asyncio.to_thread(fleet.stop)
        if web is not None:
            web.close()
    return 0


def fleet_thread() -> "ServiceThread | None":
    """This machine's part in the fleet, if the settings name a server; whatever goes wrong stops no hook."""
    try:
        fleet = Config(os.path.expanduser("~"), quiet=True, log_file=False).get_settings().options.fleet  # noqa: PTH111
        if fleet is None or not fleet.servers:
            return None
        from hookline.cli.commands._fleet_facts import machine_service  # noqa: PLC0415 - few machines are in a fleet
        from hookline.fleet.service import ServiceThread  # noqa: PLC0415

        service = machine_service(tell)
    except (HooklineError, OSError) as error:
        tell(f"this machine's records are not sent: {error}")
        return None
    if service is None:
        return None
    thread = ServiceThread(service)
    thread.start()
    return thread
