"""Plays a scene in a real agent, and says what was seen."""

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.live.agents import HOOKLINE, Agent, Ended, Place, program_of, run
from tests.live.models import Model
from tests.live.scenes import MARK, Scene

from hookline.bridge.agents import HOSTS
from hookline.bridge.installation.entries import ENTRIES, settings_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The outcome of a scene."""

    tool: str
    """`ran`, `ran rewritten`, `did not run`."""
    model_told: bool
    """Whether the model read what the hook said."""
    person_told: bool
    """Whether it is in what the agent printed."""
    requests: int
    """How often the model was asked."""
    exit_code: int
    lost: bool
    """Whether the bridge says that something could not be passed on."""

    def to_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scene that was played, with everything that a test may want to look at."""

    seen: Seen
    ended: Ended
    place: Place
    requests: list[dict[str, Any]]
    log: list[dict[str, Any]]


def play(scene: Scene, agent: Agent, place: Place) -> Played:
    """Installs the bridge in a scratch home, starts the agent, and ends everything again."""
    program = program_of(agent)
    assert program is not None
    groups = {event: [{"hooks": [{"type": "command", "command": text}]}] for event, text in scene.hooks.items()}
    settings = scene.settings or json.dumps({"enableHooks": True, "hooks": groups})
    place.write("home/.llxprt/settings.json", settings)
    with closing(Model(agent.words, [[scene.tool(agent)], ["done"]])) as model:
        environ = place.environ(**agent.environ(model.url), **scene.environ)
        agent.prepare(place, model.url, scene.allowed)
        _install(scene, agent, place, environ)
        try:
            ended = run([str(program), *agent.command("hello prompt", scene.allowed)], place, environ)
        finally:
            run([HOOKLINE, "serve", "--stop"], place, environ)
        log = run([HOOKLINE, "log", "--json", "-n", "0"], place, environ).stdout
    records = [json.loads(line) for line in log.splitlines()]
    return Played(
        seen=_seen(ended, place, model, records), ended=ended, place=place, requests=model.requests, log=records
    )


def _install(scene: Scene, agent: Agent, place: Place, environ: dict[str, str]) -> None:
    words = [HOOKLINE, "bridge", "install", agent.name, *scene.options]
    if scene.events is not None:
        events = [theirs for theirs in ENTRIES[agent.name].events if HOSTS[agent.name].events[theirs] == scene.events]
        words += ["--events", ",".join(events)]
    got = run(words, place, environ)
    assert got.exit_code == 0, got.stdout + got.stderr
    if scene.break_it is not None:
        scene.break_it(place, user_file(agent.name, place))


def user_file(agent: str, place: Place) -> Path:
    """The agent's own settings in the scratch home."""
    return place.home / settings_file(agent, None).relative_to(Path.home())


def _seen(ended: Ended, place: Place, model: Model, log: list[dict[str, Any]]) -> Seen:
    written = [place.project / name for name in ("ran.txt", "secret.txt")]
    text = "".join(file.read_text() for file in written if file.exists())
    tool = "ran rewritten" if "rewritten" in text else "ran" if text else "did not run"
    return Seen(
        tool=tool,
        model_told=any(MARK in json.dumps(request) for request in model.requests),
        person_told=MARK in ended.stdout + ended.stderr,
        requests=len(model.requests),
        exit_code=ended.exit_code,
        lost=any(record["kind"] == "bridge" and "not passed on" in record["message"] for record in log),
    )
