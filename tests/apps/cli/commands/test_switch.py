import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench

USER = """\
{
  "enableHooks": true, // always
  "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true", "name": "guard"}]}]},
  "hooksConfig": {
    "disabled": [
      "old" // since May
    ]
  }
}
"""


def hooks(*names: str, **more: Any) -> dict[str, Any]:
    entries = [{"type": "command", "command": "true", "name": name, **more} for name in names]
    return {"hooks": {"BeforeTool": [{"hooks": entries}]}}


def enabled(workbench: "Workbench") -> dict[str, bool]:
    return {entry["hook"]: entry["enabled"] for entry in workbench.json("list")["hooks"]}


def test_a_hook_is_switched_off_and_on_again(workbench: "Workbench") -> None:
    """The name goes into the list and out of it; comments and layout stay as they were."""
    workbench.write(workbench.user_file, USER)
    printed = workbench.run("disable", "--yes", "guard")
    assert printed.splitlines() == [
        "guard: ~/.llxprt/settings.json was changed",
        "  BeforeTool from ~/.llxprt/settings.json: off",
    ]
    assert workbench.user_file.read_text() == USER.replace(
        '"old" // since May\n', '"old", // since May\n      "guard"\n'
    )
    assert enabled(workbench) == {"guard": False}
    assert "needed no change" in workbench.run("disable", "--yes", "guard")
    assert "guard  disabled: by " in workbench.run("fire", "--plan", "BeforeTool")
    assert workbench.json("enable", "--yes", "guard") == {
        "hook": "guard",
        "file": str(workbench.user_file),
        "changed": True,
        "hooks": [
            {"event": "BeforeTool", "origin": str(workbench.user_file), "enabled": True, "disabledBy": None},
        ],
    }
    assert workbench.user_file.read_text() == USER
    assert "needed no change" in workbench.run("enable", "--yes", "guard")


def test_a_user_may_switch_off_a_projects_hook(workbench: "Workbench") -> None:
    """The user's file has a say over the project's hooks, and is made if there is none."""
    workbench.write(workbench.project_file, hooks("theirs"))
    workbench.run("disable", "--yes", "theirs")
    assert json.loads(workbench.user_file.read_text()) == {"hooksConfig": {"disabled": ["theirs"]}}
    assert enabled(workbench) == {"theirs": False}


def test_a_project_may_switch_off_its_own_hooks_only(workbench: "Workbench") -> None:
    """A change without effect is not written; the advice names one with an effect."""
    workbench.write(workbench.project_file, hooks("theirs"))
    workbench.write(workbench.user_file, hooks("mine"))
    before = workbench.project_file.read_text()
    said = workbench.run("disable", "--yes", "mine", "--scope", "project", code=1)
    assert "mine is configured in ~/.llxprt/settings.json, and .llxprt/settings.json cannot disable it" in said
    assert "leave --scope project out" in said
    assert workbench.project_file.read_text() == before
    workbench.run("disable", "--yes", "theirs", "--scope", "project")
    assert enabled(workbench) == {"theirs": False, "mine": True}


def test_the_systems_hooks_are_not_the_users_to_switch(workbench: "Workbench") -> None:
    """The advice names who can."""
    workbench.write(workbench.home.parent / "etc" / "settings.json", hooks("policy"))
    said = workbench.run("disable", "--yes", "policy", code=1)
    assert "the administrator of this system can add it" in said
    assert not workbench.user_file.exists()


def test_one_name_in_two_files_is_told_apart(workbench: "Workbench") -> None:
    """A hook that the chosen file cannot disable stays on, and that is shown."""
    workbench.write(workbench.project_file, hooks("guard"))
    workbench.write(workbench.home.parent / "etc" / "settings.json", hooks("guard"))
    assert workbench.run("disable", "--yes", "guard").splitlines()[1:] == [
        "  BeforeTool from .llxprt/settings.json: off",
        f"  BeforeTool from {workbench.home.parent / 'etc' / 'settings.json'}: on",
    ]


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        pytest.param(
            {}, {**hooks("guard"), "hooksConfig": {"disabled": ["guard"]}}, "add --scope project", id="by-the-project"
        ),
        pytest.param(hooks("guard", enabled=False), {}, "hooks.BeforeTool[0].hooks[0].enabled; change that", id="own"),
    ],
)
def test_what_another_place_switched_off_is_told(
    mine: dict[str, Any], theirs: dict[str, Any], said: str, workbench: "Workbench"
) -> None:
    """Enabling where it was not disabled would change nothing; the advice says where it would."""
    workbench.write(workbench.user_file, mine)
    workbench.write(workbench.project_file, theirs)
    assert said in workbench.run("enable", "--yes", "guard", code=1)


def test_the_projects_list_can_be_emptied(workbench: "Workbench") -> None:
    """Following the advice works."""
    workbench.write(workbench.project_file, {**hooks("guard"), "hooksConfig": {"disabled": ["guard"]}})
    workbench.run("enable", "--yes", "guard", "--scope", "project")
    assert enabled(workbench) == {"guard": True}


def test_a_hook_that_is_gone_can_leave_the_list(workbench: "Workbench") -> None:
    """A name in the list needs no hook to be taken out."""
    workbench.write(workbench.user_file, USER)
    workbench.run("enable", "--yes", "old")
    assert json.loads(workbench.user_file.read_text().replace("// always", ""))["hooksConfig"] == {"disabled": []}


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_an_unknown_name_is_told(command: str, workbench: "Workbench") -> None:
    """A slip of the pen is met with the name that was meant."""
    workbench.write(workbench.user_file, USER)
    assert "there is no hook gaurd; did you mean guard?" in workbench.run(command, "gaurd", code=1)
    assert "there is no hook x; hookline list shows all hooks" in workbench.run(command, "x", code=1)


def test_a_broken_file_is_not_written(workbench: "Workbench") -> None:
    """A file that is not JSON is left for its owner to fix."""
    workbench.write(workbench.project_file, hooks("guard"))
    workbench.write(workbench.user_file, '{"hooksConfig": ')
    assert "is not JSON" in workbench.run("disable", "--yes", "guard", code=1)
    assert workbench.user_file.read_text() == '{"hooksConfig": '
