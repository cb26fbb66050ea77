"""`/hooks enable` and its relatives switch hooks for the session."""

import asyncio
import json
from pathlib import Path

import pytest

from hookline import Config
from hookline.apps.cli.terminal.slash import switch_hooks
from hookline.settings.read.paths import SettingsPaths


def _hook(name: str, **more: object) -> dict[str, object]:
    return {"type": "command", "name": name, "command": "exit 2", **more}


@pytest.fixture
def config(project: Path, tmp_path: Path) -> Config:
    """A user's guards, one of them required, and one of the system."""
    user = _write(tmp_path / "user.json", _hook("mine"), _hook("must", required=True))
    system = _write(tmp_path / "system.json", _hook("company"))
    return Config(project, settings_paths=SettingsPaths(project=project / "none.json", user=user, system=system))


def _write(path: Path, *hooks: dict[str, object]) -> Path:
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": list(hooks)}]}}))
    return path


def _switch(config: Config, *words: str) -> tuple[str, list[str]]:
    """The answer, and the hooks that are enabled afterwards."""
    answer = asyncio.run(switch_hooks(config, words))
    system = config.get_hook_system()
    assert system is not None
    return answer, [hook.label for hook in system.get_all_hooks() if hook.enabled]


def test_one_hook_is_disabled_and_enabled(config: Config) -> None:
    """Until the session ends, and no settings file changes."""
    assert _switch(config, "disable", "mine") == ("Disabled mine until the session ends.", ["must", "company"])
    assert _switch(config, "enable", "mine") == ("Enabled mine until the session ends.", ["mine", "must", "company"])


def test_an_administrators_hooks_stay(config: Config, tmp_path: Path) -> None:
    """A session can't disable a required hook, nor one of the system's settings."""
    answer, enabled = _switch(config, "disable-all")
    assert enabled == ["must", "company"]
    assert answer == (
        "Disabled mine until the session ends. must remains enabled: it is required."
        f" company remains enabled: it comes from {tmp_path / 'system.json'}."
    )
    assert _switch(config, "disable", "company")[1] == ["must", "company"]
    assert _switch(config, "enable-all")[1] == ["mine", "must", "company"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["disable"], "Write /hooks"),
        (["disable-all", "mine"], "Write /hooks"),
        (["off", "mine"], "Write /hooks"),
        (["disable", "mime"], "There is no hook 'mime'; did you mean mine?"),
    ],
)
def test_a_mistake_changes_nothing(config: Config, words: list[str], answer: str) -> None:
    """It is answered with what can be written."""
    said, enabled = _switch(config, *words)
    assert said.startswith(answer)
    assert enabled == ["mine", "must", "company"]
