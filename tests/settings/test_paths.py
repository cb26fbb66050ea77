import json
from pathlib import Path

import pytest

from hookline.protocol.constants import ConfigSource
from hookline.settings.read.paths import SettingsPaths, default_paths


def test_the_usual_places(own_home: Path) -> None:
    """The project's, the user's and the system's file are where other tools of the kind look for them."""
    paths = default_paths("/work/p", {})
    assert paths == SettingsPaths(
        project=Path("/work/p/.llxprt/settings.json"),
        user=own_home / ".llxprt" / "settings.json",
        system=Path("/etc/llxprt-code/settings.json"),
        environ={},
    )
    assert paths.by_source() == (
        (ConfigSource.PROJECT, paths.project),
        (ConfigSource.USER, paths.user),
        (ConfigSource.SYSTEM, paths.system),
    )


def test_each_place_can_be_moved() -> None:
    """A variable moves its own file; an empty one moves nothing."""
    moved = {f"HOOKLINE_{name}_SETTINGS": f"/{name}" for name in ("PROJECT", "USER", "SYSTEM")}
    assert default_paths("/p", moved) == SettingsPaths(
        project=Path("/PROJECT"), user=Path("/USER"), system=Path("/SYSTEM"), environ=moved
    )
    assert default_paths("/p", dict.fromkeys(moved, "")).by_source() == default_paths("/p", {}).by_source()


def test_the_programs_own_environment_counts(tmp_path: Path) -> None:
    """Without an environment given, the program's own is asked."""
    assert default_paths("/p").system == tmp_path / "etc" / "settings.json"


KEYS = {"publicKeys": ["ed25519:x"]}


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        pytest.param(None, True, id="none"),
        pytest.param("{}", True, id="empty"),
        pytest.param('{"hooksConfig": {"policy": null}}', True, id="without-policy"),
        pytest.param(json.dumps({"hooksConfig": {"policy": KEYS}}), False, id="policy"),
        pytest.param('{"hooksConfig": {"policy": {"publicKeyss": 1}}}', False, id="policy-with-a-typo"),
        pytest.param("{", False, id="broken"),
    ],
)
def test_a_system_file_with_a_policy_can_not_be_moved(
    text: str | None, *, moves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody can set a variable, also an agent; a company's guards must not be gone by that."""
    file = tmp_path / "settings.json"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr("hookline.settings.read.paths.SYSTEM_FILE", file)
    paths = default_paths("/p", {"HOOKLINE_SYSTEM_SETTINGS": "/dev/null"})
    assert paths.system == (Path("/dev/null") if moves else file)
    assert (paths.refused is None) is moves
    assert moves or f"HOOKLINE_SYSTEM_SETTINGS (/dev/null) is not used, because {file}" in (paths.refused or "")
    assert default_paths("/p", {}).refused is None
