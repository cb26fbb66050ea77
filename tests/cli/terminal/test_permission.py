import os
from pathlib import Path
from typing import Any

import pytest

from hookline.agent.approval import Approval
from hookline.agent.tool import ToolCall, ToolContext
from hookline.cli.terminal.permission import preview, read_answer


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("y", Approval.ALLOW_ONCE),
        (" YES ", Approval.ALLOW_ONCE),
        ("a", Approval.ALLOW_ALWAYS),
        ("always", Approval.ALLOW_ALWAYS),
        ("", Approval.REFUSE),
        ("n", Approval.REFUSE),
        ("yes please", Approval.REFUSE),
    ],
)
def test_only_a_clear_yes_allows(said: str, meant: Approval) -> None:
    """Whatever is not yes or always refuses."""
    assert read_answer(said) is meant


@pytest.mark.parametrize(
    ("name", "arguments", "lines"),
    [
        pytest.param("write_file", {"file_path": "new", "content": "a\nb"}, ["+a", "+b"], id="new-file"),
        pytest.param("write_file", {"file_path": "old", "content": "a\n"}, ["@@ -1,2 +1 @@", " a", "-b"], id="diff"),
        pytest.param("write_file", {"file_path": "pipe", "content": "a"}, ["+a"], id="pipe"),
        pytest.param(
            "replace",
            {"file_path": "old", "old_string": "b", "new_string": "c"},
            ["@@ -1,2 +1,2 @@", " a", "-b", "+c"],
            id="replace",
        ),
        pytest.param(
            "replace",
            {"file_path": "old", "old_string": "x", "new_string": "y"},
            ["@@ -1 +1 @@", "-x", "+y"],
            id="replace-not-found",
        ),
        pytest.param("run_shell_command", {"command": "ls"}, [], id="the-question-says-it"),
        pytest.param("read_file", {"file_path": "/etc/hosts"}, [], id="so-it-does-here"),
        pytest.param("mcp__s__t", {"path": "x"}, ["{", '  "path": "x"', "}"], id="mcp"),
        pytest.param("mcp__s__t", {}, [], id="mcp-without-arguments"),
    ],
)
def test_a_person_sees_what_would_be_done(
    name: str, arguments: dict[str, Any], lines: list[str], project: Path
) -> None:
    """What would be written is shown as a diff, and the arguments of foreign tools as they are."""
    (project / "old").write_text("a\nb\n")
    os.mkfifo(project / "pipe")
    context = ToolContext(project=project, environ={})
    assert list(preview(ToolCall(id="1", name=name, arguments=arguments), context)) == lines
