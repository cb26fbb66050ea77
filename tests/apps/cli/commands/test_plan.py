import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.protocol.constants import LIFECYCLE_REMEDY

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


@pytest.fixture
def guarded(workbench: "Workbench") -> "Workbench":
    """Hooks with every reason to run and not to run; each would leave a file if it were started."""
    workbench.write(
        workbench.user_file,
        {
            "hooks": {
                "BeforeTool": [
                    {"matcher": "write", "hooks": [hook("touch ran", name="guard"), hook("touch too", name="off")]},
                    {"matcher": "^ls$", "sequential": True, "hooks": [hook("touch ls"), {"type": "command"}]},
                    {"hooks": [hook("touch ran")]},
                ]
            },
            "hooksConfig": {"disabled": ["off"]},
        },
    )
    workbench.write(workbench.project_file, {"hooks": {"BeforeTool": [{"hooks": [hook("touch theirs")]}]}})
    return workbench


def test_who_would_run_and_why_the_others_would_not(guarded: "Workbench") -> None:
    """Each configured hook is planned, skipped with a reason, or invalid; none is started."""
    report = guarded.json("fire", "--plan", "BeforeTool", "--tool", "write_file")
    assert (report["event"], report["subject"], report["enabled"], report["sequential"]) == (
        "BeforeTool",
        "write_file",
        True,
        False,
    )
    assert [(entry["hook"], entry["file"]) for entry in report["hooks"]] == [("guard", str(guarded.user_file))]
    assert {entry["hook"]: entry["reason"].partition(":")[0] for entry in report["skipped"]} == {
        "touch theirs": "untrusted",
        "off": "disabled",
        "touch ls": "matcher",
        "touch ran": "duplicate",
    }
    assert [text.partition(" has ")[0].rpartition(" ")[2] for text in report["invalid"]] == [
        "hooks.BeforeTool[1].hooks[1]"
    ]
    assert sorted(path.name for path in guarded.project.iterdir()) == [".llxprt"]
    assert not (guarded.home.parent / "state").exists()


def test_it_says_what_an_event_then_does(guarded: "Workbench") -> None:
    """The plan that is explained is the plan that `fire` follows."""
    explained = guarded.json("fire", "--plan", "BeforeTool", "--tool", "ls")
    fired = guarded.json("fire", "BeforeTool", "--input", '{"tool_name": "ls", "tool_input": {}}')
    assert [entry["command"] for entry in explained["hooks"]] == [entry["command"] for entry in fired["plan"]["hooks"]]
    assert [entry["reason"] for entry in explained["skipped"]] == [
        entry["reason"] for entry in fired["plan"]["skipped"]
    ]
    assert explained["sequential"] is fired["plan"]["sequential"] is True


def test_a_sequence_names_the_group_that_asks_for_it(guarded: "Workbench") -> None:
    """One group makes all hooks of the event run one after another; the output names it."""
    printed = guarded.run("fire", "--plan", "BeforeTool", "--tool", "ls")
    assert printed.splitlines()[:6] == [
        "BeforeTool ls",
        "2 hooks would run, one after another, because of",
        '  "sequential": true in ~/.llxprt/settings.json: hooks.BeforeTool[1]',
        "  1. touch ls  because '^ls$' matches, timeout 60 s",
        "     ~/.llxprt/settings.json:24",
        "  2. touch ran  timeout 60 s",
    ]
    assert "  off  disabled: by " in printed
    report = guarded.json("fire", "--plan", "BeforeTool", "--tool", "ls")
    assert report["sequentialBecause"] == [{"origin": str(guarded.user_file), "location": "hooks.BeforeTool[1]"}]


def test_without_a_tool_every_matcher_counts(guarded: "Workbench") -> None:
    """Nothing is ruled out by a tool that was not named."""
    assert "1. guard  if 'write' matches, timeout 60 s" in guarded.run("fire", "--plan", "BeforeTool")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["BeforeTol"], "BeforeTol is not an event; did you mean BeforeTool?"),
        (["SessionStart", "--tool", "ls"], "SessionStart is not about a tool; use --subject for its source"),
        (["BeforeModel", "--tool", "ls"], "BeforeModel is not about a tool; leave --tool out: every hook runs"),
        (["BeforeModel", "--subject", "x"], "leave --subject out: every hook runs"),
    ],
)
def test_what_makes_no_sense_is_told(words: list[str], said: str, workbench: "Workbench") -> None:
    """One line, exit code 1."""
    assert said in workbench.run("fire", "--plan", *words, code=1)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ("{x}", ":1:2: is not JSON"),
        ('{"hooks": []}', ": hooks is an array"),
        ('{"hooks": {"BeforeTool": {}}}', ": hooks.BeforeTool is an object"),
        ('{"hooks": {"BeforeTool": [5]}}', ": hooks.BeforeTool[0] is a number"),
        ('{"hooks": {"PreToolUse": [5]}}', ": hooks.PreToolUse is an event of Claude Code"),
        ('{"extensions": 5}', ": extensions is a number"),
        ('{"extensions": [5]}', ": extensions[0] is a number"),
        ('{"extensions": [{"hooks": 5}]}', ": extensions[0].hooks is a number"),
        ('{"extensions": [{"hooks": {"BeforeTool": 5}}]}', ": extensions[0].hooks.BeforeTool is a number"),
        (
            '{"extensions": [{"hooks": {"PreToolUse": [5]}}]}',
            ": extensions[0].hooks.PreToolUse is an event of Claude Code",
        ),
    ],
)
def test_whatever_may_have_cost_a_hook_of_the_event_is_shown(settings: str, place: str, workbench: "Workbench") -> None:
    """An error above the event, in an extension or under another system's name is a reason why nothing runs."""
    workbench.write(workbench.user_file, {})
    workbench.write(workbench.project_file, settings)
    (invalid,) = workbench.json("fire", "--plan", "BeforeTool")["invalid"]
    assert place in invalid
    shown = invalid.removeprefix(f"{workbench.project}/")
    assert f"  invalid  {shown}\n" in workbench.run("fire", "--plan", "BeforeTool")


@pytest.mark.parametrize(
    "hooks",
    [
        {"AfterTool": 5},
        {"PostToolUse": [5]},
        {"BeforeToolSelection": [5]},
        {"BeforeTool": [{"hooks": [hook("true", onError="deny")]}]},
        {"PreToolUse": []},
    ],
)
def test_what_costs_no_hook_of_the_event_is_left_out(hooks: dict[str, Any], workbench: "Workbench") -> None:
    """Errors of other events are shown only for those events."""
    workbench.write(workbench.user_file, {"hooks": hooks, "hooksConfig": 5})
    assert workbench.json("fire", "--plan", "BeforeTool")["invalid"] == []


def test_an_unusable_file_is_shown_while_hooks_are_disabled(workbench: "Workbench") -> None:
    """It may be the very file that enables them."""
    workbench.write(workbench.user_file, "{x}")
    told = workbench.run("fire", "--plan", "BeforeTool").splitlines()
    assert told[1].startswith("Hooks are disabled")
    assert told[2].startswith("  invalid  ~/.llxprt/settings.json:1:2: is not JSON")


def test_disabled_hooks_do_not_run(workbench: "Workbench") -> None:
    """While hooks are disabled nothing would run, and the first line states that."""
    assert "Hooks are disabled" in workbench.run("fire", "--plan", "BeforeTool")
    assert workbench.json("fire", "--plan", "BeforeTool")["enabled"] is False


def test_a_trigger_is_compared(workbench: "Workbench") -> None:
    """Events without a tool have another subject."""
    groups = [{"matcher": "startup", "hooks": [hook("true", name="hello")]}]
    workbench.write(workbench.user_file, {"hooks": {"SessionStart": groups}})
    assert [
        entry["hook"] for entry in workbench.json("fire", "--plan", "SessionStart", "--subject", "startup")["hooks"]
    ] == ["hello"]
    assert workbench.json("fire", "--plan", "SessionStart", "--subject", "resume")["hooks"] == []


def test_hooks_without_a_sequence_run_at_the_same_time(workbench: "Workbench") -> None:
    """Running in parallel is the rule, and the output gives the reason."""
    workbench.write(workbench.user_file, {"hooks": {"AfterAgent": [{"hooks": [hook("true"), hook("echo")]}]}})
    assert workbench.run("fire", "--plan", "AfterAgent").splitlines()[1:] == [
        "2 hooks would run at the same time, because no group is sequential:",
        "  1. true  timeout 60 s, what it answers is only logged",
        "     ~/.llxprt/settings.json:7",
        "  2. echo  timeout 60 s, what it answers is only logged",
        "     ~/.llxprt/settings.json:11",
        f"Answers that are only logged have no effect; {LIFECYCLE_REMEDY}.",
    ]


def test_it_shows_layers_and_final_guards(workbench: "Workbench") -> None:
    """A final guard is marked, and hooks of several files are shown in the order in which they run."""
    guard = {"BeforeTool": [{"hooks": [hook("true", name="last", final=True), hook("cat", name="first")]}]}
    workbench.write(workbench.user_file, {"hooks": guard})
    report = workbench.json("fire", "--plan", "BeforeTool")
    assert [(entry["hook"], entry["final"]) for entry in report["hooks"]] == [("first", False), ("last", True)]
    assert not report["byLayer"]
    fired = workbench.json("fire", "BeforeTool", "--input", '{"tool_name": "ls", "tool_input": {}}')
    assert [entry["final"] for entry in fired["plan"]["hooks"]] == [False, True]
    system = {"hooks": {"BeforeTool": [{"hooks": [hook("echo", name="theirs")]}]}}
    workbench.write(Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"]), system)
    shown = workbench.run("fire", "--plan", "BeforeTool")
    assert "3 hooks would run, those of the less trusted settings file first:" in shown
    assert "3. last  timeout 60 s, final: after all others, with the arguments as they will be used" in shown


@pytest.mark.parametrize("lifecycle", ["watch", "apply"])
def test_it_says_whether_answers_are_applied(lifecycle: str, workbench: "Workbench") -> None:
    """On an event around prompts, hooks whose answers are only logged are named as such, with the remedy."""
    hooks = {"BeforeAgent": [{"hooks": [hook("true")]}], "SessionEnd": [{"hooks": [hook("true")]}]}
    workbench.write(workbench.user_file, {"hooks": hooks, "hooksConfig": {"lifecycle": lifecycle}})
    watches = lifecycle == "watch"
    assert workbench.json("fire", "--plan", "BeforeAgent")["hooks"][0].get("applied", True) is not watches
    shown = workbench.run("fire", "--plan", "BeforeAgent")
    assert ("what it answers is only logged" in shown) is watches
    assert ('write "hooksConfig": {"lifecycle": "apply"}' in shown) is watches
    assert "what it answers is only logged" in workbench.run("fire", "--plan", "SessionEnd")


@pytest.mark.parametrize("command", ["fire --plan BeforeTool", "list"])
def test_a_url_that_is_never_asked_is_said_to_fail(command: str, workbench: "Workbench") -> None:
    """As `check` says it."""
    ask = {"type": "http", "url": "http://guard.example/ask"}
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": [ask]}]}})
    (found,) = workbench.json(*command.split())["hooks"]
    assert found["refusal"].startswith("its URL is not asked: guard.example is not this machine; to allow it, write ")
    assert ": its URL is not asked: guard.example is not this machine; " in workbench.run(*command.split())


def test_a_hook_that_would_run_and_fail_is_not_also_said_not_to_run(workbench: "Workbench") -> None:
    """Its own line says why it fails; another entry that is dropped stays below."""
    hooks = [hook("true", name="guard", worker="yes"), {"type": "command"}]
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    report = workbench.json("fire", "--plan", "BeforeTool")
    assert [entry["hook"] for entry in report["hooks"]] == ["guard"]
    (invalid,) = report["invalid"]
    assert "hooks.BeforeTool[0].hooks[1] has no command" in invalid
    assert workbench.run("fire", "--plan", "BeforeTool").count("its worker is a string") == 1


@pytest.mark.parametrize(
    ("mine", "theirs", "order"),
    [
        ([hook("true"), hook("echo")], [], "at the same time"),
        ([hook("true"), hook("echo", final=True)], [], "at the same time, and then the final one"),
        ([hook("true")], [hook("echo")], "those of the less trusted settings file first"),
    ],
)
def test_fire_and_explain_name_the_same_order(
    mine: list[Any], theirs: list[Any], order: str, workbench: "Workbench"
) -> None:
    """Hooks of several layers run one layer after the other."""
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": mine}]}})
    workbench.write(workbench.project_file, {"hooks": {"BeforeTool": [{"hooks": theirs}]}})
    if theirs:
        workbench.run("trust", "--yes")
    explained = workbench.run("fire", "--plan", "BeforeTool").splitlines()[1]
    assert explained.partition(", because")[0].rstrip(":").endswith(f" {order}")
    fired = workbench.run("fire", "BeforeTool", "--input", '{"tool_name": "ls", "tool_input": {}}')
    assert fired.splitlines()[1] == f"2 hooks, {order}"
