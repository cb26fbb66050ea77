"""Hooks of installed packages: they run only if the user's or the system's settings name them."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict
from hookline.runners.function import plugins
from hookline.runners.function.plugins import plugin_fault
from hookline.settings.read.paths import SettingsPaths

CODE = """
from hookline.hook import Context, Deny

async def no_writes(event):
    return Deny(f"no {event.tool_name}") if event.tool_name.startswith("write_") else None

def plain(event):
    raise Deny("from a thread")

NUMBER = 5
"""
POINTS = """[hookline.hooks]
no-writes = my_guards:no_writes
plain = my_guards:plain
number = my_guards:NUMBER
broken = my_guards.broken:hook
exits = my_guards_exit:hook
missing = my_guards:missing

[other.group]
other = my_guards:plain
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with hooks."""
    site = tmp_path / "site"
    (site / "my_guards-1.0.dist-info").mkdir(parents=True)
    (site / "my_guards-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: My-Guards\nVersion: 1.0\n")
    (site / "my_guards-1.0.dist-info" / "entry_points.txt").write_text(POINTS)
    (site / "my_guards").mkdir()
    (site / "my_guards" / "__init__.py").write_text(CODE)
    (site / "my_guards" / "broken.py").write_text("import no_such_package_anywhere\n")
    (site / "my_guards_exit.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(site)
    yield
    plugins._loaded.clear()
    for name in [name for name in sys.modules if name.startswith("my_guards")]:
        del sys.modules[name]


def plugin(entry_point: Any, **options: Any) -> dict[str, Any]:
    return {"type": "plugin", "plugin": entry_point, **options}


def settings(*hooks: dict[str, Any]) -> dict[str, Any]:
    return {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {"BeforeTool": [{"matcher": "_file", "hooks": list(hooks)}]},
    }


def fire(config: Config, tool: str = "write_file") -> Verdict:
    system = config.get_hook_system()
    assert system is not None

    async def main() -> Verdict:
        await system.initialize()
        return await system.get_event_handler().fire(
            HookEventName.BEFORE_TOOL, {"tool_name": tool, "tool_input": {"a": 1}}
        )

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "tool", "reason"),
    [
        ("my-guards:no-writes", "write_file", "no write_file"),
        ("My_Guards:no-writes", "write_file", "no write_file"),
        ("my-guards:no-writes", "read_file", None),
        ("my-guards:plain", "read_file", "from a thread"),
        ("my-guards:no-writes", "write", None),
    ],
)
@pytest.mark.req("HOOK-195")
def test_a_named_entry_point_runs(name: str, tool: str, reason: str | None, project: Path) -> None:
    """The function that the package offers under that name decides, for the tools that the settings match."""
    verdict = fire(Config(project, settings=settings(plugin(name, name="guard"))), tool)
    assert (verdict.reason, verdict.blocked) == (reason, reason is not None)
    assert [run.error for run in verdict.runs] == ([None] if tool.endswith("_file") else [])


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no-such-package:x", "could not be loaded: the package no-such-package is not installed here"),
        ("my-guards:x", "could not be loaded: the package my-guards has no hook x; it has broken, exits, missing, n"),
        ("my-guards:other", "could not be loaded: the package my-guards has no hook other"),
        (
            "pytest:x",
            "could not be loaded: the package pytest has no hook x; it has no entry points of hookline.hooks",
        ),
        ("my-guards:broken", "could not be loaded from the package my-guards: ModuleNotFoundError("),
        ("my-guards:missing", "could not be loaded from the package my-guards: AttributeError("),
        ("my-guards:exits", "could not be loaded from the package my-guards: SystemExit(3)"),
        ("my-guards:number", "a hook is a function, and 5 can't be called"),
        ("my-guards", "could not be started: its plugin 'my-guards' is not of the form package:name"),
        (":x", "could not be started: its plugin ':x' is not of the form package:name"),
        (None, 'could not be started: hooks of type "plugin" cannot be run; use "type": "command"'),
        (5, 'could not be started: hooks of type "plugin" cannot be run; use "type": "command"'),
    ],
)
@pytest.mark.parametrize("on_error", ["allow", "block"])
@pytest.mark.req("HOOK-195")
def test_a_plugin_that_can_not_be_run_fails(name: Any, error: str, on_error: str, project: Path) -> None:
    """A missing package or a failing import is a failed hook that is named with its package; others still run."""
    hooks = settings(plugin(name, onError=on_error), {"type": "command", "command": "echo still here"})
    verdict = fire(Config(project, settings=hooks, quiet=True))
    assert (verdict.note, verdict.blocked) == ("still here", on_error == "block")
    assert str(verdict.runs[0].error).startswith(error)
    assert len(verdict.errors) == 1


def layers(tmp_path: Path, **given: dict[str, Any]) -> SettingsPaths:
    """Settings files of all layers, with what is given in them."""
    paths = {}
    for name in ("project", "user", "system"):
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps(given.get(name, {})))
        paths[name].chmod(0o600)
    return SettingsPaths(project=paths["project"], user=paths["user"], system=paths["system"])


@pytest.mark.parametrize(("layer", "is_refused"), [("user", False), ("system", False), ("project", True)])
def test_only_the_user_and_the_system_name_plugins(layer: str, is_refused: bool, project: Path, tmp_path: Path) -> None:
    """A project's file that names one is reported, with the remedy, even if the user trusts its hooks."""
    config = Config(project, settings_paths=layers(tmp_path, **{layer: settings(plugin("my-guards:no-writes"))}))
    problems = [str(problem) for problem in config.get_settings().problems]
    refusal = "only the user's or the system's settings may name a plugin; move it there"
    assert any(refusal in problem for problem in problems) is is_refused
    (hook,) = config.get_settings().hooks
    assert (hook.run.label, hook.refusal) == ("my-guards:no-writes", refusal if is_refused else None)
    assert fire(config).blocked is not is_refused
    if is_refused:
        from hookline.settings.trust.store import TrustStore, default_trust_path  # noqa: PLC0415

        TrustStore(default_trust_path()).trust([hook], str(project))
        verdict = fire(
            Config(project, settings_paths=layers(tmp_path, project=settings(plugin("my-guards:no-writes"))))
        )
        assert [run.error for run in verdict.runs] == [f"could not be started: {refusal}"]
        assert "my_guards" not in sys.modules


def test_a_plugin_in_the_words_of_another_agent_is_refused(project: Path) -> None:
    """Its matcher would be read in that agent's words, and its function can't read the event in them."""
    given = settings(plugin("my-guards:no-writes", dialect="claude", onError="block"))
    given["hooks"]["BeforeTool"][0]["matcher"] = "Write"
    verdict = fire(Config(project, settings=given, quiet=True))
    assert (verdict.blocked, "a plugin does not know the words of claude" in str(verdict.runs[0].error)) == (True, True)


def test_a_plugin_with_limits_is_refused(project: Path) -> None:
    """Limits of a process mean nothing inside the agent, so they are not pretended."""
    verdict = fire(Config(project, settings=settings(plugin("my-guards:no-writes", network=False)), quiet=True))
    assert "a plugin runs inside the agent, where limits and network have no effect" in str(verdict.runs[0].error)


def test_the_same_plugin_of_two_layers_runs_once(project: Path, tmp_path: Path) -> None:
    """As with commands, the more trusted one runs."""
    given = settings(plugin("my-guards:no-writes"))
    verdict = fire(Config(project, settings_paths=layers(tmp_path, user=given, system=given)))
    assert [run.hook.source for run in verdict.runs] == ["system"]


def test_a_plugin_is_looked_for_without_loading_it() -> None:
    """`check` and `doctor` can tell whether it is installed, and run nothing of it."""
    assert plugin_fault("my-guards:broken") is None
    assert "is not installed" in str(plugin_fault("nothing:x"))
    assert "my_guards" not in sys.modules
