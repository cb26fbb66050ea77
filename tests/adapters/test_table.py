"""The list of adapters, and the messages about those that can't be used."""

import importlib
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

from hookline import Hooks
from hookline.adapters.table import ADAPTERS, Adapter, events_of, loading, report_inabilities
from hookline.errors import HooklineError, MissingExtraError, install_command

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def named(adapter: Adapter) -> str:
    """An id for a test."""
    return adapter.name


@pytest.mark.parametrize("adapter", ADAPTERS, ids=named)
def test_every_adapter_is_complete(adapter: Adapter) -> None:
    """An adapter has a module, an extra with a range of its package, a test and an example."""
    assert find_spec(f"hookline.adapters.{adapter.name}")
    assert (ROOT / "tests" / "adapters" / f"test_{adapter.name}.py").exists()
    assert (ROOT / "examples" / "adapters" / f"{adapter.name}_agent.py").exists()
    ranges = [one for one in EXTRAS[adapter.extra] if re.match(rf"{adapter.package}\b", one)]
    assert ranges
    assert all(f">={adapter.since}," in one and "<" in one for one in ranges)
    assert adapter.front in adapter.use
    for key in adapter.cannot:
        assert events_of(key)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=named)
def test_a_missing_framework_is_named_with_its_extra(adapter: Adapter) -> None:
    """Without the framework, importing the adapter is one clear line."""
    try:
        version(adapter.package)
    except PackageNotFoundError:
        pass
    else:
        pytest.skip(f"{adapter.package} is installed here")
    with pytest.raises(MissingExtraError) as error:
        importlib.import_module(f"hookline.adapters.{adapter.name}")
    needed = f"this needs the package {adapter.package}, which is not installed"
    assert str(error.value) == f"{needed}; run: {install_command(adapter.extra)}"


@pytest.mark.parametrize(
    ("installed", "is_old"),
    [("2.61.9", True), ("1.107.10", True), ("2.62", False), ("2.62.0rc1", False), ("2.100.0", False), ("3.0", False)],
)
def test_a_framework_that_would_leave_hooks_out_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str, is_old: bool
) -> None:
    """Before 2.62 Pydantic AI asks no capability for a model, so hooks around model calls would silently not run."""
    folder = tmp_path / "pydantic_ai_slim-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pydantic-ai-slim\nVersion: {installed}\n")
    monkeypatch.syspath_prepend(tmp_path)
    if not is_old:
        with loading("pydantic_ai") as adapter:
            assert adapter.name == "pydantic_ai"
        return
    with pytest.raises(HooklineError) as error, loading("pydantic_ai"):
        pytest.fail("nothing is imported from a framework that is too old")
    needed = f"hookline.adapters.pydantic_ai needs 2.62 or newer: {install_command('pydantic-ai')}"
    assert str(error.value) == f"pydantic-ai-slim {installed} is installed; {needed}"


def test_hooks_without_effect_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An adapter says which configured hooks it can't apply, and which events it never fires; of others, nothing."""
    group = [{"hooks": [{"type": "command", "command": "true"}]}]
    events = ("AfterModel", "BeforeTool", "SessionStart", "BeforeAgent")
    cannot = {"response redaction": "it has no such thing", "stop: AfterModel": "nor this", "request rewrite": "no"}
    with Hooks(tmp_path, settings={"enableHooks": True, "hooks": dict.fromkeys(events, group)}) as hooks:
        report_inabilities(hooks, "the loop", cannot)
        report_inabilities(hooks, "the loop", cannot)
    idle = "BeforeAgent, SessionStart"
    assert capfd.readouterr().err.splitlines() == [
        "hookline: the loop can't apply the response redaction of AfterModel hooks: it has no such thing",
        "hookline: the loop can't apply the stop of AfterModel hooks: nor this",
        f"hookline: the adapter for the loop does not fire {idle}, so hooks of these events never run",
    ]
    with Hooks(tmp_path, settings={}) as hooks:
        report_inabilities(hooks, "the loop", cannot)
    assert capfd.readouterr().err == ""
