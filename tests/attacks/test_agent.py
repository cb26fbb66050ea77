"""Attacks on the agent's user: each tries to run something without the user's yes."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline import Config
from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, Permissions, UserReply
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.apps.agent.toolbox import default_toolbox
from hookline.testing import Answer, calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

Seat = Callable[..., "Person"]


class User:
    """Gives these answers, one after the other, and then refuses."""

    def __init__(self, *answers: Approval) -> None:
        self._answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> UserReply:
        """The next answer."""
        self.asked.append(request)
        return UserReply(self._answers.pop(0) if self._answers else Approval.REFUSE)


def _run(
    project: Path, user: User, *wanted: tuple[str, Mapping[str, Any]], hook: str | None = None
) -> Sequence[CallStatus]:
    """How the calls end, when the user answers and this BeforeTool hook runs."""
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": hook, "name": "hook"}]}]} if hook else {}
    config = Config(project, settings={"enableHooks": bool(hook), "hooks": hooks})
    scheduler = ToolScheduler(
        config=config,
        toolbox=default_toolbox(),
        permissions=Permissions(config=config, person=user, background=BackgroundHooks()),
        on_change=lambda _: None,
    )
    given = [AgentCall(id=str(number), name=name, arguments=args) for number, (name, args) in enumerate(wanted)]
    return [done.status for done in asyncio.run(scheduler.run(given))]


def _shell(command: str) -> tuple[str, dict[str, Any]]:
    return "run_shell_command", {"command": command}


def _write(path: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"file_path": path, "content": "x"}


@pytest.mark.parametrize(
    "attack",
    [
        "git push",
        "git status; touch owned",
        "git status && touch owned",
        "git status | tee owned",
        "git status > owned",
        "git status $(touch owned)",
        "git status `touch owned`",
        "git status\ntouch owned",
        "GIT_EXTERNAL_DIFF='touch owned' git status",
        "git -c alias.status='!touch owned' status",
        "./git status",
    ],
)
def test_always_for_a_command_does_not_cover_more(project: Path, attack: str) -> None:
    """After "always" for `git status`, the user is asked before any other command, however it begins."""
    user = User(Approval.ALLOW_ALWAYS)
    statuses = _run(project, user, _shell("git status"), _shell("git status src"), _shell(attack))
    assert [request.what for request in user.asked] == ["run git status", f"run {attack}"]
    assert statuses[2] is CallStatus.CANCELLED
    assert not (project / "owned").exists()


def test_always_never_covers_protected_places(project: Path) -> None:
    """They are asked about each time, in every spelling, and "always" is not offered."""
    (project / ".git").mkdir()
    (project / "link").symlink_to(".git")
    paths = (".git/config", ".GIT/config", "a/../.git/config", "link/config", ".llxprt/settings.json", ".bashrc")
    user = User(*[Approval.ALLOW_ALWAYS] * 2)
    _run(project, user, _write("a.txt"), _write(".git/one"), *map(_write, paths))
    assert [request.always for request in user.asked] == ["write_file inside the project", *[None] * 7]
    assert all("is protected" in request.what for request in user.asked[1:])
    assert not (project / ".git" / "config").exists()


def test_a_link_made_while_hooks_run_is_noticed(project: Path, tmp_path: Path) -> None:
    """A path that becomes a link to a protected place while hooks run is not written: another place was judged."""
    (project / ".git").mkdir()
    (project / "sub").mkdir()
    user = User(Approval.ALLOW_ALWAYS)
    hook = "mv sub old && ln -s .git sub"
    assert _run(project, user, _write("sub/config"), hook=hook) == [CallStatus.ERROR]
    assert [request.what for request in user.asked] == ["write sub/config"]
    assert not (project / ".git" / "config").exists()
    assert not (tmp_path / "config").exists()


def test_a_link_made_while_the_user_thinks_is_not_followed(project: Path) -> None:
    """A yes is for what the question said: a path that has become a protected one since then is not written."""
    (project / ".git").mkdir()
    (project / "sub").mkdir()

    class Slow(User):
        async def __call__(self, request: ApprovalRequest) -> UserReply:
            if not self.asked:
                (project / "sub").rename(project / "old")
                (project / "sub").symlink_to(".git")
            return await super().__call__(request)

    user = Slow(Approval.ALLOW_ONCE)
    assert _run(project, user, _write("sub/config")) == [CallStatus.ERROR]
    assert [request.what for request in user.asked] == ["write sub/config"]
    assert not (project / ".git" / "config").exists()


def test_the_user_is_asked_about_what_a_hook_makes_of_the_call(project: Path) -> None:
    """There is one question, about the arguments that would run, and it shows those from before the change."""
    answer = {"hookSpecificOutput": {"tool_input": {"command": "touch owned"}}}
    user = User()
    statuses = _run(project, user, _shell("ls"), hook=f"echo {shlex.quote(json.dumps(answer))}")
    assert statuses == [CallStatus.CANCELLED]
    assert [(request.what, request.before) for request in user.asked] == [("run touch owned", {"command": "ls"})]
    assert not (project / "owned").exists()


class Stage:
    """A project, settings, and a scripted model for the installed command."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.project = project
        self._folder = folder

    def words(self, *answers: Answer, hook: Mapping[str, Any] | None = None) -> list[str]:
        """The words of the command, for a model with these answers and a hook that gives that one."""
        settings, replay = self._folder / "settings.json", self._folder / "replay.jsonl"
        command = f"echo {shlex.quote(json.dumps(hook))}"
        hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": command, "name": "guard"}]}]}
        settings.write_text(json.dumps({"enableHooks": hook is not None, "hooks": hooks}))
        lines = [json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers]
        replay.write_text("\n".join(lines))
        return ["agent", "--settings", str(settings), "--model", f"replay:{replay}"]


@pytest.fixture
def stage(tmp_path: Path, project: Path) -> Stage:
    """Nothing has happened yet."""
    return Stage(tmp_path, project)


@pytest.mark.parametrize(
    "wanted", [_write(".git/config"), _shell("echo x > .git/config"), _shell("crontab -"), _write("~/.bashrc")]
)
def test_yes_does_not_cover_protected_places(stage: Stage, wanted: tuple[str, dict[str, Any]]) -> None:
    """With --yes and no terminal, such a call is refused; the model reads which place is protected."""
    (stage.project / ".git").mkdir()
    words = [*stage.words([calls(wanted)], [says("Done.")]), "--yes", "--prompt", "go", "--json"]
    command = [sys.executable, "-m", "hookline", *words]
    done = subprocess.run(command, cwd=stage.project, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    (call,) = json.loads(done.stdout)["toolCalls"]
    assert call["status"] == "cancelled"
    assert "is protected; it needs a person's yes, and nobody can be asked here." in call["llmContent"]
    assert not (stage.project / ".git" / "config").exists()


@pytest.mark.parametrize("prompt", [("--prompt", "go"), ()], ids=["plain", "interactive"])
@pytest.mark.parametrize(("typed", "is_written"), [("y\r", True), ("n: leave git alone\r", False)])
def test_yes_at_a_terminal_asks_about_protected_places(
    stage: Stage, person: Seat, prompt: tuple[str, ...], typed: str, is_written: bool
) -> None:
    """The user decides, and can give the model a reason."""
    (stage.project / ".git").mkdir()
    words = [*stage.words([calls(_write(".git/config"))], [says("Done.")]), "--session-id", "s1"]
    here = person(*words, "--yes", *prompt)
    if not prompt:
        here.say("go")
    here.expect("write_file wants to write .git/config (.git/config is protected")
    here.expect("Allow write_file to write .git/config")
    here.expect("? [y]es, [v]iew, [N]o:")
    here.type(typed)
    here.expect("Done.")
    assert (stage.project / ".git" / "config").exists() is is_written
    if not is_written:
        transcript = stage.project.parent / "state" / "sessions" / "s1.jsonl"
        assert "The user says: leave git alone" in transcript.read_text()


@pytest.mark.parametrize("prompt", [("--prompt", "go"), ()], ids=["plain", "interactive"])
@pytest.mark.parametrize("yes", [("--yes",), ()], ids=["yes", "no-yes"])
def test_a_hooks_question_names_the_hook_and_its_reason(
    stage: Stage, person: Seat, prompt: tuple[str, ...], yes: tuple[str, ...]
) -> None:
    """`ask` is asked at a terminal in every mode, an unknown key asks again, and a view shows everything."""
    hook = {"decision": "ask", "reason": "Are you sure?"}
    (stage.project / "a.txt").write_text("content")
    words = stage.words([calls(("read_file", {"file_path": "a.txt"}))], [says("Done.")], hook=hook)
    here = person(*words, *yes, *prompt)
    if not prompt:
        here.say("go")
    here.expect("read_file wants to run")
    here.expect("guard asks: Are you sure?")
    here.expect('"file_path": "a.txt"')
    here.expect("Allow read_file to run? [y]es, [v]iew, [N]o:")
    here.type("?\r")
    here.expect("Type y (yes), v (view all), n (no)")
    here.expect("[N]o:")
    here.type("v\r")
    here.expect("read_file wants to run")
    here.expect("[N]o:")
    here.type("\x04")
    here.expect("read_file a.txt was not run" if not prompt else "[read_file: blocked by the user]")
    here.expect("Done.")
