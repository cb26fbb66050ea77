from typing import Any

import pytest

from hookline.apps.agent.approval.details import permission_details, root_commands
from hookline.apps.agent.tool import AgentCall


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        pytest.param(
            "run_shell_command",
            {"command": "cd a && npm test | tee out"},
            {
                "type": "exec",
                "title": "Confirm Shell Command",
                "command": "cd a && npm test | tee out",
                "rootCommand": "cd, npm, tee",
            },
            id="exec",
        ),
        pytest.param(
            "write_file",
            {"file_path": "src/a.py", "content": "x"},
            {"type": "edit", "title": "Confirm Edit: src/a.py", "fileName": "a.py", "filePath": "src/a.py"},
            id="edit",
        ),
        pytest.param(
            "mcp__bank__pay__now",
            {"amount": 1},
            {
                "type": "mcp",
                "title": "Confirm MCP Tool Execution",
                "serverName": "bank",
                "toolName": "pay__now",
                "toolDisplayName": "pay__now",
            },
            id="mcp",
        ),
        pytest.param("read_file", {"file_path": "/x"}, {"type": "info", "title": "Confirm read_file"}, id="info"),
    ],
)
def test_details_have_the_keys_of_the_reference(name: str, arguments: dict[str, Any], kind: dict[str, Any]) -> None:
    """A Notification hook written for LLxprt finds its keys, beside the call itself."""
    details = permission_details(AgentCall(id="1", name=name, arguments=arguments))
    assert details == {"tool_name": name, "tool_input": arguments, **kind}


@pytest.mark.parametrize(
    ("command", "roots"),
    [
        ("git status", ["git"]),
        ("/usr/bin/git status; git push", ["git"]),
        ("echo x > rm", ["echo"]),
        ("", []),
        ("'unfinished", ["unfinished"]),
    ],
)
def test_root_commands(command: str, roots: list[str]) -> None:
    """Each program is named once, without its directory; the target of a redirection is no program."""
    assert root_commands(command) == roots
