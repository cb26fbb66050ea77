"""Put your hooks in front of an MCP server: any MCP client that starts this command has hooks around its tools.

Examples:
  hookline mcp --name git -- uvx mcp-server-git                   start this server, and guard its tools
  hookline mcp --name git --project ~/work -- uvx mcp-server-git  with the hooks of that project, too
  hookline mcp --name docs --url http://localhost:8000/mcp        in front of a server that runs already
  hookline mcp --url https://example.org/mcp --header "Authorization: Bearer env:DOCS_TOKEN"

Hooks see the tools as mcp__NAME__tool. In the client's configuration, this command takes the place of the server's own.
docs/mcp-gateway.md shows it for Claude Desktop and Cursor.
"""

import argparse
import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookline.apps.cli.options import add_common_options, make_config, report_unusable_hooks
from hookline.apps.cli.streams import CLOSED
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.protocol.constants import FiredBy
from hookline.runners.function.watchdog import WATCHDOG
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.gateway import http, process
    from hookline.gateway import serve as gateway
else:
    gateway = lazy_module("hookline.gateway.serve")
    http = lazy_module("hookline.gateway.http")
    process = lazy_module("hookline.gateway.process")

_HEADER = re.compile(
    r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+):\s*(?:(?P<scheme>[A-Za-z][A-Za-z0-9-]*) )?env:(?P<variable>[A-Za-z_]\w*)",
    re.ASCII,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--name", metavar="NAME", help="the server's name, for matchers (default: from its command)")
    parser.add_argument("--url", metavar="URL", help="a server that runs already, in place of COMMAND")
    parser.add_argument(
        "--header",
        metavar='"NAME: env:VARIABLE"',
        action="append",
        help="with --url: a header whose value is in this environment variable; a word such as Bearer may precede "
        "env: (may be repeated)",
    )
    add_common_options(parser, json=False)
    parser.add_argument("server", metavar="COMMAND", nargs="*", help="the program that is the server, after --")


def run(given: argparse.Namespace) -> int:
    """Serve until the client leaves; the exit code is 1 when the server ended before."""
    if bool(given.server) == bool(given.url):
        raise UsageError("give the server's command after --, or its address with --url")
    if given.url and not _is_address(given.url):
        raise UsageError(f"{given.url} is not an address that begins with http:// or https://, with a host")
    if given.header and not given.url:
        raise UsageError("--header is for a server with --url; a command gets its secrets from its environment")
    headers = _headers(given.header or (), os.environ)
    if CLOSED & {"stdin", "stdout"}:
        raise UsageError("the client speaks on stdin and stdout, and they are not open")
    name = given.name or _default_name(given)
    if not given.name:
        warn_user(f"hooks see the tools of this server as mcp__{name}__…; --name gives it another name")
    WATCHDOG.use_alarm()
    return asyncio.run(_serve(given, name, headers))


async def _serve(given: argparse.Namespace, name: str, headers: Mapping[str, str]) -> int:
    config = make_config(given, fired_by=FiredBy.GATEWAY)
    report_unusable_hooks(config)
    server: gateway.UpstreamServer
    if given.url:
        server = http.HttpServer(name, given.url, headers)
    else:
        server = process.ProcessServer(name, tuple(given.server))
    return await gateway.serve(config, server)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host)


def _headers(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The headers with their values. These are never on the command line, which other users of a machine can read."""
    headers: dict[str, str] = {}
    for given in words:
        # A value that was given in clear is a secret: no message repeats it.
        name = given.partition(":")[0]
        if (found := _HEADER.fullmatch(given)) is None:
            raise UsageError(
                f'--header {name}: the value must be in an environment variable: --header "{name}: env:VARIABLE"'
            )
        value = environ.get(found["variable"], "")
        if not value:
            raise UsageError(f"--header {name}: the environment variable {found['variable']} is not set, or empty")
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"--header {name}: {found['variable']} has characters that a header can't have")
        headers[found["name"]] = f"{found['scheme']} {value}" if found["scheme"] else value
    return headers


def _default_name(given: argparse.Namespace) -> str:
    """A name that stays the same for the same server: its program, or its host."""
    return (urlsplit(given.url).hostname if given.url else PurePath(given.server[0]).stem) or "server"
