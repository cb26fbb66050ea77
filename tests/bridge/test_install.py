"""hookline in the settings of other agents: put in, looked at, taken out."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.bridge.agents import HOSTS
from hookline.bridge.client import __file__ as client_file
from hookline.bridge.installation.entries import ENTRIES
from hookline.bridge.installation.install import bridge_command, commands_of, install, installed, uninstall
from hookline.errors import HooklineError
from hookline.settings.read import jsonc

HOOKLINE = Path(sys.executable).with_name("hookline")
FILES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
    "copilot": ".copilot/hooks/hookline.json",
}
PROJECT_FILES = {**FILES, "copilot": ".github/hooks/hookline.json"}
# Each agent's name of its first event, and the place and unit of the timeout.
FIRST: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": ("PreToolUse", {"type": "command", "timeout": 60, "onFailure": "block"}),
    "codex": ("PreToolUse", {"type": "command", "timeout": 60}),
    "gemini": ("BeforeTool", {"name": "hookline", "type": "command", "timeout": 60_000}),
    "cursor": ("preToolUse", {"timeout": 60, "failClosed": True}),
    "copilot": ("preToolUse", {"type": "command", "timeoutSec": 60}),
}


def hookline(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return warm.run(["bridge", *words], cwd=cwd)


@pytest.mark.parametrize("agent", ENTRIES)
def test_it_is_installed_looked_at_and_taken_out_again(agent: str, own_home: Path, project: Path) -> None:
    """The whole life in a home that had no settings of that agent: nothing is left of it."""
    file = own_home / FILES[agent]
    assert hookline("status", agent, cwd=project).returncode == 1
    assert hookline("install", agent, cwd=project).returncode == 0
    event, expected = FIRST[agent]
    entry = json.loads(file.read_text())["hooks"][event][0]
    hook = entry["hooks"][0] if agent in ("claude", "codex", "gemini") else entry
    command = hook.pop("bash" if agent == "copilot" else "command")
    assert hook == expected
    assert command.startswith("/")
    assert f"{agent} {event} --deadline 50" in command
    status = json.loads(hookline("status", agent, "--json", cwd=project).stdout)["installed"]
    assert [(one["file"], one["last_asked"]) for one in status] == [(str(file), None)]
    # Codex needs the user's trust, and reports nothing where it is missing.
    assert ("have not trusted" in str(status[0]["problem"])) is (agent == "codex")
    assert (status[0]["problem"] is None) is (agent != "codex")
    assert hookline("uninstall", agent, cwd=project).returncode == 0
    assert not file.exists()


@pytest.mark.parametrize("agent", ENTRIES)
def test_a_projects_settings_are_a_file_of_their_own(agent: str, own_home: Path, project: Path) -> None:
    """--scope project changes the project's file and leaves the user's alone."""
    got = hookline("install", agent, "--scope", "project", "--project", str(project))
    assert got.returncode == 0, got.stderr
    assert (project / PROJECT_FILES[agent]).exists()
    assert not (own_home / FILES[agent]).exists()


BEFORE = """\
{
  // mine
  "model": "x",   /* and
     this */
  "hooks": {
    "%s": [
      {"hooks": [{"type": "command", "command": "mine.sh"}], "command": "mine.sh"} // stays
    ]
  },
  "last": [1,  2 ]
}
"""


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(BEFORE, id="hooks-and-comments"),
        pytest.param('{"a": 1}', id="one-line"),
        pytest.param("{}", id="empty"),
        pytest.param('\ufeff{\r\n  "a": 1\r\n}\r\n', id="mark-and-crlf"),
        pytest.param('{\n  "a": {\n    "b": 1\n  },\n}\n', id="last-comma"),
    ],
)
@pytest.mark.parametrize("agent", ENTRIES)
def test_uninstall_leaves_everything_else_byte_for_byte(agent: str, before: str, tmp_path: Path) -> None:
    """Comments, layout and other hooks are as they were before; only a version that the agent needs may stay."""
    file = tmp_path / "settings.json"
    data = before.replace("%s", ENTRIES[agent].events[0]).encode()
    file.write_bytes(data)
    added = install(agent, file, ENTRIES[agent].events)
    assert added == list(ENTRIES[agent].events)
    assert installed(file).keys() == {*added}
    once = file.read_bytes()
    assert install(agent, file, ENTRIES[agent].events) == []
    assert file.read_bytes() == once
    assert sorted(uninstall(file)) == sorted(added)
    if ENTRIES[agent].has_version:
        assert jsonc.parse(file.read_text("utf-8-sig")) == {**jsonc.parse(data.decode("utf-8-sig")), "version": 1}
    else:
        assert file.read_bytes() == data
    assert uninstall(file) == []


@pytest.mark.parametrize("command", ["hook", "bridge"])
def test_a_command_of_a_hookline_that_has_moved_is_replaced(command: str, tmp_path: Path) -> None:
    """Two of them would ask every guard twice."""
    file = tmp_path / "settings.json"
    old = {"hooks": [{"type": "command", "command": f"/old/bin/hookline {command} claude PreToolUse"}]}
    file.write_text(json.dumps({"hooks": {"PreToolUse": [old]}}))
    assert install("claude", file, ["PreToolUse"]) == ["PreToolUse"]
    assert commands_of(installed(file)["PreToolUse"]) == [bridge_command("claude", "PreToolUse")]


def test_where_the_client_can_not_be_used_the_command_itself_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is readable, absolute and recognized; without a command to run, nothing is installed."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(sys, "argv", [str(HOOKLINE)])
    file = tmp_path / "settings.json"
    install("claude", file, ["PreToolUse"])
    command = f"{HOOKLINE.resolve()} hook claude PreToolUse --deadline 50 || exit 2"
    assert commands_of(installed(file)["PreToolUse"]) == [command]
    assert uninstall(file) == ["PreToolUse"]
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "hookline")])
    with pytest.raises(HooklineError, match="there is no command"):
        install("claude", file, ["PreToolUse"])


@pytest.mark.parametrize("agent", ENTRIES)
def test_every_event_that_is_installed_can_be_heard(agent: str) -> None:
    """An event that we do not know would make some agents ignore the whole file, and us refuse."""
    assert {*ENTRIES[agent].events} <= HOSTS[agent].events.keys()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param((), "which subcommand? hookline bridge install|", id="nothing"),
        pytest.param(("install", "cladue"), "did you mean claude?", id="agent"),
        pytest.param(("instal", "claude"), "did you mean install?", id="form"),
        pytest.param(("install", "claude", "--events", "PreToolUs"), "did you mean PreToolUse?", id="event"),
        pytest.param(("install", "claude", "--events", ","), "--events needs at least one", id="no-event"),
        pytest.param(
            ("install", "claude", "--scope", "project", "--project", "nowhere"),
            "nowhere is not a directory",
            id="project",
        ),
    ],
)
def test_bad_usage_says_what_to_write(words: tuple[str, ...], message: str) -> None:
    """Exit code 1, because 2 is an agent's block."""
    got = hookline(*words)
    assert got.returncode == 1
    assert message in got.stderr


def test_a_file_that_is_not_json_is_not_touched(own_home: Path) -> None:
    """It says which file, and what to do."""
    file = own_home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{ broken")
    got = hookline("install", "claude")
    assert got.returncode == 1
    assert "hookline: ~/.claude/settings.json is not JSON" in got.stderr
    assert "fix it first" in got.stderr
    assert file.read_text() == "{ broken"
    with pytest.raises(HooklineError, match="can't be read"):
        installed(file)
    assert "can't be read" in hookline("status", "claude").stdout


def test_a_file_that_may_not_be_written_is_an_error_with_its_name(own_home: Path) -> None:
    """The directory can't be made, because a file is in its place."""
    (own_home / ".claude").write_text("")
    got = hookline("install", "claude")
    assert got.returncode == 1
    assert "hookline: ~/.claude/settings.json could not be changed: " in got.stderr


def test_a_file_with_comments_is_told_where_the_agent_would_ignore_it(own_home: Path) -> None:
    """Claude Code drops a file with a comment, so the guard would never run."""
    file = own_home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{\n  // mine\n}\n")
    got = hookline("install", "claude")
    assert got.returncode == 1
    assert "Claude Code ignores such a file" in got.stdout
    assert "ignores such a file" in hookline("status", "claude").stdout


def test_status_says_when_the_command_does_not_answer(own_home: Path) -> None:
    """A command whose program is gone is a problem, which the exit code reports."""
    file = own_home / ".claude" / "settings.json"
    file.parent.mkdir()
    gone = {"hooks": [{"type": "command", "command": "/gone/bin/hookline hook claude PreToolUse"}]}
    file.write_text(json.dumps({"hooks": {"PreToolUse": [gone]}}))
    got = hookline("status", "claude")
    assert got.returncode == 1
    assert "does not answer" in got.stdout


@pytest.mark.parametrize(
    ("agent", "old", "new", "message"),
    [
        pytest.param("claude", "--deadline 50 || exit 2", "--deadline 50", "not in its usual form", id="exit"),
        pytest.param("claude", '"onFailure": "block"', '"onFailure": "continue"', "onFailure", id="on-failure"),
        pytest.param("cursor", '"failClosed": true', '"failClosed": false', "failClosed", id="fail-closed"),
        pytest.param("claude", '"timeout": 60', '"timeout": 50', "has to be above our --deadline", id="timeout"),
        pytest.param(
            "gemini", '"timeout": 60000', '"timeout": 60', "has to be above our --deadline", id="milliseconds"
        ),
        pytest.param("copilot", "--deadline 50", "--deadline 90", "has to be above our --deadline", id="deadline"),
        pytest.param("claude", "--deadline 50", "--deadline 50 --no-serve", None, id="more-options"),
        pytest.param("claude", '"timeout": 60', '"timeout": 120', None, id="more-time"),
    ],
)
def test_status_says_when_a_failure_would_let_the_agent_go_on(
    agent: str, old: str, new: str, message: str | None, own_home: Path
) -> None:
    """Each option that install wrote to prevent that."""
    hookline("install", agent)
    file = own_home / FILES[agent]
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    problem = json.loads(hookline("status", agent, "--json").stdout)["installed"][0]["problem"]
    assert problem is None if message is None else message in problem


def test_what_codex_trusts_is_no_problem(own_home: Path) -> None:
    """It keeps that under the file, the event and two indexes; another hook's trust is not ours."""
    file = own_home / ".codex" / "hooks.json"
    file.parent.mkdir()
    mine = {"hooks": [{"type": "command", "command": "mine.sh"}]}
    file.write_text(json.dumps({"hooks": {"PreToolUse": [mine]}}))
    hookline("install", "codex", "--events", "PreToolUse")

    def problem(index: int, more: str = "") -> Any:
        state = f'[hooks.state."{file}:pre_tool_use:{index}:0"]\ntrusted_hash = "sha256:x"\n{more}'
        (file.parent / "config.toml").write_text(state)
        return json.loads(hookline("status", "codex", "--json").stdout)["installed"][0]["problem"]

    assert "PreToolUse" in problem(0)
    assert problem(1) is None
    assert "PreToolUse" in problem(1, "enabled = false\n")


@pytest.mark.parametrize(
    ("agent", "shell"),
    [
        *((agent, shell) for agent in ENTRIES for shell in ("sh", "bash")),
        *(("codex", shell) for shell in ("zsh", "fish", "tcsh")),
    ],
)
def test_a_command_that_can_not_run_is_a_no_in_every_shell(agent: str, shell: str) -> None:
    """Codex runs it in the user's shell; most agents continue when a command merely fails."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    prompt = {"gemini": "BeforeAgent", "cursor": "beforeSubmitPrompt", "copilot": "userPromptSubmitted"}
    command = bridge_command(agent, prompt.get(agent, "UserPromptSubmit")).replace(sys.executable, "/gone/python")
    got = subprocess.run([shell, "-c", command], capture_output=True, text=True, check=False, timeout=45, input="{}")
    assert got.stderr
    if agent == "copilot":
        assert (got.returncode, json.loads(got.stdout)["decision"]) == (0, "block")
    else:
        assert (got.returncode, got.stdout) == (2, "")
    assert "||" not in bridge_command(agent, prompt.get(agent, "UserPromptSubmit"), fail_open=True)


@pytest.mark.parametrize("ending", ["raise SystemExit(1)", "import os; os.kill(os.getpid(), 9)"])
def test_codex_reads_a_text_whatever_happened_to_the_command(ending: str, tmp_path: Path) -> None:
    """It takes exit code 2 without a text for a mere failure, and continues."""
    client = tmp_path / "client.py"
    client.write_text(ending)
    command = bridge_command("codex", "PreToolUse").replace(str(Path(client_file)), str(client))
    got = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=45, input="{}")
    assert (got.returncode, "hookline did not run" in got.stderr) == (2, True)


def test_a_deny_in_codex_is_nothing_but_its_reason(own_home: Path, project: Path) -> None:
    """The shell code that turns a failure into a refusal adds nothing to a refusal."""
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir()
    hook = {"hooks": [{"type": "command", "command": "echo because >&2; exit 2"}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [hook]}}))
    question = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    words = ["sh", "-c", bridge_command("codex", "PreToolUse")]
    got = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=45, input=json.dumps(question), cwd=project
    )
    assert (got.returncode, got.stdout, got.stderr) == (2, "", "because\n")


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_failure_at_the_end_of_a_turn_does_not_make_the_agent_go_on(agent: str) -> None:
    """There exit code 2 means: go on."""
    assert "||" not in bridge_command(agent, "Stop")


def test_status_says_when_no_tool_is_guarded() -> None:
    """Some events only is allowed, and told."""
    assert hookline("install", "claude", "--events", "Stop").returncode == 0
    assert "PreToolUse is missing" in hookline("status", "claude").stdout


def test_explain_names_what_these_hooks_lose(own_home: Path) -> None:
    """A hook whose event the agent does not have never runs there; others lose effects that it does not support."""
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir()
    hook = {"hooks": [{"type": "command", "command": "true", "name": "guard"}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [hook], "BeforeModel": [hook]}}))
    got = hookline("status", "codex", "--json")
    report = json.loads(got.stdout)["effects"]
    by_event = {one["event"]: one for one in report["hooks"]}
    assert by_event["BeforeModel"]["asked_at"] == []
    assert by_event["BeforeTool"]["asked_at"] == ["PreToolUse"]
    assert any(
        loss.startswith("a stop:") and "every later prompt" in loss for loss in by_event["BeforeTool"]["unsupported"]
    )
    assert any("together with allow" in remark for remark in report["remarks"])
    assert "will never run there" in hookline("status", "codex").stdout


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("bridge\0ins\0", {"install"}),
        ("bridge\0install\0\0", {*ENTRIES}),
        ("bridge\0install\0claude\0--ev\0", {"--events"}),
        ("hook\0cl\0", {"claude"}),
        ("log\0--agent\0cod\0", {"codex"}),
        ("hook\0claude\0--de\0", {"--deadline"}),
    ],
)
def test_the_shell_completes_every_form(typed: str, expected: set[str]) -> None:
    """Forms, agents, options, and the agent's own events."""
    got = warm.run(["completion", "--words"], stdin=typed)
    assert {*got.stdout.split()} == expected


def test_doctor_shows_the_agents_that_hookline_guards(own_home: Path, project: Path) -> None:
    """Where it is installed, whether it answers, what gets lost; and a command that does not answer is bad."""
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir()
    hook = {"hooks": [{"type": "command", "command": "true"}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeModel": [hook]}}))

    def doctor() -> list[dict[str, str]]:
        got = warm.run(["doctor", "--json"], cwd=project)
        return [sign for sign in json.loads(got.stdout)["checks"] if sign["about"].startswith("bridge")]

    assert doctor() == []
    hookline("install", "claude")
    found = doctor()
    assert [sign["severity"] for sign in found] == ["ok", "warning"]
    assert "never asked so far" in found[0]["message"]
    assert "hookline bridge status claude" in found[1]["message"]
    file = own_home / ".claude" / "settings.json"
    file.write_text(file.read_text().replace("client.py", "gone/hookline/bridge/client.py"))
    assert [sign["severity"] for sign in doctor()] == ["error"]
