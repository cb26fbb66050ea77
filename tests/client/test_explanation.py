import json
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.hook import BeforeTool, Deny

from .conftest import MakeHooks, hook


def test_functions_are_in_the_plan_and_in_the_list(make_hooks: MakeHooks) -> None:
    """A program can see its plan and its functions, as `hookline fire --plan` and `list` show those of files."""
    hooks = make_hooks({"BeforeTool": [hook("true", name="script", matcher="^write_"), hook("exit 0", name="other")]})

    @hooks.on(BeforeTool, matcher="write_.*", name="no-secrets", timeout=2.0)
    async def no_secrets(_event: BeforeTool) -> Deny | None:
        return None

    @hooks.on("BeforeTool", matcher="read", name="reads")
    def reads(_event: BeforeTool) -> None:
        return None

    explained = hooks.explain("BeforeTool", tool="write_file")
    assert [one.label for one in explained.hooks] == ["script", "other", "no-secrets"]
    assert [skip.hook.label for skip in explained.skipped] == ["reads"]
    text = str(explained)
    assert text.splitlines()[:2] == [
        "BeforeTool write_file",
        "3 hooks would run, those of one layer at the same time:",
    ]
    assert "  3. no-secrets  matcher 'write_.*', timeout 2 s" in text
    assert f"{__file__}:" in text
    assert "Would not run:\n  reads  matcher: 'read' does not match 'write_file'" in text
    assert [one.label for one in hooks.list_hooks()] == ["script", "other", "no-secrets", "reads"]
    assert hooks.list_hooks("AfterTool") == ()


def test_a_plan_follows_the_settings(tmp_path: Path) -> None:
    """A file that changes is read again before the plan is shown."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"enableHooks": True, "hooks": {}}))
    hooks = Hooks(tmp_path, settings_files=[file])
    assert str(hooks.explain("AfterTool", tool="t")) == "AfterTool t\nNo hook would run."
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"AfterTool": [hook("true", name="new")]}}))
    while not hooks.explain("AfterTool", tool="t").hooks:  # looks at files every two milliseconds at the most
        pass
    assert "1 hook would run:\n  1. new  timeout 60 s" in str(hooks.explain("AfterTool", tool="t"))
    hooks.close()


def test_disabled_hooks_and_bad_arguments(tmp_path: Path) -> None:
    """Nothing runs, and its text reports that; an unknown event is an error."""
    hooks = Hooks(tmp_path, settings={})
    assert (hooks.explain("BeforeTool").hooks, hooks.explain("BeforeTool").skipped) == ((), ())
    assert str(hooks.explain("BeforeTool")).startswith("Hooks are disabled")
    assert hooks.list_hooks() == ()
    with pytest.raises(ValueError, match="BeforeToool"):
        hooks.explain("BeforeToool")
    wrong: Any = 7
    with pytest.raises(TypeError, match="tool or subject is 7"):
        hooks.explain("BeforeTool", tool=wrong)


def test_the_text_is_safe_for_a_terminal(make_hooks: MakeHooks) -> None:
    """Names come from settings files, which may be untrusted."""
    hooks = make_hooks({"BeforeTool": [hook("true", name="a\x1b[2Jb")]})
    assert "\x1b" not in str(hooks.explain("BeforeTool", tool="x\x1b]0;t\x07"))
