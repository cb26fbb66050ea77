"""`hookline init --from`: the hooks of another agent's file as a diff of our settings, and into them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.bridge.installation.install import install
from hookline.client.config import Config
from hookline.protocol.constants import CHILD_MARK

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench

GUARD = {"type": "command", "command": 'python3 "$CLAUDE_PROJECT_DIR/.claude/hooks/guard.py" --strict', "timeout": 5}


def theirs(bench: "Workbench", content: Any, name: str = ".claude/settings.json", *, home: bool = False) -> Path:
    """Writes a file of another agent."""
    path = (bench.home if home else bench.project) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return path


def on(event: str, *hooks: Any, **group: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**group, "hooks": list(hooks)}]}}


def test_the_diff_is_shown_and_nothing_is_written(workbench: "Workbench") -> None:
    """With the dialect, a name, and everything else as it was."""
    theirs(workbench, {"permissions": {}, **on("PreToolUse", GUARD, matcher="Bash|Write")})
    shown = workbench.run("init", "--from", "claude")
    assert not workbench.project_file.exists()
    added = "".join(line[1:] for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++"))
    assert json.loads(added) == {
        "enableHooks": True,
        "hooks": {
            "PreToolUse": [{"dialect": "claude", "matcher": "Bash|Write", "hooks": [{"name": "guard", **GUARD}]}]
        },
    }
    assert shown.endswith("  # to add them\n  hookline init --from claude --write\n")


def test_what_is_written_runs_as_in_that_file(workbench: "Workbench") -> None:
    """The same hooks as if the file were read in place, but for their names."""
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [GUARD]}], "Stop": [{"hooks": [{**GUARD, "timeout": 0.5}]}]}
    theirs(workbench, {"hooks": hooks})
    report = workbench.json("init", "--from", "claude", "--write")
    assert (report["written"], report["added"]) == (True, 2)
    written = Config(workbench.project).get_settings()
    in_place = Config(workbench.project, dialects=["claude"]).get_settings().hooks[2:]
    assert (written.enabled, written.problems) == (True, ())

    def comparable(hook: Any) -> tuple[Any, ...]:
        return (
            hook.event,
            hook.foreign_event,
            hook.dialect,
            hook.matcher,
            hook.command,
            hook.timeout_ms,
            hook.needs_trust,
        )

    assert list(map(comparable, written.hooks)) == list(map(comparable, in_place))
    assert [hook.name for hook in written.hooks] == ["guard", "guard-2"]


def test_comments_and_everything_else_stay(workbench: "Workbench") -> None:
    """The settings are changed in one place only."""
    text = """{
  // on, of course
  "enableHooks": true,
  "hooks": {
    "PreToolUse": [
      // of ours
      { "dialect": "claude", "hooks": [{ "type": "command", "command": "a" }] }
    ] /* end */
  },
}
"""
    workbench.write(workbench.project_file, text)
    theirs(workbench, on("PreToolUse", GUARD))
    workbench.run("init", "--from", "claude", "--write")
    changed = workbench.project_file.read_text()
    kept = [line for line in text.splitlines() if "command" not in line]
    assert [line for line in changed.splitlines() if line in kept] == kept
    assert [hook.command for hook in Config(workbench.project).get_settings().hooks] == ["a", GUARD["command"]]


def test_nothing_is_added_twice(workbench: "Workbench") -> None:
    """An existing hook is refused, whatever its name is."""
    theirs(workbench, on("PreToolUse", GUARD))
    workbench.run("init", "--from", "claude", "--write")
    before = workbench.project_file.read_bytes()
    shown = workbench.run("init", "--from", "claude", "--write")
    assert "Not added:" in shown
    assert "it is there already" in shown
    assert workbench.project_file.read_bytes() == before
    theirs(workbench, on("PreToolUse", GUARD, {**GUARD, "command": "other.sh"}))
    assert workbench.json("init", "--from", "claude", "--write")["added"] == 1


LOST = [
    (
        "claude",
        on("SubagentStop", GUARD),
        "Claude Code's SubagentStop has no counterpart here, so this hook never runs",
    ),
    ("claude", on("Stop", {"type": "prompt", "prompt": "ok?"}), 'type "prompt" asks a model'),
    ("claude", on("Stop", {"type": "command"}), "has no command"),
    ("claude", {"hooks": {"Stop": [GUARD]}}, "is a hook where a group of hooks is expected"),
    ("codex", on("PreToolUse", {"type": "mcp_tool", "server": "s", "tool": "t"}), "calls a tool of an MCP server"),
]


@pytest.mark.parametrize(("agent", "content", "why"), LOST)
def test_what_can_not_run_is_not_added_and_said(
    agent: str, content: dict[str, Any], why: str, workbench: "Workbench"
) -> None:
    """With the reason, for each hook."""
    theirs(workbench, content, ".claude/settings.json" if agent == "claude" else ".codex/hooks.json")
    (hook,) = workbench.json("init", "--from", agent, "--write")["hooks"]
    assert hook["name"] is None
    assert why in hook["why_not"]
    assert not workbench.project_file.exists()


def test_what_works_otherwise_is_said(workbench: "Workbench") -> None:
    """Beside the hook that is added."""
    odd = {**GUARD, "async": True, "once": True, "additionalContextLimit": 5}
    theirs(workbench, {"disableAllHooks": True, **on("PreToolUse", odd)})
    report = workbench.json("init", "--from", "claude", "--write")
    (hook,) = report["hooks"]
    lost = "\n".join(hook["lost"])
    assert "runs this hook in the background" in lost
    assert "has no effect in a settings file" in lost
    assert "additionalContextLimit means nothing here" in lost
    assert "it is disabled by" in lost
    (written,) = Config(workbench.project).get_settings().hooks
    assert not written.enabled


def test_our_own_bridge_is_not_imported(workbench: "Workbench") -> None:
    """It would ask these same hooks."""
    install("claude", theirs(workbench, on("PreToolUse", GUARD)), ["PreToolUse"])
    report = workbench.json("init", "--from", "claude")
    assert [hook["name"] for hook in report["hooks"]] == ["guard", None]
    assert "hookline's own bridge" in report["hooks"][1]["why_not"]


def test_the_users_hooks(workbench: "Workbench") -> None:
    """From the agent's files in the home into the user's settings, which need no trust."""
    theirs(
        workbench,
        '[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype="command"\ncommand="a.sh"\ntimeout=7',
        ".codex/config.toml",
        home=True,
    )
    shown = workbench.run("init", "--from", "codex", code=1)
    assert shown.endswith("; try: hookline init --from codex --scope user\n")
    shown = workbench.run("init", "--from", "codex", "--scope", "user", "--write")
    assert "1 hook added to ~/.llxprt/settings.json." in shown
    assert "hookline trust" not in shown
    (hook,) = Config(workbench.project).get_settings().hooks
    assert (hook.command, hook.name, hook.dialect, hook.timeout_ms) == ("a.sh", "a", "codex", 7000)


def test_a_named_file(workbench: "Workbench") -> None:
    """Wherever it is."""
    file = theirs(workbench, on("BeforeTool", {"type": "command", "command": "x", "name": "own"}), "shared/hooks.json")
    assert workbench.json("init", "--from", "gemini", str(file), "--write")["added"] == 1
    (hook,) = Config(workbench.project).get_settings().hooks
    assert (hook.name, hook.dialect, hook.needs_trust) == ("own", "gemini", True)


def test_a_plugins_hooks_know_where_it_is(workbench: "Workbench") -> None:
    """The copy is reported, because there is no other sign of it."""
    root = workbench.home / "plugin"
    theirs(
        workbench,
        on("PreToolUse", {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/run.sh"}),
        "plugin/hooks/hooks.json",
        home=True,
    )
    theirs(workbench, {"enabledPlugins": {"p@m": True}}, home=True)
    installed = {"version": 2, "plugins": {"p@m": [{"scope": "user", "installPath": str(root)}]}}
    theirs(workbench, installed, ".claude/plugins/installed_plugins.json", home=True)
    workbench.run("init", "--from", "claude", "--scope", "user", "--write")
    (hook,) = Config(workbench.project).get_settings().hooks
    assert (hook.env, hook.name, hook.refusal) == ({"CLAUDE_PLUGIN_ROOT": str(root)}, "run", None)


@pytest.mark.parametrize(
    ("words", "prepare", "message"),
    [
        (["claude"], {}, "Claude Code has no hooks in"),
        (["claude", "missing.json"], {}, "missing.json is not a file"),
        (["claude"], {".claude/settings.json": "{"}, "is not JSON"),
        (["claude"], {".claude/settings.json": on("Stop", GUARD), ".llxprt/settings.json": "{"}, "is not JSON"),
        (
            ["claude"],
            {".claude/settings.json": on("Stop", GUARD), ".llxprt/settings.json": '{"hooks": 5}'},
            "expected an object",
        ),
    ],
)
def test_what_can_not_be_imported(
    words: list[str], prepare: dict[str, Any], message: str, workbench: "Workbench"
) -> None:
    """Is said, and nothing is changed."""
    for name, content in prepare.items():
        theirs(workbench, content, name)
    before = workbench.project_file.read_text() if workbench.project_file.exists() else None
    assert message in workbench.run("init", "--from", *words, "--write", code=1)
    assert (workbench.project_file.read_text() if workbench.project_file.exists() else None) == before


def test_only_a_person_writes(workbench: "Workbench", monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook, or the agent's own shell, can't add hooks."""
    theirs(workbench, on("Stop", GUARD))
    monkeypatch.setenv(CHILD_MARK, "1")
    workbench.run("init", "--from", "claude")
    assert "only you decide which hooks run" in workbench.run("init", "--from", "claude", "--write", code=1)
    assert not workbench.project_file.exists()


def test_the_log_says_who_did_it(workbench: "Workbench") -> None:
    """As for every decision about which hooks run."""
    theirs(workbench, on("Stop", GUARD))
    workbench.run("init", "--from", "claude", "--write")
    record = json.loads(workbench.run("log", "--json"))
    assert (record["kind"], record["hook"], record["event"]) == ("consent", "guard", "Stop")
    assert "guard was imported by " in record["message"]


@pytest.mark.parametrize(
    ("user", "own", "runs"), [(True, "false", True), (False, "true", False), (None, "false", False)]
)
def test_hooks_that_will_not_run(user: bool | None, own: str, runs: bool, workbench: "Workbench") -> None:
    """Everything that prevents an effect of the import is reported."""
    if user is not None:
        workbench.write(workbench.user_file, {"enableHooks": user})
    workbench.write(workbench.project_file, f'{{"enableHooks": {own}}}')
    theirs(workbench, on("Stop", GUARD))
    shown = workbench.run("init", "--from", "claude")
    assert ("They will not run" in shown) is not runs


def test_hooks_that_are_read_in_place_as_well(workbench: "Workbench") -> None:
    """They are shown all the same."""
    workbench.write(workbench.user_file, {"hooksConfig": {"dialects": ["claude"]}})
    theirs(workbench, on("Stop", GUARD))
    shown = workbench.run("init", "--from", "claude")
    assert "hooksConfig.dialects has the files of claude read as well; the same hook runs once." in shown


def test_a_link_out_of_the_project_is_not_written(workbench: "Workbench") -> None:
    """A project's link to the user's own settings would spare its hooks the question for trust."""
    theirs(workbench, on("PreToolUse", GUARD))
    mine = workbench.home / ".llxprt" / "settings.json"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("{}")
    workbench.project_file.parent.mkdir(parents=True, exist_ok=True)
    workbench.project_file.symlink_to(mine)
    assert "outside of the project; nothing was written" in workbench.run("init", "--from", "claude", "--write", code=1)
    assert mine.read_text() == "{}"


def test_trust_names_hooks_that_are_not_read(workbench: "Workbench") -> None:
    """After `--dialect` showed these hooks, a message explains why they are missing here."""
    theirs(workbench, on("PreToolUse", GUARD))
    assert "1 hook of Claude Code in .claude/settings.json is not read" in workbench.run("trust")
    workbench.write(workbench.user_file, {"enableHooks": True})
    shown = workbench.run("fire", "BeforeTool", "--dialect", "claude", "--input", '{"tool_name": "x"}')
    assert "run: hookline trust --dialect claude" in shown
