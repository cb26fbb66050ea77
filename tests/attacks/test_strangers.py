"""An untrusted project: reading it changes nothing and takes no time."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from hookline.client.config import Config
from hookline.client.triggers.tools import fire_before_tool_hook
from hookline.protocol.constants import ConfigSource
from hookline.protocol.text.matchers import DEEPEST_NESTING, LARGEST_BYTES
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import read_layer

Hook = dict[str, Any]
Result = subprocess.CompletedProcess[str]

INPUT = json.dumps({"tool_name": "write_file", "tool_input": {}})
CALL = {"functionCall": {"name": "list_directory", "args": {"path": "."}}}
TURNS = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in (CALL, {"text": "done"})]
COMMANDS: dict[str, Sequence[str]] = {
    "fire": ("fire", "BeforeTool", "--input", INPUT),
    "list": ("list",),
    "check": ("check",),
    "trust": ("trust",),
    "explain": ("fire", "--plan", "BeforeTool", "--tool", "write_file"),
    "doctor": ("doctor",),
    "agent": ("agent", "--yes", "--model", "replay:turns.jsonl", "--prompt", "hi"),
}
# Commands that look at a project besides these, and end by themselves.
LOOKING: dict[str, Sequence[str]] = {
    **COMMANDS,
    "test": ("test", "all.hooks.toml"),
    "test --mutate": ("test", "--mutate", "all.hooks.toml"),
    "replay": ("replay", "all.hooks.toml"),
    "check --run": ("check", "--run"),
    "completion": ("completion", "bash"),
    "completion --words": ("completion", "--words"),
    "log": ("log",),
    "stats": ("stats",),
}
CASES = """
[[case]]
name = "runs"
event = "BeforeTool"
tool = "run_shell_command"
arguments.command = "/bin/echo ran >> ran; ./evil.sh; $(printf %b '\\\\056/evil.sh')"
expect = { outcome = "blocked" }
"""
HOSTILE_MATCHERS = {
    "alternatives": "a|" * 50_000 + "b",
    "alternatives-in-4-KiB": "a|" * 2000 + "b",
    "groups": "(" * 50_000 + ")" * 50_000,
    "groups-in-4-KiB": "(?:" * 1000 + ")" * 1000,
    "open-groups": "(" * LARGEST_BYTES,
    "nested-quantifiers": "((a?)*)*c",
    "nested-counts": "((a{9999}){9999}){9999}b",
    "huge-count": "a{99999999999999999999,99999999999999999999}",
    "backtracking": "(a+)+$",
    "lookbehind": "(?<=" * (DEEPEST_NESTING + 1) + "a" + ")" * (DEEPEST_NESTING + 1),
    "lookaheads": "(?=" * 1000 + "a" + ")" * 1000,
    "backreferences": "(a?)(?:\\1*)*c",
    "classes": "[" * LARGEST_BYTES,
    "wide-class": "[" + "\U00010000-\U0010ffff" * 400 + "]",
    "backslashes": "\\" * LARGEST_BYTES,
    "surrogate": "\ud800|" * 100,
    "null": "a\0" * 2000,
}


def command_of(text: str = "true", **more: Any) -> Hook:
    return {"type": "command", "command": text, **more}


def write_settings(project: Path, home: Path, settings: dict[str, Any]) -> None:
    for folder, values in ((project, settings), (home, {"enableHooks": True})):
        (folder / ".llxprt").mkdir(exist_ok=True)
        (folder / ".llxprt" / "settings.json").write_text(json.dumps(values))
    lines = [json.dumps({"method": "generateContentStream", "response": [turn]}) for turn in TURNS]
    (project / "turns.jsonl").write_text("\n".join(lines))


def hookline(project: Path, words: Sequence[str], **environ: str) -> Result:
    return subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        cwd=project,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=60,  # did not hang
    )


def assert_well(command: str, ended: Result) -> None:
    """The command did its work, and told problems in few lines."""
    codes = {"fire": (0,), "explain": (0,), "list": (0,), "agent": (0,)}.get(command, (0, 1))
    assert ended.returncode in codes, ended.stderr
    assert "Traceback" not in ended.stderr
    assert sum(line.startswith("hookline: ") for line in ended.stderr.splitlines()) <= 20, ended.stderr
    if command == "agent":
        assert ended.stdout.strip() == "done"


@pytest.mark.attack("13.1", "a matcher that overflows the stack or never ends")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_dies_of_a_strangers_matcher(command: str, project: Path, own_home: Path) -> None:
    """Each command works, whatever patterns an untrusted file has."""
    groups = [{"matcher": matcher, "hooks": [command_of()]} for matcher in HOSTILE_MATCHERS.values()]
    write_settings(project, own_home, {"enableHooks": True, "hooks": {"BeforeTool": groups, "AfterTool": groups}})
    assert_well(command, hookline(project, COMMANDS[command]))


@pytest.mark.attack("13.1", "a harmless-looking matcher of an untrusted hook")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_strangers_matcher_is_not_even_compiled(command: str, project: Path, own_home: Path) -> None:
    """No command passes a pattern of an untrusted hook to the regular expression engine."""
    write_settings(project, own_home, {"hooks": {"BeforeTool": [{"matcher": "qqq+", "hooks": [command_of()]}]}})
    # A package of this name before the real one: it writes down every pattern that is compiled.
    spy = project / "spy" / "regress"
    spy.mkdir(parents=True)
    (spy / "__init__.py").write_text(
        "from pathlib import Path\n"
        "class RegressError(Exception): pass\n"
        "class Regex:\n"
        "    def __init__(self, pattern): Path(__file__).with_name('compiled').open('a').write(pattern + '\\n')\n"
        "    def find(self, text): return None\n"
    )
    assert_well(command, hookline(project, COMMANDS[command], PYTHONPATH=str(spy.parent)))
    compiled = spy / "compiled"
    assert not compiled.exists() or "qqq" not in compiled.read_text()


@pytest.mark.attack("13.1", "env of an untrusted hook that a shell would act on (BASH_ENV, PATH, …)")
@pytest.mark.attack("30.C1", "a project that tries to run code, in every command that looks at it")
@pytest.mark.parametrize("asked", LOOKING)
def test_looking_at_a_project_runs_nothing_of_it(asked: str, project: Path, own_home: Path) -> None:
    """No command runs a file of a project, or a function from a hook's env, before the hook is trusted."""
    mark = _plant(project, own_home)
    ended = hookline(project, LOOKING[asked])
    if asked in COMMANDS:
        assert_well(asked, ended)
    assert "Traceback" not in ended.stderr
    assert not mark.exists()


@pytest.mark.attack("30.C1", "a project that tries to run code, while the page is open")
def test_the_page_about_a_project_runs_nothing_of_it(project: Path, own_home: Path) -> None:
    mark = _plant(project, own_home)
    command = [sys.executable, "-m", "hookline", "ui", "--no-open", "--yes"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as page:
        try:
            assert page.stdout is not None
            said = next(line for line in page.stdout if "http://127.0.0.1" in line)
            address = next(word for word in said.split() if word.startswith("http://"))
            with urlopen(address, timeout=60) as answer:  # noqa: S310 - it begins with http
                assert answer.status == 200
        finally:
            page.terminate()
    assert not mark.exists()


def _plant(project: Path, own_home: Path) -> Path:
    """Writes hooks, scripts and a case file, each of which would leave a mark; returns the mark."""
    mark = project / "ran"
    for name in ("evil.sh", "bash", "sh", "command", "env"):
        (project / name).write_text(f"#!/bin/sh\n/bin/echo ran >>'{mark}'\n")
        (project / name).chmod(0o755)
    env = {
        "BASH_ENV": str(project / "evil.sh"),
        "ENV": str(project / "evil.sh"),
        "PATH": str(project),
        "PROMPT_COMMAND": str(project / "evil.sh"),
        "BASH_FUNC_command%%": f"() {{ /bin/echo ran >>'{mark}'; }}",
        "SHELLOPTS": "xtrace",
        "PS4": f"$(/bin/echo ran >>'{mark}')",
        "PYTHONSTARTUP": str(project / "evil.sh"),
    }
    commands = ("true", "no-such-program", "echo a; if true; then echo b; fi", "./missing.sh", "command evil")
    hooks = [command_of(command, env=env) for command in commands]
    write_settings(project, own_home, {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    (project / "all.hooks.toml").write_text(CASES)
    return mark


def _hooks(count: int) -> Any:
    return {"hooks": {"BeforeTool": [{"hooks": [command_of(f"echo {number}") for number in range(count)]}]}}


def _disabled(count: int) -> Any:
    named = [command_of(name=f"nam{number}") for number in range(count)]
    options = {"disabled": [f"name{number}" for number in range(count)]}
    return {"hooksConfig": options, "hooks": {"BeforeTool": [{"hooks": named}]}}


def _repeated(count: int) -> str:
    objects = ",".join('{"x": 1, "x": 2}' for _ in range(count))
    return f'{{"enableHooks": true, "hooks": {{"BeforeTool": [{objects}]}}}}'


FLOODS: dict[str, Callable[[int], Any]] = {
    "no-groups": lambda count: {"hooks": {"BeforeTool": [1] * count}},
    "hooks": _hooks,
    "wrong-fields": lambda count: {
        "hooks": {"BeforeTool": [{"hooks": [command_of(timeout="x", naem="y", final=3)]}] * count}
    },
    "matchers": lambda count: {
        "hooks": {
            "BeforeTool": [{"matcher": f"((a{n}*)+b|{'x|' * 99}c)", "hooks": [command_of()]} for n in range(count)]
        }
    },
    "events": lambda count: {"hooks": {f"BeforTool{number}": [1] for number in range(count)}},
    "extensions": lambda count: {"extensions": [{"name": f"e{n}", "hooks": {"BeforeTool": [1]}} for n in range(count)]},
    "disabled-names": _disabled,
    "top-level-keys": lambda count: {f"hook{number}": 1 for number in range(count)},
    "keys-of-a-hook": lambda count: {
        "hooks": {"BeforeTool": [{"hooks": [{**command_of(), **{f"commnd{number}": 1 for number in range(count)}}]}]}
    },
    "repeated-keys": _repeated,
}


@pytest.mark.attack("13.2", "10,000 problems or hooks in one file")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_problems_or_hooks_is_read_soon_and_told_in_few_lines(
    flood: str, project: Path, own_home: Path
) -> None:
    """Every command that reads the file ends in bounded time and prints few lines."""
    values = FLOODS[flood](10_000)
    write_settings(project, own_home, {} if isinstance(values, str) else values)
    if isinstance(values, str):
        (project / ".llxprt" / "settings.json").write_text(values)
    for command in ("check", "agent") if flood != "hooks" else COMMANDS:
        assert_well(command, hookline(project, COMMANDS[command]))


def seconds_to_read(file: Path, *, is_guest: bool) -> float:
    """The processor time that reading and decoding takes; the same text is a new object each time, as in a session."""
    source = ConfigSource.PROJECT if is_guest else ConfigSource.USER
    began = time.process_time()
    decoded = decode_settings([read_layer(file, source, is_guest=is_guest)])
    took = time.process_time() - began
    assert len(decoded.problems) <= 20
    assert not is_guest or len(decoded.hooks) <= 1000
    return took


@pytest.mark.attack("13.2", "ten times as many problems or hooks")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("flood", "is_guest"), [*((flood, False) for flood in FLOODS), ("hooks", True), ("repeated-keys", True)]
)
def test_reading_settings_is_linear(flood: str, is_guest: bool, tmp_path: Path) -> None:
    """10,000 entries take far less than 100 times as long as 1,000, also when a file that was read is read again."""
    files = []
    for count in (1000, 10_000):
        values = FLOODS[flood](count)
        files.append(tmp_path / f"{count}.json")
        files[-1].write_text(values if isinstance(values, str) else json.dumps(values))
    small, large = (min(seconds_to_read(file, is_guest=is_guest) for _ in range(3)) for file in files)
    assert large <= 40 * max(small, 0.002)


@pytest.mark.attack("13.2", "10,000 problems that appear during a session")
@pytest.mark.parametrize("flood", ["no-groups", "hooks", "wrong-fields", "repeated-keys"])
def test_a_flood_during_a_session_does_not_hold_the_loop(flood: str, project: Path, own_home: Path) -> None:
    """The settings are read, the user's guard still denies, and the event loop is free again within bounded time."""
    guard = command_of('echo \'{"decision": "deny", "reason": "guarded"}\'')
    write_settings(project, own_home, {})
    (own_home / ".llxprt" / "settings.json").write_text(
        json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [guard]}]}})
    )
    longest = 0.0

    async def session() -> list[str]:
        nonlocal longest
        config, reasons = Config(project), []

        async def watch() -> None:
            nonlocal longest
            while True:
                before = time.process_time()
                await asyncio.sleep(0.01)
                longest = max(longest, time.process_time() - before)

        watching = asyncio.create_task(watch())
        contents: list[Any] = [{}, FLOODS[flood](10_000), {}]
        for values in contents:
            text = values if isinstance(values, str) else json.dumps(values)
            (project / ".llxprt" / "settings.json").write_text(text)
            await asyncio.sleep(0.01)
            output = await fire_before_tool_hook(config, "write_file", {})
            reasons.append("" if output is None else output.get_effective_reason())
        watching.cancel()
        return reasons

    assert asyncio.run(session()) == ["guarded"] * 3
    assert longest < 10  # it was 15 s and more
