"""All transcripts of an agent on this machine."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hookline.dialects.files import agent_home
from hookline.files import state_path
from hookline.history import claude, codex, gemini, own
from hookline.history.made import Transcript

OWN = "hookline"
"""The name of hookline's own agent, where it stands beside others."""


class Agent(NamedTuple):
    """Where an agent keeps its transcripts, and how one is read."""

    pattern: str
    read: Callable[[Path], Transcript]


AGENTS: Mapping[str, Agent] = {
    "claude": Agent("projects/*/*.jsonl", claude.read),
    "codex": Agent("sessions/*/*/*/rollout-*.jsonl", codex.read),
    "gemini": Agent("tmp/*/chats/session-*.jsonl", gemini.read),
}


def transcripts_of(agent: str, environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """The transcripts of an agent, or of our own, oldest first."""
    if agent == OWN:
        paths = state_path("sessions").glob("*.jsonl")
    else:
        paths = agent_home(agent, environ).glob(AGENTS[agent].pattern)
    found = [path for path in paths if path.is_file()]
    yield from sorted(found, key=lambda path: path.stat().st_mtime)


def read_transcript(agent: str, path: Path) -> Transcript:
    """The calls of one transcript; one that can't be opened counts as unread."""
    try:
        return own.read(path) if agent == OWN else AGENTS[agent].read(path)
    except OSError:
        return Transcript(unread=1)
