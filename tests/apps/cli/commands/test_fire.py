import io
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main

INPUT = '{"tool_name": "write_file", "tool_input": {"file_path": "a.txt"}}'

Settings = Callable[..., str]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Writes a settings file with BeforeTool hooks of these commands, and returns its path."""

    def write(*commands: str, **more: Any) -> str:
        hooks = [{"type": "command", "command": command} for command in commands]
        path = tmp_path / "given.json"
        path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}, **more}))
        return str(path)

    return write


def says(answer: object) -> str:
    return f"echo '{json.dumps(answer)}'"


def fire(*options: str) -> int:
    return main(["fire", "BeforeTool", "--input", INPUT, *options])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_a_path_with_a_space_is_to_be_quoted(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint of `check` is printed after the first try."""
    script = tmp_path / "my hooks" / "guard.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    assert fire("--settings", settings(str(script)), "--project", str(tmp_path)) == 0
    assert f"has a space in it, so only {tmp_path}/my is taken; quote it: '{script}'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("exit 2", "it gave no reason; write one to stderr, so that the model and you know what to do instead"),
        (
            "sleep 60",
            (
                'it timed out after 20ms; such a hook has no effect; give it more time ("timeout" is in milliseconds),'
                ' or make it faster; with "onError": "block" it would block'
            ),
        ),
    ],
)
def test_what_to_do_about_a_run_is_said(
    command: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = {"type": "command", "command": command, "timeout": 20 if "sleep" in command else 60_000}
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    fire("--settings", str(file))
    assert f"    note: {note}\n" in capsys.readouterr().out


def test_a_problem_of_the_settings_is_said_once(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert fire("--settings", settings("true", enableHooks="yes", use="x")) == 0
    printed = capsys.readouterr()
    assert (printed.out + printed.err).count("enableHooks is neither true nor false") == 1
    assert (printed.out + printed.err).count("expected an array of packs") == 1


def test_json_has_every_key_of_the_contract(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints one object with everything that happened."""
    assert fire("--settings", settings("echo fine"), "--json") == 0
    report = told(capsys)
    assert list(report) == [
        "event",
        "plan",
        "results",
        "aggregated",
        "processed",
        "verdict",
        "outcome",
        "effect",
        "provenance",
        "log",
    ]
    assert report["plan"]["hooks"][0]["source"] == "project"
    assert report["results"][0]["output"] == {"decision": "allow", "systemMessage": "fine"}


def test_a_block_is_exit_code_2(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A script reads the hooks' decision from the exit code."""
    assert fire("--settings", settings("echo no >&2; exit 2"), "--json") == 2
    assert told(capsys)["verdict"] == {"blocked": True, "reason": "no"}


def test_a_block_that_cannot_block_is_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code stands for the agent's action, and the event proceeds; the answer is shown as it is."""
    hooks = [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"AfterTool": hooks}}))
    options = ["fire", "AfterTool", "--settings", str(path), "--input", '{"tool_name": "ls"}']
    assert main(options) == 0
    assert "Allowed, because the tool has run; the model reads the reason: no\n" in capsys.readouterr().out
    assert main([*options, "--json"]) == 0
    report = told(capsys)
    assert report["verdict"] == {"blocked": True, "reason": "no"}
    assert report["outcome"] == {"blocked": False, "stopped": False, "ask": False, "reason": "no"}


@pytest.mark.parametrize(
    ("event", "answer", "code", "lines"),
    [
        pytest.param(
            "AfterModel",
            {"decision": "deny", "reason": "no"},
            0,
            ["Allowed, because a block has no effect on AfterModel: no"],
            id="block-after-the-model",
        ),
        pytest.param(
            "BeforeTool",
            {"decision": "deny", "reason": "no", "hookSpecificOutput": {"additionalContext": "lost"}},
            2,
            ["Blocked: no"],
            id="context-of-a-blocked-tool",
        ),
        pytest.param(
            "BeforeTool",
            {"decision": "deny", "reason": "no\nBlocked: forged"},
            2,
            ["Blocked: no", "  Blocked: forged"],
            id="reason-of-several-lines",
        ),
        pytest.param("BeforeTool", {"suppressOutput": True}, 0, ["Allowed."], id="no-result-to-hide-yet"),
        pytest.param(
            "AfterTool",
            {"suppressOutput": True},
            0,
            ["Allowed.", "The result is not shown to the user."],
            id="hidden-result",
        ),
        pytest.param(
            "AfterTool", {"continue": False, "stopReason": "done"}, 0, ["Stopped: done"], id="stop-afterwards"
        ),
        pytest.param(
            "BeforeToolSelection",
            {"continue": False, "stopReason": "done", "hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}},
            2,
            ["Stopped: done"],
            id="tools-of-a-model-that-is-not-called",
        ),
        pytest.param("BeforeTool", {"decision": "ask", "reason": "sure?"}, 0, ["Asked: sure?"], id="question"),
        pytest.param("BeforeAgent", {"decision": "deny", "reason": "no"}, 2, ["Blocked: no"], id="blocked-prompt"),
        pytest.param(
            "BeforeAgent",
            {"hookSpecificOutput": {"prompt": "other", "additionalContext": "c"}},
            0,
            ["Allowed, rewritten.", "    added for the model:", "      c", "    rewritten prompt:", '      "other"'],
            id="another-prompt",
        ),
        pytest.param(
            "AfterAgent",
            {"decision": "block", "reason": "test it"},
            0,
            ["Blocked, so the agent continues its turn: test it"],
            id="go-on",
        ),
        pytest.param(
            "AfterAgent",
            {"decision": "block", "reason": "test it", "continue": False},
            0,
            ["Stopped: test it"],
            id="stop-beside-a-block",
        ),
        pytest.param(
            "SessionStart",
            {"decision": "block", "reason": "no"},
            0,
            ["Allowed, because a block has no effect on SessionStart: no"],
            id="block-at-the-start",
        ),
        pytest.param("PreCompress", {"decision": "block", "reason": "no"}, 2, ["Blocked: no"], id="no-compression"),
    ],
)
def test_people_are_told_what_the_agent_does(
    event: str,
    answer: dict[str, Any],
    code: int,
    lines: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The last lines and the exit code say what happens, and nothing that the agent does not do."""
    hooks = [{"hooks": [{"type": "command", "command": says(answer)}]}]
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"enableHooks": True, "hooks": {event: hooks}, "hooksConfig": {"lifecycle": "apply"}}))
    fields = '{"tool_name": "ls", "prompt": "go", "source": "startup", "trigger": "auto"}'
    assert main(["fire", event, "--settings", str(path), "--input", fields]) == code
    assert capsys.readouterr().out.rpartition("\n\n")[2].splitlines() == lines


def test_a_stop_before_the_tool_is_a_block(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A stop refuses the tool: exit code 2, and the text says that the agent stops."""
    stop = says({"continue": False, "stopReason": "enough"})
    assert fire("--settings", settings(stop), "--json") == 2
    assert told(capsys)["outcome"] == {
        "blocked": True,
        "stopped": True,
        "ask": False,
        "reason": "enough",
    }
    assert fire("--settings", settings(stop)) == 2
    assert "Stopped: enough\n" in capsys.readouterr().out


def test_programs_learn_that_the_agent_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The outcome is shown only where it has an effect; nothing is blocked by it."""
    path = tmp_path / "given.json"
    hooks = [{"hooks": [{"type": "command", "command": "echo more >&2; exit 2"}]}]
    for lifecycle, goes_on in (("apply", {"continues": True}), ("watch", {})):
        options = {"lifecycle": lifecycle}
        path.write_text(json.dumps({"enableHooks": True, "hooks": {"AfterAgent": hooks}, "hooksConfig": options}))
        assert main(["fire", "AfterAgent", "--settings", str(path), "--json"]) == 0
        report = told(capsys)
        assert report["outcome"] == {"blocked": False, "stopped": False, "ask": False, "reason": "more", **goes_on}
        assert report["plan"]["hooks"][0].get("applied", True) is (lifecycle == "apply")


def test_an_empty_list_of_tools_allows_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`allowedFunctionNames: []` is shown as what the agent makes of it: no tool can be called."""
    answer = says({"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": []}}})
    path = tmp_path / "given.json"
    hooks = [{"hooks": [{"type": "command", "command": answer}]}]
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeToolSelection": hooks}}))
    main(["fire", "BeforeToolSelection", "--settings", str(path), "--input", '{"llm_request": {}}'])
    assert "The model may call no tool." in capsys.readouterr().out


@pytest.mark.parametrize("command", ["echo hi", says({"continue": False, "stopReason": "no"}), "exit 2"])
def test_hooks_that_only_watch_do_nothing(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an effect on the agent, the output mentions none."""
    path = tmp_path / "given.json"
    hooks = [{"hooks": [{"type": "command", "command": command}]}]
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"SessionStart": hooks}}))
    main(["fire", "SessionStart", "--settings", str(path), "--input", '{"source": "startup"}'])
    assert capsys.readouterr().out.endswith(
        "Allowed: what SessionStart hooks answer is not applied;"
        ' write "hooksConfig": {"lifecycle": "apply"} into your user settings to apply it.\n'
    )
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"SessionEnd": hooks}}))
    main(["fire", "SessionEnd", "--settings", str(path), "--input", '{"reason": "exit"}'])
    assert capsys.readouterr().out.endswith(
        "Allowed: SessionEnd hooks only watch, and their answers are not applied.\n"
    )


def test_an_input_without_a_tool_is_told(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """With a misspelt field every matcher would seem to match; a program that asks for JSON is left alone."""
    words = ["fire", "BeforeTool", "--settings", settings("true"), "--input", '{"tool_nam": "ls"}']
    for more, said in (
        ([], "hookline: --input has no tool_name, so every matcher counts as a match\n"),
        (["--json"], ""),
    ):
        assert main([*words, *more]) == 0
        assert capsys.readouterr().err == said


def test_advice_is_shown_beside_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages for the log are also printed for a user who tries the hook, each once."""
    path = tmp_path / "given.json"
    answer = {"decision": "DENY", "hookSpecificOutput": {"tool_input": {}}}
    hooks = [{"hooks": [{"type": "command", "command": says(answer), "name": "redact"}]}]
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"AfterTool": hooks}}))
    main(["fire", "AfterTool", "--settings", str(path), "--input", '{"tool_name": "ls"}'])
    notes = [line.strip() for line in capsys.readouterr().out.splitlines() if "note:" in line]
    reads = "additionalContext, tool_output, updatedToolOutput"
    assert notes == [
        "note: decision 'DENY' is not one of block, deny, allow, approve, ask; nothing was decided",
        f"note: hookSpecificOutput.tool_input changes nothing; this event reads {reads}",
    ]


@pytest.mark.parametrize(
    ("answer", "effect"),
    [
        pytest.param(
            {"hookSpecificOutput": {"tool_input": {"content": "x"}}},
            {"tool_input": {"file_path": "a.txt", "content": "x"}},
            id="rewritten",
        ),
        pytest.param({}, None, id="nothing-said"),
        pytest.param({"hookSpecificOutput": {"tool_input": {"file_path": "a.txt"}}}, None, id="nothing-changed"),
        pytest.param(
            {"decision": "block", "hookSpecificOutput": {"tool_input": {"content": "x"}}}, None, id="blocked-anyway"
        ),
    ],
)
def test_the_effect_is_what_the_caller_goes_on_with(
    answer: dict[str, Any], effect: Any, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """`effect` holds the changed arguments, and nothing where nothing changed."""
    fire("--settings", settings(f"echo '{json.dumps(answer)}'"), "--json")
    assert told(capsys)["effect"] == effect


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["BeforeTools"], "BeforeTools is not an event; did you mean BeforeTool?", id="unknown-event"),
        pytest.param(["BeforeTool", "--input", "{"], "--input is not JSON", id="input-not-json"),
        pytest.param(["BeforeTool", "--input", "[1]"], "--input is an array, expected an object", id="input-array"),
        pytest.param(["BeforeTool", "--input", "@no-such"], "cannot read no-such: No such file", id="input-missing"),
        pytest.param(["BeforeTool", "--settings", "no-such"], "settings file no-such does not exist", id="settings"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, one line on stderr, and nothing on stdout."""
    assert main(["fire", *options, "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_a_file_without_its_at_sign_is_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a file is given where JSON is expected, the message shows how to name it."""
    file = tmp_path / "input.json"
    file.write_text(INPUT)
    assert main(["fire", "BeforeTool", "--input", str(file)]) == 1
    assert capsys.readouterr().err.endswith(f"; for the file of that name: --input @{file}\n")
    assert main(["fire", "BeforeTool", "--input", "x" * 5000]) == 1
    assert "--input @" not in capsys.readouterr().err


def test_a_named_settings_file_that_is_not_json_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that was named must be usable; the message says where it is not."""
    broken = tmp_path / "broken.json"
    broken.write_text('{\n  "enableHooks": tru\n}')
    assert fire("--settings", str(broken)) == 1
    assert f"{broken}:2:18: is not JSON" in capsys.readouterr().err


def test_the_input_can_come_from_stdin(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--input -` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INPUT.encode())))
    assert main(["fire", "BeforeTool", "--input", "-", "--settings", settings("cat"), "--json"]) == 0
    assert json.loads(told(capsys)["results"][0]["stdout"])["tool_name"] == "write_file"


def test_several_settings_files_keep_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first file named has the highest priority."""
    files = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.json"
        hooks = [{"type": "command", "command": f"echo {name}"}]
        path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}))
        files += ["--settings", str(path)]
    fire(*files, "--json")
    assert [hook["command"] for hook in told(capsys)["plan"]["hooks"]] == ["echo one", "echo two"]


def test_disabled_hooks_are_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output explains why nothing runs."""
    path = tmp_path / "off.json"
    path.write_text("{}")
    assert fire("--settings", str(path)) == 0
    assert "Hooks are disabled" in capsys.readouterr().out


def test_a_missing_project_is_a_failure_of_each_hook(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A project that is not there is not bad usage: the hooks fail, with an error each."""
    assert fire("--settings", settings("echo a", "echo b"), "--project", "/no/such/place", "--json") == 0
    report = told(capsys)
    assert len(report["aggregated"]["errors"]) == 2
    assert all(result["error"] for result in report["results"])


def test_untrusted_project_hooks_are_not_run_and_said_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project's own settings file needs trust; the message names the command that gives it."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    hooks = [{"type": "command", "command": f"touch {project}/ran"}]
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}))
    assert fire("--project", str(project)) == 0
    printed = capsys.readouterr()
    assert not (project / "ran").exists()
    assert (printed.out + printed.err).count("hooks of a project need trust; look at it and run: hookline trust") == 1


def test_secrets_are_redacted_in_the_log(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """`hooksConfig.redact` keeps the values of matching names out of the log records."""
    path = settings("cat >/dev/null", hooksConfig={"redact": ["password"]})
    given = '{"tool_name": "login", "tool_input": {"password": "hunter22"}}'
    main(["fire", "BeforeTool", "--input", given, "--settings", path, "--json"])
    log = json.dumps(told(capsys)["log"])
    assert "hunter22" not in log
    assert "[redacted]" in log


def test_people_see_each_hook_and_what_comes_of_it(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--json` the plan, each hook's output and the verdict are shown."""
    answer = json.dumps({"hookSpecificOutput": {"tool_input": {"content": "new"}}, "systemMessage": "careful"})
    assert fire("--settings", settings(f"echo '{answer}'", "echo oops >&2; exit 3")) == 0
    printed = capsys.readouterr().out
    for text in ("2 hooks, at the same time", "exit 3", "oops", "Allowed, rewritten.", "careful", '"content": "new"'):
        assert text in printed
    assert "\x1b[" not in printed


def test_a_terminal_gets_colour(settings: Settings) -> None:
    """On a real terminal the output is coloured, and with NO_COLOR it is not."""
    command = [sys.executable, "-m", "hookline", "fire", "BeforeTool", "--settings", settings("exit 2")]
    coloured = on_terminal(command, {})
    plain = on_terminal(command, {"NO_COLOR": "1"})
    assert b"\x1b[31mBlocked" in coloured
    assert b"\x1b[" not in plain
    assert b"Blocked" in plain


def on_terminal(command: list[str], environ: dict[str, str]) -> bytes:
    """Return the output of a command on a pseudo-terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environ}
    child = subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL, env=env)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the terminal's other side is closed
        pass
    os.close(ours)
    child.wait(timeout=45)
    return shown


def test_facts_are_the_engines(settings: Settings, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recorded input that is fired again elsewhere does not say where hooks run, or in which session."""
    recorded = {"tool_name": "ls", "cwd": "/gone", "session_id": "old", "hook_event_name": "AfterTool"}
    options = ["--project", str(project), "--session-id", "new", "--json", "--input", json.dumps(recorded)]
    assert main(["fire", "BeforeTool", "--settings", settings("cat >&2; exit 2"), *options]) == 2
    heard = json.loads(told(capsys)["results"][0]["stderr"])
    assert (heard["cwd"], heard["session_id"], heard["hook_event_name"]) == (str(project), "new", "BeforeTool")


def test_a_strangers_name_does_not_act_on_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither where it is warned of, nor in the report."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    hook = {"type": "command", "command": "exit 2", "name": "g\x1b[2J\ud800\nfake"}
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    assert fire("--project", str(project)) == 0
    printed = capsys.readouterr()
    assert "\x1b[2J" not in printed.out + printed.err
    assert "not run: g\\x1b[2J\\ud800 fake: untrusted" in printed.out


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("exit 1", "note: it exited with code 1, which blocks nothing; to block, exit with 2"),
        (
            "echo Blocked >&2",
            "note: it wrote to stderr (Blocked) and exited with code 0, which blocks nothing; exit with 2",
        ),
        ("echo 'not that' >&2; exit 2", None),
        ("true", None),
    ],
)
def test_fire_has_the_hints_of_check(
    command: str, note: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A guard that is tried by hand reports why it blocks nothing."""
    file = tmp_path / "hooks.json"
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    main(["fire", "BeforeTool", "--settings", str(file)])
    printed = capsys.readouterr().out
    assert (note in printed) if note else ("note:" not in printed)


def test_a_word_that_switches_nothing_off_is_reported(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody wants something else than what happens."""
    monkeypatch.setenv("HOOKLINE_CHILD", "colder")
    assert fire("--settings", settings("true")) == 0
    said = "HOOKLINE_CHILD has 'colder', which is not one of threads, shell, cold"
    assert capsys.readouterr().err.count(said) == 1


def test_a_worker_that_is_started_for_one_event_is_noticed(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that it is ready, and everything passes."""
    path = settings("""echo '{"ready": true}'; while read -r line; do echo "$line"; done""")
    assert main(["fire", "BeforeTool", "--settings", path, "--input", INPUT]) == 0
    note = 'this program is a worker, and decides nothing when it is started for one event; add "worker": true'
    assert f"    note: {note}\n" in capsys.readouterr().out


def test_a_signal_at_the_end_of_a_command_prints_no_traceback(tmp_path: Path) -> None:
    """The command still ends what runs in the background, and does so however often SIGTERM arrives."""
    hook = {"type": "command", "command": "sleep 60", "async": True, "dialect": "claude"}
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    command = [sys.executable, "-m", "hookline", "fire", "BeforeTool", "--settings", str(path), "--input", INPUT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        assert started.stdout is not None
        printed = "".join(iter(started.stdout.readline, "Allowed.\n"))
        while started.poll() is None:
            started.terminate()
            time.sleep(0.05)
        printed += started.stdout.read()
    assert "Traceback" not in printed
