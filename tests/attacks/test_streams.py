"""Commands that are started with closed standard streams: they do their work, and their exit codes say the verdict."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hookline.apps.cli.main import COMMANDS
from hookline.bridge import client as bridge_client
from hookline.bridge.server.control import ask_server

HOOKLINE = str(Path(sys.executable).with_name("hookline"))
CLIENT = str(bridge_client.__file__)
EVENT = json.dumps({"tool_name": "t", "tool_input": {}})
CLAUDE = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
GUARD = {"type": "command", "name": "guard", "command": "echo no >&2; exit 2"}
SETTINGS = json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [GUARD]}]}})
CALL = {"functionCall": {"name": "write_file", "args": {"file_path": "made", "content": "x"}}}
TURNS = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in (CALL, {"text": "done"})]
CLOSINGS = ([0], [1], [2], [0, 1, 2])
CLOSE = ["bash", "-c", 'for fd in $0; do eval "exec $fd>&-"; done; exec "$@"']

# How each command is run; each of them ends by itself.
RUN: dict[str, Sequence[str]] = {
    "init": (),
    "list": (),
    "enable": ("guard",),
    "disable": ("guard",),
    "check": ("--run",),
    "fire --plan": ("BeforeTool", "--tool", "t"),
    "fire": ("BeforeTool", "--input", EVENT),
    "test": (),
    "replay --save": ("new.hooks.toml",),
    "replay": (),
    "replay --against": ("HEAD",),
    "doctor --prove": (),
    "list --packs": (),
    "trust": ("--yes",),
    "trust --revoke": ("--yes",),
    "log": (),
    "ui": ("--fleet", "--no-open"),
    "log --stats": (),
    "doctor": (),
    "init --from": ("claude",),
    "bridge": ("status",),
    "hook": ("claude", "PreToolUse", "--no-serve"),
    "serve": ("--status",),
    "fleet": ("status",),
    "fleet verify": (),
    "fleet worker": ("--subject", "hooks"),
    "mcp": ("--", "true"),
    "fleet policy": ("status",),
    "schema": ("settings",),
    "completion": ("bash",),
    "agent": ("--yes", "--headless", "--model", "replay:turns.jsonl", "--prompt", "hi"),
}

# Runs `hookline` in forks that have the modules loaded, as a process that was started with some of 0, 1 and 2 closed.
# Prints for each run: the exit code, what 0, 1 and 2 were at the end, and what was printed.
RUNNER = """
import atexit, importlib, json, os, shutil, sys, tempfile
from pathlib import Path
import hookline.apps.cli.main as cli
from hookline.__main__ import main

def run(words, closed, folder):
    project, home = folder / "project", folder / "home"
    for file, text in FILES.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    os.environ.update(HOME=str(home), HOOKLINE_STATE_DIR=str(folder / "state"))
    os.chdir(project)
    with open(folder / "printed", "wb") as printed:
        for number in (1, 2):
            os.dup2(printed.fileno(), number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if number in closed:
            os.close(number)
            setattr(sys, name, None)
    @atexit.register
    def look():
        links = [os.readlink(f"/proc/self/fd/{number}") for number in closed]
        (folder / "links").write_text(json.dumps(links))
    sys.argv = ["hookline", *words]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream and stream.flush()
    os._exit(code)

FILES, cases = json.load(sys.stdin)
ends = []
for words, closed in cases:
    try:
        cli.load_command(words[0])
    except Exception:
        pass
    folder = Path(tempfile.mkdtemp())
    if (child := os.fork()) == 0:
        try:
            run(words, closed, folder)
        finally:
            os._exit(99)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    links = json.loads((folder / "links").read_text()) if (folder / "links").exists() else None
    ends.append([code, links, (folder / "printed").read_text()])
    shutil.rmtree(folder)
print(json.dumps(ends))
"""


@pytest.fixture
def guarded(project: Path, own_home: Path) -> Path:
    """A project whose user has a guard that denies every call."""
    (own_home / ".llxprt").mkdir()
    (own_home / ".llxprt" / "settings.json").write_text(SETTINGS)
    return project


@pytest.fixture
def server(guarded: Path) -> Iterator[None]:
    """The bridge's server."""
    process = subprocess.Popen([HOOKLINE, "serve", "--idle", "30"], cwd=guarded, stderr=subprocess.DEVNULL)
    while ask_server("--status") is None:
        assert process.poll() is None
        time.sleep(0.05)
    yield
    subprocess.run([HOOKLINE, "serve", "--stop"], capture_output=True, check=True)
    assert process.wait(45) == 0


def run(closed: Sequence[int], *words: str, cwd: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Runs a command with some of 0, 1 and 2 closed."""
    given = (*CLOSE[:2], CLOSE[2], " ".join(map(str, closed)), *words)
    return subprocess.run(given, cwd=cwd, input=stdin, capture_output=True, text=True, check=False, timeout=60)


def recorded(turns: Sequence[object]) -> str:
    return "".join(json.dumps({"method": "generateContentStream", "response": [turn]}) + "\n" for turn in turns)


@pytest.mark.attack("30.A9", "each command, started with closed standard streams")
@pytest.mark.req("DELTA-PROC-006")
def test_every_command_runs_with_closed_streams(tmp_path: Path) -> None:
    """The exit code is the same as with open ones, no traceback is printed, and no file gets the number of a stream."""
    assert {name.partition(" ")[0] for name in RUN} == COMMANDS.keys()
    files = {"home/.llxprt/settings.json": SETTINGS, "project/turns.jsonl": recorded(TURNS)}
    cases = [([*name.split(), *words], closed) for name, words in RUN.items() for closed in ([], *CLOSINGS)]
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps([files, cases]),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    ends = dict(zip((json.dumps(case) for case in cases), json.loads(done.stdout or "[]"), strict=True))
    wrong = []
    for (name, *words), closed in cases:
        code, links, printed = ends[json.dumps([[name, *words], closed])]
        usual = ends[json.dumps([[name, *words], []])][0]
        # Without its streams a gateway has no client: that is an error, with a message.
        expected = 1 if name == "mcp" and {*closed} & {0, 1} else usual
        is_clean = "Traceback" not in printed and "a bug" not in printed
        if code != expected or links != ["/dev/null"] * len(closed) or not is_clean:
            wrong.append((name, closed, code, expected, links, printed))
    assert not wrong, wrong
    assert ends[json.dumps([["fire", *RUN["fire"]], [0, 1, 2]])][0] == 2


@pytest.mark.attack("30.A9", "an event that is fired with closed standard streams")
@pytest.mark.req("DELTA-PROC-006")
@pytest.mark.parametrize("closed", CLOSINGS, ids=str)
def test_a_verdict_survives_closed_streams(closed: list[int], guarded: Path) -> None:
    """In a process that was started so, the verdict is the exit code, and the agent's tool does not run."""
    fired = run(closed, HOOKLINE, "fire", "BeforeTool", "--input", EVENT, cwd=guarded)
    assert (fired.returncode, "Traceback" in fired.stderr) == (2, False), fired
    (guarded / "turns.jsonl").write_text(recorded(TURNS))
    agent = run(closed, HOOKLINE, "agent", *RUN["agent"], cwd=guarded)
    assert (agent.returncode, "Traceback" in agent.stderr) == (0, False), agent
    assert not (guarded / "made").exists()


@pytest.mark.attack("30.A9", "a bridge whose answer can't be written, with and without its server")
@pytest.mark.req("DELTA-PROC-006")
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("closed", CLOSINGS, ids=str)
def test_a_bridge_that_cannot_answer_denies(closed: list[int], guarded: Path) -> None:
    """The reply is the agent's JSON where stdout is open; else the exit code denies."""
    for words in (
        (sys.executable, "-I", "-S", CLIENT, "claude", "PreToolUse"),
        (HOOKLINE, "hook", "claude", "PreToolUse"),
        (HOOKLINE, "hook", "claude", "PreToolUse", "--no-serve"),
        (sys.executable, "-I", "-S", CLIENT, "claude", "PreToolUse", "--no-serve"),
    ):
        asked = run(closed, *words, cwd=guarded, stdin=CLAUDE)
        assert asked.returncode == 2 or '"deny"' in asked.stdout, (words, asked)
        assert "Traceback" not in asked.stderr


@pytest.mark.attack("30.A9", "a bridge whose reader has gone, or whose disk is full")
@pytest.mark.req("DELTA-PROC-006")
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("more", [[], ["--no-serve"]], ids=["served", "alone"])
@pytest.mark.parametrize("program", [[HOOKLINE, "hook"], [sys.executable, "-I", "-S", CLIENT]], ids=["cli", "client"])
def test_a_bridge_that_fails_to_write_denies(program: list[str], more: list[str], guarded: Path) -> None:
    """The exit code denies."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as broken, Path("/dev/full").open("wb") as full:
        for stdout in (broken, full):
            words = [*program, "claude", "PreToolUse", *more]
            asked = subprocess.run(
                words, input=CLAUDE.encode(), stdout=stdout, stderr=subprocess.PIPE, cwd=guarded, check=False
            )
            assert (asked.returncode, b"Traceback" in asked.stderr) == (2, False), asked
