"""A choice of tools made in one bridge call binds the next calls of the same session of Gemini CLI."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.bridge.state_files import KeptSelections
from hookline.engine.selection import KeptSelection, ToolLimit
from hookline.errors import HooklineError
from hookline.files import state_path
from hookline.protocol.answers import ToolSelection

REQUEST = {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "x"}]}}
ONLY_READ = {"mode": "AUTO", "allowedFunctionNames": ["read_file"]}
MADE = KeptSelection((ToolLimit(3, ToolSelection(mode="NONE")),), {"mode": "AUTO"}, ("h",))


def write_hooks(home: Path, **answers: dict[str, Any]) -> None:
    file = home / ".llxprt" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    hooks = {
        event: [{"hooks": [{"type": "command", "name": "chooser", "command": f"echo '{json.dumps(answer)}'"}]}]
        for event, answer in answers.items()
    }
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))


def choice(config: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "BeforeToolSelection", "toolConfig": config}}


def request_change(config: dict[str, Any] | None) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"toolConfig": config}}}


def ask(project: Path, event: str, fields: dict[str, Any], session: str = "s1") -> dict[str, Any]:
    question = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
    got = warm.run(["hook", "gemini", event], stdin=json.dumps(question), cwd=project)
    assert got.returncode == 0, got.stderr
    answer: dict[str, Any] = json.loads(got.stdout or "{}")
    return answer


def refusal(project: Path, tool: str, session: str = "s1", **fields: Any) -> str | None:
    question = {"tool_name": tool, "tool_input": {"file_path": "a.txt", "content": "x", "pattern": "x"}, **fields}
    answer = ask(project, "BeforeTool", question, session)
    return answer["reason"] if answer.get("decision") == "deny" else None


@pytest.mark.req("DELTA-GUARD-001")
def test_a_tool_outside_the_choice_is_refused_by_a_later_call_of_the_bridge(own_home: Path, project: Path) -> None:
    """In this session only, and until the next choice."""
    write_hooks(own_home, BeforeToolSelection=choice(ONLY_READ))
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, "write_file") == "write_file is not allowed now: the tools were restricted by chooser."
    assert refusal(project, "read_file") is None
    assert refusal(project, "write_file", session="another") is None
    write_hooks(own_home, BeforeToolSelection=choice({"mode": "AUTO"}))
    assert refusal(project, "write_file") is not None
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, "write_file") is None


@pytest.mark.req("DELTA-GUARD-001")
def test_a_choice_of_no_tools_at_all_holds_for_every_tool(own_home: Path, project: Path) -> None:
    """With `NONE`, whatever a later BeforeModel hook asks for; a new session has no choice."""
    write_hooks(own_home, BeforeToolSelection=choice({"mode": "NONE"}), BeforeModel=request_change(ONLY_READ))
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, "read_file") is not None
    ask(project, "BeforeModel", REQUEST)
    assert refusal(project, "read_file") is not None
    ask(project, "SessionStart", {"source": "clear"})
    assert refusal(project, "read_file") is None


@pytest.mark.req("DELTA-GUARD-001")
def test_before_model_narrows_although_it_comes_first(own_home: Path, project: Path) -> None:
    """Gemini CLI fires it before BeforeToolSelection, so that must not lift it; the next model call starts afresh."""
    write_hooks(own_home, BeforeModel=request_change(ONLY_READ), BeforeToolSelection=choice({"mode": "AUTO"}))
    ask(project, "BeforeModel", REQUEST)
    assert refusal(project, "write_file") is not None
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, "write_file") is not None
    assert refusal(project, "read_file") is None
    write_hooks(own_home, BeforeToolSelection=choice({"mode": "AUTO"}))
    ask(project, "BeforeModel", REQUEST)
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, "write_file") is None


@pytest.mark.parametrize(
    ("chosen", "tool", "fields"),
    [
        ("search_file_content", "grep_search", {}),
        ("grep_search", "grep_search", {}),
        ("mcp__srv__put", "mcp_srv_put", {"mcp_context": {"server_name": "srv", "tool_name": "put"}}),
        ("mcp_srv_put", "mcp_srv_put", {"mcp_context": {"server_name": "srv", "tool_name": "put"}}),
    ],
)
def test_hooks_may_choose_a_tool_by_either_name(
    chosen: str, tool: str, fields: dict[str, Any], own_home: Path, project: Path
) -> None:
    """By ours, and by Gemini CLI's."""
    write_hooks(own_home, BeforeToolSelection=choice({"mode": "AUTO", "allowedFunctionNames": [chosen]}))
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, tool, **fields) is None
    assert refusal(project, "write_file") is not None


def test_a_choice_that_can_not_be_read_refuses_tools_until_the_next_one(own_home: Path, project: Path) -> None:
    """It may have ruled the tool out."""
    write_hooks(own_home, BeforeToolSelection=choice(ONLY_READ))
    ask(project, "BeforeToolSelection", REQUEST)
    (file,) = state_path("selections").iterdir()
    file.write_text("{")
    question = {"session_id": "s1", "cwd": str(project), "tool_name": "read_file", "tool_input": {"file_path": "a"}}
    got = warm.run(["hook", "gemini", "BeforeTool"], stdin=json.dumps(question), cwd=project)
    assert got.returncode == 2
    assert "choice of tools" in got.stderr
    assert "remove the file" in got.stderr
    ask(project, "BeforeToolSelection", REQUEST)
    assert refusal(project, "read_file") is None


def test_choices_are_kept_for_a_day_and_not_without_end(tmp_path: Path) -> None:
    """A choice that rules nothing out has no file."""
    folder = tmp_path / "selections"
    selections = KeptSelections(folder)
    selections.keep("gemini", "s", MADE)
    file = next(folder.iterdir())
    assert selections.get("gemini", "s") == MADE
    assert selections.get("gemini", "t") == KeptSelection()
    file.write_text("[]")
    with pytest.raises(HooklineError):
        selections.get("gemini", "s")
    os.utime(file, (time.time() - 90_000,) * 2)
    assert selections.get("gemini", "s") == KeptSelection()
    selections.keep("gemini", "s", MADE)
    selections.keep("gemini", "s", KeptSelection())
    assert list(folder.iterdir()) == []
    for number in range(1100):
        (folder / f"{number}").touch()
    selections.keep("gemini", "s", MADE)
    assert len(list(folder.iterdir())) == 1000
