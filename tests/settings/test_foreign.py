"""Settings files of other agents, read in place: real files in a home and a project."""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hookline import ToolResult, execute_tool_with_hooks
from hookline.bridge.installation.install import install
from hookline.client.config import Config
from hookline.protocol.constants import ConfigSource
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.files import Layer

ALL = ["claude", "codex", "gemini"]


def groups(*commands: str, **options: Any) -> list[dict[str, Any]]:
    return [{"hooks": [{"type": "command", "command": command, **options} for command in commands]}]


def events(event: str, *commands: str, **options: Any) -> dict[str, Any]:
    return {"hooks": {event: groups(*commands, **options)}}


@dataclass(frozen=True, slots=True)
class Place:
    """A directory with `home/`, `project/` and `etc/` in it."""

    root: Path

    @property
    def project(self) -> Path:
        """The project's directory."""
        return self.root / "project"

    def write(self, name: str, content: Any) -> Path:
        """Writes a file, as it is or as JSON."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def ask_for(self, *dialects: str, **more: Any) -> None:
        """Writes the user's settings: hooks are enabled, and these agents' files are read."""
        options = {"enableHooks": True, "hooksConfig": {"dialects": list(dialects)}}
        self.write("home/.llxprt/settings.json", {**options, **more})

    def hooks(self, **options: Any) -> list[HookEntry]:
        """The hooks of the project as they are now."""
        return list(Config(self.project, **options).get_settings().hooks)

    def shown(self, **options: Any) -> list[tuple[str, str, str, str, bool]]:
        """The same, with what counts about where they come from."""
        return [
            (str(one.command), one.dialect, one.origin.removeprefix(f"{self.root}/"), one.source, one.needs_trust)
            for one in self.hooks(**options)
        ]

    def plugin(self, name: str, **scope: Any) -> Path:
        """Installs a plugin for Claude Code."""
        content = {"description": "d", **events("PreToolUse", "$CLAUDE_PLUGIN_ROOT/run")}
        root = self.write(f"home/.claude/plugins/cache/m/{name}/1.0/hooks/hooks.json", content).parents[1]
        installed = self.root / "home/.claude/plugins/installed_plugins.json"
        known = json.loads(installed.read_text())["plugins"] if installed.exists() else {}
        known[f"{name}@m"] = [{"scope": "user", "installPath": str(root), **scope}]
        installed.write_text(json.dumps({"version": 2, "plugins": known}))
        return root


@pytest.fixture
def place(project: Path) -> Place:
    """An empty project of a user without settings."""
    return Place(project.parent)


TOML = """
model = "x"
[hooks.state."/a:PreToolUse:0:0"]
trusted_hash = "1"
[[hooks.PreToolUse]]
matcher = "Bash"
[[hooks.PreToolUse.hooks]]
type = "command"
command = "{}"
timeout = 5
"""

FILES = [
    ("claude", "project/.claude/settings.local.json", events("PreToolUse", "it"), "project"),
    ("claude", "project/.claude/settings.json", events("PreToolUse", "it"), "project"),
    ("claude", "home/.claude/settings.json", events("PreToolUse", "it"), "user"),
    ("claude", "etc/claude-code/managed-settings.json", events("PreToolUse", "it"), "system"),
    ("claude", "etc/claude-code/managed-settings.d/10-guard.json", events("PreToolUse", "it"), "system"),
    ("codex", "project/.codex/hooks.json", {"description": "d", **events("PreToolUse", "it")}, "project"),
    ("codex", "project/.codex/config.toml", TOML.format("it"), "project"),
    ("codex", "home/.codex/hooks.json", events("PreToolUse", "it"), "user"),
    ("codex", "home/.codex/config.toml", TOML.format("it"), "user"),
    ("codex", "etc/codex/requirements.toml", TOML.format("it"), "system"),
    ("gemini", "project/.gemini/settings.json", events("BeforeTool", "it"), "project"),
    ("gemini", "home/.gemini/settings.json", events("BeforeTool", "it"), "user"),
    ("gemini", "etc/gemini-cli/settings.json", events("BeforeTool", "it"), "system"),
    ("gemini", "etc/gemini-cli/system-defaults.json", events("BeforeTool", "it"), "system"),
]


@pytest.mark.parametrize(("dialect", "file", "content", "source"), FILES, ids=[row[1] for row in FILES])
def test_each_file_is_read(dialect: str, file: str, content: Any, source: str, place: Place) -> None:
    """With the rank and the need for trust of the place that it is in."""
    place.write(file, content)
    place.ask_for("claude", "codex", "gemini")
    assert place.shown() == [("it", dialect, file, source, source == "project")]
    # Nothing of another agent's files is read unless that agent is named.
    place.ask_for(*(other for other in ALL if other != dialect))
    assert place.hooks() == []
    assert place.shown(dialects=[dialect]) == [("it", dialect, file, source, source == "project")]


def test_variables_move_the_files(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    """The same ones as in those agents."""
    monkeypatch.setenv("CODEX_HOME", str(place.root / "elsewhere"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.root / "claude"))
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(place.root / "gemini.json"))
    place.write("elsewhere/hooks.json", events("PreToolUse", "a"))
    place.write("claude/settings.json", events("PreToolUse", "b"))
    place.write("gemini.json", events("BeforeTool", "c"))
    place.write("home/.codex/hooks.json", events("PreToolUse", "not this one"))
    place.ask_for(*ALL)
    assert sorted(str(hook.command) for hook in place.hooks()) == ["a", "b", "c"]


def test_a_project_cannot_have_files_read(place: Place) -> None:
    """It reports this instead."""
    place.write("home/.claude/settings.json", events("PreToolUse", "it"))
    place.write("project/.llxprt/settings.json", {"enableHooks": True, "hooksConfig": {"dialects": ["claude"]}})
    settings = Config(place.project).get_settings()
    assert settings.hooks == ()
    (problem,) = settings.problems
    assert "hooksConfig.dialects is only used in the user's or the system's settings" in str(problem)


def test_an_unknown_agent_is_an_error_and_the_others_are_read(place: Place) -> None:
    """A typo must not be silent."""
    place.write("home/.codex/hooks.json", events("PreToolUse", "it"))
    place.ask_for("claud", "codex")
    settings = Config(place.project).get_settings()
    assert [hook.command for hook in settings.hooks] == ["it"]
    (problem,) = settings.problems
    assert problem.is_error
    assert "names 'claud', whose files hookline can't read; the agents are claude, codex, gemini" in str(problem)


def test_other_keys_of_such_a_file_are_not_ours(place: Place) -> None:
    """Under any name: neither options nor extensions nor the switch."""
    options = {"onFault": "block", "outputLimit": 5, "log": {"enabled": False}, "notifications": True}
    place.write(
        "home/.gemini/settings.json",
        {
            "tools": {"enableHooks": False},
            "enableHooks": False,
            "dialect": "codex",
            "hooksConfig": options,
            "extensions": {"disabled": ["x"]},
            "mcpServers": {"a": {}},
            **events("BeforeTool", "it"),
        },
    )
    place.ask_for("gemini")
    config = Config(place.project)
    settings = config.get_settings()
    assert (settings.problems, config.get_enable_hooks(), config.blocks_on_fault()) == ((), True, False)
    assert (settings.options.output_limit, settings.options.log.enabled) == (10 * 1024 * 1024, True)
    assert [(hook.command, hook.dialect) for hook in settings.hooks] == [("it", "gemini")]


def test_in_the_home_directory_the_file_is_the_users(own_home: Path, place: Place) -> None:
    """It is read once, and needs no trust."""
    place.write("home/.claude/settings.json", events("PreToolUse", "it"))
    place.ask_for("claude")
    assert [(hook.source, hook.needs_trust) for hook in list(Config(own_home).get_settings().hooks)] == [
        (ConfigSource.USER, False)
    ]


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("home/.claude/settings.json", "{", "is not JSON"),
        ("home/.codex/config.toml", "[hooks", "is not TOML"),
        ("project/.gemini/settings.json", "[]", "is not a JSON object"),
    ],
)
def test_a_broken_file_is_an_error_of_that_file(file: str, text: str, what: str, place: Place) -> None:
    """It is never read as empty, and `onFault` covers it as it does ours."""
    place.write(file, text)
    place.write("home/.gemini/settings.json", events("BeforeTool", "it"))
    place.ask_for(*ALL)
    config = Config(place.project, quiet=True)
    (problem,) = config.get_problems()
    assert problem.is_error
    assert what in str(problem)
    assert [hook.command for hook in config.get_settings().hooks] == ["it"]
    assert [layer.origin for layer in config.get_layers() if layer.is_unreadable] == [problem.origin]


def test_a_users_file_that_others_can_write_is_not_believed(place: Place) -> None:
    """As ours is not."""
    place.write("home/.claude/settings.json", events("PreToolUse", "it")).chmod(0o666)
    place.ask_for("claude")
    config = Config(place.project, quiet=True)
    assert config.get_settings().hooks == ()
    assert "can be written by other users" in str(config.get_problems()[0])


SWITCHES = [
    ("PreToolUse", ".claude/settings.json", {"disableAllHooks": True}),
    ("BeforeTool", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}),
    ("BeforeTool", ".gemini/settings.json", {"hooks": {"enabled": False}}),
]


@pytest.mark.parametrize(("event", "name", "switch"), SWITCHES)
def test_a_file_silences_itself_and_less_trusted_ones(
    event: str, name: str, switch: dict[str, Any], place: Place
) -> None:
    """And never a more trusted file, hooks of another agent, or hookline's."""

    def content(command: str, more: dict[str, Any]) -> dict[str, Any]:
        own = events(event, command)
        return {**own, **more, "hooks": {**own["hooks"], **more.get("hooks", {})}}

    place.ask_for(*ALL, **events("BeforeTool", "ours"))
    place.write("home/.codex/hooks.json", events("PreToolUse", "codex"))
    for where in ("home", "project"):
        place.write(f"home/{name}", content("user", switch if where == "home" else {}))
        place.write(f"project/{name}", content("project", switch if where == "project" else {}))
        off = {str(hook.command): hook.disabled_by for hook in place.hooks()}
        by = str(place.root / ("project" if where == "project" else "home") / name)
        assert off == {"project": by, "user": by if where == "home" else None, "codex": None, "ours": None}


def test_names_that_gemini_disables(place: Place) -> None:
    """For its own hooks of the same or a less trusted file, in the newer and in the older place."""
    own = {"hooks": {"BeforeTool": groups("user"), "disabled": ["project"]}, "hooksConfig": {"disabled": ["user"]}}
    place.write("home/.gemini/settings.json", own)
    place.write(
        "project/.gemini/settings.json", {**events("BeforeTool", "project"), "hooksConfig": {"disabled": ["ours"]}}
    )
    place.ask_for("gemini", **events("BeforeTool", "ours", "user"))
    off = {(hook.dialect, hook.command): hook.enabled for hook in place.hooks()}
    assert off == {
        ("gemini", "project"): False,
        ("gemini", "user"): False,
        ("hookline", "ours"): True,
        ("hookline", "user"): True,
    }


def test_our_own_list_disables_their_hooks(place: Place) -> None:
    """So `hookline disable` also works for them."""
    place.write("home/.claude/settings.json", events("PreToolUse", "it"))
    place.ask_for("claude", hooksConfig={"dialects": ["claude"], "disabled": ["it"]})
    assert [hook.enabled for hook in place.hooks()] == [False]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("etc/claude-code/managed-settings.json", {"allowManagedHooksOnly": True, **events("PreToolUse", "managed")}),
        ("etc/codex/requirements.toml", "allow_managed_hooks_only = true\n" + TOML.format("managed")),
    ],
)
def test_only_managed_hooks(file: str, content: Any, place: Place) -> None:
    """An administrator can allow no others."""
    place.write(file, content)
    place.write("home/.claude/settings.json", {"allowManagedHooksOnly": True, **events("PreToolUse", "claude's")})
    place.write("home/.codex/hooks.json", events("PreToolUse", "codex's"))
    place.ask_for("claude" if "claude" in file else "codex")
    assert sorted((str(hook.command), hook.enabled) for hook in place.hooks()) == [
        ("claude's" if "claude" in file else "codex's", False),
        ("managed", True),
    ]


def test_a_plugins_hooks(place: Place) -> None:
    """They know where their plugin is, and have the rank of the file that enables it."""
    mine, theirs, off = (place.plugin(name) for name in ("mine", "theirs", "off"))
    enabled = {"mine@m": True, "off@m": False}
    place.write("home/.claude/settings.json", {"enabledPlugins": enabled})
    place.write("project/.claude/settings.json", {"enabledPlugins": {"theirs@m": True, "mine@m": False}})
    place.ask_for("claude")
    found = [(hook.origin, hook.env, hook.source, hook.needs_trust) for hook in place.hooks()]
    assert found == [
        (f"{theirs}/hooks/hooks.json", {"CLAUDE_PLUGIN_ROOT": str(theirs)}, "project", True),
        (f"{mine}/hooks/hooks.json", {"CLAUDE_PLUGIN_ROOT": str(mine)}, "user", False),
    ]
    assert off not in {Path(origin).parents[1] for origin, *_ in found}


def test_a_plugin_of_another_project_is_not_read(place: Place) -> None:
    """A plugin can be installed for one project."""
    place.write("home/.claude/settings.json", {"enabledPlugins": {"a@m": True, "b@m": True}})
    place.plugin("a", scope="project", projectPath="/elsewhere")
    own = place.plugin("b", scope="local", projectPath=str(place.project))
    place.ask_for("claude")
    settings = Config(place.project).get_settings()
    assert [hook.env for hook in settings.hooks] == [{"CLAUDE_PLUGIN_ROOT": str(own)}]
    (problem,) = settings.problems
    assert "enables a plugin that" in str(problem)


def test_a_plugin_may_name_its_files_in_its_manifest(place: Place) -> None:
    """Or have hooks in the manifest itself."""
    place.write("home/.claude/settings.json", {"enabledPlugins": {"a@m": True, "b@m": True}})
    named, inline = place.plugin("a"), place.plugin("b")
    manifest = ".claude-plugin/plugin.json"
    (named / ".claude-plugin").mkdir()
    (inline / ".claude-plugin").mkdir()
    (named / manifest).write_text(json.dumps({"name": "a", "hooks": "./more.json"}))
    (named / "more.json").write_text(json.dumps(events("Stop", "more")))
    (inline / manifest).write_text(json.dumps({"name": "b", "hooks": {"Stop": groups("inline")}}))
    place.ask_for("claude")
    settings = Config(place.project).get_settings()
    assert settings.problems == ()
    assert [hook.command for hook in settings.hooks] == [
        *("$CLAUDE_PLUGIN_ROOT/run", "more", "inline", "$CLAUDE_PLUGIN_ROOT/run")
    ]


def test_our_own_bridge_is_left_out(own_home: Path, place: Place) -> None:
    """Otherwise hookline would call itself forever; the other hooks run."""
    file = place.write("home/.claude/settings.json", events("PreToolUse", "guard"))
    assert install("claude", file, ["PreToolUse", "Stop"]) == ["PreToolUse", "Stop"]
    install("codex", own_home / ".codex/hooks.json", ["PreToolUse"])
    install("gemini", own_home / ".gemini/settings.json", ["BeforeTool"])
    place.ask_for(*ALL)
    settings = Config(place.project).get_settings()
    assert [hook.command for hook in settings.hooks] == ["guard"]
    assert [(hook.dialect, hook.foreign_event) for hook in settings.bridges] == [
        ("claude", "PreToolUse"),
        ("claude", "Stop"),
        ("codex", "PreToolUse"),
        ("gemini", "BeforeTool"),
    ]
    assert settings.problems == ()


def test_a_command_with_the_bridge_in_it_is_refused(place: Place) -> None:
    """The rest of it may be a guard, so it fails and is not skipped in silence."""
    place.write("home/.claude/settings.json", events("PreToolUse", "guard; hookline hook claude", onFailure="block"))
    place.ask_for("claude", **events("BeforeTool", "hookline hook claude"))
    settings = Config(place.project).get_settings()
    (hook,) = settings.hooks
    assert hook.refusal is not None
    assert "hookline's own bridge" in hook.refusal
    assert [problem.is_error for problem in settings.problems] == [True, True]


# A running program


def refreshed(config: Config) -> Config:
    """The configuration after its source looked again."""
    time.sleep(0.003)
    system = config.get_hook_system()
    assert system is not None
    if config.has_changed():
        config._source.refresh()  # as the system does before an event
    return config


def commands(config: Config) -> list[str]:
    return [str(hook.command) for hook in config.get_settings().hooks]


def test_a_running_program_notices_changes(place: Place) -> None:
    """Of every file that was read, and of files that did not exist."""
    place.ask_for("claude")
    config = Config(place.project)
    assert commands(config) == []
    place.write("home/.claude/settings.json", events("PreToolUse", "a"))
    assert commands(refreshed(config)) == ["a"]
    place.write("project/.claude/settings.local.json", events("PreToolUse", "b"))
    place.write("etc/claude-code/managed-settings.d/1.json", events("PreToolUse", "c"))
    assert commands(refreshed(config)) == ["b", "a", "c"]
    place.write("etc/claude-code/managed-settings.d/2.json", events("PreToolUse", "d"))
    assert commands(refreshed(config)) == ["b", "a", "c", "d"]


def test_a_directory_that_can_not_be_listed_is_an_error(place: Place) -> None:
    """The guards in it are lost, which must not look as if there were none."""
    place.ask_for("claude")
    directory = place.root / "etc/claude-code/managed-settings.d"
    directory.parent.mkdir(parents=True)
    directory.symlink_to(directory)
    (problem,) = Config(place.project).get_problems()
    assert (problem.origin, problem.is_error) == (str(directory), True)
    assert "can't be listed" in problem.message


def test_a_list_of_plugins_that_can_not_be_read_is_an_error(place: Place) -> None:
    """Claude Code reads an object there."""
    place.ask_for("claude")
    place.plugin("guard")
    place.write("home/.claude/settings.json", {"enabledPlugins": ["guard@m"]})
    (problem,) = Config(place.project).get_problems()
    assert (problem.path, problem.is_error) == ("enabledPlugins", True)
    assert "is an array, expected an object" in problem.message


def test_a_running_program_notices_another_agent(place: Place) -> None:
    """When the user's file names it, and when it no longer does."""
    place.write("home/.codex/hooks.json", events("PreToolUse", "a"))
    place.ask_for()
    config = Config(place.project)
    assert commands(config) == []
    place.ask_for("codex")
    assert commands(refreshed(config)) == ["a"]
    place.ask_for()
    assert commands(refreshed(config)) == []


def test_what_becomes_unreadable_keeps_its_hooks(place: Place) -> None:
    """Of each file on the way: the user's, which names the agent, the agent's own, and those of its plugins."""
    folder = place.plugin("p")
    content = {"enabledPlugins": {"p@m": True}, "disableAllHooks": False, **events("PreToolUse", "a")}
    place.write("home/.claude/settings.json", content)
    place.ask_for("claude")
    config = Config(place.project)
    guards = ["a", "$CLAUDE_PLUGIN_ROOT/run"]
    assert commands(config) == guards
    broken = ("home/.claude/settings.json", "home/.llxprt/settings.json", "home/.claude/plugins/installed_plugins.json")
    for file in broken:
        place.write(file, "{")
        assert commands(refreshed(config)) == guards, file
    (folder / "hooks/hooks.json").unlink()
    assert commands(refreshed(config)) == guards
    unusable = [layer for layer in config.get_layers() if any(problem.is_error for problem in layer.problems)]
    assert len(unusable) == 4


def test_what_silences_stays_when_a_file_breaks(place: Place) -> None:
    """The last good state of a file is all of it."""
    place.write("project/.claude/settings.json", events("PreToolUse", "a"))
    place.write("home/.claude/settings.json", {"disableAllHooks": True})
    place.ask_for("claude")
    config = Config(place.project)
    place.write("home/.claude/settings.json", "{")
    assert [hook.enabled for hook in refreshed(config).get_settings().hooks] == [False]


def test_nothing_is_looked_at_while_no_agent_is_named(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    """Neither when the settings are read nor when they are looked at again."""
    place.ask_for()
    monkeypatch.setattr("hookline.dialects.files.path_of", None)
    monkeypatch.setattr("hookline.settings.agents.files.read_agents", None)
    config = Config(place.project)
    assert [Path(layer.origin).parent.name for layer in config.get_layers()] == [".llxprt", ".llxprt", "etc"]


# Files that are named


def test_a_named_file_can_be_of_another_agent(place: Place) -> None:
    """It is trusted because it is named, and its hooks are enabled as in that agent."""
    file = place.write("anywhere/settings.json", events("PreToolUse", "it"))
    config = Config(place.project, settings_files=[file], dialects=["claude"])
    (hook,) = config.get_settings().hooks
    assert (hook.dialect, hook.needs_trust, config.get_enable_hooks()) == ("claude", False, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialects": ["claud"]}, "'claud' is not an agent whose files are read"),
        ({"dialects": ["claude"], "settings": {}}, "settings are given in code"),
        ({"dialects": ["claude", "codex"], "settings_files": ["x"]}, "of one dialect"),
    ],
)
def test_what_can_not_be_asked_for(options: dict[str, Any], message: str, place: Place) -> None:
    """A program gets this as a problem."""
    with pytest.raises(ValueError, match=message):
        Config(place.project, **options)


def test_the_layers_of_files_that_do_not_exist_are_empty(place: Place) -> None:
    """And no problem."""
    place.ask_for(*ALL)
    config = Config(place.project)
    assert config.get_settings().problems == ()
    assert all(layer.values == {} for layer in config.get_layers() if _is_foreign(layer))


def _is_foreign(layer: Layer) -> bool:
    return layer.dialect != "hookline"


HOOK = {"type": "command", "command": "guard"}


@pytest.mark.parametrize(
    ("groups_", "matcher"),
    [
        pytest.param([{"matcher": "Bash", **HOOK}], "Bash", id="without-a-group"),
        pytest.param([{"matcher": "Bash", "hooks": HOOK}], "Bash", id="hooks-that-are-no-list"),
        pytest.param([{"matcher": "Bash", "hooks": [{"command": "guard"}]}], "Bash", id="without-a-type"),
        pytest.param([{"matcher": "Bash", "hooks": ["guard"]}], "Bash", id="a-text"),
        pytest.param([{"matcher": 5, "hooks": [{"type": "command"}]}], None, id="odd-matcher"),
        pytest.param(["guard"], None, id="a-text-in-place-of-a-group"),
        pytest.param({"matcher": "Bash", "hooks": [HOOK]}, "Bash", id="an-object-in-place-of-the-list"),
        pytest.param(7, None, id="a-number"),
    ],
)
def test_a_broken_guard_of_another_agent_blocks(place: Place, groups_: Any, matcher: str | None) -> None:
    """Its agent would lose the guard, or the whole file; here nothing that it may guard runs until it is fixed."""
    place.ask_for("claude")
    place.write("home/.claude/settings.json", {"hooks": {"PreToolUse": groups_, "Stop": groups_}})
    (entry,) = place.hooks()
    assert (entry.event, entry.matcher, entry.command, entry.on_error) == ("BeforeTool", matcher, None, "block")
    assert entry.refusal is not None
    result = asyncio.run(execute_tool_with_hooks(Config(place.project), "run_shell_command", {}, _never))
    assert "broken entry hooks.PreToolUse" in str(result.llm_content)


async def _never(_arguments: dict[str, Any]) -> ToolResult:
    raise AssertionError


@pytest.mark.parametrize(
    "named", ["../elsewhere.json", "/etc/hooks.json", "./missing.json", "\0", 5, ["./hooks", None]]
)
def test_a_plugins_file_that_is_none_is_named(place: Place, named: Any) -> None:
    """A path out of the plugin, a missing file, or no path at all: its hooks are lost, and this is reported."""
    place.ask_for("claude")
    place.write("home/.claude/settings.json", {"enabledPlugins": {"a@m": True}})
    root = place.plugin("a")
    place.write("home/.claude/plugins/cache/m/a/elsewhere.json", events("PreToolUse", "escaped"))
    (root / ".claude-plugin").mkdir()
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps({"hooks": named}))
    config = Config(place.project)
    assert [hook.command for hook in config.get_settings().hooks] == ["$CLAUDE_PLUGIN_ROOT/run"]
    assert any("which is not a file of the plugin" in str(problem) for problem in config.get_problems())


@pytest.mark.parametrize("path", ["relative", "/a\0b", 5, None])
def test_a_plugin_without_a_place_is_not_installed(place: Place, path: Any) -> None:
    """Settings are read for any content of the list of plugins."""
    place.ask_for("claude")
    place.write("home/.claude/settings.json", {"enabledPlugins": {"a@m": True}})
    place.plugin("a", installPath=path, projectPath="\0")
    (problem,) = Config(place.project).get_problems()
    assert "enables a plugin that" in str(problem)
