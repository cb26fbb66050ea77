"""Find the settings files that have hookline as hook command, and check that it answers there."""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.bridge.agents import HOSTS
from hookline.bridge.call import PING, PONG
from hookline.bridge.installation.entries import ENTRIES, settings_file
from hookline.bridge.installation.install import changed, commands_of, installed, is_ours, is_strict_json, own_words
from hookline.bridge.state_files import LastRequests
from hookline.errors import HooklineError
from hookline.protocol.text.json_text import parse_json, stringify_json, utc_timestamp
from hookline.settings.read.files import read_file

_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """hookline in one settings file of an agent."""

    agent: str
    file: str
    events: tuple[str, ...] = ()
    last_asked: str | None = None
    answer_ms: float | None = None
    problem: str | None = None

    @property
    def summary(self) -> str:
        """It in one line."""
        answers = "" if self.answer_ms is None else f", answers in {self.answer_ms:.0f} ms"
        asked = f"last asked {self.last_asked}" if self.last_asked else "never asked so far"
        return f"{', '.join(self.events) or 'unknown'}{answers}, {asked}"


def installations(agent: str, project: Path) -> Iterator[Installation]:
    """Where an agent has hookline: in the user's settings, in those of a project, or in both."""
    asked = LastRequests().when(agent)
    last_asked = None if asked is None else utc_timestamp(asked)
    users_file = settings_file(agent, None)
    for file in dict.fromkeys((users_file, settings_file(agent, project))):
        try:
            entries = installed(file)
        except HooklineError as error:
            yield Installation(agent=agent, file=str(file), last_asked=last_asked, problem=str(error))
            continue
        if entries:
            events = tuple(entries)
            command = commands_of(entries[events[0]])[0]
            tried = ["/bin/sh", "-c", command] if file == users_file else own_words(agent, events[0], command)
            answer_ms, problem = _try(command, tried)
            problem = problem or problem_of(agent, file, entries)
            yield Installation(
                agent=agent,
                file=str(file),
                events=events,
                last_asked=last_asked,
                answer_ms=answer_ms,
                problem=problem,
            )


def problem_of(agent: str, file: Path, entries: Mapping[str, Sequence[Any]]) -> str | None:
    """Return why an agent would not call hookline although its settings have hookline's entries, or None."""
    name = HOSTS[agent].agent
    again = f"hookline bridge install {agent}"
    if not ENTRIES[agent].reads_comments and not is_strict_json(file):
        return f"{file} has comments or trailing commas, and {name} ignores such a file: remove them"
    if ENTRIES[agent].events[0] not in entries:
        return f"{ENTRIES[agent].events[0]} is missing, so no tool of {name} is guarded; {again}"
    for event, own in entries.items():
        if change := next((change for entry in own if (change := changed(agent, event, entry))), None):
            return f"{event}: {change}; {again} writes it anew"
    try:
        untrusted = _untrusted_by_codex(file) if agent == "codex" else ()
    except HooklineError as error:
        return f"it is not known whether Codex trusts these hooks: {error}"
    if untrusted:
        return f"Codex does not run what you have not trusted there: {', '.join(untrusted)}; start codex, /hooks"
    return None


def _try(command: str, words: Sequence[str] | None) -> tuple[float | None, str | None]:
    """How long the installed command takes to answer, or why it does not; no hook is run.

    A project's file may name any program as hookline, so of a command there only our own program is run.
    """
    if words is None:
        return None, f"{command} is not the command of this hookline, so it was not tried"
    started = time.perf_counter()
    try:
        done = subprocess.run(words, input=stringify_json(PING), capture_output=True, timeout=_ANSWER_S, check=False)
        answer: Any = parse_json(done.stdout.decode("utf-8", "replace")) if done.stdout else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return None, f"{command} does not answer: {error}"
    if answer != PONG:
        error_text = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        return None, f"{command} does not answer: {error_text}"
    return (time.perf_counter() - started) * 1000, None


def _untrusted_by_codex(file: Path) -> list[str]:
    """The events of our entries in a hooks file of Codex for which its configuration has no trust.

    Codex keeps a hash of each entry under the file's path, the event and two indexes. How it makes the hash is not
    known here, so an entry that was changed after it was trusted is not noticed.
    """
    states = _states(settings_file("codex", None).with_name("config.toml"))
    events: dict[str, Any] = (read_file(file) or {}).get("hooks") or {}
    return [
        event
        for event, entries in events.items()
        for index, entry in enumerate(entries if isinstance(entries, list) else ())
        if is_ours(entry) and not any(_is_trusted(states.get(key)) for key in _keys(file, event, index))
    ]


def _keys(file: Path, event: str, index: int) -> list[str]:
    word = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    return [f"{path}:{word}:{index}:0" for path in (file, file.resolve())]


def _is_trusted(state: Any) -> bool:
    return isinstance(state, dict) and bool(state.get("trusted_hash")) and state.get("enabled", True) is not False


def _states(config: Path) -> dict[str, Any]:
    hooks = (read_file(config) or {}).get("hooks")
    states = hooks.get("state") if isinstance(hooks, dict) else None
    return states if isinstance(states, dict) else {}
