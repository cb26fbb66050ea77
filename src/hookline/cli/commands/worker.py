"""Run your hooks for other machines: their remote hooks ask this one, over the company's NATS server.

Examples:
  hookline worker --subject dlp                       answer {"type": "remote", "subject": "dlp"} with the hooks here
  hookline worker --subject dlp --settings dlp.json   the same with the hooks of one file only
  hookline worker --subject dlp --concurrency 32      more events at the same time

The server is the one of hooksConfig.fleet. Start as many workers of a subject as you like: each event goes to one of
them. SIGTERM or Ctrl-C ends a worker when the events that it works on are answered.
"""

import argparse
import asyncio
import os

from hookline.cli.options import add_common_options, at_least, make_config
from hookline.cli.report.printer import print_lines
from hookline.config import Config
from hookline.contract.text import tell
from hookline.contract.vocabulary import FiredBy
from hookline.engine.watchdog import WATCHDOG
from hookline.fleet.worker import AGENT, Worker

_PER_CORE = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--subject", required=True, help="what it is asked about, as remote hooks name it")
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=at_least(1),
        default=_PER_CORE * (os.cpu_count() or 1),
        help="how many events it works on at the same time; more wait (default: four for each core)",
    )
    add_common_options(parser, json=False)


def run(given: argparse.Namespace) -> int:
    """Serves until a signal."""
    config = make_config(given, agent=AGENT, fired_by=FiredBy.WORKER)
    WATCHDOG.use_alarm()
    asyncio.run(_run(config, given))
    return 0


async def _run(config: Config, given: argparse.Namespace) -> None:
    worker = Worker(
        config,
        given.subject,
        int(given.concurrency),
        tell=tell,
        on_ready=lambda line: print_lines(line, flush=True),
    )
    await worker.run()
