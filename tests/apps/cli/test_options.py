"""The project that commands are about, when none is named."""

from typing import TYPE_CHECKING

import pytest

from hookline.apps.cli.main import main

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench

HOOK = {"type": "command", "name": "guard", "command": "exit 2"}


def test_a_parents_guards_are_found_from_below(
    workbench: "Workbench", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Started in a subdirectory, a command is about the project, and reports that; --project is taken as it is."""
    workbench.write(workbench.project_file, {"hooks": {"BeforeTool": [{"hooks": [HOOK]}]}})
    below = workbench.project / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    for words in (["list"], ["check"], ["fire", "--plan", "BeforeTool"], ["doctor"], ["fire", "BeforeTool"]):
        main(words)
        printed = capsys.readouterr()
        assert "guard" in printed.out + printed.err, words
        assert printed.err.count(f"hookline: the project is {workbench.project}\n") == 1, words
    assert main(["list", "--project", "."]) == 0
    printed = capsys.readouterr()
    assert (printed.err, "No hooks are configured" in printed.out) == ("", True)
    assert main(["trust", "--all", "--yes"]) == 0
    assert main(["fire", "BeforeTool"]) == 2


def test_a_new_project_begins_where_init_is_run(
    workbench: "Workbench", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also below another project."""
    workbench.write(workbench.project_file, {})
    below = workbench.project / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert main(["init"]) == 0
    assert (below / ".llxprt" / "settings.json").exists()
    capsys.readouterr()
