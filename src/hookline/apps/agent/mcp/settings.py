"""Reads `mcpServers` from the settings.

A server is a program that the agent starts, so entries in a project's own file are ignored with a notice: opening a
cloned repository must not start its programs.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from hookline.protocol.answers import kind_of
from hookline.protocol.inputs import mcp_server_facts
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import by_authority

DEFAULT_TIMEOUT_MS = 120_000.0

_GUEST = (
    "a project's own file can't start programs; copy the entry to your user settings if you trust it, "
    "or name the file with --settings"
)
_EXPECTED = {
    "command": "a string",
    "args": "a list of strings",
    "env": "an object whose values are strings",
    "cwd": "a string",
    "url": "a string",
    "timeout": "a number of milliseconds above 0",
    "trust": "true or false",
}
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class McpServer(msgspec.Struct, frozen=True, kw_only=True, rename={"timeout_ms": "timeout", "is_trusted": "trust"}):
    """A server to connect to: a command to start, or a URL."""

    name: str
    command: _Text | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: _Text | None = None
    url: _Text | None = None
    timeout_ms: Annotated[float, msgspec.Meta(gt=0)] = DEFAULT_TIMEOUT_MS
    """The time limit of one tool call."""
    is_trusted: bool = False
    """True if its tools may be called without approval."""

    def described(self) -> dict[str, Any]:
        """Return the server as hooks see it, without its environment, which may hold secrets."""
        return mcp_server_facts(self.name, command=self.command, args=self.args, cwd=self.cwd, url=self.url)


def configured_servers(layers: Sequence[Layer]) -> tuple[list[McpServer], list[str]]:
    """Return the servers to connect to, and notices about entries that are ignored."""
    servers: dict[str, McpServer] = {}
    notes: list[str] = []
    for layer in by_authority(layers):
        raw = layer.values.get("mcpServers")
        if raw is None:
            continue
        if not isinstance(raw, Mapping):
            notes.append(str(layer.problem(("mcpServers",), f"is {kind_of(raw)}, expected an object; it is ignored")))
            continue
        for name, value in raw.items():
            server = _GUEST if layer.is_guest else _read(name, value)
            if isinstance(server, str):
                notes.append(str(layer.problem(("mcpServers", name), f"is ignored: {server}")))
            else:
                servers.setdefault(name, server)
    return list(servers.values()), notes


def _read(name: str, raw: Any) -> McpServer | str:
    """Return the server, or what is wrong with its entry."""
    if not isinstance(raw, Mapping):
        return f"it is {kind_of(raw)}, expected an object with command or url"
    given = {key: value for key, value in raw.items() if key in _EXPECTED and value is not None}
    try:
        server = msgspec.convert({**given, "name": name}, McpServer)
    except msgspec.ValidationError as error:
        # The message ends with the location: `$.args[0]`.
        key = next(key for key in _EXPECTED if f"$.{key}" in str(error))
        return f"{key} must be {_EXPECTED[key]}"
    if (server.command is None) == (server.url is None):
        return "it needs either command (a program to start) or url (a server that runs already)"
    return server
