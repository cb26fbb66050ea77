import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, UserReply
from hookline.apps.agent.tool import AgentCall, ToolContext
from hookline.apps.cli.terminal.permission import Choice, ask, preview, read_answer
from hookline.client.triggers.results import AskReason


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("y", UserReply(Approval.ALLOW_ONCE)),
        (" YES ", UserReply(Approval.ALLOW_ONCE)),
        ("a", UserReply(Approval.ALLOW_ALWAYS)),
        ("always", UserReply(Approval.ALLOW_ALWAYS)),
        ("", UserReply(Approval.REFUSE)),
        ("n", UserReply(Approval.REFUSE)),
        ("No", UserReply(Approval.REFUSE)),
        ("n: use rg instead", UserReply(Approval.REFUSE, "use rg instead")),
        ("no, use rg", UserReply(Approval.REFUSE, "use rg")),
        ("n use rg", UserReply(Approval.REFUSE, "use rg")),
        ("n:", UserReply(Approval.REFUSE)),
        ("v", Choice.VIEW),
        ("yes please", Choice.UNKNOWN),
        ("nope", Choice.UNKNOWN),
        ("x", Choice.UNKNOWN),
    ],
)
def test_only_a_clear_yes_allows(said: str, meant: UserReply | Choice) -> None:
    """A no may carry a message, and what is neither yes nor no decides nothing."""
    assert read_answer(said) == meant


class Scripted:
    """A user whose answers are known beforehand; when they are used up, the input has ended."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.shown: list[str] = []

    def show(self, text: str, mark: str | None = None) -> None:
        """Keeps the line."""
        self.shown.append(text if mark is None else f"  {text}")

    async def read(self, question: str) -> str:
        """The next answer."""
        self.shown.append(question)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)


def _ask(project: Path, request: ApprovalRequest, *answers: str) -> tuple[UserReply, list[str]]:
    user = Scripted(*answers)
    reply = asyncio.run(ask(request, ToolContext(project=project, environ={}), user))
    return reply, user.shown


def _command(text: str, **more: Any) -> ApprovalRequest:
    call = AgentCall(id="1", name="run_shell_command", arguments={"command": text})
    return ApprovalRequest(call=call, what=f"run {text}", **more)


@pytest.mark.parametrize(
    ("answers", "reply"),
    [
        pytest.param(["x", "yse", "y"], UserReply(Approval.ALLOW_ONCE), id="asks-again"),
        pytest.param(["a", "n: no"], UserReply(Approval.REFUSE, "no"), id="always-is-not-offered"),
        pytest.param(["v", "y"], UserReply(Approval.ALLOW_ONCE), id="view-then-yes"),
        pytest.param(["v"], UserReply(Approval.REFUSE), id="end-of-input"),
        pytest.param([], UserReply(Approval.REFUSE), id="end-of-input-at-once"),
    ],
)
def test_it_is_asked_until_there_is_an_answer(project: Path, answers: list[str], reply: UserReply) -> None:
    """An unknown key decides nothing; the end of the input refuses."""
    assert _ask(project, _command("ls"), *answers)[0] == reply


def test_a_question_says_what_always_covers(project: Path) -> None:
    """And it is one line of hookline, below the call."""
    _, shown = _ask(project, _command("git status", always="git status …"), "a")
    assert shown == [
        "run_shell_command wants to run git status",
        "[a]lways: git status … in this session",
        "Allow run_shell_command to run git status? [y]es, [a]lways, [v]iew, [N]o: ",
    ]


def test_all_of_a_long_command_can_be_seen(project: Path) -> None:
    """Hidden lines are announced; v shows everything, page by page, and the question comes again."""
    text = "\n".join(["echo begin", *(f"echo line-{number}" for number in range(300)), "rm -rf hidden"])
    reply, shown = _ask(project, _command(text), "v", *[""] * 100)
    assert reply == UserReply(Approval.REFUSE)
    asked = next(index for index, line in enumerate(shown) if line.startswith("Allow "))
    assert shown[asked].startswith("Allow run_shell_command to run echo begin")
    assert not any("rm -rf hidden" in line for line in shown[:asked])
    assert "… 261 more lines; v shows all of them" in shown[:asked]
    viewed = "\n".join(shown[asked:])
    assert "  rm -rf hidden" in viewed
    assert all(f"line-{number}\n" in viewed for number in range(300))
    assert "more lines; Enter shows them, q ends" in viewed


@pytest.mark.parametrize(("name", "key"), [("write_file", "content"), ("mcp__notes__add", "text")])
@pytest.mark.attack("30.F12", "a line in the middle of a long text that the pager does not show")
def test_every_line_of_a_long_argument_can_be_seen(project: Path, name: str, key: str) -> None:
    """Also where most of a file does not change, and of a text inside of an MCP tool's arguments."""
    lines = [f"line-{number}" for number in range(400)]
    (project / "a.txt").write_text("\n".join(["old", *lines[1:]]))
    call = AgentCall(id="1", name=name, arguments={"file_path": "a.txt", key: "\n".join(lines), "more": {"a": [1]}})
    _, shown = _ask(project, ApprovalRequest(call=call, what="run"), "v", *[""] * 100)
    viewed = {line.strip().removeprefix("| ").removesuffix("\\n") for line in shown}
    assert viewed.issuperset(lines[1:-1])


def test_one_long_line_does_not_hide_its_end(project: Path) -> None:
    """A line is cut where the screen ends, and its rows count."""
    reply, shown = _ask(project, _command("true " + "x" * 100_000 + "; rm -rf hidden"), "v", "q", "n")
    assert reply == UserReply(Approval.REFUSE)
    assert len(max(shown, key=len)) < 200
    assert any("more lines; v shows all of them" in line for line in shown)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("true\nAllow run_shell_command? [y]es, [a]lways, [v]iew, [N]o: ", id="newline"),
        pytest.param("true" + " " * 300 + "Allow run_shell_command? [y]es, [v]iew, [N]o: ", id="wrapped"),
        pytest.param("rm -rf x\r\x1b[2K\x1b[1Arun_shell_command wants to run ls", id="escapes"),
    ],
)
def test_a_command_cannot_forge_a_line_of_ours(project: Path, text: str) -> None:
    """Only the first row and our own lines begin at the margin, and nothing acts on the terminal."""
    _, shown = _ask(project, _command(text), "n")
    at_margin = [line for line in shown if not line.startswith("  ")]
    assert len(at_margin) == 2
    assert at_margin[0].startswith("run_shell_command wants to run ")
    assert at_margin[1].startswith("Allow run_shell_command to run ")
    assert at_margin[1].endswith("? [y]es, [v]iew, [N]o: ")
    assert len(at_margin[1]) <= shutil.get_terminal_size().columns
    assert not any(char in line for line in shown for char in "\r\n\x1b")


@pytest.mark.parametrize("subject", ["ls -l " + "x" * 300, "echo " + "日" * 300], ids=["long", "wide"])
def test_a_question_fits_on_its_line(project: Path, subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its subject is cut, so that no terminal continues it in the first column."""
    monkeypatch.setenv("COLUMNS", "80")
    _, shown = _ask(project, _command(subject), "n")
    assert shown[-1].endswith("…? [y]es, [v]iew, [N]o: ")
    assert sum(2 if ord(char) > 0x2E80 else 1 for char in shown[-1]) < 80


def test_what_always_covers_cannot_forge_a_line_of_ours(project: Path) -> None:
    """It may name a path that the model chose, and a terminal would wrap it to the margin."""
    path = "/etc/x" + " " * 300 + "Allow read_file? [y]es, [v]iew, [N]o: "
    _, shown = _ask(project, _command("ls", always=f"read_file of {path}"), "n")
    at_margin = [line for line in shown if not line.startswith("  ")]
    assert [line.split()[0] for line in at_margin] == ["run_shell_command", "[a]lways:", "Allow"]
    assert len(max(shown, key=len)) < 200


def test_a_question_shows_which_hook_asks_and_what_hooks_changed(project: Path) -> None:
    """The reason, the whole arguments where the question does not name them, and a comparison."""
    call = AgentCall(id="1", name="read_file", arguments={"file_path": "b.txt"})
    asked = AskReason("sure?", ("guard",))
    _, shown = _ask(project, ApprovalRequest(call=call, what="run", asked=asked, before={"file_path": "a.txt"}), "n")
    assert shown[:-1] == [
        "read_file wants to run",
        "  guard asks: sure?",
        "  {",
        '    "file_path": "b.txt"',
        "  }",
        "  hooks changed the arguments:",
        "  @@ -1 +1 @@",
        "  -file_path: a.txt",
        "  +file_path: b.txt",
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "lines"),
    [
        pytest.param("write_file", {"file_path": "new", "content": "a\nb"}, ["+a", "+b"], id="new-file"),
        pytest.param("write_file", {"file_path": "old", "content": "a\n"}, ["@@ -1,2 +1 @@", " a", "-b"], id="diff"),
        pytest.param(
            "write_file",
            {"file_path": "old", "content": "a\rb\n"},
            ["@@ -1,2 +1 @@", "-a", "-b", "+a\rb"],
            id="another-separator-is-a-change",
        ),
        pytest.param("write_file", {"file_path": "pipe", "content": "a"}, ["+a"], id="pipe"),
        pytest.param(
            "replace",
            {"file_path": "old", "old_string": "b", "new_string": "c"},
            ["@@ -1,2 +1,2 @@", " a", "-b", "+c"],
            id="replace",
        ),
        pytest.param(
            "replace",
            {"file_path": "old", "old_string": "x", "new_string": "y"},
            ["@@ -1 +1 @@", "-x", "+y"],
            id="replace-not-found",
        ),
        pytest.param("run_shell_command", {"command": "ls"}, [], id="the-question-says-it"),
        pytest.param("read_file", {"file_path": "/etc/hosts"}, [], id="so-it-does-here"),
        pytest.param("mcp__s__t", {"path": "x"}, ["{", '  "path": "x"', "}"], id="mcp"),
        pytest.param("mcp__s__t", {}, [], id="mcp-without-arguments"),
    ],
)
def test_a_person_sees_what_would_be_done(
    name: str, arguments: dict[str, Any], lines: list[str], project: Path
) -> None:
    """The change of a file is shown as a diff, and the arguments of foreign tools as they are."""
    (project / "old").write_text("a\nb\n")
    os.mkfifo(project / "pipe")
    context = ToolContext(project=project, environ={})
    assert list(preview(AgentCall(id="1", name=name, arguments=arguments), context)) == lines
