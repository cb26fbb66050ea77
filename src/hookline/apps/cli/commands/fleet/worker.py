"""`hookline fleet worker`: runs hooks for other machines, whose remote hooks ask this one."""

import argparse
import asyncio
import os

from hookline.apps.cli.options import add_common_options, at_least, make_config
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.subcommands import Subcommand
from hookline.client.config import Config
from hookline.fleet.remote.worker import AGENT, RemoteWorker
from hookline.protocol.constants import FiredBy
from hookline.runners.function.watchdog import WATCHDOG
from hookline.stderr import warn_user

_PER_CORE = 4


def _configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--subject", metavar="WORD", required=True, help="the subject that remote hooks name")
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=at_least(1),
        default=_PER_CORE * (os.cpu_count() or 1),
        help="how many events it works on at the same time; more wait (default: four for each core)",
    )
    add_common_options(parser)


def _serve(given: argparse.Namespace) -> int:
    """Serve until a signal."""
    config = make_config(given, agent=AGENT, fired_by=FiredBy.WORKER)
    WATCHDOG.use_alarm()
    asyncio.run(_run(config, given))
    return 0


async def _run(config: Config, given: argparse.Namespace) -> None:
    worker = RemoteWorker(
        config,
        given.subject,
        int(given.concurrency),
        tell=warn_user,
        on_ready=lambda line: print_report(given, {"ready": line}, [line]),
    )
    await worker.run()


WORKER = Subcommand(
    "Run your hooks for other machines: their remote hooks ask this one, over the server of hooksConfig.fleet.\n\n"
    "Start as many workers of a subject as you like: each event goes to one of them. SIGTERM or Ctrl-C ends a worker\n"
    "when the events that it works on are answered.",
    "  hookline fleet worker --subject dlp\n"
    "  hookline fleet worker --subject dlp --settings dlp.json\n"
    "  hookline fleet worker --subject dlp --concurrency 32",
    _configure,
    _serve,
)
