import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hookline.client.config import Config
from hookline.inspect.lint.checks import CHECKS, run_checks
from hookline.inspect.lint.matchers import plans_of
from hookline.inspect.view import Setup, read_setup
from hookline.protocol.events import HookEventName

MakeSetup = Callable[..., Setup]


def hook(command: str = "true", **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def on(event: str, *hooks: dict[str, Any], **group: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**group, "hooks": list(hooks) or [hook()]}]}}


def on_tool(matcher: str) -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [hook()]}]


SILENT = "read -r line"
DECIDES = """echo '{"decision": "allow"}'"""
REWRITES = """echo '{"hookSpecificOutput": {"tool_input": {"p": "x"}}}'"""
READS = "jq -e '.tool_input.command' || exit 2"

HITS: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "fails-open",
        on("BeforeTool", hook("grep -q secret && exit 2")),
        "hooks.BeforeTool[0].hooks[0].command",
        (
            "guards calls, and fails open: if it crashes, is missing or takes too long, the call is allowed; "
            'add "onError": "block", and try it: hookline check --run'
        ),
    ),
    (
        "worker",
        on("BeforeTool", hook("cat", worker=True)),
        "hooks.BeforeTool[0].hooks[0].worker",
        (
            'is probably no worker: nothing in its program says {"ready": true}, so it would wait for an event until'
            " its timeout; see docs/workers.md, or remove it"
        ),
    ),
    (
        "settings",
        on("PreToolUse"),
        "hooks.PreToolUse",
        (
            "is an event of Claude Code and Codex, so its hooks do not run here; write BeforeTool, "
            'or mark the hook with dialect claude or codex: "dialect": "claude"'
        ),
    ),
    (
        "settings",
        on("BeforeTool", {"command": "true"}),
        "hooks.BeforeTool[0].hooks[0]",
        'has no type; add "type": "command"; it does not run',
    ),
    (
        "settings",
        on("BeforeTool", hook(timout=5)),
        "hooks.BeforeTool[0].hooks[0].timout",
        "is not an option and is ignored; did you mean timeout?",
    ),
    (
        "no-block",
        on("AfterModel", hook(onError="block")),
        "hooks.AfterModel[0].hooks[0].onError",
        "has no effect: AfterModel can't block; remove it, and let the hook itself answer when it fails",
    ),
    ("misplaced-key", {"BeforeTool": []}, "BeforeTool", 'is ignored here; put it inside "hooks": {"BeforeTool": …}'),
    ("misplaced-key", {"hookConfig": {}}, "hookConfig", "is ignored; did you mean hooksConfig?"),
    ("misplaced-key", {"disableAllHooks": True}, "disableAllHooks", 'is ignored; write "enableHooks": false'),
    ("misplaced-key", {"disableAllHooks": False}, "disableAllHooks", "is ignored; remove it"),
    (
        "unknown-key",
        {"hooksConfig": {"colour": "red"}},
        "hooksConfig.colour",
        (
            "is not an option of hooksConfig and is ignored; the options are disabled, outputLimit, maxConcurrent,"
            " streamDuringAfterModel, lifecycle, maxStopBlocks, onFault, trust, redact, dialects, teams, serve, warm,"
            " environment, http, log, managedOnly, fleet, policy"
        ),
    ),
    (
        "unknown-key",
        {"enableHooks": True, "hooksConfig": {"enabled": True}},
        "hooksConfig.enabled",
        "is Gemini CLI's switch and has no effect here; use enableHooks, at the top of the file",
    ),
    (
        "unknown-key",
        {"hooksConfig": {"log": {"level": "debug"}}},
        "hooksConfig.log.level",
        "is not an option of hooksConfig.log and is ignored; the options are enabled, path, maxBytes, backups",
    ),
    *(
        (
            "unknown-key",
            {"hooksConfig": {"warm": {key: value}}},
            f"hooksConfig.warm.{key}",
            "is not an option of hooksConfig.warm and is ignored; the options are max",
        )
        for key, value in (("maximum", 4), ("enabled", False))
    ),
    (
        "unknown-key",
        {"hooksConfig": {"environment": {"only": ["PATH"]}}},
        "hooksConfig.environment.only",
        "is not an option of hooksConfig.environment and is ignored; the options are allow, deny",
    ),
    (
        "unknown-key",
        on("BeforeTool", async_=True),
        "hooks.BeforeTool[0].async_",
        (
            "is not an option of a group and is ignored; the options are hooks, matcher, mode, rollout, sequential,"
            " dialect"
        ),
    ),
    (
        "disabled-name",
        {**on("BeforeTool", hook(name="guard")), "hooksConfig": {"disabled": ["gaurd"]}},
        "hooksConfig.disabled[0]",
        "names 'gaurd', which no hook has; did you mean guard?",
    ),
    (
        "matcher-wildcard",
        on("BeforeTool", matcher="*_file"),
        "hooks.BeforeTool[0].matcher",
        "is '*_file', which is not a regular expression and is compared as plain text; write '_file$'",
    ),
    (
        "matcher-wildcard",
        on("BeforeTool", matcher="**"),
        "hooks.BeforeTool[0].matcher",
        "is '**', which is not a regular expression and is compared as plain text; write '*'",
    ),
    (
        "matcher-no-regex",
        on("BeforeTool", matcher="mcp__github__(create|delete"),
        "hooks.BeforeTool[0].matcher",
        (
            "is 'mcp__github__(create|delete', which is not a regular expression and is compared as plain text, so the"
            " hook runs for no tool of another name; fix the pattern"
        ),
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="frobnicate"),
        "hooks.BeforeTool[0].matcher",
        (
            "has 'frobnicate', which matches no known tool; the known tools are read_file, write_file, replace,"
            " list_directory, glob, search_file_content, run_shell_command, and --tool frobnicate adds one"
        ),
    ),
    (
        "matcher-no-tool",
        on("AfterTool", matcher="^(write_file|repalce)$"),
        "hooks.AfterTool[0].matcher",
        "has '^(repalce)$', which matches no known tool; did you mean replace?",
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="Bash"),
        "hooks.BeforeTool[0].matcher",
        (
            "has 'Bash', which matches no known tool; if this hook was written for Claude Code, "
            'add "dialect": "claude" to it, else write run_shell_command'
        ),
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="write_file | replace"),
        "hooks.BeforeTool[0].matcher",
        (
            "is 'write_file | replace', where the spaces are part of the regular expression and of no tool's name;"
            " remove the spaces round the bar: 'write_file|replace'"
        ),
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="^(write_file |replace)$"),
        "hooks.BeforeTool[0].matcher",
        (
            "is '^(write_file |replace)$', where the spaces are part of the regular expression and of no tool's name;"
            " remove the spaces round the bar: '^(write_file|replace)$'"
        ),
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="Bash(git commit:*)"),
        "hooks.BeforeTool[0].matcher",
        (
            "has 'Bash(git commit:*)', which matches no known tool; a matcher is compared with the tool's name alone:"
            " write 'run_shell_command', and let the hook check the input"
        ),
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="Bash(ls*)"),
        "hooks.BeforeTool[0].matcher",
        (
            "has 'Bash(ls*)', which matches no known tool; a matcher is compared with the tool's name alone:"
            " write 'run_shell_command', and let the hook check the input"
        ),
    ),
    (
        "matcher-no-tool",
        on("BeforeTool", matcher="^frob.+nicate$"),
        "hooks.BeforeTool[0].matcher",
        (
            "has '^frob.+nicate$', which matches no known tool; the known tools are read_file, write_file, replace,"
            " list_directory, glob, search_file_content, run_shell_command, and --tool adds one"
        ),
    ),
    (
        "matcher-no-trigger",
        on("SessionStart", matcher="start"),
        "hooks.SessionStart[0].matcher",
        (
            "is 'start', which SessionStart never has, so the hook never runs; it has to equal"
            " one of startup, resume, clear, compress"
        ),
    ),
    (
        "matcher-not-asked",
        on("BeforeModel", matcher="gemini"),
        "hooks.BeforeModel[0].matcher",
        "is 'gemini', but BeforeModel has nothing to match, so the hook always runs; remove the matcher",
    ),
    (
        "secret",
        {"hooksConfig": {"fleet": {"servers": ["tls://fleet.example", "nats://t0ken@fleet.example"]}}},
        "hooksConfig.fleet.servers[1]",
        (
            "has a password or token in it, which everybody reads here; remove it, and name a file in"
            " hooksConfig.fleet.credentials or nkey"
        ),
    ),
    (
        "timeout",
        on("BeforeTool", hook(timeout=30)),
        "hooks.BeforeTool[0].hooks[0].timeout",
        "is 30 milliseconds; if you mean seconds, write 30000",
    ),
    (
        "timeout",
        on("BeforeTool", hook(timeout=1)),
        "hooks.BeforeTool[0].hooks[0].timeout",
        "is 1 millisecond; if you mean seconds, write 1000",
    ),
    (
        "timeout",
        on("BeforeTool", hook(timeout=0)),
        "hooks.BeforeTool[0].hooks[0].timeout",
        "is 0, so the hook is ended at once; write a number of milliseconds",
    ),
    (
        "program",
        on("BeforeTool", hook("./guard.sh")),
        "hooks.BeforeTool[0].hooks[0].command",
        "names ./guard.sh, which does not exist; create the file, or fix the path",
    ),
    (
        "program",
        on("BeforeTool", {"type": "plugin"}),
        "hooks.BeforeTool[0].hooks[0]",
        'is of type "plugin" and names none, so it fails at each event; write "plugin": "package:name"',
    ),
    (
        "program",
        on("BeforeTool", {"type": "plugin", "plugin": "no-such-package:guard"}),
        "hooks.BeforeTool[0].hooks[0]",
        "could not be loaded: the package no-such-package is not installed here",
    ),
    (
        "erased-block",
        on("BeforeModel", hook("exit 2", name="guard"), hook(DECIDES)),
        "hooks.BeforeModel[0].hooks[1].command",
        (
            "answers after guard, and on BeforeModel a later answer replaces an earlier one, so it can erase a block;"
            ' add "sequential": true to the group, or let it print no decision'
        ),
    ),
    (
        "unseen-rewrite",
        on("BeforeTool", hook("grep -q evil && exit 2; true"), hook(REWRITES, name="rewrites")),
        "hooks.BeforeTool[0].hooks[0]",
        (
            "judges arguments that rewrites can rewrite without its knowledge;"
            ' add "final": true to judge them as they will run'
        ),
    ),
    (
        "unset-variable",
        on("BeforeTool", hook("bash $CLAUDE_PLUGIN_ROOT/hooks/guard.sh")),
        "hooks.BeforeTool[0].hooks[0].command",
        (
            "uses $CLAUDE_PLUGIN_ROOT, which is not set here, so it is empty; "
            'set it in "env" of this hook, or write its value'
        ),
    ),
    (
        "unset-variable",
        {
            "hooksConfig": {"environment": {"deny": ["SHELL_*"]}},
            **on("BeforeTool", hook('echo "$(cat "${NO_SUCH}/x")"')),
        },
        "hooks.BeforeTool[0].hooks[0].command",
        'uses $NO_SUCH, which is not set here, so it is empty; set it in "env" of this hook, or write its value',
    ),
    (
        "other-agent",
        on("BeforeTool", hook("""jq -e '.tool_name == "Bash"' && exit 2""")),
        "hooks.BeforeTool[0].hooks[0].command",
        (
            "reads tool_name and has Bash, Claude Code's name for run_shell_command, but the hook is told hookline's "
            'words; add "dialect": "claude" to this hook'
        ),
    ),
]

CLEAN: list[tuple[str, dict[str, Any]]] = [
    ("nothing", {}),
    ("all-tools", on("BeforeTool", matcher="*")),
    ("one-tool", on("BeforeTool", matcher="^write_file$")),
    ("alternatives", on("AfterTool", matcher="(write_file|replace)")),
    ("prefix", on("BeforeTool", matcher="^write_")),
    ("spaces-around", on("BeforeTool", matcher=" write_file|replace ")),
    ("space-that-may-be-left-out", on("BeforeTool", matcher="^write_file$| ?replace")),
    ("dot-star", on("BeforeTool", matcher="write_.*")),
    ("class-star", on("BeforeTool", matcher=r"^write\w*$")),
    ("mcp", on("BeforeTool", matcher="mcp__github__.*")),
    ("trigger", on("SessionStart", matcher="startup")),
    ("trigger-of-notifications", on("Notification", matcher="ToolPermission")),
    ("no-matcher-on-a-model-event", on("BeforeModel")),
    ("a-second", on("BeforeTool", hook(timeout=1000))),
    ("options", {"hooksConfig": {"log": {"enabled": False}, "environment": {"allow": ["PATH"]}}}),
    ("options-that-a-project-may-not-set", {"hooksConfig": None}),
    ("other-keys", {"theme": "dark", "tools": {"core": []}, "$schema": "x"}),
    ("disabled-by-name", {**on("BeforeTool", hook(name="guard")), "hooksConfig": {"disabled": ["guard"]}}),
    ("disabled-by-command", {**on("BeforeTool"), "hooksConfig": {"disabled": ["true"]}}),
    ("disabled-and-broken", on("BeforeTool", hook("./not-there", enabled=False, timeout=1), matcher="nothing")),
    ("later-hook-decides-nothing", on("BeforeModel", hook("exit 2"), hook(SILENT))),
    ("chain-ends-with-a-block", on("BeforeModel", hook("exit 2"), hook(DECIDES), sequential=True)),
    ("tool-events-keep-blocks", on("BeforeTool", hook("exit 2"), hook(DECIDES))),
    (
        "a-rewrite-for-other-tools",
        {
            "hooks": {
                "BeforeTool": [
                    {"matcher": "^replace$", "hooks": [hook(REWRITES)]},
                    {"matcher": "^write_file$", "hooks": [hook("exit 2")]},
                ]
            }
        },
    ),
    ("a-final-guard", on("BeforeTool", hook("exit 2", final=True), hook(REWRITES))),
    ("a-guard-that-is-told", on("BeforeTool", hook(REWRITES), hook("exit 2"), sequential=True)),
    ("guards-that-only-read-the-arguments", on("BeforeTool", hook("exit 2"), hook(READS))),
    (
        "same-command-for-other-tools",
        {"hooks": {"BeforeTool": [*on_tool("^write_file$"), *on_tool("^replace$")]}},
    ),
    ("same-command-for-other-events", {"hooks": {"BeforeTool": on_tool("*"), "AfterTool": on_tool("*")}}),
]


@pytest.mark.parametrize(("rule", "settings", "path", "message"), HITS)
def test_what_is_not_meant_is_found(
    rule: str, settings: dict[str, Any], path: str, message: str, make_setup: MakeSetup
) -> None:
    """One finding, at its place, with what is wrong and what to do."""
    found = [
        (finding.rule, finding.problem.path, finding.problem.message)
        for finding in run_checks(make_setup(settings))
        if rule == "fails-open" or finding.rule != "fails-open"
    ]
    assert found == [(rule, path, message)]


@pytest.mark.parametrize("settings", [pytest.param(settings, id=name) for name, settings in CLEAN])
def test_what_is_meant_is_left_alone(settings: dict[str, Any], make_setup: MakeSetup) -> None:
    """No check has anything to say about settings that are as they should be."""
    assert [finding for finding in run_checks(make_setup(settings)) if finding.rule != "fails-open"] == []


@pytest.mark.parametrize(
    ("trust", "message"),
    [
        (
            "standard",
            (
                "has words that trust can't cover; "
                "trust covers the command alone, not the files that these words may lead to: $(cat x), $Y"
            ),
        ),
        (
            "strict",
            "does not run: hooksConfig.trust is strict, and trust can't cover $(cat x), $Y; name its files plainly",
        ),
    ],
)
def test_a_word_that_trust_can_not_cover_is_found(
    trust: str, message: str, make_setup: MakeSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only hooks that need trust are looked at; with strict trust the finding says that the hook does not run."""
    monkeypatch.setenv("Y", "y")
    setup = make_setup({**on("BeforeTool", hook("sh $(cat x) $Y")), "hooksConfig": {"trust": trust}})
    assert list(run_checks(setup)) == []
    guest = replace(setup, hooks=tuple(replace(one, needs_trust=True) for one in setup.hooks))
    (finding,) = run_checks(guest)
    assert (finding.rule, finding.problem.message) == ("uncovered", message)


def test_every_check_has_a_hit_here() -> None:
    """A new check needs a test."""
    tested_below = {"not-enabled", "duplicate", "uncovered", "script-syntax"}
    assert {check.rule for check in CHECKS} - tested_below == {rule for rule, *_ in HITS}


@pytest.mark.parametrize(
    ("matcher", "meant"),
    [
        ("write_*", "^write_"),
        ("^write_*$", "^write_"),
        ("*read*", "read"),
        ("mcp_*_x", "^mcp_.*_x$"),
        ("write_*|replace", "^write_|replace"),
        ("*|replace", "*"),
        ("***", "*"),
    ],
)
def test_a_wildcard_is_translated(matcher: str, meant: str, make_setup: MakeSetup) -> None:
    """The advice is the regular expression that the wildcard stands for."""
    (finding,) = run_checks(make_setup(on("BeforeTool", matcher=matcher)))
    assert finding.rule == "matcher-wildcard"
    assert finding.problem.message.endswith(f"write {meant!r}")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("edit", "replace"),
        ("bash", "run_shell_command"),
        ("ShellTool", "run_shell_command"),
        ("multiedit", "replace"),
    ],
)
def test_a_tool_of_another_system_is_translated(word: str, meant: str, make_setup: MakeSetup) -> None:
    """The advice is the tool that does the same here, however it is written there."""
    (finding,) = run_checks(make_setup(on("BeforeTool", matcher=word)))
    assert finding.problem.message == f"has {word!r}, which matches no known tool; did you mean {meant}?"


@pytest.mark.parametrize(
    ("word", "agent", "dialect", "tool"),
    [
        ("Edit", "Claude Code", "claude", "replace"),
        ("MultiEdit", "Claude Code", "claude", "replace"),
        ("apply_patch", "Codex", "codex", "write_file"),
        ("^grep_search$", "Gemini CLI", "gemini", "search_file_content"),
    ],
)
def test_another_agents_tool_asks_for_its_dialect_first(
    word: str, agent: str, dialect: str, tool: str, make_setup: MakeSetup
) -> None:
    """With another matcher the hook would run, and its script would still wait for the other name."""
    (finding,) = run_checks(make_setup(on("BeforeTool", matcher=word)))
    assert finding.problem.message == (
        f"has {word!r}, which matches no known tool; "
        f'if this hook was written for {agent}, add "dialect": "{dialect}" to it, else write {tool}'
    )


def test_words_between_spaced_bars_are_looked_at(make_setup: MakeSetup) -> None:
    """Spaces round a bar do not hide that a word matches nothing, nor do they get into the advice."""
    found = list(run_checks(make_setup(on("BeforeTool", matcher="write_* | Bash"))))
    assert [finding.rule for finding in found] == ["matcher-wildcard", "matcher-no-tool", "matcher-no-tool"]
    assert [finding.problem.message.rpartition("; ")[2] for finding in found] == [
        "write '^write_|Bash'",
        "remove the spaces round the bar: 'write_*|Bash'",
        'if this hook was written for Claude Code, add "dialect": "claude" to it, else write run_shell_command',
    ]


def test_an_unusable_object_of_options_is_told_once(make_setup: MakeSetup) -> None:
    """What is wrong as a whole is not looked into."""
    (finding,) = run_checks(make_setup({"hooksConfig": {"log": ["level"]}}))
    assert (finding.rule, finding.problem.path) == ("settings", "hooksConfig.log")


def test_options_of_a_project_are_told_once(project: Path) -> None:
    """An option that does not count there is not looked into; one that is none is told as such."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"hooksConfig": {"log": {"level": 5}, "colour": "red"}}))
    found = [(finding.rule, finding.problem.path) for finding in run_checks(read_setup(Config(project)))]
    assert found == [("settings", "hooksConfig.log"), ("unknown-key", "hooksConfig.colour")]


def test_each_alternative_is_looked_at(make_setup: MakeSetup) -> None:
    """A wildcard beside a word does not hide that the word matches nothing."""
    found = run_checks(make_setup(on("BeforeTool", matcher="write_*|Bash")))
    assert [finding.rule for finding in found] == ["matcher-wildcard", "matcher-no-tool"]


def test_a_shared_matcher_is_told_once(make_setup: MakeSetup) -> None:
    """Two hooks of a group have one matcher, and one finding about it."""
    (finding,) = run_checks(make_setup(on("BeforeTool", hook("true"), hook("echo"), matcher="Write")))
    assert finding.rule == "matcher-no-tool"


def test_an_option_that_may_be_a_bool_has_no_keys_then(make_setup: MakeSetup) -> None:
    assert list(run_checks(make_setup({"enableHooks": True, "hooksConfig": {"warm": False}}))) == []


def test_tools_can_be_added(make_setup: MakeSetup) -> None:
    """A tool that the agent has is known when it is named."""
    assert list(run_checks(make_setup(on("BeforeTool", matcher="^frobnicate$"), tools=("frobnicate",)))) == []


def test_places_are_lines_and_columns(make_setup: MakeSetup) -> None:
    """A finding stands where the value stands."""
    (finding,) = run_checks(make_setup(on("BeforeTool", hook(timeout=5))))
    file = Path(finding.problem.origin)
    line = file.read_text().splitlines()[(finding.problem.line or 0) - 1]
    assert line[(finding.problem.column or 0) - 1 :].startswith("5")


def test_hooks_of_an_extension_have_a_place(make_setup: MakeSetup) -> None:
    """The settings file that brings an extension is where its hooks are mended."""
    extension = {"name": "lint", **on("BeforeTool", hook(timeout=5))}
    (finding,) = run_checks(make_setup({"extensions": [extension]}))
    assert finding.problem.path == "extensions[0].hooks.BeforeTool[0].hooks[0].timeout"
    assert finding.problem.line is not None


@pytest.mark.parametrize(
    ("settings", "path", "message"),
    [
        pytest.param(
            on("BeforeTool"), "hooks", 'do not run: hooks are off by default; add "enableHooks": true', id="unsaid"
        ),
        pytest.param(
            {"enableHooks": False, **on("BeforeTool")},
            "enableHooks",
            "is false, so no hook runs; write true to enable hooks",
            id="false",
        ),
    ],
)
def test_hooks_that_are_not_enabled_are_told(
    settings: dict[str, Any], path: str, message: str, make_setup: MakeSetup
) -> None:
    """Hooks without `enableHooks` are surely meant to run."""
    (finding,) = run_checks(make_setup(settings, enable=False))
    assert (finding.rule, finding.problem.path, finding.problem.message) == ("not-enabled", path, message)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(on("PreToolUse"), id="unknown-event"),
        pytest.param(on("BeforeTool", {"command": "true"}), id="unusable-hook"),
    ],
)
def test_hooks_that_cannot_be_used_are_told_to_be_off_too(settings: dict[str, Any], make_setup: MakeSetup) -> None:
    """Who mends them learns at once that they would not run even then."""
    found = [(finding.rule, finding.problem.path) for finding in run_checks(make_setup(settings, enable=False))]
    assert found[1:] == [("not-enabled", "hooks")]


@pytest.mark.parametrize("settings", [{}, {"hooks": {"PreToolUse": []}}, on("BeforeTool", hook(enabled=False))])
def test_without_hooks_nothing_is_off(settings: dict[str, Any], make_setup: MakeSetup) -> None:
    """Where nothing would run anyway, nobody is told to switch it on."""
    assert "not-enabled" not in [finding.rule for finding in run_checks(make_setup(settings, enable=False))]


def test_a_duplicate_names_the_hook_that_runs(make_setup: MakeSetup) -> None:
    """Of two hooks with one command the first runs, and the second is told, whichever file it is in."""
    setup = make_setup(on("BeforeTool", matcher="^write_file$|^replace$"), on("BeforeTool", matcher="^replace$"))
    (finding,) = run_checks(setup)
    first, second = (layer.origin for layer in setup.layers)
    assert (finding.rule, finding.problem.origin) == ("duplicate", second)
    assert finding.problem.message == (
        f"never runs (duplicate: the same command already runs from {first}: hooks.BeforeTool[0].hooks[0]); "
        "remove one of the two"
    )


def test_a_duplicate_is_found_for_tools_that_nobody_knows(make_setup: MakeSetup) -> None:
    """`check` and `list` agree, because both look at the same plans."""
    setup = make_setup(on("BeforeTool", matcher="^mcp__a_[a-z]+"), on("BeforeTool", matcher="^mcp__a_[a-z]+"))
    assert [finding.rule for finding in run_checks(setup)] == ["duplicate"]


def test_hooks_without_duplicates_need_one_plan(make_setup: MakeSetup) -> None:
    """A plan for each of a thousand matchers would take seconds."""
    groups = [{"matcher": f"^tool_{index}$", "hooks": [hook(f"true {index}")]} for index in range(3)]
    assert len(plans_of(HookEventName.BEFORE_TOOL, make_setup({"hooks": {"BeforeTool": groups}}))) == 1


def test_a_user_may_disable_hooks_of_other_projects(own_home: Path, project: Path) -> None:
    """A name in the user's file that no hook has here is told only when it looks misspelt."""
    file = own_home / ".llxprt" / "settings.json"
    file.parent.mkdir()
    options = {"disabled": ["elsewhere", "gaurd"]}
    file.write_text(json.dumps({"enableHooks": True, **on("BeforeTool", hook(name="guard")), "hooksConfig": options}))
    found = [finding.problem.path for finding in run_checks(read_setup(Config(project)))]
    assert found == ["hooksConfig.disabled[1]"]


def test_a_later_script_is_read_for_decisions(make_setup: MakeSetup, hook_script: Callable[..., Path]) -> None:
    """What a script prints decides whether it can erase a block, not what its command line says."""
    script = hook_script(DECIDES)
    findings = run_checks(make_setup(on("BeforeModel", hook("exit 2"), hook(str(script)))))
    assert [finding.rule for finding in findings] == ["erased-block"]


@pytest.mark.parametrize(
    "command",
    [
        'name=x; echo "$name"',
        "for each in a b; do echo $each; done",
        "jq -r .cwd | while read -r line; do echo $line; done",
        "echo ${NO_SUCH:-none} ${NO_SUCH-none} ${NO_SUCH:+x} ${NO_SUCH:?must be set}",
        "echo '$NO_SUCH' \\$NO_SUCH",
        "awk '{print $NF}'",
        "echo $PATH $HOME $PWD $$ $? $1 $CLAUDE_PROJECT_DIR ${LLXPRT_PROJECT_DIR}/x $RANDOM",
        "echo $OWN",
    ],
)
def test_variables_that_have_a_value_are_fine(command: str, make_setup: MakeSetup) -> None:
    """The command itself, the shell, the environment or the hook's env sets them, or there is a default."""
    found = run_checks(make_setup(on("BeforeTool", hook(command, env={"OWN": "1"}))))
    assert [finding.problem.message for finding in found if finding.rule == "unset-variable"] == []


def test_a_variable_of_a_header_that_is_allowed_and_not_set(
    make_setup: MakeSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is then asked with an empty value, and hardly lets the hook in."""
    monkeypatch.setenv("GUARD_USER", "me")
    monkeypatch.delenv("GUARD_TOKEN", raising=False)
    headers = {"Authorization": "Bearer ${GUARD_TOKEN}", "X-User": "$GUARD_USER", "X-Key": "$GUARD_KEY"}
    ask = {"type": "http", "url": "http://127.0.0.1:1/", "headers": headers, "env": {"GUARD_KEY": "x"}}
    allowed = ["GUARD_TOKEN", "GUARD_USER", "GUARD_KEY", "GUARD_UNUSED"]
    (finding,) = run_checks(make_setup(on("BeforeTool", {**ask, "allowedEnvVars": allowed})))
    assert (finding.rule, finding.problem.path) == ("unset-variable", "hooks.BeforeTool[0].hooks[0].headers")
    assert finding.problem.message == (
        "use $GUARD_TOKEN, which is not set here, so it is empty; set it where the agent is started, or in"
        ' "env" of this hook'
    )


def test_a_worker_whose_program_is_missing_is_not_called_none(make_setup: MakeSetup) -> None:
    """Nobody knows what its program says; that it is missing is reported."""
    found = run_checks(make_setup(on("BeforeTool", hook("./none.py", worker=True))))
    assert [finding.rule for finding in found] == ["program"]


def test_a_variable_that_hooks_do_not_inherit_is_unset(make_setup: MakeSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set in the environment of the agent, and kept from its hooks."""
    monkeypatch.setenv("MY_TOKEN", "1")
    settings = {"hooksConfig": {"environment": {"deny": ["*_TOKEN"]}}, **on("BeforeTool", hook("echo $MY_TOKEN"))}
    (finding,) = run_checks(make_setup(settings))
    assert finding.problem.message.startswith(
        "uses $MY_TOKEN, which is not set here for hooks (hooksConfig.environment)"
    )
