import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hookline.apps.cli.main import main
from hookline.client.config import Config
from hookline.inspect.lint.guards import missing_in
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.verdict import HookExecutionResult
from hookline.settings.trust.store import TrustStore, default_trust_path

OnTerminal = Callable[..., str]

# The part of the SARIF 2.1.0 schema that hookline's runs use; the standard's file is 180 kB and can't be copied.
SARIF_SHAPE = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"type": "object", "required": ["id", "shortDescription"]},
                                    }
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
                            "properties": {
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"]},
                                "locations": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["physicalLocation"],
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "region": {
                                                        "type": "object",
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                        },
                                                    }
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}

WARNED = {"hooks": {"BeforeTool": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}
BROKEN = {"hooks": {"BeforeTool": [{"hooks": [{"command": "true"}]}]}}
GOOD = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}}


@pytest.fixture(autouse=True)
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is run from the project's directory."""
    monkeypatch.chdir(project)


def write(project: Path, settings: dict[str, Any]) -> Path:
    path = project / ".llxprt" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"enableHooks": True, **settings}, indent=2))
    hooks = [hook for hook in Config(project, quiet=True).get_settings().hooks if hook.needs_trust]
    TrustStore(default_trust_path()).trust(hooks, str(project))
    return path


@pytest.mark.parametrize(
    ("settings", "options", "code"),
    [
        pytest.param(GOOD, [], 0, id="good"),
        pytest.param(WARNED, [], 0, id="warned"),
        pytest.param(WARNED, ["--strict"], 1, id="warned-strictly"),
        pytest.param(WARNED, ["--strict", "--tool", "Bash"], 0, id="known-tool"),
        pytest.param(BROKEN, [], 1, id="broken"),
        pytest.param(BROKEN, ["--json"], 1, id="broken-json"),
        pytest.param(BROKEN, ["--sarif"], 1, id="broken-sarif"),
    ],
)
def test_errors_fail_and_warnings_do_when_they_should(
    settings: dict[str, Any], options: list[str], code: int, project: Path
) -> None:
    """The exit code is for CI."""
    write(project, settings)
    assert main(["check", *options]) == code


def test_people_read_place_level_rule_and_advice(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors come first; files below this directory are named in short."""
    write(project, {"hooks": WARNED["hooks"] | {"AfterTool": BROKEN["hooks"]["BeforeTool"]}})
    main(["check"])
    assert capsys.readouterr().out == (
        ".llxprt/settings.json:18:11: error [settings]\n"
        '    hooks.AfterTool[0].hooks[0] has no type; add "type": "command"; it does not run\n'
        ".llxprt/settings.json:6:20: warning [matcher-no-tool]\n"
        "    hooks.BeforeTool[0].matcher has 'Bash', which matches no known tool; if this hook was written for Claude "
        'Code, add "dialect": "claude" to it, else write run_shell_command\n'
        "\n"
        "1 error, 1 warning (1 hook in 1 file)\n"
    )


def test_matchers_of_untrusted_hooks_are_not_looked_at(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An untrusted pattern is not compiled; with --settings FILE the user gets every check."""
    file = write(project, WARNED)
    default_trust_path().unlink()
    main(["check"])
    assert capsys.readouterr().out == (
        "1 of 1 hook in 1 file not checked, because of missing trust.\n"
        "1 hook is not trusted and does not run; look at it and run: hookline trust\n"
        "Matchers and scripts are checked when they are trusted, or with --settings FILE.\n"
    )
    main(["check", "--settings", str(file)])
    assert "[matcher-no-tool]" in capsys.readouterr().out


def test_good_settings_are_said_to_be(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Silence could mean that nothing was looked at."""
    file = write(project, GOOD)
    main(["check", "--settings", str(file)])
    assert capsys.readouterr().out == "Nothing wrong with 1 hook in 1 file.\n"


@pytest.mark.usefixtures("project")
def test_without_settings_the_places_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """For a file in the wrong place, the message names the right places."""
    assert main(["check"]) == 0
    printed = capsys.readouterr().out
    assert "(looked for .llxprt/settings.json, ~/.llxprt/settings.json, /" in printed
    assert "hookline init" in printed


def test_a_file_that_is_not_json_is_one_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The place is where reading failed."""
    write(project, {}).write_text('{\n  "enableHooks": tru\n}')
    assert main(["check"]) == 1
    assert ".llxprt/settings.json:2:18: error [settings]\n    is not JSON" in capsys.readouterr().out


def test_json_is_for_programs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding has its place, level, rule and message, in parts."""
    path = write(project, WARNED)
    main(["check", "--json"])
    assert json.loads(capsys.readouterr().out) == {
        "files": [str(path)],
        "hooks": 1,
        "untrusted": 0,
        "findings": [
            {
                "file": str(path),
                "line": 6,
                "column": 20,
                "path": "hooks.BeforeTool[0].matcher",
                "level": "warning",
                "rule": "matcher-no-tool",
                "message": (
                    "has 'Bash', which matches no known tool; if this hook was written for Claude Code, "
                    'add "dialect": "claude" to it, else write run_shell_command'
                ),
            }
        ],
        "unread": [],
    }


def test_a_comparison_in_a_script_has_the_place_of_the_script(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """File and line of the comparison, for people, for programs and for code scanning."""
    (project / "guard.sh").write_text('tool=$(jq -r .tool_name)\nif [ "$tool" = Bash ]; then exit 2; fi\n')
    hook = {"type": "command", "command": "sh ./guard.sh", "onError": "block"}
    write(project, {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    message = (
        "reads tool_name and has Bash, Claude Code's name for run_shell_command, but the hook "
        f"hooks.BeforeTool[0].hooks[0] in {project}/.llxprt/settings.json is told hookline's words; "
        'add "dialect": "claude" to this hook'
    )
    main(["check"])
    shown = message.replace(f"{project}/", "")
    assert capsys.readouterr().out.startswith(f"guard.sh:2:16: warning [other-agent]\n    {shown}\n")
    main(["check", "--json"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding == {
        "file": str(project / "guard.sh"),
        "line": 2,
        "column": 16,
        "path": "",
        "level": "warning",
        "rule": "other-agent",
        "message": message,
    }
    main(["check", "--sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        "other-agent",
        "guard.sh",
        2,
    )
    assert {"other-agent", "unset-variable", "run-dialect"} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_sarif_has_the_shape_of_the_standard(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every result points at a rule that the run declares."""
    write(project, {"hooks": WARNED["hooks"] | {"AfterTool": BROKEN["hooks"]["BeforeTool"]}})
    main(["check", "--sarif"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SARIF_SHAPE)
    (run,) = report["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == ["settings", "matcher-no-tool"]
    assert [result["ruleId"] for result in run["results"]] == ["settings", "matcher-no-tool"]


def test_a_dry_run_is_asked_for(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--run` nothing is started; with it the hooks are."""
    hooks = [{"type": "command", "command": f"touch {project}/ran; exit 1"}]
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}))
    main(["check", "--settings", str(file)])
    assert not (project / "ran").exists()
    assert "Nothing wrong" in capsys.readouterr().out
    assert main(["check", "--settings", str(file), "--run", "--strict"]) == 1
    assert (project / "ran").exists()
    assert "exited with code 1, which blocks nothing; to block, exit with 2" in capsys.readouterr().out


def test_a_dry_run_shows_evidence_and_does_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which samples, and what the hook did with each; no run is in the log, so none is in the statistics."""
    file = tmp_path / "hooks.json"
    hook = {"type": "command", "name": "guard", "command": "grep -q '[.]env' && exit 2; exit 0", "onError": "block"}
    hooks = {"BeforeTool": [{"matcher": "^read_file$", "hooks": [hook]}]}
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    main(["check", "--settings", str(file), "--run"])
    assert capsys.readouterr().out.splitlines() == [
        "BeforeTool guard, tried on 2 samples:",
        "    blocks read_file .env; lets pass 1 other",
        "",
        "Nothing wrong with 1 hook in 1 file.",
    ]
    main(["check", "--settings", str(file), "--run", "--json"])
    (evidence,) = json.loads(capsys.readouterr().out)["evidence"]
    assert (evidence["hook"], evidence["samples"]) == (
        "guard",
        [{"sample": "read_file notes.txt", "did": "lets pass"}, {"sample": "read_file .env", "did": "blocks"}],
    )
    assert not (tmp_path / "state").exists()


def test_a_dry_run_of_disabled_hooks_is_said_to_be_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a requested run does not take place, the reason is reported."""
    write(project, {**GOOD, "enableHooks": False})
    main(["check", "--run"])
    assert capsys.readouterr().err == "hookline: nothing was run, because hooks are not enabled\n"


def test_a_project_that_is_not_there_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error in `--project` is not a project without problems."""
    assert main(["check", "--project", "/no/such/place"]) == 1
    assert "/no/such/place is not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("folder", "folder is a directory; give --settings a file", id="directory"),
        pytest.param("pipe", "pipe is not a regular file; give --settings a file", id="pipe"),
        pytest.param(
            "nothing", "the settings file nothing does not exist; give --settings an existing file", id="none"
        ),
    ],
)
def test_settings_that_are_no_file_are_told(
    name: str, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Existing programs are not reported as missing."""
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe")
    assert main(["check", "--settings", name]) == 1
    assert capsys.readouterr().err == f"hookline: {said}\n"


@pytest.mark.parametrize(("columns", "lines"), [(60, 5), (250, 2)])
def test_a_terminal_gets_colour_and_fitting_lines(
    columns: int, lines: int, project: Path, on_terminal: OnTerminal
) -> None:
    """On a terminal the level is coloured, and long advice is wrapped to its width."""
    write(project, WARNED)
    shown = on_terminal("check", COLUMNS=str(columns))
    assert "\x1b[33mwarning\x1b[0m" in shown
    finding = shown.partition("\n\n")[0].splitlines()
    assert len(finding) == lines
    assert all(len(line) <= columns for line in finding[1:])


def test_no_text_of_others_reaches_the_terminal_raw(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A repository's settings can't style the report about them."""
    hook = {"type": "command", "command": "true", "\x1b[2J": 1}
    write(project, {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    main(["check"])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert r"hooks.BeforeTool[0].hooks[0].\x1b[2J is not an option of a hook" in printed


_DEAF = 'c=$(cat | jqq -r .tool_input.command); case "$c" in *rm*) exit 2;; esac'


@pytest.mark.req("CLAIM-005")
@pytest.mark.parametrize(
    ("command", "rules"),
    [
        pytest.param(_DEAF, {"run-missing", "run-passes"}, id="missing-program"),
        pytest.param("cat >/dev/null; [ -n '' ] && exit 2; exit 0", {"run-passes"}, id="lets-everything-pass"),
        pytest.param("cat >/dev/null; exit 1 # deny", {"run-exit-code"}, id="exit-1"),
        pytest.param(
            "cat >/dev/null; printf 'Traceback (most recent call last)\\nKeyError: 1\\n' >&2; exit 0 # exit 2",
            {"run-failed", "run-passes"},
            id="traceback",
        ),
        pytest.param("""cat >/dev/null; echo starting; echo '{"decision": "deny"}'""", {"run-answer"}, id="noise"),
        pytest.param("case $(cat) in *'rm -rf'*) exit 2;; esac", set(), id="good"),
        pytest.param("case $(cat) in *'push --force'*) exit 2;; esac", set(), id="good-for-something-else"),
        pytest.param("cat >/dev/null; date", set(), id="no-guard"),
    ],
)
def test_a_guard_that_protects_nothing_is_a_finding(
    command: str, rules: set[str], own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check --run` never calls it "Nothing wrong", whatever the reason is."""
    del project
    hook = {"type": "command", "command": command, "onError": "block"}
    if "run-exit-code" in rules or "date" in command:
        hook["onError"] = "allow"
        rules = {*rules, "fails-open"} if rules else rules
    write(own_home, {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}})
    main(["check", "--run", "--json"])
    assert {finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]} == rules
    assert main(["check", "--run", "--strict"]) == (1 if rules else 0)
    assert ("Nothing wrong" in capsys.readouterr().out) is not bool(rules)


@pytest.mark.req("CLAIM-005")
@pytest.mark.parametrize(("tool", "is_said"), [("mcp__db__query", True), ("run_shell_command", False)])
def test_a_guard_that_was_shown_nothing_dangerous_is_not_called_proven(
    tool: str, is_said: bool, own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For tools of which no dangerous call is known, `check --run` says that it has shown nothing."""
    del project
    hook = {"type": "command", "command": "case $(cat) in *rm*|*DROP*) exit 2;; esac", "onError": "block"}
    write(own_home, {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": tool, "hooks": [hook]}]}})
    main(["check", "--run", "--tool", tool])
    assert ("nothing shows that it denies anything" in " ".join(capsys.readouterr().out.split())) is is_said


@pytest.mark.req("CLAIM-005")
@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("bash: line 1: jq: command not found", "jq"),
        ("./guard.sh: line 3: jq: command not found", "jq"),
        ("sh: 1: jq: not found", "jq"),
        ("/x/guard.sh: 3: jq: not found", "jq"),
        ("sh: jq: not found", "jq"),
        ("zsh:1: command not found: jq", "jq"),
        ("fish: Unknown command: jq", "jq"),
        ("env: 'node': No such file or directory", "node"),
        ("/usr/bin/env: \u2018node\u2019: No such file or directory", "node"),
        ("env: node: No such file or directory", "node"),
        ("timeout: failed to run command \u2018jq\u2019: No such file or directory", "jq"),
        ("xargs: jq: No such file or directory", "jq"),
        ("bash: ./x: /usr/bin/nodee: bad interpreter: No such file or directory", "/usr/bin/nodee"),
        ("ModuleNotFoundError: No module named 'yaml'", "yaml"),
        ("/usr/bin/python3: No module named guard", "guard"),
        ("Error: Cannot find module 'semver'", "semver"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /a.mjs", "x"),
        ("Error: spawn jq ENOENT", "jq"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'jq'", "jq"),
        ("first line\nsh: 1: jq: not found\nlast line", "jq"),
        ("grep: notes.txt: No such file or directory", None),
        ("all was found", None),
        ("secret not found in file", None),
    ],
)
def test_a_missing_program_is_read_from_what_a_hook_prints(said: str, missing: str | None) -> None:
    """In the words of shells, launchers and interpreters."""
    hook = HookEntry(
        event=HookEventName.BEFORE_TOOL, run=CommandLine("x"), source=ConfigSource.USER, origin="f", location="l"
    )
    run = HookExecutionResult(hook=hook, event=hook.event, success=True, exit_code=0, stderr=said)
    assert missing_in(run) == missing


@pytest.mark.req("CLAIM-005")
def test_hooks_that_were_not_run_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With untrusted hooks of a project, `check` does not report that nothing is wrong."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    hook = {"type": "command", "command": "exit 2"}
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": "x", "hooks": [hook]}]}}))
    main(["check"])
    assert "Nothing wrong" not in capsys.readouterr().out
    main(["check", "--run", "--json"])
    found = {finding["rule"]: finding["message"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert "was not tried (untrusted" in found["run-skipped"]
