"""How hooks see the tools of MCP servers."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hookline.extensions import lazy_module

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = lazy_module("hashlib")  # OpenSSL takes time to load, and few names are so long

_MAX_NAME = 64


def mcp_tool_name(server: str, tool: str) -> str:
    """`mcp__server__tool`, as models accept it; long names that start alike stay different."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"mcp__{server}__{tool}")
    if len(name) <= _MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _MAX_NAME - len(digest) - 1]}_{digest}"


def mcp_server_facts(
    name: str,
    *,
    command: str | None = None,
    args: Sequence[str] = (),
    cwd: str | None = None,
    url: str | None = None,
) -> dict[str, Any]:
    """A server as hooks see it in `mcp_context`, without its environment, which may hold secrets."""
    if url is not None:
        return {"server_name": name, "url": url}
    facts: dict[str, Any] = {"server_name": name, "command": command, "args": list(args)}
    return facts if cwd is None else {**facts, "cwd": cwd}
