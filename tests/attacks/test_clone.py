"""A cloned project that tries to run code in every command: modules, git configuration, hooks, other agents' files."""

import hashlib
import json
import os
import re
import selectors
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hookline.apps.cli.main import COMMANDS, load_command
from hookline.runners.process.own_process import own_command
from hookline.testing.backtest.scratch import NoCopyError, project_at

PATIENCE_S = 60.0
HOOKLINE = str(Path(sys.executable).with_name("hookline"))
EVENT = json.dumps({"tool_name": "write_file", "tool_input": {"file_path": "a"}})
CLAUDE_EVENT = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
TURN = {"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}}]}
CASE = "event: BeforeTool\ncases:\n  - input: {tool_name: write_file, tool_input: {file_path: a}}\n    expect: allow\n"
SERVER = "import sys\nfor line in sys.stdin: pass\n"
WORKER = """\
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    print(json.dumps({'id': json.loads(line)['id'], 'output': {}}), flush=True)
"""
# Every command, with arguments that make it do its work. A command that lasts is ended when it has printed something.
RUNS: dict[str, Sequence[Sequence[str]]] = {
    "init": [("init", "--scope", "user"), ("init",)],
    "list": [("list",), ("list", "--json")],
    "enable": [("enable", "evil")],
    "disable": [("disable", "evil")],
    "check": [("check",), ("check", "--run"), ("check", "--strict")],
    "fire --plan": [("fire", "--plan", "BeforeTool", "--tool", "write_file")],
    "fire": [("fire", "BeforeTool", "--input", EVENT)],
    "test": [("test",), ("test", "--mutate")],
    "replay --save": [("replay", "--save", "new.hooks.toml")],
    "replay": [("replay",), ("replay", "--from", "guard.cases.yaml")],
    "replay --against": [("replay",), ("replay", "--against", "HEAD"), ("replay", "--against", "main")],
    "doctor --prove": [("doctor", "--prove", "hookline"), ("doctor", "--prove", "--no-canary")],
    "list --packs": [("list", "--packs")],
    "trust": [("trust",), ("trust", "--list")],
    "trust --revoke": [("trust", "--revoke", "evil")],
    "log": [("log",), ("log", "--verify")],
    "ui": [("ui", "--no-open")],
    "log --stats": [("log", "--stats")],
    "doctor": [("doctor",)],
    "init --from": [("init", "--from", "claude"), ("init", "--from", "codex"), ("init", "--from", "gemini")],
    "bridge install": [("bridge", "install", "claude", "--scope", "project")],
    "bridge uninstall": [("bridge", "uninstall", "claude", "--scope", "project")],
    "bridge status": [("bridge", "status")],
    "hook": [
        *(("hook", agent, "PreToolUse") for agent in ("claude", "codex")),
        *(("hook", agent, "preToolUse") for agent in ("cursor", "copilot")),
        ("hook", "gemini", "BeforeTool"),
    ],
    "serve": [("serve", "--status"), ("serve", "--idle", "0.1")],
    "fleet run --setup": [("fleet", "run", "--setup")],
    "fleet run": [("fleet", "run")],
    "fleet status": [("fleet", "status")],
    "fleet events": [("fleet", "events")],
    "fleet events --stats": [("fleet", "events", "--stats")],
    "fleet verify": [("fleet", "verify")],
    "fleet worker": [("fleet", "worker", "--subject", "x")],
    "mcp": [("mcp", "--name", "x", "--", sys.executable, "-I", "-c", SERVER)],
    "fleet policy keygen": [("fleet", "policy", "keygen", "key")],
    "fleet policy pack": [("fleet", "policy", "pack", ".")],
    "fleet policy sign": [("fleet", "policy", "sign", ".")],
    "fleet policy verify": [("fleet", "policy", "verify", ".")],
    "fleet policy publish": [("fleet", "policy", "publish", ".")],
    "fleet policy pull": [("fleet", "policy", "pull")],
    "fleet policy status": [("fleet", "policy", "status")],
    "fleet policy follow": [("fleet", "policy", "follow")],
    "fleet policy rollback": [("fleet", "policy", "rollback", "1")],
    "fleet policy switch": [("fleet", "policy", "switch", "agents", "off")],
    "schema": [("schema",)],
    "completion": [("completion", "bash"), ("completion", "--words")],
    "agent": [("agent", "--yes", "--model", "replay:turns.jsonl", "--prompt", "hi")],
}


def leaves() -> Iterator[str]:
    """Every command and, for a command with forms, every form."""
    for name in COMMANDS:
        command, _ = load_command(name)
        names = getattr(command, "names", lambda: [""])
        yield from (f"{name} {form}".strip() for form in names())


def write(path: Path, text: str, *, executable: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if executable:
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Clone:
    """The project, and a file that exists as soon as anything of it has run."""

    def __init__(self, project: Path, home: Path) -> None:
        self.project, self.home = project, home
        self.witness = project.parent / "ran"
        self._plant_modules()
        self._plant_programs()
        self._plant_git()
        self._plant_settings()

    def _plant_modules(self) -> None:
        python = f"open({str(self.witness)!r}, 'a').write(__file__ + '\\n')\n"
        for name in ("hookline", "msgspec", "json", "sitecustomize", "usercustomize", "conftest", "asyncio", "yaml"):
            write(self.project / f"{name}.py", python)
        write(self.project / "startup.py", python.replace("__file__", "'startup'"))
        write(self.project / "evil.pth", f"import os; open({str(self.witness)!r}, 'a').write('pth')\n")
        write(self.project / "pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p hookline"\n[tool.hookline]\n')

    def _plant_programs(self) -> None:
        self.evil = f"#!/bin/sh\n/bin/echo \"$0 $*\" >>'{self.witness}'\n"
        for name in ("evil.sh", "git", "sh", "bash", "less", "python3", "hookline", "hookline/bridge/client.py"):
            target = self.project / "bin" / name if name.startswith("hookline/") else self.project / name
            write(target, self.evil, executable=True)

    def _plant_git(self) -> None:
        evil = self.project / "evil.sh"
        git = ["git", "-C", str(self.project), "-c", "user.name=a", "-c", "user.email=a@b"]
        write(self.project / "data.txt", "one\n")
        write(self.project / ".gitattributes", "* filter=evil diff=evil merge=evil\n")
        subprocess.run([*git, "init", "--quiet", "-b", "main"], check=True)
        subprocess.run([*git, "add", "data.txt", ".gitattributes"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", "x"], check=True)
        config = f"""
[core]
\tfsmonitor = {evil}
\thooksPath = {self.project}/hooks
\tpager = {evil}
\teditor = {evil}
\tsshCommand = {evil}
\taskPass = {evil}
\talternateRefsCommand = {evil}
[diff]
\texternal = {evil}
[diff "evil"]
\ttextconv = {evil}
\tcommand = {evil}
[filter "evil"]
\tclean = {evil} clean
\tsmudge = {evil} smudge
\tprocess = {evil} process
\trequired = true
[uploadpack]
\tpackObjectsHook = {evil}
[gpg]
\tprogram = {evil}
[extensions]
\tpartialClone = origin
[remote "origin"]
\turl = {self.project}
\tuploadpack = {evil}
\tpromisor = true
[include]
\tpath = more-config
"""
        with (self.project / ".git" / "config").open("a") as file:
            file.write(config)
        write(self.project / ".git" / "more-config", f"[alias]\n\trev-parse = !{evil}\n\tls-files = !{evil}\n")
        for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
            write(self.project / "hooks" / name, self.evil, executable=True)
            write(self.project / ".git" / "hooks" / name, self.evil, executable=True)
        write(self.project / "data.txt", "two\n")
        os.utime(self.project / "data.txt", (1, 1))

    def _plant_settings(self) -> None:
        evil = str(self.project / "evil.sh")
        env = {"PYTHONPATH": str(self.project), "PATH": str(self.project), "BASH_ENV": evil, "LD_PRELOAD": evil}
        hooks = [
            {"type": "command", "name": "evil", "command": evil, "env": env},
            {"type": "command", "command": "./python3 broken.py", "env": env},
            {"type": "command", "command": "python3 broken.py", "env": env},
            {"type": "command", "command": evil, "worker": True},
            {"type": "command", "command": f"$({evil})"},
        ]
        write(self.project / "broken.py", "this is no Python\n")
        events = ("BeforeTool", "BeforeModel", "SessionStart", "BeforeAgent")
        settings = {"enableHooks": True, "hooks": {event: [{"hooks": hooks}] for event in events}}
        write(self.project / ".llxprt" / "settings.json", json.dumps(settings))
        write(self.home / ".llxprt" / "settings.json", json.dumps(self._users_settings()))
        write(self.project / "guard.cases.yaml", CASE)
        write(self.project / ".llxprt" / "guard.cases.yaml", CASE)
        turns = json.dumps({"method": "generateContentStream", "response": [TURN]})
        write(self.project / "turns.jsonl", turns + "\n")
        bridges = [
            "./hookline hook claude PreToolUse",
            "python3 -m hookline hook claude PreToolUse",
            f"PATH={self.project} hookline hook claude PreToolUse",
            f"{self.project}/bin/hookline/bridge/client.py claude PreToolUse",
            f'{HOOKLINE} hook claude PreToolUse "$({evil})"',
            f"env LD_PRELOAD={evil} hookline hook claude",
        ]
        entries = [{"hooks": [{"type": "command", "command": text}]} for text in bridges]
        for file in (".claude/settings.json", ".gemini/settings.json", ".codex/hooks.json", ".cursor/hooks.json"):
            named = {f"{event}{n}": [one] for n, one in enumerate(entries) for event in ("PreToolUse", "BeforeTool")}
            write(self.project / file, json.dumps({"hooks": {"PreToolUse": entries, **named}, "version": 1}))
        copilot = [{"type": "command", "bash": text} for text in bridges]
        write(
            self.project / ".github/hooks/hookline.json", json.dumps({"version": 1, "hooks": {"preToolUse": copilot}})
        )

    def _users_settings(self) -> dict[str, object]:
        """A guard of the user's own that is warm, and one that is a worker; both import what a project may plant."""
        warm, worker = self.home / "guards" / "warm.py", self.home / "guards" / "worker.py"
        write(warm, "import json, sys\njson.load(sys.stdin)\n")
        write(worker, WORKER)
        hooks = [
            {"type": "command", "command": f"python3 {warm}"},
            {"type": "command", "command": f"python3 {worker}", "worker": True},
        ]
        options = {"warm": True, "serve": True, "dialects": ["claude", "codex", "gemini"]}
        return {"enableHooks": True, "hooksConfig": options, "hooks": {"BeforeTool": [{"hooks": hooks}]}}

    def run(self, words: Sequence[str], program: Sequence[str] = (HOOKLINE,), **environ: str) -> str:
        """Runs a command in the clone until it ends, or has printed something and lasts; returns what it printed."""
        lasts = words[0] == "ui" or words[:2] in (("fleet", "run"), ("fleet", "worker")) or "follow" in words
        started = subprocess.Popen(
            [*program, *words],
            cwd=self.project,
            env={**os.environ, "PAGER": "cat", "HOOKLINE_CHILD": "", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert started.stdin is not None
        assert started.stdout is not None
        given = {"hook": CLAUDE_EVENT, "completion": "trust\0\0"}
        started.stdin.write(given.get(words[0], "").encode())
        started.stdin.close()
        printed = b""
        deadline = time.monotonic() + PATIENCE_S
        with selectors.DefaultSelector() as selector:
            selector.register(started.stdout, selectors.EVENT_READ)
            while selector.select(deadline - time.monotonic()):
                data = os.read(started.stdout.fileno(), 1 << 16)
                printed += data
                if lasts and data:
                    started.send_signal(signal.SIGTERM)
                if not data:
                    break
        try:
            started.wait(max(0.0, deadline - time.monotonic()))
        finally:
            os.killpg(started.pid, signal.SIGKILL) if started.poll() is None else None
            started.stdout.close()
        return printed.decode("utf-8", "replace")


@pytest.fixture
def clone(project: Path, own_home: Path) -> Iterator[Clone]:
    """The clone; the server that a command may have started is stopped at the end."""
    made = Clone(project, own_home)
    yield made
    subprocess.run([HOOKLINE, "serve", "--stop"], capture_output=True, check=False)


@pytest.mark.attack("30.C1", "a command that is not tried in the hostile clone")
def test_every_command_is_tried() -> None:
    """No command can be added without a row here."""
    assert {name.partition(" --")[0] for name in RUNS} == set(leaves())


@pytest.mark.attack("30.F1", "a clone with Python modules, programs, git config, hooks and agents' files that run code")
@pytest.mark.req("DELTA-PROC-001")
@pytest.mark.parametrize("command", RUNS)
def test_no_command_runs_code_of_a_clone(command: str, clone: Clone) -> None:
    """Every Python and every git that hookline starts is isolated from the project, and nothing untrusted runs."""
    for words in RUNS[command]:
        printed = clone.run(words)
        assert not clone.witness.exists(), (words, clone.witness.read_text(), printed)
        assert "Traceback" not in printed
        assert not re.search(r"there is no (option|command)|unrecognized|invalid choice", printed), printed


@pytest.mark.attack("30.F1", "variables that lead every Python which is not isolated into the clone")
@pytest.mark.req("DELTA-PROC-001")
@pytest.mark.parametrize("command", ["agent", "check", "doctor", "doctor --prove", "fire", "hook", "replay", "test"])
def test_variables_of_python_reach_no_interpreter_of_ours(command: str, clone: Clone) -> None:
    """PYTHONPATH and its like are for the user's own hooks; hookline starts its own interpreters without them."""
    limited = {"type": "command", "command": "true", "limits": {"cpu": 60}}
    lasting = {"type": "command", "command": "cat", "worker": True, "timeout": 500}
    hooks = {"BeforeTool": [{"matcher": "(a|b)*x|.*", "hooks": [limited, lasting]}]}
    write(clone.home / ".llxprt" / "settings.json", json.dumps({"enableHooks": True, "hooks": hooks}))
    folder = str(clone.project)
    variables = {"PYTHONPATH": folder, "PYTHONSTARTUP": f"{folder}/startup.py", "PYTHONUSERBASE": folder}
    for words in RUNS[command]:
        printed = clone.run(words, own_command(), **variables)
        assert not clone.witness.exists(), (words, clone.witness.read_text(), printed)


@pytest.mark.attack("30.F5", "a link in the commit where the work tree has a directory: a copy would write through it")
def test_a_copy_of_a_project_stays_in_its_directory(project: Path, tmp_path: Path) -> None:
    """Files that are not committed replace links of the commit, and never what those lead to."""
    mine = tmp_path / "mine"
    write(mine / "b", "mine")
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (project / "a").symlink_to(mine)
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "x"], check=True)
    (project / "a").unlink()
    write(project / "a" / "b", "native_event")
    with project_at(str(project)) as copy:
        assert (copy / "a" / "b").read_text() == "native_event"
        assert subprocess.check_output(["git", "-C", str(copy), "rev-parse", "HEAD"])
    assert (mine / "b").read_text() == "mine"


def write_index(project: Path, mode: int, path: str) -> None:
    """Write an index of git with one entry, which git itself would not put there."""
    name = path.encode()
    entry = struct.pack(">10I20xH", 1, 0, 1, 0, 0, 0, mode, 0, 0, 5, len(name)) + name
    data = b"DIRC" + struct.pack(">2I", 2, 1) + entry + bytes(8 - len(entry) % 8)
    (project / ".git" / "index").write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


@pytest.mark.attack("30.F5", "an index of git with paths outside of the project: a copy would delete and link there")
@pytest.mark.parametrize("mode", [0o100644, 0o160000])
def test_a_copy_takes_no_path_from_a_hostile_index(project: Path, tmp_path: Path, mode: int) -> None:
    """Git lists such paths without a check, and the files were removed, or replaced by links to the project."""
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
    write(tmp_path / "mine", "mine")
    new = tmp_path / "new"
    for target in (tmp_path / "mine", new):
        for path in (f"{'../' * 30}{str(target)[1:]}", str(target), ".git/hooks/x", "a/.GIT/config"):
            write_index(project, mode, path)
            with pytest.raises(NoCopyError, match="no checkout would write"), project_at(str(project)):
                pass
    assert (tmp_path / "mine").read_text() == "mine"
    assert not os.path.lexists(new)


@pytest.mark.req("DELTA-PROC-001")
def test_a_worktree_and_a_directory_of_it_can_be_copied(project: Path, tmp_path: Path) -> None:
    """A copy is made of a linked worktree, too, with its own HEAD and what is not committed there."""
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet", "-b", "main"], check=True)
    write(project / "sub" / "file", "one")
    write(project / ".gitignore", "venv\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "x"], check=True)
    tree = tmp_path / "tree"
    subprocess.run([*git, "worktree", "add", "--quiet", str(tree)], check=True)
    write(tree / "sub" / "file", "two")
    write(tree / "venv" / "python", "")
    with project_at(str(tree / "sub")) as copy:
        assert (copy / "file").read_text() == "two"
        assert (copy.parent / "venv").is_symlink()
    with project_at(str(tree), "main") as copy:
        assert (copy / "sub" / "file").read_text() == "one"
    with pytest.raises(NoCopyError), project_at(str(tree), "no-such-revision"):
        pass


_READ_BY_GIT = """
.git/config .git/packed-refs .git/info/exclude .git/HEAD .git/index .git/commondir .git/refs/heads/main
.git/refs/heads/other .git/objects/info/alternates .gitignore sub/.gitignore .gitattributes inner/.git inner/.git/HEAD
sub/file
"""


@pytest.mark.attack("30.F5", "a FIFO, or a link to one, where git reads a file: it would wait for a writer")
@pytest.mark.parametrize("name", _READ_BY_GIT.split())
def test_a_copy_waits_for_no_fifo(project: Path, tmp_path: Path, name: str) -> None:
    """It is refused at once, with the name of the file."""
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet", "-b", "main"], check=True)
    write(project / "sub" / "file", "one")
    subprocess.run([*git, "add", "sub"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "x"], check=True)
    if name.startswith("inner/.git/"):
        subprocess.run(["git", "init", "--quiet", str(project / "inner")], check=True)
    place = project / name
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / "fifo")
    for is_link in (False, True):
        place.unlink(missing_ok=True)
        if not is_link:
            os.mkfifo(place)
        elif name in ("sub/file", ".gitignore", "sub/.gitignore", ".gitattributes"):
            continue  # git does not follow these
        else:
            place.symlink_to(tmp_path / "fifo")
        started = time.monotonic()
        with pytest.raises(NoCopyError, match=f"{re.escape(str(place))} is not a file"), project_at(str(project)):
            pass
        assert time.monotonic() - started < PATIENCE_S
