"""See what hooks do, in your browser: events as they happen, sessions, hooks and their health, and the settings.

Examples:
  hookline ui                     serve the page on a free port and open it
  hookline ui --port 8787 --no-open
  hookline ui --source old.jsonl  show another log
  hookline ui --fleet             show your company's machines and their records

The page is for this machine and this user only: it listens on 127.0.0.1, and only the printed address opens it, by
the token in it. It uses nothing from the network. There, as on the command
line, hooks can be enabled and disabled, after a question, and events can be replayed. Ctrl-C ends it.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.cli.commands.log import recorded_log
from hookline.apps.cli.log_options import add_machine_options, add_stream_option
from hookline.apps.cli.options import (
    add_common_options,
    add_log_option,
    add_yes_option,
    at_least,
    make_config,
    read_config,
    require_terminal,
)
from hookline.apps.cli.report.printer import print_report
from hookline.errors import MissingExtraError, UsageError
from hookline.extensions import lazy_module
from hookline.files import make_private_directory, state_path, write_atomically

if TYPE_CHECKING:
    import webbrowser

    from hookline.apps.cli.commands.fleet import server
    from hookline.apps.ui import backend, fleet_backend
    from hookline.apps.ui import serve as page
    from hookline.apps.ui.backend import Backend
    from hookline.fleet import query as fleet_query
else:
    backend = lazy_module("hookline.apps.ui.backend")
    page = lazy_module("hookline.apps.ui.serve")
    fleet_backend = lazy_module("hookline.apps.ui.fleet_backend")
    fleet_query = lazy_module("hookline.fleet.query")
    server = lazy_module("hookline.apps.cli.commands.fleet.server")
    webbrowser = lazy_module("webbrowser")

_LAST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--port", metavar="PORT", type=at_least(0), default=0, help="the port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="print the address without opening a browser")
    add_log_option(parser)
    parser.add_argument("--fleet", action="store_true", help="show the company's machines and their records instead")
    add_machine_options(parser)
    add_stream_option(parser)
    parser.add_argument("--since", metavar="WHEN", default="1d", help="with --fleet: records not older (default: 1d)")
    add_yes_option(parser)
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    _require_packages()
    if given.port > _LAST_PORT:
        raise UsageError(f"there is no port {given.port}")
    with _fleet_backend(given) if given.fleet else nullcontext(_local_backend(given)) as shown:
        browser = _Browser(given)
        try:
            asyncio.run(page.serve(shown, int(given.port), browser.show))
        except KeyboardInterrupt:
            return 0  # this is how it ends
        finally:
            browser.forget()
    return 0


def _log(given: argparse.Namespace) -> Path:
    config = make_config(given)
    log = Path(given.source) if given.source else recorded_log(config)[0]
    if given.source and not log.exists():
        raise UsageError(f"the log {log} does not exist")
    return log


def _local_backend(given: argparse.Namespace) -> "Backend":
    return backend.Backend(
        _log(given),
        partial(read_config, given, log_file=False),
        partial(require_terminal, given),
        has_named_settings=bool(given.settings),
    )


@contextmanager
def _fleet_backend(given: argparse.Namespace) -> "Iterator[Backend]":
    if given.source:
        raise UsageError("--fleet shows the company's stream, and --source a log; give one of them")
    fleet, selection = server.fleet_of(given), server.selection_of(given)
    keys = server.policy_keys_of(given)
    with fleet_query.mirrored(fleet, selection, follows=True) as log:
        make_config = partial(read_config, given, log_file=False)
        read_machines = partial(fleet_query.read_machines, fleet, selection, policy_keys=keys)
        yield fleet_backend.FleetBackend(log, make_config, fleet, read_machines)


def _require_packages() -> None:
    """Raise MissingExtraError before anything is printed."""
    for package in ("starlette", "uvicorn"):
        try:
            import_module(package)
        except ImportError as error:
            raise MissingExtraError(error.name or package, "ui") from error


class _Browser:
    """Opens the page. Other users can read the command line of a browser, so it gets a file instead of the token."""

    def __init__(self, given: argparse.Namespace) -> None:
        has_screen = sys.platform == "darwin" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
        self._given = given
        self._is_wanted = has_screen and not given.no_open
        self._file: Path | None = None

    def show(self, address: str) -> None:
        """Print the address, and open it if there is a screen."""
        print_report(self._given, {"address": address}, [f"hookline ui: {address}", "Ctrl-C ends it."])
        if self._is_wanted:
            self._file = state_path(f"ui/{os.getpid()}.html").absolute()
            make_private_directory(self._file.parent)
            page = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><title>hookline</title>\n'
            write_atomically(self._file, page.encode())
            self._file.chmod(0o600)
            webbrowser.open(self._file.as_uri())

    def forget(self) -> None:
        """Remove the file with the address."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
