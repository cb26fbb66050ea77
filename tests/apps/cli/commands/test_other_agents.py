"""Other agents' files in every command: read when asked for, trusted as ours are, and named where they are not read."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import warm

from hookline import Config, ToolResult, execute_tool_with_hooks
from hookline.apps.agent.approval.protected import ProtectedPlaces
from hookline.apps.agent.tool import ToolContext
from hookline.bridge.installation.install import install
from hookline.protocol.constants import CHILD_MARK
from hookline.testing import says

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench

# As a user writes it for Claude Code: it compares that agent's names, and reads its arguments.
GUARD = """#!/usr/bin/env python3
import json, sys
asked = json.load(sys.stdin)
if asked["tool_name"] == "Bash" and "rm -rf" in asked["tool_input"]["command"]:
    print("no rm -rf here", file=sys.stderr)
    sys.exit(2)
"""
COMMAND = 'python3 "$CLAUDE_PROJECT_DIR/.claude/guard.py"'
REMEDY = '"hooksConfig": {"dialects": ["claude"]}'
EVIL = json.dumps({"tool_name": "run_shell_command", "tool_input": {"command": "rm -rf /"}})


def claude(command: str = COMMAND, matcher: str = "Bash", event: str = "PreToolUse") -> dict[str, Any]:
    return {"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}}


def write(folder: Path, content: Any, name: str = ".claude/settings.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def bench(workbench: "Workbench") -> "Workbench":
    """A project with a guard for Claude Code, of a user who has hooks enabled."""
    write(workbench.project, GUARD, ".claude/guard.py")
    write(workbench.project, claude())
    workbench.write(workbench.user_file, {})
    return workbench


def ask_for(bench: "Workbench", *dialects: str, **more: Any) -> None:
    bench.write(bench.user_file, {"hooksConfig": {"dialects": list(dialects)}, **more})


def test_a_guard_of_claude_code_guards_here(bench: "Workbench") -> None:
    """Unchanged, when the user's settings name the dialect and the project's hook is trusted."""
    ask_for(bench, "claude")
    assert "untrusted" in bench.run("fire", "BeforeTool", "--input", EVIL)
    shown = bench.run("trust", "--yes")
    assert "dialect: claude" in shown
    assert ".claude/settings.json" in shown
    assert "no rm -rf here" in shown
    assert "no rm -rf here" in bench.run("fire", "BeforeTool", "--input", EVIL, code=2)
    harmless = EVIL.replace("rm -rf /", "ls")
    bench.run("fire", "BeforeTool", "--input", harmless)
    (bench.project / ".claude/guard.py").write_text(GUARD.replace("exit(2)", "exit(0)"))
    assert "it changed since it was trusted" in bench.run("fire", "BeforeTool", "--input", EVIL)


def test_the_same_on_the_command_line(bench: "Workbench") -> None:
    """For every command that reads settings."""
    option = ("--dialect", "claude")
    assert bench.json("list")["hooks"] == []
    (hook,) = bench.json("list", *option)["hooks"]
    assert (hook["dialect"], hook["theirEvent"], hook["state"]) == ("claude", "PreToolUse", "untrusted")
    (listed,) = bench.json("trust", "--list", *option)["hooks"]
    assert (listed["dialect"], listed["file"]) == ("claude", str(bench.project / ".claude/settings.json"))
    assert f"BeforeTool {COMMAND}  .claude/settings.json (claude)" in bench.run("trust", "--list", *option)
    bench.run("trust", "--yes", *option)
    assert bench.json("fire", "--plan", "BeforeTool", "--tool", "run_shell_command", *option)["hooks"]
    assert bench.json("check", *option)["hooks"] == 1
    assert any(
        "is read, because it is a file of claude" in sign["message"] for sign in bench.json("doctor", *option)["checks"]
    )
    bench.run("fire", "BeforeTool", "--input", EVIL, *option, code=2)
    bench.run("fire", "BeforeTool", "--input", EVIL)
    bench.run("disable", COMMAND, "--yes", *option)
    assert [hook["state"] for hook in bench.json("list", *option)["hooks"]] == ["disabled"]
    bench.run("enable", COMMAND, "--yes", *option)
    bench.run("trust", "--revoke", COMMAND, "--yes", *option)
    assert [hook["state"] for hook in bench.json("list", *option)["hooks"]] == ["untrusted"]


def test_a_named_file_of_another_agent(bench: "Workbench") -> None:
    """With --settings, --dialect says whose file it is."""
    named = ("--settings", ".claude/settings.json", "--dialect", "claude")
    assert "no rm -rf here" in bench.run("fire", "BeforeTool", "--input", EVIL, *named, code=2)
    assert "give one --dialect" in bench.run("list", *named, "--dialect", "codex", code=1)


def test_files_that_are_not_read_are_named(bench: "Workbench") -> None:
    """By check, list and doctor, with the line that would read them; and no longer when they are."""
    write(bench.home, claude("b", event="Stop"), ".codex/hooks.json")
    for command in ("list", "check", "doctor"):
        shown = bench.run(command)
        assert "1 hook of Claude Code in .claude/settings.json is not read" in " ".join(shown.split()), command
        assert f"put {REMEDY} into ~/.llxprt/settings.json, or run: hookline init --from claude" in " ".join(
            shown.split()
        )
        assert "hookline init --from codex --scope user" in " ".join(shown.split())
    assert [(one["dialect"], one["hooks"]) for one in bench.json("list")["unread"]] == [("claude", 1), ("codex", 1)]
    assert bench.json("check")["unread"] == bench.json("list")["unread"]
    ask_for(bench, "claude")
    (left,) = bench.json("list")["unread"]
    # The line is to be copied as it is, so it keeps what is there.
    assert (left["dialect"], left["add"]) == ("codex", '"hooksConfig": {"dialects": ["claude", "codex"]}')
    ask_for(bench, "codex", "claude")
    assert bench.json("list")["unread"] == []
    for command, code in (("list", 0), ("check", 0), ("doctor", 1)):
        assert "not read" not in bench.run(command, code=code), command


def test_the_remedy_also_enables_hooks_where_no_file_does(bench: "Workbench") -> None:
    """The printed line is enough: with it in the user's settings, the other agent's hooks are listed."""
    bench.user_file.unlink()
    (unread,) = bench.json("list")["unread"]
    assert unread["add"] == f'"enableHooks": true, {REMEDY}'
    bench.user_file.write_text(f"{{{unread['add']}}}")
    assert [hook["state"] for hook in bench.json("list")["hooks"]] == ["untrusted"]


@pytest.mark.parametrize("content", [{"permissions": {}}, {"hooks": {}}, "{", {"hooks": {"PreToolUse": []}}])
def test_files_without_hooks_are_not_named(content: Any, workbench: "Workbench") -> None:
    """Other content of these files is ignored."""
    write(workbench.project, content)
    write(workbench.home, content)
    assert workbench.json("list")["unread"] == []


def test_our_own_bridge_is_no_hook_of_theirs(bench: "Workbench") -> None:
    """It is not named among what is not read; where the file is read, list says that it is left out."""
    write(bench.project, {})
    install("claude", bench.home / ".claude/settings.json", ["PreToolUse", "Stop"])
    assert bench.json("list")["unread"] == []
    ask_for(bench, "claude")
    assert "2 hooks in ~/.claude/settings.json left out: hookline's own bridge" in bench.run("list")
    report = bench.json("list")
    assert ([hook["event"] for hook in report["bridges"]], report["hooks"]) == (["BeforeTool", "AfterAgent"], [])
    assert any("left out" in sign["message"] for sign in bench.json("doctor")["checks"])


def test_hooks_that_are_not_enabled(bench: "Workbench") -> None:
    """The remedy names our file, not that of the other agent."""
    bench.user_file.write_text('{"hooksConfig": {"dialects": ["claude"]}}')
    found = [one["message"] for one in bench.json("check")["findings"] if one["rule"] == "not-enabled"]
    assert found == [
        'do not run: hooks are off by default; add "enableHooks": true to your own settings, not to this file'
    ]
    signs = {sign["about"]: sign["message"] for sign in bench.json("doctor", code=1)["checks"]}
    assert signs["enabled"].endswith(f'says "enableHooks": true; add it to {bench.user_file}')
    assert "Hooks are disabled" in bench.run("list")


def agent(bench: "Workbench", *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the installed agent on one prompt."""
    replay = bench.project / "replay.jsonl"
    replay.write_text(json.dumps({"method": "generateContentStream", "response": [says("Done.")]}) + "\n")
    done = warm.run(["agent", "--model", f"replay:{replay}", "--prompt", "go", *words])
    done.check_returncode()
    return done


def test_the_agent_names_them_once_at_its_start(bench: "Workbench") -> None:
    """Unless the user's settings say which agents' files are read."""
    told = agent(bench).stderr
    assert told.count("1 hook of Claude Code in .claude/settings.json is not read") == 1
    assert REMEDY in told
    ask_for(bench)
    assert "Claude Code" not in agent(bench).stderr
    ask_for(bench, "claude")
    assert "is not read" not in agent(bench).stderr


def test_the_agent_reads_them_on_request(bench: "Workbench") -> None:
    """With --dialect."""
    told = agent(bench, "--dialect", "claude").stderr
    assert "is not read" not in told


def test_a_running_program_takes_over_their_changes(bench: "Workbench") -> None:
    """Before its next event: a file that appears, one that changes, and one that breaks."""
    write(bench.project, {})
    ask_for(bench, "claude")
    config = Config(bench.project)

    async def run() -> list[bool]:
        async def tool(_: dict[str, Any]) -> ToolResult:
            return ToolResult(llm_content="ran", return_display="ran")

        async def is_blocked() -> bool:
            await asyncio.sleep(0.01)  # the files are looked at every two milliseconds
            given = {"command": "rm -rf /"}
            result = await execute_tool_with_hooks(config, "run_shell_command", given, tool)
            return bool(result.llm_content != "ran")

        blocked = [await is_blocked()]
        file = write(bench.home, claude(f"python3 {bench.project}/.claude/guard.py"))
        blocked.append(await is_blocked())
        write(bench.home, claude(f"python3 {bench.project}/.claude/guard.py", matcher="Read"))
        blocked.append(await is_blocked())
        write(bench.home, claude(f"python3 {bench.project}/.claude/guard.py", matcher="Ba.*"))
        blocked.append(await is_blocked())
        file.write_text("{")
        blocked.append(await is_blocked())
        file.unlink()
        blocked.append(await is_blocked())
        return blocked

    assert asyncio.run(run()) == [False, True, False, True, True, True]


def test_the_same_command_in_two_dialects_is_two_guards(bench: "Workbench") -> None:
    """Each gets input in another format, so neither replaces the other."""
    script = bench.script("grep -q run_shell_command && exit 0; exit 2", "both.sh")
    write(bench.home, claude(str(script)))
    ours = {"BeforeTool": [{"hooks": [{"type": "command", "command": str(script)}]}]}
    ask_for(bench, "claude", hooks=ours)
    report = bench.json("fire", "BeforeTool", "--input", EVIL, code=2)
    assert sorted(run["exitCode"] for run in report["results"]) == [0, 2]


def bridge(bench: "Workbench", **environ: str) -> subprocess.CompletedProcess[str]:
    """Asks the bridge as Claude Code does."""
    asked = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(bench.project), "tool_name": "Bash"}
    words = [sys.executable, "-m", "hookline", "hook", "claude"]
    data = json.dumps({**asked, "tool_input": {"command": "rm -rf /"}})
    return subprocess.run(words, input=data, capture_output=True, text=True, check=False, env={**os.environ, **environ})


def test_an_agent_that_asks_runs_its_own_hooks_itself(bench: "Workbench") -> None:
    """They are not run a second time for it; those of other agents are."""
    write(bench.home, claude(f"touch {bench.project}/claude"))
    write(bench.home, claude(f"touch {bench.project}/codex"), ".codex/hooks.json")
    ask_for(bench, "claude", "codex")
    assert bridge(bench).returncode == 0
    assert sorted(path.name for path in bench.project.iterdir() if path.name in ("claude", "codex")) == ["codex"]


def test_hooks_that_hide_the_bridge_end(bench: "Workbench") -> None:
    """A script that runs the bridge calls itself; it is stopped, and the answer is no."""
    hidden = bench.script(f"echo x >>count; exec {sys.executable} -m hookline hook claude", "hidden.sh")
    write(bench.home, claude(str(hidden)), ".codex/hooks.json")
    ask_for(bench, "codex")
    # As if it had been called seven times: each takes half a second.
    ended = bridge(bench, **{CHILD_MARK: "a-1/" * 7})
    assert "hookline was called by its own hooks 8 times" in ended.stdout + ended.stderr
    assert (bench.project / "count").read_text() == "x\n"
    assert "deny" in ended.stdout


def test_the_files_of_other_agents_are_protected(bench: "Workbench") -> None:
    """The agent asks before it changes one, also where a variable has moved it."""
    ask_for(bench, "codex")
    file = write(bench.project, claude(), "moved/hooks.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEX_HOME", str(file.parent))
        places = ProtectedPlaces(Config(bench.project))
    context = ToolContext(project=bench.project, environ={})
    assert (
        places.touched_by("write_file", {"file_path": "moved/hooks.json"}, context) == "moved/hooks.json is protected"
    )
    assert places.touched_by("write_file", {"file_path": "moved/other.json"}, context) is None
