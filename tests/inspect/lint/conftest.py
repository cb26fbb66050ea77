import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.inspect.view import Setup, read_setup

MakeSetup = Callable[..., Setup]


@pytest.fixture
def make_setup(project: Path, tmp_path: Path) -> MakeSetup:
    """Writes settings files and reads the setup that they make in the project."""

    def make(*files: Any, tools: tuple[str, ...] = (), enable: bool = True) -> Setup:
        paths = []
        for index, values in enumerate(files):
            path = tmp_path / f"settings-{index}.json"
            path.write_text(json.dumps({"enableHooks": True, **values} if enable else values, indent=2))
            paths.append(path)
        return read_setup(Config(project, settings_files=paths), tools)

    return make
