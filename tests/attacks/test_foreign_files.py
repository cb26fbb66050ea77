"""Untrusted files that take very long to read: settings of other agents, case files, transcripts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.dialects.transcripts.lines import json_lines
from hookline.errors import HooklineError
from hookline.settings.read import toml
from hookline.settings.read.files import read_file
from hookline.testing.cases.read import CaseFileError, read_text

GUARD = {"BeforeTool": [{"hooks": [{"type": "command", "command": "echo not that >&2; exit 2"}]}]}
QUESTION = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
# Each takes minutes or hours where keys are not counted first.
SLOW = {
    "key": "a." * 100_000 + "b=1",
    "table": "[" + "a." * 100_000 + "b]",
    "list of tables": "[[" + "a." * 100_000 + "b]]",
    "inline table": "x={" + "a." * 100_000 + "b=1}",
    "quoted parts": '"a".' * 50_000 + "b=1",
    "blanks": "a . " * 50_000 + "b=1",
    "behind a text": 'x="""#\n"""\n' + "a." * 100_000 + "b=1",
    "behind a comment": '# \' """\n' + "a." * 100_000 + "b=1",
    "nesting": "x=" + "[" * 100_000,
}


@pytest.mark.attack("30.F4", "TOML that takes quadratic time: keys of many parts, in every place of the grammar")
@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_slow_toml_is_refused(text: str) -> None:
    """Before it is parsed."""
    with pytest.raises(ValueError, match=r"parts|nested"):
        toml.parse(text)


def test_ordinary_toml_is_read() -> None:
    """Dots in texts, comments and numbers don't separate parts of a key."""
    text = f"""
    a = "{"x." * 50}"  # {"y." * 50}
    b = [{"1.5, " * 50}]
    c.d.e.'f.g'."h.i" = '''{"'z'." * 50}'''
    [hooks.state."/home/x/.codex/hooks.json:pre_tool_use:0:0"]
    trusted_hash = "sha256:1.2"
    """
    parsed = toml.parse(text)
    assert parsed["c"]["d"]["e"]["f.g"]["h.i"].startswith("'z'.")
    assert len(parsed["b"]) == 50


@pytest.mark.attack("30.F4", "a project's .codex/config.toml that takes hours to parse, with dialects: codex")
@pytest.mark.parametrize("text", ["a." * 100_000 + "b=1", "a." * 400_000 + "b=1"], ids=["slow", "large"])
def test_guards_answer_beside_a_slow_file(tmp_path: Path, hookline_home: Path, text: str) -> None:
    """The file is named, and never read as empty; the user's guard decides, and the bridge denies."""
    project = tmp_path / "project"
    (project / ".codex").mkdir(parents=True)
    (project / ".codex/config.toml").write_text(text)
    user = hookline_home / ".llxprt/settings.json"
    user.parent.mkdir(parents=True, exist_ok=True)
    user.write_text(json.dumps({"enableHooks": True, "hooks": GUARD, "hooksConfig": {"dialects": ["codex"]}}))
    fired = warm.run(["fire", "BeforeTool", "--input", '{"tool_name":"t","tool_input":{}}'], cwd=project)
    assert "not that" in fired.stdout
    assert ".codex/config.toml" in fired.stderr
    asked = json.dumps({**QUESTION, "cwd": str(project)})
    got = warm.run(["hook", "claude", "PreToolUse", "--no-serve"], stdin=asked, cwd=project)
    assert (got.returncode, ".codex/config.toml" in got.stderr) == (2, True)


@pytest.mark.attack("30.F4", "a case file that takes hours to parse, or to report")
@pytest.mark.parametrize(
    "text",
    [
        SLOW["key"],
        "".join(f"k{number}=1\n" for number in range(20_000)),
        "[[case]]\nfoo=1\n" * 10_000,
        '[[case]]\nexpect="nope"\n' * 10_000,
    ],
    ids=["key", "keys", "tables", "outcomes"],
)
def test_a_slow_case_file_is_refused(text: str) -> None:
    """With its name, and with few problems."""
    with pytest.raises(CaseFileError) as caught:
        read_text(text, "x.hooks.toml")
    assert len(caught.value.problems) <= 22
    assert caught.value.problems[0].startswith("x.hooks.toml")


@pytest.mark.attack("30.F4", "an agent's file or transcript that is a FIFO, a device or too large")
@pytest.mark.parametrize("name", ["config.toml", "settings.json"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    """It is named; reading it neither waits nor ends in an empty file."""
    pipe, large, device = tmp_path / "pipe" / name, tmp_path / "large" / name, tmp_path / "device" / name
    for path in (pipe, large, device):
        path.parent.mkdir()
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    large.write_text(" " * ((4 << 20) + 1))
    for path in (pipe, large, device):
        with pytest.raises(HooklineError, match=str(path)):
            read_file(path)
    for path in (pipe, device):
        with pytest.raises(OSError, match="not a regular file"):
            next(json_lines(path))


# A file system that does not answer: opening any settings file takes for ever, in the thread of the event loop.
_HANGING = """
import sys, time
def hang(event, arguments):
    if event == "open" and str(arguments[0]).endswith("settings.json"):
        while True:
            time.sleep(0.01)
sys.addaudithook(hang)
from hookline.apps.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.attack("30.F4", "a settings file whose reading never ends: the deadline passes before any hook runs")
@pytest.mark.parametrize(
    ("agent", "event", "expected"),
    [
        ("claude", "PreToolUse", (2, "")),
        ("codex", "PreToolUse", (2, "")),
        ("copilot", "preToolUse", (0, "deny")),
    ],
)
def test_a_deadline_that_passes_is_a_deny(agent: str, event: str, expected: tuple[int, str]) -> None:
    """Whatever holds up the bridge, the agent gets a denial in its own format."""
    asked: dict[str, Any] = {**QUESTION, "toolName": "bash", "toolArgs": {"command": "ls"}}
    got = subprocess.run(
        [sys.executable, "-c", _HANGING, "hook", agent, event, "--no-serve", "--deadline", "0.2"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    code, word = expected
    assert (got.returncode, word in got.stdout) == (code, True)
    assert "did not answer within 0.2 s" in got.stderr


@pytest.mark.attack("30.F4", "a question on stdin that does not end: the bridge would wait for it past the deadline")
@pytest.mark.parametrize("words", [("claude", "PreToolUse"), ("claude",), ("copilot", "preToolUse")])
def test_stdin_that_does_not_end_is_a_deny(words: tuple[str, ...]) -> None:
    """The deadline counts from the start of the command, as the agent's own timeout does."""
    command = [sys.executable, "-m", "hookline", "hook", *words, "--no-serve", "--deadline=0.2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"hook_event_name": ')
        process.stdin.flush()
        try:
            code = process.wait(30)
        finally:
            process.kill()
        assert process.stdout is not None
        assert process.stderr is not None
        stdout, stderr = process.stdout.read().decode(), process.stderr.read().decode()
    assert (code, "deny" in stdout) == ((0, True) if words[0] == "copilot" else (2, False))
    assert "did not answer within 0.2 s" in stderr
