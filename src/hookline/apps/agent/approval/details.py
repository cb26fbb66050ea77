"""The `details` of a ToolPermission notification, with LLxprt's keys."""

import os
from collections.abc import Mapping
from typing import Any

from hookline.apps.agent.tool import AgentCall
from hookline.shell.lexer import read_script
from hookline.shell.simple import simple_commands

_EDITING = frozenset(("write_file", "replace"))


def permission_details(call: AgentCall) -> dict[str, Any]:
    """Return the call and the kind of permission: `type` is exec, edit, mcp or info."""
    arguments = dict(call.arguments)
    return {"tool_name": call.name, "tool_input": arguments, **_kind(call.name, arguments)}


def _kind(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if name == "run_shell_command":
        command = str(arguments.get("command", ""))
        return {
            "type": "exec",
            "title": "Confirm Shell Command",
            "command": command,
            "rootCommand": ", ".join(root_commands(command)),
        }
    path = arguments.get("file_path")
    if name in _EDITING and isinstance(path, str):
        file_name = os.path.basename(path)
        return {"type": "edit", "title": f"Confirm Edit: {path}", "fileName": file_name, "filePath": path}
    if name.startswith("mcp__"):
        _, server, tool = [*name.split("__", 2), "", ""][:3]
        return {
            "type": "mcp",
            "title": "Confirm MCP Tool Execution",
            "serverName": server,
            "toolName": tool,
            "toolDisplayName": tool,
        }
    return {"type": "info", "title": f"Confirm {name}"}


def root_commands(command: str) -> list[str]:
    """Return the programs that a command starts, each once, if they are plain words."""
    items, _ = read_script(command)
    roots = (words[0] for words in simple_commands(items))
    return list(dict.fromkeys(os.path.basename(root) for root in roots))
