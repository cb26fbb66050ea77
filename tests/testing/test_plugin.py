"""The pytest plugin, as another project would use it, and its assertions."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.hook import BeforeTool, Deny
from hookline.testing import MakeHooks, expect


def test_hooks_in_code_are_judged(hookline_hooks: MakeHooks) -> None:
    """A function as a hook, and assertions on what came of its event."""
    hooks = hookline_hooks()

    @hooks.on(BeforeTool, matcher="write_file", name="guard")
    def guard(event: BeforeTool) -> Deny | None:
        return Deny("not here") if event.tool_input.get("path") == "x" else None

    call = hooks.session().sync.before_tool("write_file", {"path": "x"})
    expect(call, "blocked", reason="not here", by="guard", ran=("guard",))
    with pytest.raises(AssertionError, match="outcome:\n  expected allowed\n  got      blocked: not here"):
        expect(call, "allowed")
    assert [record["kind"] for record in hookline_hooks.log][-2:] == ["hook", "event"]


def test_where_no_hook_ran_the_event_goes_on(hookline_hooks: MakeHooks) -> None:
    """And a hook that had to run is missed."""
    call = asyncio.run(hookline_hooks().session().before_tool("ls", {"a": 1}))
    expect(call, "allowed", unchanged=True, arguments={"a": 1})
    with pytest.raises(AssertionError, match="ran:\n  expected guard\n  got      no hook"):
        expect(call, ran="guard")


def test_settings_and_log_are_the_test_s_own(hookline_home: Path, hookline_project: Path, tmp_path: Path) -> None:
    """Home, state and project are below the test's directory."""
    assert Path(os.environ["HOME"]) == hookline_home
    assert hookline_project.parent == hookline_home.parent == tmp_path
    assert os.environ["HOOKLINE_STATE_DIR"].startswith(str(tmp_path))


@pytest.mark.timeout(60)
def test_a_stranger_s_project_has_the_fixtures_and_pays_only_for_their_use(tmp_path: Path) -> None:
    """The plugin is loaded in every run of pytest and brings nothing with it; the example of docs/testing.md passes."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    found = re.search(r"<!-- example: pytest -->\n```python\n(.*?)```", page, re.DOTALL)
    assert found
    # Before the tests are collected.
    (tmp_path / "conftest.py").write_text("import sys\nprint(*(n for n in sys.modules if n.startswith('hookline')))\n")
    (tmp_path / "test_guard.py").write_text(found[1])
    options = ["-q", "-s", "-W", "error", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=50)
    assert "1 passed" in done.stdout, done.stdout
    assert done.stdout.splitlines()[0].split() == ["hookline", "hookline.testing", "hookline.testing.plugin"]
