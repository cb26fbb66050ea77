"""Whether hooks of an engine run warm: settings, the environment, and what is left when it ends."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hookline import Config
from hookline.engine.system import HookSystem
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.runners.process.features import FEATURES
from hookline.settings.trust.store import TrustStore


@pytest.fixture(autouse=True)
def parked_interpreters(no_parked_interpreters: None) -> Iterator[None]:  # noqa: ARG001 - after the fixture of all tests
    """As in a program."""
    with patch.dict(vars(FEATURES), {"warm": True}):
        yield


def system_of(folder: Path, hook: dict[str, Any] | None = None, **options: Any) -> HookSystem:
    """An engine with one hook that allows everything, and a log."""
    (folder / "hook.py").write_text(
        "import json, sys\njson.load(sys.stdin)\nprint(json.dumps({'decision': 'allow'}))\n"
    )
    entry = {"type": "command", "command": f"{sys.executable} hook.py", "name": "guard", **(hook or {})}
    settings = {
        "enableHooks": True,
        "hooks": {"BeforeTool": [{"hooks": [entry]}]},
        "hooksConfig": {"log": {"path": str(folder / "log.jsonl")}, **options},
    }
    system = Config(working_dir=str(folder), session_id="s", settings=settings).get_hook_system()
    assert system is not None
    system.start()
    return system


def fired(system: HookSystem, times: int = 4) -> list[str]:
    """The ways in which the hook ran, with time between the events."""
    ways = []
    for _ in range(times):
        verdict = asyncio.run(
            system.get_event_handler().fire(HookEventName.BEFORE_TOOL, {"tool_name": "ls", "tool_input": {}})
        )
        (run,) = verdict.runs
        assert (run.success, run.decision, run.error) == (True, "allow", None)
        ways.append(run.way.value)
        pool = system._parts.warm_policy._pool  # type: ignore[union-attr]
        assert pool is None or pool.wait_until_idle()
    return ways


@pytest.mark.req("WARM-005", "WARM-009")
def test_the_third_run_is_warm(tmp_path: Path) -> None:
    """The log shows it, and the end of the engine ends the interpreters."""
    system = system_of(tmp_path)
    assert fired(system) == ["cold", "cold", "warm", "warm"]
    pids = system._parts.warm_policy._pool.pids  # type: ignore[union-attr]
    assert len(pids) == 2
    system.dispose()
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["way"] for record in records if record["kind"] == "hook"] == ["cold", "cold", "warm", "warm"]
    deadline = time.monotonic() + 45
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):  # noqa: PTH110
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.req("WARM-004")
def test_a_changed_script_is_not_run_by_the_interpreter_that_waits_for_it(tmp_path: Path) -> None:
    """The hash of a project's script is asked before each event, and the script is read after that."""
    entry = {"type": "command", "command": f"{sys.executable} hook.py"}
    (tmp_path / ".llxprt").mkdir()
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [entry]}]}}
    (tmp_path / ".llxprt" / "settings.json").write_text(json.dumps(settings))
    script = tmp_path / "hook.py"
    script.write_text('print(\'{"decision": "allow"}\')\n')
    store = tmp_path / "trust.json"
    config = Config(working_dir=str(tmp_path), session_id="s", trust_path=store)
    system = config.get_hook_system()
    assert system is not None
    system.start()
    TrustStore(store).trust(system.get_all_hooks(), str(tmp_path))
    assert fired(system, 3) == ["cold", "cold", "warm"]
    script.write_text("open('evil', 'w')\n")
    told = {"tool_name": "ls", "tool_input": {}}
    verdict = asyncio.run(system.get_event_handler().fire(HookEventName.BEFORE_TOOL, told))
    assert [*verdict.runs] == []
    system.dispose()
    assert not (tmp_path / "evil").exists()


@pytest.mark.req("WARM-008")
@pytest.mark.parametrize(
    ("hook", "options"),
    [
        pytest.param({"warm": False}, {}, id="the hook"),
        pytest.param({}, {"warm": False}, id="the settings"),
        pytest.param({}, {"warm": {"max": 0}}, id="none of them"),
        pytest.param({"limits": {"files": 100}}, {}, id="limits"),
        pytest.param({"warm": "no"}, {}, id="a wrong value is the stricter one"),
    ],
)
def test_switched_off(tmp_path: Path, hook: dict[str, Any], options: dict[str, Any]) -> None:
    """Then every run is cold, and nothing is loaded for it."""
    system = system_of(tmp_path, hook, **options)
    assert fired(system) == ["cold"] * 4
    assert system._parts.warm_policy._pool is None  # type: ignore[union-attr]
    system.dispose()


@pytest.mark.req("WARM-008")
def test_switched_off_by_the_environment(tmp_path: Path) -> None:
    """HOOKLINE_CHILD=cold, and every system that lacks what it takes."""
    with patch.dict(vars(FEATURES), {"warm": False}):
        system = system_of(tmp_path)
        assert fired(system) == ["cold"] * 4
        system.dispose()


@pytest.mark.req("WARM-005")
def test_the_settings_say_how_many(tmp_path: Path) -> None:
    """Another value than a number is ignored."""
    system = system_of(tmp_path, warm={"max": 1})
    assert fired(system, 3) == ["cold", "cold", "warm"]
    system.dispose()
    system = system_of(tmp_path, warm={"max": "many"})
    assert system.get_settings().options.warm.max == 8  # type: ignore[union-attr]
    system.dispose()


def entry(command: str, **more: Any) -> HookEntry:
    event, source = HookEventName.BEFORE_TOOL, ConfigSource.USER
    return HookEntry(event=event, source=source, origin="f", location="l", run=CommandLine(command), **more)
