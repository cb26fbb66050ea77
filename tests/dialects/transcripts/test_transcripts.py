"""The calls of other agents, from transcripts in the formats that they write."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hookline.dialects.transcripts.find import AGENTS, find_transcripts, read_transcript, transcripts_of
from hookline.dialects.transcripts.tool_call import Fate

CLAUDE = [
    {
        "sessionId": "s1",
        "cwd": "/p",
        "version": "2.1.325",
        "timestamp": "2026-11-17T08:51:48.365Z",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "rm x"}},
                {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "open"}},
            ],
        },
    },
    {"message": {"content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}},
    {
        "message": {"content": [{"type": "tool_result", "tool_use_id": "b", "is_error": True}]},
        "toolDenialKind": "permission-rule",
        "permissionDecision": {"decision": "reject", "source": "hook"},
    },
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "s2", "cwd": "/p", "cli_version": "0.166.0"}},
    *[
        {
            "timestamp": "t",
            "type": "response_item",
            "payload": {
                "type": "function_call",
                "name": "exec_command",
                "arguments": f'{{"cmd": "{word}"}}',
                "call_id": word,
            },
        }
        for word in "abc"
    ],
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "a", "output": "fine"}},
    {
        "type": "response_item",
        "payload": {
            "type": "function_call_output",
            "call_id": "b",
            "output": "Command blocked by PreToolUse hook: no. Command: b",
        },
    },
]
GEMINI = [
    {"sessionId": "s3", "kind": "main"},
    {
        "type": "gemini",
        "toolCalls": [
            {"id": "a", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"},
            {"id": "b", "name": "write_file", "status": "error", "resultDisplay": "Tool execution blocked: no"},
            {"id": "c", "name": "write_file", "status": "executing"},
        ],
    },
]
FILES: dict[str, tuple[str, list[Any]]] = {
    "claude": (".claude/projects/-p/s1.jsonl", CLAUDE),
    "codex": (".codex/sessions/2026/11/17/rollout-x.jsonl", CODEX),
    "gemini": (".gemini/tmp/p/chats/session-x.jsonl", GEMINI),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_calls_and_what_became_of_them(agent: str, tmp_path: Path) -> None:
    name, lines = FILES[agent]
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + 'no JSON\n{"unfinished')
    (tmp_path / ".gemini").mkdir(exist_ok=True)
    (tmp_path / ".gemini" / "projects.json").write_text('{"projects": {"/p": "p"}}')
    (found,) = transcripts_of(agent, {"HOME": str(tmp_path)})
    transcript = read_transcript(agent, found)
    assert [call.fate for call in transcript.calls] == [Fate.RAN, Fate.REFUSED, Fate.OPEN]
    assert {call.session for call in transcript.calls} == {lines[0].get("sessionId") or "s2"}
    assert {call.cwd for call in transcript.calls} == {"/p"}
    assert transcript.unread == 1


def test_whatever_stands_there_nothing_breaks(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    strange: list[Any] = [[], 1, None, {}, {"message": 1}, {"message": {"content": [1, {"type": "tool_use"}]}}]
    strange += [{"payload": {"type": "function_call", "arguments": "["}}, {"toolCalls": [1, {}]}, {"toolCalls": 7}]
    file.write_text("".join(json.dumps(line) + "\n" for line in strange))
    for agent in AGENTS:
        assert read_transcript(agent, file).unread == 3
    assert read_transcript("claude", tmp_path / "missing").unread == 1


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("claude", {"message": {"content": [{"type": "tool_use", "id": "a", "input": "rm -rf /"}]}}),
        ("codex", {"payload": {"type": "function_call", "call_id": "a", "arguments": "rm -rf /"}}),
        ("codex", {"payload": {"type": "function_call", "call_id": "a", "arguments": '"rm -rf /"'}}),
        ("codex", {"payload": {"type": "local_shell_call", "call_id": "a", "action": "rm -rf /"}}),
        ("gemini", {"toolCalls": [{"id": "a", "args": "rm -rf /"}]}),
        ("hookline", {"type": "tool", "id": "a", "input": "rm -rf /"}),
    ],
)
def test_arguments_of_an_unknown_form_are_not_empty(agent: str, line: Any, tmp_path: Path) -> None:
    """A backtest must show such a call to guards, and not an empty one."""
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps(line) + "\n")
    (call,) = read_transcript(agent, file).calls
    assert call.arguments == {"arguments": "rm -rf /"}


@pytest.mark.parametrize(
    ("agent", "known", "unknown"),
    [
        (
            "claude",
            [
                "projects/p/s.jsonl",
                "projects/p/s/subagents/agent-1.jsonl",
                "projects/p/s/subagents/workflows/w/agent-2.jsonl",
            ],
            ["projects/p/s/other/x.jsonl", "projects/x.jsonl"],
        ),
        (
            "codex",
            ["sessions/2026/11/17/rollout-1.jsonl", "archived_sessions/rollout-2.jsonl"],
            ["sessions/2026/rollout-3.jsonl", "sessions/2026/11/17/rollout-4.jsonl.zst"],
        ),
        (
            "gemini",
            ["tmp/p/chats/session-1.jsonl", "tmp/p/chats/s1/2.jsonl"],
            ["tmp/p/chats/session-old.json", "tmp/p/chats/a/b/3.jsonl"],
        ),
    ],
)
def test_every_place_is_known_or_named(agent: str, known: list[str], unknown: list[str], tmp_path: Path) -> None:
    """Readable files are read in any place; files in another place or format are listed as unknown."""
    home = tmp_path / f".{agent}"
    for name in (*known, *unknown, "projects/p/s/subagents/agent-1.meta.json", "tmp/p/logs.json"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("{}\n")
    found = find_transcripts(agent, {"HOME": str(tmp_path)})
    assert {*found.unknown} == {home / name for name in unknown}
    assert {*found.files} == {home / name for name in (*known, *unknown) if name.endswith(".jsonl")}


def test_a_transcript_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    """A compressed one, and something else than a file under the name of one: calls may be missing."""
    folder = tmp_path / ".claude/projects/p/s/subagents"
    folder.mkdir(parents=True)
    (folder / "agent-1.jsonl.gz").write_bytes(b"")
    (folder / "agent-2.jsonl").symlink_to("/dev/zero")
    (folder / "agent-3.jsonl").symlink_to(tmp_path / "gone")
    os.mkfifo(folder / "agent-4.jsonl")
    found = find_transcripts("claude", {"HOME": str(tmp_path)})
    assert found.files == ()
    assert {*found.unknown} == {*folder.iterdir()}


def test_links_between_folders_of_transcripts_end(tmp_path: Path) -> None:
    """Each is looked at once, a loop included; a folder that is nested too deeply is named."""
    projects = tmp_path / ".claude/projects"
    (projects / "p").mkdir(parents=True)
    (projects / "p/loop").symlink_to(projects)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/s.jsonl").write_text("")
    (projects / "q").symlink_to(tmp_path / "elsewhere")
    (projects / "p/1/2/3/4/5/6/7/8").mkdir(parents=True)
    found = find_transcripts("claude", {"HOME": str(tmp_path)})
    assert found.files == (projects / "q/s.jsonl",)
    assert found.unknown == (projects / "p/1/2/3/4/5/6/7",)
