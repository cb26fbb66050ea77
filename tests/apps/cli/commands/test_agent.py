import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests import warm
from tests.patience import is_alive, until

from hookline.apps.agent.conversation.transcript import transcript_path
from hookline.apps.cli.main import main
from hookline.testing import Answer, calls, says

HookScript = Callable[..., Path]

WRITE = calls(("write_file", {"file_path": "{{CWD}}/a.txt", "content": "hi\n"}))
DONE = says("Done.")
# In one write, because hooks of two events may run at the same time.
SPY = "printf '%s\\n' \"$(cat)\" >> told.jsonl"
ENDLESS = "sleep 60 & echo $! > pid; wait"
STUBBORN = "trap 'touch asked' TERM; echo $$ > pid; while :; do sleep 0.05; done"


class Bench:
    """A project, a replay file and the command that works with both."""

    def __init__(self, folder: Path, write: HookScript) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self._folder = folder
        self._write = write
        self.settings: dict[str, Any] = {"enableHooks": False}
        self.script([WRITE], [DONE])

    def script(self, *answers: Answer) -> None:
        """Says what the model answers."""
        lines = [json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers]
        (self._folder / "replay.jsonl").write_text("\n".join(lines))

    def hooks(self, **bodies: str) -> None:
        """Says which scripts run at which events."""
        groups = {
            event: [{"hooks": [{"type": "command", "command": str(self._write(body, f"{event}.sh"))}]}]
            for event, body in bodies.items()
        }
        self.settings = {"enableHooks": True, "hooks": groups}

    def words(self, *options: str) -> list[str]:
        """The command's words, with these options."""
        settings = self._folder / "settings.json"
        settings.write_text(json.dumps(self.settings))
        given = ["--project", str(self.project), "--settings", str(settings)]
        return ["agent", *given, "--model", f"replay:{self._folder / 'replay.jsonl'}", *options]

    def run(self, *options: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs the installed command in a pipe."""
        return warm.run(self.words(*options), stdin=stdin)

    @contextmanager
    def started(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """Starts the installed command, for tests that do something to it while it runs."""
        command = [sys.executable, "-m", "hookline", *self.words(*options)]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def told(self) -> list[dict[str, Any]]:
        """Return the inputs of the spying hooks."""
        return [json.loads(line) for line in (self.project / "told.jsonl").read_text().splitlines()]

    def pid(self) -> int:
        """The process that a script has written down, as soon as it has."""
        path = self.project / "pid"
        deadline = time.monotonic() + 45
        while not (path.exists() and path.read_text().endswith("\n")):
            assert time.monotonic() < deadline, "the script was not started"
            time.sleep(0.01)
        return int(path.read_text())


@pytest.fixture
def bench(tmp_path: Path, hook_script: HookScript) -> Bench:
    """A project whose model writes a file and is done."""
    return Bench(tmp_path, hook_script)


def is_gone(pid: int) -> bool:
    """Return whether the process has ended, after a moment for its parent to reap it."""
    deadline = time.monotonic() + 45
    while time.monotonic() < deadline:
        if not is_alive(pid):
            return True
        time.sleep(0.01)
    return False


def test_json_is_one_object(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get the result as one object, whose every field is pinned here."""
    assert main(bench.words("--prompt", "go", "--yes", "--json", "--session-id", "s1")) == 0
    said = "Created a.txt with 1 line."
    assert json.loads(capsys.readouterr().out) == {
        "sessionId": "s1",
        "response": "Done.",
        "blocked": False,
        "reason": None,
        "stopped": False,
        "stopReason": None,
        "decidedBy": [],
        "promptSent": True,
        "turns": 2,
        "toolCalls": [
            {
                "name": "write_file",
                "input": {"file_path": f"{bench.project}/a.txt", "content": "hi\n"},
                "status": "success",
                "blockedBy": [],
                "suppressed": False,
                "llmContent": said,
                "display": said,
            }
        ],
        "transcriptPath": str(transcript_path("s1")),
        "notices": [],
        "problems": [],
    }


def test_text_has_the_answer_on_stdout(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """People get the answer on stdout, and what tools did on stderr."""
    bench.script([WRITE], [says("Do", finish=None), says("ne.")])
    assert main(bench.words("--prompt", "go", "--yes")) == 0
    printed = capsys.readouterr()
    assert printed.out == "Done.\n"
    assert printed.err == "[write_file: success]\n  Created a.txt with 1 line.\n"


def test_long_displays_are_cut(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A tool that has much to show does not flood the screen: its first and its last lines are shown."""
    bench.script([calls(("run_shell_command", {"command": "seq 100"}))], [DONE])
    assert main(bench.words("--prompt", "go", "--yes")) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 22
    assert [lines[12], lines[13], lines[-2], lines[-1]] == ["  12", "  … 81 more lines", "  100", "  Exit code: 0"]


def test_a_stream_of_typed_events(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs that want to follow get one object per line: the session, texts, calls, decisions, the result."""
    bench.hooks(BeforeTool="echo no >&2; exit 2")
    assert main(bench.words("--prompt", "go", "--yes", "--stream-json", "--session-id", "s1")) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds == [
        "session",
        *["tool_call"] * 3,
        "hooks_started",
        *["hook_ended"] * kinds.count("hook_ended"),
        "hook_decision",
        "tool_call",
        *["text"] * 2,
        "result",
    ]
    assert events[0] == {
        "type": "session",
        "sessionId": "s1",
        "transcriptPath": str(transcript_path("s1")),
        "model": "replay",
    }
    decision = next(event for event in events if event["type"] == "hook_decision")
    hook = str(bench.settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"])
    assert decision == {
        "type": "hook_decision",
        "event": "BeforeTool",
        "subject": "write_file",
        "blocked": True,
        "shouldStop": False,
        "continues": False,
        "reason": "no",
        "decidedBy": [hook],
        "effect": None,
    }
    assert events[-1]["toolCalls"][0]["llmContent"] == "no"


@pytest.mark.req("HOOK-125")
@pytest.mark.parametrize(
    ("options", "stdin"),
    [
        pytest.param(["--prompt", "go"], "", id="prompt"),
        pytest.param(["--prompt", "go", "--headless"], "", id="headless"),
        pytest.param([], "go\n", id="pipe"),
        pytest.param(["--json"], "go", id="pipe-json"),
        pytest.param(["--stream-json", "--headless"], "go", id="pipe-stream-json"),
    ],
)
def test_hooks_are_told_the_same_in_every_mode(options: list[str], stdin: str, bench: Bench) -> None:
    """In every mode the same effects occur and hooks get the same input, but for ids and times."""
    events = ("BeforeToolSelection", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool")
    bench.hooks(**dict.fromkeys(events, SPY))
    done = bench.run(*options, "--yes", "--session-id", "s1", stdin=stdin)
    assert done.returncode == 0, done.stderr
    told = [{key: value for key, value in one.items() if key != "timestamp"} for one in bench.told()]
    facts = {"session_id": "s1", "cwd": str(bench.project), "transcript_path": str(transcript_path("s1"))}
    tool_input = {"file_path": f"{bench.project}/a.txt", "content": "hi\n"}
    request = {"model": "replay", "messages": [{"role": "user", "content": "go"}], "config": {}}
    tool = {"tool_name": "write_file", "tool_input": tool_input}
    result = {"llmContent": "Created a.txt with 1 line.", "returnDisplay": "Created a.txt with 1 line."}
    ended = {"finishReason": "STOP", "index": 0}
    called = {"candidates": [{"content": {"role": "model", "parts": []}, **ended}]}
    answered = {"text": "Done.", "candidates": [{"content": {"role": "model", "parts": ["Done."]}, **ended}]}
    assert told == [
        {**facts, "hook_event_name": "BeforeToolSelection", "llm_request": request},
        {**facts, "hook_event_name": "BeforeModel", "llm_request": request},
        {**facts, "hook_event_name": "AfterModel", "llm_request": request, "llm_response": called},
        {**facts, "hook_event_name": "BeforeTool", **tool},
        {**facts, "hook_event_name": "AfterTool", **tool, "tool_response": result},
        {**facts, "hook_event_name": "BeforeToolSelection", "llm_request": request},
        {**facts, "hook_event_name": "BeforeModel", "llm_request": request},
        {**facts, "hook_event_name": "AfterModel", "llm_request": request, "llm_response": answered},
    ]


@pytest.mark.parametrize("headless", [["--headless"], []], ids=["headless", "pipe"])
def test_what_needs_approval_is_refused_where_nobody_can_be_asked(headless: list[str], bench: Bench) -> None:
    """Without --yes nothing is written, the model reads why, and the exit code is 0."""
    done = bench.run(*headless, "--json", stdin="go")
    (call,) = json.loads(done.stdout)["toolCalls"]
    assert (done.returncode, call["status"]) == (0, "cancelled")
    assert "was not given" in call["llmContent"]
    assert not (bench.project / "a.txt").exists()


def test_yes_does_not_trust_hooks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--yes` approves tools; a project's hooks still wait for trust, and a message reports that."""
    bench.hooks(BeforeTool="touch ran")
    folder = bench.project / ".llxprt"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(bench.settings))
    monkeypatch.chdir(bench.project)
    model = bench.words()[bench.words().index("--model") + 1]
    assert main(["agent", "--model", model, "--prompt", "go", "--yes"]) == 0
    assert (bench.project / "a.txt").exists()
    assert not (bench.project / "ran").exists()
    assert "hookline trust" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "is_written"), [("y\n", True), ("always\n", True), ("\n", False), ("n: later\n", False), ("\x04", False)]
)
def test_a_person_at_a_terminal_is_asked(typed: str, is_written: bool, bench: Bench) -> None:
    """With --prompt on a terminal, a question is asked, and only a clear yes allows the call."""
    ours, theirs = pty.openpty()
    words = bench.words("--prompt", "go")
    process = warm.start_at_terminal(words, cwd=Path.cwd(), env=os.environ, terminal=theirs)
    os.close(theirs)
    shown = b""
    while b"[N]o: " not in shown:
        shown += os.read(ours, 4096)
    os.write(ours, typed.encode())
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the terminal's other side is closed
        pass
    os.close(ours)
    assert process.wait(45) == 0
    assert "write_file wants to write a.txt" in shown.decode().replace("\r\n  ", "")
    assert (bench.project / "a.txt").exists() is is_written


def test_a_session_is_gone_on_with(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """`--resume` keeps the session's id and conversation, by id or as the project's latest one."""
    bench.hooks(BeforeModel=SPY)
    bench.script([says("One.")])
    assert main(bench.words("--prompt", "first", "--session-id", "s1")) == 0
    bench.script([says("Two.")])
    assert main(bench.words("--prompt", "second", "--resume")) == 0
    bench.script([says("Three.")])
    assert main(bench.words("--prompt", "third", "--resume", "s1")) == 0
    assert capsys.readouterr().out == "One.\nTwo.\nThree.\n"
    last = bench.told()[-1]
    assert last["session_id"] == "s1"
    assert [message["content"] for message in last["llm_request"]["messages"]] == [
        "first",
        "One.",
        "second",
        "Two.",
        "third",
    ]


def test_a_recording_can_be_replayed(bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file of `--record` replays the same session, also in another project."""
    assert main(bench.words("--prompt", "go", "--yes", "--record", str(tmp_path / "recorded.jsonl"))) == 0
    other = tmp_path / "other"
    other.mkdir()
    words = ["agent", "--model", f"replay:{tmp_path / 'recorded.jsonl'}", "--project", str(other), "--prompt", "go"]
    assert main([*words, "--yes"]) == 0
    assert capsys.readouterr().out == "Done.\nDone.\n"
    assert (other / "a.txt").read_text() == "hi\n"


def test_a_stop_is_no_failure(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A hook that stops the agent has its reason shown, and the exit code is 0."""
    bench.hooks(BeforeTool="""echo '{"continue": false, "stopReason": "budget spent"}'""")
    assert main(bench.words("--prompt", "go", "--yes")) == 0
    hook = bench.settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    assert capsys.readouterr().out == f"Stopped by {hook}: budget spent\n"


def test_a_pipe_and_a_prompt_are_joined(bench: Bench) -> None:
    """The text of the pipe comes first, then what is asked about it; hooks see the whole."""
    bench.hooks(BeforeModel=SPY)
    bench.script([DONE])
    done = bench.run("--prompt", "Review this.", stdin="a diff\n")
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert bench.told()[0]["llm_request"]["messages"] == [{"role": "user", "content": "a diff\n\nReview this."}]


def test_a_name_of_gemini_is_a_model(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It needs no `gemini:` before it."""
    monkeypatch.setenv("GEMINI_API_KEY", "a-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    assert main(bench.words("--prompt", "x", "--model", "gemini-2.5-pro")) == 1
    assert (
        "gemini-2.5-pro gave no answer: All connection attempts failed (http://127.0.0.1:9)" in capsys.readouterr().err
    )


def test_what_cannot_be_encoded_is_shown_all_the_same(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason with a lone surrogate, or with a character that the encoding lacks, is printed all the same."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    bench.hooks(BeforeTool=r"""echo '{"continue": false, "stopReason": "für a\ud800z"}'""")
    command = [sys.executable, "-m", "hookline", *bench.words("--prompt", "go", "--yes")]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.partition(": ")[2]) == (0, "f\\xfcr a\\ud800z\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--prompt", " "], "the prompt is empty", id="empty-prompt"),
        pytest.param(["--prompt", "x", "--model", "gpt"], "--model gpt is not known", id="unknown-model"),
        pytest.param(["--prompt", "x", "--model", "gpt-5"], "did you mean openai:gpt-5?", id="no-kind"),
        pytest.param(["--prompt", "x", "--model", "anthropic:"], "give gemini, gemini:NAME, openai:NAME", id="no-name"),
        pytest.param(["--prompt", "x", "--base-url", "http://x"], "leave it out with replay:FILE", id="base-url"),
        pytest.param(["--prompt", "x", "--model", "replay:"], "--model replay: is not known", id="no-file"),
        pytest.param(["--prompt", "x", "--model", "replay:/none"], "can't read /none", id="missing-replay"),
        pytest.param(["--prompt", "x", "--session-id", "a/b"], "can't be a session id", id="bad-session-id"),
        pytest.param(["--prompt", "x", "--resume"], "there is no session of ", id="nothing-to-resume"),
        pytest.param(["--prompt", "x", "--resume", "s1", "--session-id", "s2"], "leave --session-id out", id="two-ids"),
        pytest.param(["--prompt", "x", "--project", "/none"], "/none is not a directory", id="no-project"),
        pytest.param(["--prompt", "x", "--settings", "/none"], "the settings file /none does not exist", id="settings"),
        pytest.param(["--prompt", "x", "--max-turns", "1", "--yes"], "within 1 turns", id="turn-limit"),
    ],
)
def test_what_cannot_be_done_is_exit_code_1(
    options: list[str], said: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of hookline or of the user is reported on stderr, with nothing on stdout."""
    assert main(bench.words(*options)) == 1
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_a_model_that_fails_is_exit_code_1(bench: Bench) -> None:
    """An error of the model is reported, is the last event of a stream, and ends the session for its hooks."""
    bench.script([WRITE])
    bench.hooks(SessionEnd=SPY)
    done = bench.run("--prompt", "go", "--yes", "--stream-json")
    assert done.returncode == 1
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "error"
    assert re.search(r"has 1 line, but this is model call 2", last["message"])
    assert last["message"] in done.stderr
    assert [one["reason"] for one in bench.told()] == ["other"]


def test_a_program_that_waits_for_one_object_gets_it(bench: Bench) -> None:
    """Also when the model fails: the output has the reason."""
    bench.script([WRITE])
    done = bench.run("--prompt", "go", "--yes", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["response"]) == (1, None)
    assert told["error"] in done.stderr


@pytest.mark.parametrize("path", ["/proc/1/root/etc", "no\0file"])
def test_a_path_that_cannot_be_followed_is_the_tools_fault(bench: Bench, path: str) -> None:
    """With any name that the model uses, the agent proceeds."""
    bench.script([calls(("read_file", {"file_path": path}))], [says("broken \ud83d emoji")])
    done = bench.run("--prompt", "go", "--yes")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "emoji" in done.stdout


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "many"])
def test_a_number_of_turns_is_at_least_one(number: str, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit of no turns is refused with a message."""
    with pytest.raises(SystemExit) as ended:
        main(bench.words("--prompt", "go", "--max-turns", number))
    assert ended.value.code == 1
    assert f"argument --max-turns: {number} is not a whole number of at least 1\n" in capsys.readouterr().err


def test_help_tells_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """Also those of an agent that was terminated."""
    with pytest.raises(SystemExit):
        main(["agent", "--help"])
    assert re.findall(r"(?:^|\s)(\d+)  ", capsys.readouterr().out.partition("Exit codes:")[2]) == [
        "0",
        "1",
        "130",
        "143",
    ]


@pytest.mark.parametrize(
    ("hooks", "command"),
    [
        pytest.param({}, ENDLESS, id="tool"),
        pytest.param({"BeforeTool": ENDLESS}, "true", id="hook"),
        pytest.param({"BeforeModel": ENDLESS}, "true", id="model-hook"),
        pytest.param({"SessionStart": ENDLESS}, "sleep 60", id="hook-in-the-background"),
    ],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_everything(
    number: signal.Signals, code: int, hooks: dict[str, str], command: str, bench: Bench
) -> None:
    """Ctrl-C, or a request to end, ends running hooks and tools with their groups, and then the agent."""
    bench.hooks(**hooks)
    bench.script([calls(("run_shell_command", {"command": command}))])
    with bench.started("--prompt", "go", "--yes") as process:
        pid = bench.pid()
        process.send_signal(number)
        assert process.wait(45) == code
    assert is_gone(pid)


@pytest.mark.parametrize(
    ("hooks", "command"),
    [pytest.param({}, STUBBORN, id="tool"), pytest.param({"BeforeTool": STUBBORN}, "true", id="hook")],
)
def test_a_second_interrupt_leaves_at_once(hooks: dict[str, str], command: str, bench: Bench) -> None:
    """A process that ignores SIGTERM would get 5 seconds; a second Ctrl-C does not wait for that."""
    bench.hooks(**hooks)
    bench.script([calls(("run_shell_command", {"command": command}))])
    with bench.started("--prompt", "go", "--yes") as process:
        pid = bench.pid()
        process.send_signal(signal.SIGINT)
        # Two signals that come before the first was looked at are one.
        until((bench.project / "asked").exists)
        time.sleep(0.3)  # sooner it would also be taken for the same one
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert is_gone(pid)
        assert time.monotonic() - began < 4
        assert process.wait(45) == 130


@pytest.mark.req("HOOK-010")
def test_disabled_hooks_load_nothing(bench: Bench) -> None:
    """With hooks disabled the command works with nothing of the engine, the translator or the bus loaded."""
    words = bench.words("--prompt", "go", "--yes")
    code = f"""
import sys
from hookline.apps.cli.main import main
main({words!r})
loaded = {{name.removeprefix("hookline.") for name in sys.modules if name.startswith("hookline.")}}
print(*sorted(name for name in loaded if name.partition(".")[0] in ("engine", "formats", "runners")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    # The watchdog imports the standard library only.
    loaded = "formats formats.genai formats.genai.sdk runners runners.function runners.function.watchdog"
    assert done.stdout.splitlines() == ["Done.", loaded]


def test_a_guard_that_cannot_run_is_told(bench: Bench) -> None:
    """The user of the agent reads it, and not only a reader of the log."""
    guard = [{"hooks": [{"type": "command", "command": "./missing.sh", "name": "guard"}]}]
    bench.settings = {"enableHooks": True, "hooks": {"PreToolUse": guard, "BeforeTool": guard}}
    told = bench.run("--prompt", "go", "--yes").stderr
    assert "hooks.PreToolUse is an event of Claude Code and Codex, so its hooks do not run here" in told
    assert told.count("The BeforeTool hook guard exited with code 127 (") == 1
    assert "./missing.sh: No such file or directory), so it had no effect." in told


class Home:
    """A user's and a project's settings in their usual places."""

    def __init__(self, bench: Bench, home: Path) -> None:
        self._bench = bench
        self._home = home

    def user(self, text: str) -> None:
        """Writes the user's settings."""
        self._write(self._home, text)

    def project(self, text: str) -> None:
        """Writes the project's settings."""
        self._write(self._bench.project, text)

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Runs the agent on a prompt, without any named settings."""
        model = self._bench.words()[self._bench.words().index("--model") + 1]
        words = ["agent", "--project", str(self._bench.project), "--model", model, "--prompt", "go", "--yes", *options]
        return warm.run(words)

    def _write(self, place: Path, text: str) -> None:
        (place / ".llxprt").mkdir(exist_ok=True)
        (place / ".llxprt" / "settings.json").write_text(text)


@pytest.fixture
def home(bench: Bench, own_home: Path) -> Home:
    """No settings yet."""
    return Home(bench, own_home)


def _settings(*, enabled: bool = True, hooks: int = 1, **more: Any) -> str:
    entries = [{"type": "command", "command": "true", "name": "guard"}] * hooks
    return json.dumps({"enableHooks": enabled, "hooks": {"BeforeTool": [{"hooks": entries}]}, **more})


@pytest.mark.parametrize(
    ("user", "project", "why"),
    [
        pytest.param("{", None, "is not JSON", id="broken-file"),
        pytest.param(_settings(), "{", "is not JSON", id="broken-project-file"),
        pytest.param(
            _settings().replace('"command": "true"', '"command": 7'),
            None,
            "hookline check shows all problems",
            id="entry",
        ),
        pytest.param(None, None, "hooks are disabled; put", id="no-settings"),
        pytest.param(_settings(enabled=False), None, "hooks are disabled; put", id="off"),
        pytest.param(_settings(hooks=0), None, "no hook is configured; hookline init", id="none"),
        pytest.param(
            _settings(hooksConfig={"disabled": ["guard"]}), None, "none of 1 hook is active: disabled by", id="disabled"
        ),
        pytest.param(
            '{"enableHooks": true}', _settings(), "none of 1 hook is active: hooks of a project", id="untrusted"
        ),
        pytest.param(
            _settings().replace('"type": "command"', '"type": "plugin"'),
            None,
            "none of 1 hook is active: hooks of type",
            id="plugin",
        ),
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_required_hooks_keep_the_agent_from_starting(
    home: Home, bench: Bench, user: str | None, project: str | None, why: str, options: list[str]
) -> None:
    """With --require-hooks nothing is done unless hooks are: one line says why, and what to do."""
    if user is not None:
        home.user(user)
    if project is not None:
        home.project(project)
    done = home.run("--require-hooks", *options)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("hookline: --require-hooks: ")
    assert why in line
    assert not (bench.project / "a.txt").exists()
    if options:
        assert why in json.loads(done.stdout)["error"]
    assert home.run(*options).returncode == 0


def test_required_hooks_that_are_active_let_it_start(home: Home, bench: Bench) -> None:
    """One active hook is enough, also beside others that are not."""
    home.user(_settings())
    home.project(_settings())
    assert home.run("--require-hooks").returncode == 0
    assert (bench.project / "a.txt").exists()


@pytest.mark.parametrize("output", ["json", "stream-json"])
@pytest.mark.parametrize(
    ("user", "project", "problems"),
    [
        pytest.param(_settings(), None, [], id="none"),
        pytest.param("{", None, ["settings.json:1:2: is not JSON"], id="broken"),
        pytest.param(_settings(enabled=False), None, ["1 hook configured, all off"], id="off"),
        pytest.param(
            '{"enableHooks": true}', _settings(), ["the BeforeTool hook guard does not run: hooks of a"], id="untrusted"
        ),
        pytest.param(
            _settings(hooksConfig={"disabled": ["guard"]}),
            None,
            ["the BeforeTool hook guard does not run: disabled by"],
            id="disabled",
        ),
        pytest.param(_settings(hooksConfig={"outputLimit": "x"}), None, ["hooksConfig.outputLimit"], id="option"),
    ],
)
def test_programs_read_what_is_wrong_with_hooks(
    home: Home, user: str, project: str | None, problems: list[str], output: str
) -> None:
    """The result lists the reasons why hooks don't do what the settings say."""
    home.user(user)
    if project is not None:
        home.project(project)
    result = json.loads(home.run(f"--{output}").stdout.splitlines()[-1])
    assert len(result["problems"]) == len(problems)
    assert all(part in problem for part, problem in zip(problems, result["problems"], strict=True))
