import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


@pytest.fixture
def guarded(workbench: "Workbench") -> "Workbench":
    """A project that brings a script and a plain command, and a user with a hook of the same project."""
    workbench.script("echo checked")
    groups = [{"matcher": "ls", "hooks": [hook("./guard.sh", name="guard", env={"A": "b"}), hook("echo plain")]}]
    workbench.write(workbench.project_file, {"hooks": {"BeforeTool": groups}})
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": [hook("true", name="mine")]}]}})
    return workbench


def states(workbench: "Workbench") -> dict[str, str]:
    return {entry["hook"]: entry["state"] for entry in workbench.json("list")["hooks"]}


def type_answers(answers: str, *words: str) -> tuple[int, str]:
    """Return the screen and the exit code of a user who types these answers, each after its question."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "hookline", *words], stdin=theirs, stdout=theirs, env={**os.environ, "TERM": "dumb"}
    )
    os.close(theirs)
    left = re.findall(rb"\x04|[^\x04\n]*\n", answers.encode())
    shown, seen = b"", 0
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
            if left and shown.count(b"[y/N]") > seen:
                seen += 1
                os.write(ours, left.pop(0))
    except OSError:  # the terminal's other side is closed
        pass
    os.close(ours)
    return child.wait(timeout=45), shown.decode().replace("\r", "")


def test_everything_is_shown_before_the_question(guarded: "Workbench") -> None:
    """The definition, and the script as it is, and then a question for each hook."""
    code, shown = type_answers("y\nn\n", "trust")
    assert code == 1
    for text in (
        "BeforeTool guard  new",
        ".llxprt/settings.json:8",
        "command: ./guard.sh",
        'env: {"A": "b"}',
        "matcher: ls",
        "guard.sh:\n    #!/bin/sh\n    echo checked\n",
        "Trust guard? [y/N]",
        "The command names no file of this project",
        "1 hook trusted.",
        "1 hook not trusted; hooks without trust do not run.",
    ):
        assert text in shown
    assert shown.index("echo checked") < shown.index("Trust guard?") < shown.index("Trust echo plain?")
    assert states(guarded) == {"guard": "on", "echo plain": "untrusted", "mine": "on"}


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("answers", ["\n\n", "\x04\x04", "yep\nno\n"])
def test_only_a_yes_is_a_yes(answers: str) -> None:
    """Enter, the end of input and anything else mean no."""
    code, shown = type_answers(answers, "trust")
    assert (code, "2 hooks not trusted" in shown) == (1, True)


def test_one_question_for_all(guarded: "Workbench") -> None:
    """`--all` shows every hook and asks once."""
    code, shown = type_answers("y\n", "trust", "--all")
    assert (code, shown.count("[y/N]"), "Trust 2 hooks?" in shown) == (0, 1, True)
    assert set(states(guarded).values()) == {"on"}


def test_without_a_terminal_nothing_is_trusted(guarded: "Workbench") -> None:
    """All is shown, and the advice names the flag; only that flag trusts."""
    command = [sys.executable, "-m", "hookline", "trust", "--all"]
    asked = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=45)
    assert asked.returncode == 1
    assert "echo checked" in asked.stdout
    assert "command: echo plain" in asked.stdout
    assert asked.stderr == ("hookline: nothing was trusted, because stdin is not a terminal; review it and add --yes\n")
    assert states(guarded)["guard"] == "untrusted"
    assert "2 hooks trusted." in guarded.run("trust", "--all", "--yes")
    assert set(states(guarded).values()) == {"on"}
    assert guarded.run("trust") == "Every hook of this project is trusted already.\n"


@pytest.mark.parametrize("words", [[], ["--all", "--yes"], ["guard"], ["--json"]])
def test_an_unusable_file_is_not_taken_for_trusted(words: list[str], guarded: "Workbench") -> None:
    """Files that can't be read may hold hooks that wait for trust."""
    guarded.write(guarded.project_file, "{x}")
    said = "hookline: .llxprt/settings.json can't be read, so its hooks are unknown; fix it"
    assert said in guarded.run("trust", *words, code=1).splitlines()


def test_an_unusable_file_is_told_in_the_list(guarded: "Workbench") -> None:
    """If files can't be read, the list does not state that there are no hooks."""
    guarded.write(guarded.project_file, "{x}")
    assert "hooks are unknown" in guarded.json("trust", "--list")["problem"]
    assert guarded.run("trust", "--list").startswith(".llxprt/settings.json can't be read")


def test_an_unusable_file_of_the_user_is_no_matter_of_trust(guarded: "Workbench") -> None:
    """Only a project's own hooks need trust."""
    guarded.write(guarded.user_file, "{x}")
    assert "2 hooks trusted." in guarded.run("trust", "--all", "--yes")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (None, "This project has no hooks.\n"),
        ({"hooks": {}}, "This project has no hooks.\n"),
        (
            {"hooks": {"PreToolUse": [{"hooks": [hook("true")]}]}},
            "This project has no hooks that can be used; hookline check shows why.\n",
        ),
    ],
    ids=["no-file", "no-hooks", "none-that-can-be-used"],
)
def test_without_hooks_there_is_nothing_to_trust(
    settings: dict[str, Any] | None, said: str, workbench: "Workbench"
) -> None:
    """Missing hooks are not called trusted, and the user's hooks are not the project's."""
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": [hook("true", name="mine")]}]}})
    if settings is not None:
        workbench.write(workbench.project_file, settings)
    assert workbench.run("trust") == said
    assert workbench.json("trust")["hooks"] == []


def test_every_command_says_the_same_about_trust(guarded: "Workbench") -> None:
    """`list`, `explain` and `fire` agree before, after, and when the script has changed."""

    def told() -> tuple[str, bool, bool]:
        explained = guarded.json("fire", "--plan", "BeforeTool", "--tool", "ls")
        fired = guarded.json("fire", "BeforeTool", "--input", '{"tool_name": "ls", "tool_input": {}}')
        planned = "./guard.sh" in [entry["command"] for entry in explained["hooks"]]
        ran = "./guard.sh" in [result["command"] for result in fired["results"]]
        return states(guarded)["guard"], planned, ran

    assert told() == ("untrusted", False, False)
    guarded.run("trust", "guard", "--yes")
    assert told() == ("on", True, True)
    guarded.script("echo changed")
    assert told() == ("changed", False, False)
    guarded.run("trust", "guard", "--yes")
    assert told() == ("on", True, True)
    guarded.run("trust", "--revoke", "--yes", "guard")
    assert told() == ("untrusted", False, False)


def test_a_changed_script_is_shown_as_a_diff(guarded: "Workbench") -> None:
    """A user who trusted it before sees what is new, in the script and in the definition."""
    guarded.run("trust", "--all", "--yes")
    guarded.script("echo checked\nrm -rf /")
    guarded.project_file.write_text(guarded.project_file.read_text().replace('"A": "b"', '"A": "c"'))
    shown = guarded.run("trust", "guard", "--yes")
    assert "BeforeTool guard  changed since it was trusted" in shown
    assert '  - env: {"A": "b"}\n  + env: {"A": "c"}\n' in shown
    assert "guard.sh has changed:\n    --- trusted\n    +++ now\n" in shown
    assert "     echo checked\n    +rm -rf /\n" in shown
    assert "echo plain" not in shown


def test_limits_are_shown_and_so_is_their_removal(guarded: "Workbench") -> None:
    """A person who trusted a hook without a network sees that it has one again."""
    limited = hook("echo plain", limits={"cpu": 2}, network=False)
    guarded.write(guarded.project_file, {"hooks": {"BeforeTool": [{"hooks": [limited]}]}})
    assert '    limits: {"cpu": 2}\n    network: false\n' in guarded.run("trust", "--all", "--yes")
    guarded.write(guarded.project_file, {"hooks": {"BeforeTool": [{"hooks": [hook("echo plain")]}]}})
    shown = guarded.run("trust", "--all", "--yes")
    assert '  - limits: {"cpu": 2}\n  + limits: null\n  - network: false\n  + network: null\n' in shown


def test_a_hook_that_changes_while_it_is_looked_at_is_refused(guarded: "Workbench") -> None:
    """Only the shown content is trusted."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "hookline", "trust", "guard"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 65536)
    guarded.script("echo something else")
    os.write(ours, b"y\n")
    error = child.communicate(timeout=45)[1]
    os.close(ours)
    assert (child.returncode, error) == (
        1,
        b"hookline: guard has changed while you were looking at it; look again\n",
    )
    assert states(guarded)["guard"] == "untrusted"


def test_a_script_cannot_hide_what_it_does(guarded: "Workbench") -> None:
    """Control and invisible characters are written out: what is shown is what is there."""
    guarded.script("echo bad\r\x1b[1A\x1b[2Kecho good \u202e\u200b \x0c\u2028x")
    shown = guarded.run("trust", "--yes", "guard")
    assert r"    echo bad\r\x1b[1A\x1b[2Kecho good \u202e\u200b \x0c\u2028x" in shown


@pytest.mark.attack("30.F12", "a line break in a hook's name that forges a line of the trust review")
def test_no_value_looks_like_a_line_of_the_review(workbench: "Workbench") -> None:
    """Each further line of a value has a mark, whatever spaces it begins with."""
    forged = "x\n    command: ls\nThe command names no file of this project: trust covers the command alone."
    entry = hook("rm -rf /", name=forged, description=forged, env={forged: forged})
    workbench.write(workbench.project_file, {"hooks": {"BeforeTool": [{"matcher": forged, "hooks": [entry]}]}})
    shown = workbench.run("trust", "--yes")
    assert [line for line in shown.splitlines() if line.strip().startswith("command:")] == ["    command: rm -rf /"]
    assert sum(line.startswith("  The command names") for line in shown.splitlines()) == 1


def test_what_is_no_text_is_named_by_its_hash(guarded: "Workbench") -> None:
    """A binary is not thrown at the terminal."""
    (guarded.project / "guard.sh").write_bytes(b"\x7fELF\0\0")
    shown = guarded.run("trust", "--yes", "guard")
    assert "guard.sh is not shown: 6 bytes, SHA-256 " in shown


def test_json_never_asks(guarded: "Workbench") -> None:
    """Programs get all that a user would see, and trust only with the flag."""
    report = guarded.json("trust", "guard", code=1)
    (entry,) = report["hooks"]
    assert (entry["hook"], entry["state"], entry["trusted"], entry["definition"]["command"]) == (
        "guard",
        "new",
        False,
        "./guard.sh",
    )
    assert entry["files"] == [
        {
            "path": str(guarded.project / "guard.sh"),
            "text": "#!/bin/sh\necho checked\n",
            "diff": None,
            "note": None,
        }
    ]
    assert guarded.json("trust", "guard", "--yes")["hooks"][0]["trusted"] is True
    assert guarded.json("trust", "guard") == {"project": str(guarded.project), "hooks": [], "refused": []}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gaurd"], "there is no hook gaurd; did you mean guard?"),
        (["zzz"], "there is no hook zzz; hookline list shows all hooks"),
        (["mine"], "and needs no trust; only a project's own hooks do"),
        (["guard", "--all"], "--all and a name exclude each other"),
    ],
)
def test_what_cannot_be_trusted_is_told(words: list[str], said: str, guarded: "Workbench") -> None:
    """One line, exit code 1."""
    assert said in guarded.run("trust", *words, code=1)


def test_a_trust_file_that_others_can_write_is_refused(guarded: "Workbench") -> None:
    """A file that other users can write gets no new entry."""
    guarded.run("trust", "--all", "--yes")
    file = guarded.home.parent / "state" / "trust.json"
    file.chmod(0o666)
    for command in (["trust", "--all", "--yes"], ["trust", "--revoke", "--all"]):
        assert "can be written by other users" in guarded.run(*command, code=1)
    assert "can be written by other users" in guarded.run("trust", "--list")
    assert states(guarded)["guard"] == "untrusted"


def test_what_is_trusted_can_be_listed(guarded: "Workbench", tmp_path: Path) -> None:
    """The hooks here with their state, and what was trusted in other projects."""
    other = tmp_path / "other"
    guarded.write(other / ".llxprt" / "settings.json", {"hooks": {"AfterTool": [{"hooks": [hook("echo far")]}]}})
    guarded.run("trust", "--all", "--yes", "--project", str(other))
    guarded.run("trust", "guard", "--yes")
    guarded.script("echo changed")
    lines = guarded.run("trust", "--list").splitlines()
    assert lines[:3] == ["Hooks of this project", "  changed   BeforeTool guard", "  new       BeforeTool echo plain"]
    assert lines[3] == "Trusted elsewhere"
    assert lines[4].endswith(f"AfterTool echo far  {other}")
    report = guarded.json("trust", "--list")
    assert [(entry["hook"], entry["state"]) for entry in report["hooks"]] == [
        ("guard", "changed"),
        ("echo plain", "new"),
    ]
    assert {(entry["project"], entry["hook"]) for entry in report["records"]} == {
        (str(guarded.project), "guard"),
        (str(other), "echo far"),
    }


def test_trust_is_taken_back(guarded: "Workbench") -> None:
    """By name or all at once, also of a hook that is no longer configured."""
    guarded.run("trust", "--all", "--yes")
    guarded.write(guarded.project_file, {"hooks": {}})
    assert guarded.run("trust", "--revoke", "--yes", "guard") == "1 hook not trusted any more: guard\n"
    assert guarded.json("trust", "--revoke", "--yes", "--all") == {
        "project": str(guarded.project),
        "untrusted": [{"event": "BeforeTool", "hook": "echo plain"}],
    }
    assert guarded.run("trust", "--revoke", "--yes", "--all") == "Nothing was trusted.\n"
    assert json.loads((guarded.home.parent / "state" / "trust.json").read_text())["projects"] == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say whose trust to revoke: give the hook's name, or --all"),
        (["guard", "--all"], "say whose trust to revoke: give the hook's name, or --all"),
        (["guard"], "guard is not trusted in"),
    ],
)
def test_revoke_says_what_it_needs(words: list[str], said: str, guarded: "Workbench") -> None:
    """One line, exit code 1."""
    assert said in guarded.run("trust", "--revoke", "--yes", *words, code=1)


def test_a_file_that_did_not_change_is_not_shown_again(guarded: "Workbench") -> None:
    """When only the definition is new, the script that was trusted is named and not repeated."""
    guarded.run("trust", "--all", "--yes")
    guarded.project_file.write_text(guarded.project_file.read_text().replace('"A": "b"', '"A": "c"'))
    shown = guarded.run("trust", "guard", "--yes")
    assert "  guard.sh has not changed\n" in shown
    assert "echo checked" not in shown


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_file_that_cannot_be_read_is_said_so(guarded: "Workbench") -> None:
    """Content that can't be shown is reported."""
    (guarded.project / "guard.sh").chmod(0o111)
    assert "guard.sh cannot be read: Permission denied" in guarded.run("trust", "guard", "--yes")


def test_the_trust_of_a_hook_with_a_url_covers_what_is_sent(workbench: "Workbench") -> None:
    """Without a command there is no file that it could name."""
    ask = {"type": "http", "url": "http://127.0.0.1:8080/ask", "headers": {"X-Team": "a"}}
    workbench.write(workbench.project_file, {"hooks": {"BeforeTool": [{"hooks": [ask]}]}})
    shown = workbench.run("trust", "--yes")
    assert "Trust covers the URL and the headers, and not what the server answers." in shown
    assert "The command names no file" not in shown
