from pathlib import Path

from hookline.contract.vocabulary import ConfigSource
from hookline.settings.paths import SettingsPaths, default_paths


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
