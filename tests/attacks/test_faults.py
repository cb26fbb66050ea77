"""Faults of hookline itself, of its files and of the machine: with onFault block, no call runs unjudged."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hookline.engine.system
from hookline.client.config import Config
from hookline.client.triggers import model as model_triggers
from hookline.client.triggers.model import fire_before_model_hook
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks, fire_before_tool_hook
from hookline.protocol.llm import GenerateContentParameters
from hookline.settings.read.paths import SettingsPaths

GUARD = {"type": "command", "command": "cat >/dev/null; echo guard >&2; exit 2", "name": "guard"}
HARMLESS = {"type": "command", "command": "true", "name": "harmless"}


class Files:
    """The three settings files of a program, and its tool calls."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.project, self.user, self.system = (directory / f"{name}.json" for name in ("project", "user", "system"))

    def write(self, file: Path, *hooks: dict[str, Any], **options: Any) -> None:
        """Writes a file that enables hooks."""
        log = {"path": str(self.directory / "log.jsonl")}
        values = {
            "enableHooks": True,
            "hooksConfig": {"log": log, **options},
            "hooks": {"BeforeTool": [{"hooks": hooks}]},
        }
        file.write_text(json.dumps(values))

    def config(self, **options: Any) -> Config:
        """The program, started now."""
        paths = SettingsPaths(project=self.project, user=self.user, system=self.system)
        return Config(self.directory, settings_paths=paths, **options)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def _run(_: dict[str, Any]) -> ToolResult:
    return ToolResult(llm_content="ran")


def call(config: Config) -> str:
    return str(asyncio.run(execute_tool_with_hooks(config, "x", {}, _run)).llm_content)


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("boom")


@pytest.mark.parametrize("where", ["code", "file"])
@pytest.mark.parametrize("place", ["build", "get_hook_system"])
def test_a_fault_before_the_first_event_blocks(
    files: Files, monkeypatch: pytest.MonkeyPatch, where: str, place: str
) -> None:
    """The door makes the block, for callers of each trigger; without onFault the call proceeds."""
    for strict in (True, False):
        files.write(files.user, HARMLESS, **({"onFault": "block"} if strict and where == "file" else {}))
        config = files.config(**({"on_fault": "block"} if strict and where == "code" else {}))
        if place == "build":
            monkeypatch.setattr(hookline.engine.system, "HookPlanner", fail)
        else:
            monkeypatch.setattr(config, "get_hook_system", fail)
        assert call(config) == (
            "hookline failed while starting (RuntimeError), and onFault is block" if strict else "ran"
        )
        output = asyncio.run(fire_before_tool_hook(config, "x", {}))
        assert (output is not None and output.is_blocking_decision()) is strict
        request = GenerateContentParameters(model="m", contents="hi", config=None)
        assert asyncio.run(fire_before_model_hook(config, request)).blocked is strict


def test_a_fault_while_a_verdict_is_applied_blocks(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict that could not be applied lets nothing through."""
    answer = {"type": "command", "command": 'echo \'{"systemMessage":"m"}\''}
    files.user.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeModel": [{"hooks": [answer]}]}}))
    apply = model_triggers._before_model

    request = GenerateContentParameters(model="m", contents="hi", config=None)
    for strict in (True, False):
        calls = iter((fail, apply))
        monkeypatch.setattr(model_triggers, "_before_model", lambda *a, calls=calls, **k: next(calls)(*a, **k))
        config = files.config(on_fault="block" if strict else "allow")
        assert asyncio.run(fire_before_model_hook(config, request)).blocked is strict


@pytest.mark.parametrize("name", ["project", "user", "system"])
def test_a_file_that_cannot_be_read_at_start_blocks_until_it_is_fixed(files: Files, name: str) -> None:
    """The reason names the file and what to do; another file's hooks do not stand for the ones that are missing."""
    for other in (files.user, files.system):
        files.write(other, HARMLESS)
    broken: Path = getattr(files, name)
    broken.write_text("{broken")
    config = files.config(on_fault="block", quiet=True)
    reason = call(config)
    assert reason.startswith(f"{broken}:1:2: is not JSON")
    assert reason.endswith("so none of its hooks run; fix it at this place, and onFault is block")
    files.write(broken)
    assert _after_the_change(config).startswith("ran")


def test_the_only_file_that_might_enable_hooks_blocks_if_it_is_broken(files: Files) -> None:
    """Hooks may be enabled there, so they count as enabled."""
    files.user.write_text("{broken")
    assert call(files.config(quiet=True)) == "ran"
    config = files.config(on_fault="block", quiet=True)
    assert "is not JSON" in call(config)
    assert not config.get_enable_hooks()
    files.user.write_text("{}")
    assert _after_the_change(config) == "ran"


def test_on_fault_of_a_readable_file_counts_for_a_broken_one(files: Files) -> None:
    """The system's file is strict, and the user's is broken; a project's file can't be strict for others."""
    files.write(files.system, onFault="block")
    files.user.write_text("{broken")
    assert "is not JSON" in call(files.config(quiet=True))
    files.system.unlink()
    files.write(files.project, onFault="block")
    assert call(files.config(quiet=True)) == "ran"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda file: file.unlink(), "was deleted", id="deleted"),
        pytest.param(lambda file: file.write_text(""), "is empty", id="emptied"),
        pytest.param(lambda file: file.write_text(file.read_text()[:40]), "is not JSON", id="cut"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), "is a directory", id="a-directory"),
    ],
)
@pytest.mark.parametrize("name", ["user", "system"])
def test_a_file_that_is_lost_keeps_its_guard(
    files: Files, name: str, change: Callable[[Path], Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last good hooks stay, and stderr and the log report it once."""
    file: Path = getattr(files, name)
    files.write(file, GUARD)
    config = files.config()
    assert call(config) == "guard"
    change(file)
    assert [_after_the_change(config) for _ in range(3)] == ["guard"] * 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hookline: {file}")
    assert message in line
    assert "the settings that were read before are used" in line
    system = config.get_hook_system()
    assert system is not None
    system.dispose()
    assert (files.directory / "log.jsonl").read_text().count("the settings that were read before are used") == 1
    if file.is_dir():
        file.rmdir()
    file.write_text("{}")  # an edit


def test_an_editor_may_replace_a_file_and_a_project_may_remove_its_own(files: Files) -> None:
    """A file that comes back counts as it is; a project's file is not kept when it is gone."""
    files.write(files.user, GUARD)
    config = files.config()
    assert call(config) == "guard"
    files.user.unlink()
    assert _after_the_change(config) == "guard"
    files.user.write_text('{"enableHooks": true}')
    assert _after_the_change(config) == "ran"
    files.write(files.project, {**HARMLESS, "name": "theirs"})
    assert _after_the_change(config) == "ran"
    system = config.get_hook_system()
    assert system is not None
    assert [hook.name for hook in system.get_all_hooks()] == ["theirs"]
    files.project.unlink()
    assert _after_the_change(config) == "ran"
    assert system.get_all_hooks() == ()


def _after_the_change(config: Config) -> str:
    """A call that is sure to see a changed file: events in quick succession do not look again."""
    asyncio.run(asyncio.sleep(0.01))
    return call(config)


_NO_DESCRIPTORS = """
import asyncio, os, resource, sys
from hookline.client.config import Config
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks

async def run(arguments):
    return ToolResult(llm_content="ran")

def config(strict):
    hook = {"type": "command", "command": "true", "name": "g"}
    options = {"enableHooks": True, "hooksConfig": {"log": {"enabled": False}}}
    settings = {**options, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    return Config(".", settings=settings, on_fault="block" if strict else "allow")

async def main():
    made = [config(strict) for strict in (True, False)]
    if sys.argv[1] == "later":
        for one in made:
            await execute_tool_with_hooks(one, "x", {}, run)
    await execute_tool_with_hooks(made[1], "x", {}, run)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    results = [(await execute_tool_with_hooks(one, "x", {}, run)).llm_content for one in made]
    for fd in held:
        os.close(fd)
    print("\\n".join(results))

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["later", "first"])
def test_a_hook_that_cannot_be_started_for_lack_of_descriptors_blocks(tmp_path: Path, moment: str) -> None:
    """The machine is at its limits, and the call was not judged: that does not let it through."""
    done = subprocess.run(
        [sys.executable, "-c", _NO_DESCRIPTORS, moment],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    strict, lenient = done.stdout.splitlines()
    assert strict == "g: could not be started: Too many open files, and onFault is block"
    assert lenient.startswith("ran")
