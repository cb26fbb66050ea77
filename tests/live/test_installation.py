"""`hookline bridge install`, `status`, `explain` and `uninstall`, with the real agent in between."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from tests.live.agents import AGENTS, HOOKLINE, Agent, Ended, Place, program_of, run
from tests.live.models import Model
from tests.live.scenes import DENY, ORIGINAL
from tests.live.stage import user_file

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]


class Desk:
    """A person with one agent, its stand-in model, and a guard of hookline that denies every tool."""

    def __init__(self, agent: Agent, place: Place, model: Model) -> None:
        self.agent, self.place, self.model = agent, place, model
        self.environ = place.environ(**agent.environ(model.url), HOOKLINE_SERVE="0")
        hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": DENY}]}]}
        place.write("home/.llxprt/settings.json", json.dumps({"enableHooks": True, "hooks": hooks}))
        agent.prepare(place, model.url, True)

    def hookline(self, *words: str) -> Ended:
        """Runs the command in the project."""
        return run([HOOKLINE, *words], self.place, self.environ)

    def is_guarded(self, *, without: str | None = None, **more: str) -> bool:
        """Return whether the guard blocks a command of the agent."""
        ran = self.place.project / "ran.txt"
        ran.unlink(missing_ok=True)
        self.model.requests.clear()
        words = [word for word in self.agent.command("hello", True) if word != without]
        run([str(program_of(self.agent)), *words], self.place, {**self.environ, **more})
        assert len(self.model.requests) == 2
        return not ran.exists()

    def status(self) -> list[dict[str, Any]]:
        """Where `status` finds the bridge installed."""
        report = json.loads(self.hookline("bridge", "status", self.agent.name, "--json").stdout)
        found: list[dict[str, Any]] = report["installed"]
        return found


@contextmanager
def at_desk(agent: Agent, place: Place) -> Iterator[Desk]:
    with closing(Model(agent.words, [[agent.shell_call(ORIGINAL)], ["done"]])) as model:
        yield Desk(agent, place, model)


@pytest.mark.parametrize("agent", AGENTS, indirect=True)
def test_from_install_to_uninstall(agent: Agent, place: Place) -> None:
    """Before and after it the agent is not guarded; in between it is, and every report shows that."""
    name = agent.name
    with at_desk(agent, place) as desk:
        file = user_file(name, place)
        before = file.read_bytes() if file.exists() else None
        assert not desk.is_guarded()
        assert desk.hookline("bridge", "install", name).exit_code == 0
        assert desk.status()[0]["last_asked"] is None
        assert desk.is_guarded()
        status = desk.status()[0]
        assert (status["file"], bool(status["last_asked"]), status["answer_ms"] > 0) == (str(file), True, True)
        assert "bridge" in desk.hookline("doctor").stdout
        records = [json.loads(line) for line in desk.hookline("log", "--agent", name, "--json").stdout.splitlines()]
        assert {record["agent"] for record in records} == {name}
        assert all(record["session"] for record in records if record["kind"] == "hook")
        stats = json.loads(desk.hookline("log", "--stats", "--agent", name, "--json").stdout)["hooks"]
        assert [hook["runs"] for hook in stats] == [1]
        assert desk.hookline("bridge", "uninstall", name).exit_code == 0
        assert (file.read_bytes() if file.exists() else None) == before
        assert not desk.is_guarded()


@pytest.mark.parametrize("agent", AGENTS, indirect=True)
def test_a_projects_file_guards_too(agent: Agent, place: Place) -> None:
    """In a folder that the agent trusts."""
    with at_desk(agent, place) as desk:
        subprocess.run(["git", "init", "-q"], cwd=place.project, check=True)
        assert desk.hookline("bridge", "install", agent.name, "--scope", "project").exit_code == 0
        trusting = {"COPILOT_ALLOW_ALL": "true"} if agent.name == "copilot" else {}
        assert desk.is_guarded(**trusting)


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_codex_runs_what_it_was_told_to_trust_and_status_says_so(agent: Agent, place: Place) -> None:
    """Untrusted it is silently not run; `status` reports it to the user."""
    bypass = "--dangerously-bypass-hook-trust"
    with at_desk(agent, place) as desk:
        desk.hookline("bridge", "install", "codex")
        assert not desk.is_guarded(without=bypass)
        assert "have not trusted" in desk.status()[0]["problem"]
        with (place.home / ".codex" / "config.toml").open("a") as config:
            for key, value in hashes(desk).items():
                config.write(f'[hooks.state."{key}"]\ntrusted_hash = "{value}"\n')
        assert desk.status()[0]["problem"] is None
        assert desk.is_guarded(without=bypass)


def hashes(desk: Desk) -> dict[str, str]:
    """Return what Codex itself would trust, by its key."""
    server = subprocess.Popen(
        [str(program_of(desk.agent)), "app-server"],
        cwd=desk.place.project,
        env=desk.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    about = {"clientInfo": {"name": "x", "version": "1"}}
    for message in (
        {"id": 0, "method": "initialize", "params": about},
        {"method": "initialized"},
        {"id": 1, "method": "hooks/list", "params": {"cwds": [str(desk.place.project)]}},
    ):
        server.stdin.write(f"{json.dumps(message)}\n")
        server.stdin.flush()
    try:
        answer = next(found for line in server.stdout if (found := json.loads(line)).get("id") == 1)
    finally:
        server.kill()
        server.communicate()
    return {hook["key"]: hook["currentHash"] for hook in answer["result"]["data"][0]["hooks"]}
