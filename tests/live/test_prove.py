"""`hookline doctor --prove AGENT` with the real agent: the user runs the line that it prints."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.live.agents import HOOKLINE, Agent, Ended, Place, program_of, run
from tests.live.models import Model, Turn

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

# The line also needs, here: a model for which there is a stand-in, and trust that no user can give.
OFFLINE = {"codex": ["--dangerously-bypass-hook-trust"], "gemini": ["-m", "gemini-2.5-flash"]}


@dataclass
class Person:
    """Somebody with an agent, whose stand-in model does what it is asked for."""

    agent: Agent
    place: Place
    environ: dict[str, str]
    turns: list[Turn]

    def hookline(self, *words: str) -> Ended:
        """Runs the command in the project."""
        return run([HOOKLINE, *words], self.place, self.environ)

    def prove(self) -> tuple[int, dict[str, Any]]:
        """Runs `prove`, and in another process the line that it prints; returns its exit code and report."""
        words = [HOOKLINE, "doctor", "--prove", self.agent.name, "--wait", "90", "--json"]
        with subprocess.Popen(
            words,
            cwd=self.place.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as proving:
            try:
                assert proving.stderr is not None
                line = next(line for line in proving.stderr if "hookline-canary-" in line)
                self.follow(line.removeprefix("hookline:").strip())
                stdout, _ = proving.communicate(timeout=100)
            finally:
                proving.kill()
        return proving.returncode, json.loads(stdout)

    def follow(self, line: str) -> None:
        """Runs the line as it is; the model makes the call that the prompt asks for."""
        command = re.search(r"echo hookline-canary-\w+", line)
        assert command is not None, line
        self.turns[:] = [[self.agent.shell_call(command[0])], ["done"]]
        program, *words = shlex.split(line)
        assert program == self.agent.name
        more = OFFLINE.get(self.agent.name, [])
        run([str(program_of(self.agent)), *words, *more], self.place, self.environ)


@contextmanager
def person_with(agent: Agent, place: Place) -> Iterator[Person]:
    turns: list[Turn] = [["nothing was asked for"]]
    place.write("home/.llxprt/settings.json", json.dumps({"enableHooks": True, "hooks": {}}))
    with closing(Model(agent.words, turns)) as model:
        agent.prepare(place, model.url, True)
        person = Person(agent, place, place.environ(**agent.environ(model.url)), turns)
        try:
            yield person
        finally:
            person.hookline("serve", "--stop")


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"], indirect=True)
def test_the_canary_is_denied_in_the_real_agent(agent: Agent, place: Place) -> None:
    """The printed line works, the agent obeys the deny, its transcript shows that, and no file stays."""
    with person_with(agent, place) as person:
        assert person.hookline("bridge", "install", agent.name).exit_code == 0
        code, report = person.prove()
        canary = report["canary"]
        assert (code, canary["denied"], canary["message"]) == (0, True, "the call was denied"), report
        assert not list(place.home.glob(".llxprt/hookline-canary*"))


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"], indirect=True)
def test_a_bridge_that_is_not_installed_is_found_out(agent: Agent, place: Place) -> None:
    """The call runs in the real agent, and `prove` says that no hook saw it."""
    with person_with(agent, place) as person:
        code, report = person.prove()
        assert code == 1
        assert not report["canary"]["denied"]
        assert report["canary"]["message"].startswith("the call ran, and no hook saw it"), report
