"""A missing extra is one line, and the command in it is right for the way in which hookline was installed."""

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from hookline.errors import install_command

CLONE = {"url": "file:///home/ada/my%20hookline", "dir_info": {}}
EDITABLE = {**CLONE, "dir_info": {"editable": True}}
WHEEL = {"url": "file:///tmp/hookline-0.1.0-py3-none-any.whl", "archive_info": {}}


class Installed:
    """A distribution as installers leave it."""

    def __init__(self, noted: str | None) -> None:
        self._noted = noted

    def read_text(self, _name: str) -> str | None:
        """Return the notes of the installer."""
        return self._noted


@pytest.mark.parametrize(
    ("noted", "prefix", "words"),
    [
        (None, "/venv", ["pip", "install", "hookline[agent]"]),
        (json.dumps(CLONE), "/venv", ["pip", "install", "/home/ada/my hookline[agent]"]),
        (json.dumps(EDITABLE), "/venv", ["pip", "install", "-e", "/home/ada/my hookline[agent]"]),
        (json.dumps(WHEEL), "/venv", ["pip", "install", f"hookline[agent] @ {WHEEL['url']}"]),
        (None, "/home/ada/.local/pipx/venvs/hookline", ["pipx", "install", "--force", "hookline[agent]"]),
        (
            json.dumps(CLONE),
            "/x/uv/tools/hookline",
            ["uv", "tool", "install", "--force", "/home/ada/my hookline[agent]"],
        ),
        ("not JSON", "/venv", ["pip", "install", "hookline[agent]"]),
        ('{"url": 7, "dir_info": 5}', "/venv", ["pip", "install", "hookline[agent]"]),
    ],
    ids=["index", "clone", "editable", "wheel", "pipx", "uv", "garbage", "types"],
)
def test_the_command_fits_the_installation(
    noted: str | None, prefix: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a shell reads it."""
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(noted))
    monkeypatch.setattr(sys, "prefix", prefix)
    assert shlex.split(install_command("agent")) == words


def test_without_metadata_it_is_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the sources on the path, for example."""

    def missing(_name: str) -> Any:
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    assert install_command("ui").endswith("install 'hookline[ui]'")
