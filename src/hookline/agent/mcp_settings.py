"""Which MCP servers the settings name.

A server is a program that the agent starts. `mcpServers` is therefore read from the user's and the system's settings,
from files named with `--settings` and from settings given in code. In a project's own file it is ignored, with a note
for each server: opening somebody's repository must not start their programs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hookline.contract.answers import kind_of
from hookline.settings.merge import by_authority
from hookline.settings.read import Layer

DEFAULT_TIMEOUT_MS = 120_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One server to connect to: a program, or the address of one that runs already."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    timeout_ms: float = DEFAULT_TIMEOUT_MS
    """How long one tool call may take."""
    is_trusted: bool = False
    """True when its tools may be called without asking."""

    def described(self) -> dict[str, Any]:
        """The server as hooks see it, without its environment, which may hold secrets."""
        if self.url is not None:
            return {"server_name": self.name, "url": self.url}
        context: dict[str, Any] = {"server_name": self.name, "command": self.command, "args": list(self.args)}
        return context if self.cwd is None else {**context, "cwd": self.cwd}


def configured_servers(layers: Sequence[Layer]) -> tuple[list[McpServer], list[str]]:
    """The servers to connect to, and notes for the user about those that are ignored."""
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
            fault = _GUEST if layer.is_guest else _fault(value)
            if fault is not None:
                notes.append(str(layer.problem(("mcpServers", name), f"is ignored: {fault}")))
            elif name not in servers:
                servers[name] = _server(name, value)
    return list(servers.values()), notes


_GUEST = (
    "a project's own file can't start programs; copy the entry to your user settings if you trust it, "
    "or name the file with --settings"
)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_environment(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("command", _is_text, "a string"),
    ("args", _is_texts, "a list of strings"),
    ("env", _is_environment, "an object whose values are strings"),
    ("cwd", _is_text, "a string"),
    ("url", _is_text, "a string"),
    ("timeout", _is_time, "a number of milliseconds above 0"),
    ("trust", _is_flag, "true or false"),
)


def _fault(raw: Any) -> str | None:
    """Why an entry can't be used, or None."""
    if not isinstance(raw, Mapping):
        return f"it is {kind_of(raw)}, expected an object with command or url"
    for key, is_right, expected in _RULES:
        if raw.get(key) is not None and not is_right(raw[key]):
            return f"{key} must be {expected}"
    if (raw.get("command") is None) == (raw.get("url") is None):
        return "it needs either command (a program to start) or url (a server that runs already)"
    return None


def _server(name: str, raw: Mapping[str, Any]) -> McpServer:
    return McpServer(
        name=name,
        command=raw.get("command"),
        args=tuple(raw.get("args") or ()),
        env=dict(raw.get("env") or {}),
        cwd=raw.get("cwd"),
        url=raw.get("url"),
        timeout_ms=raw.get("timeout") or DEFAULT_TIMEOUT_MS,
        is_trusted=raw.get("trust") is True,
    )
