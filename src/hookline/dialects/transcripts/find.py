"""All transcripts of an agent on this machine."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hookline.dialects.files import agent_home
from hookline.dialects.transcripts import claude, codex, gemini
from hookline.dialects.transcripts.lines import JsonLines, arguments_of, text
from hookline.dialects.transcripts.tool_call import Fate, MadeCall, Transcript
from hookline.files import state_path
from hookline.protocol.text.json_text import utc_timestamp

OWN = "hookline"
"""The name of hookline's own agent in lists of agents."""


class TranscriptHome(NamedTuple):
    """Where an agent keeps its transcripts, and how one is read."""

    roots: tuple[str, ...]
    """The directories that hold nothing else of this kind, below the agent's home."""
    patterns: tuple[str, ...]
    """The places of its transcripts, those of subagents included; files elsewhere are named as unknown."""
    read: Callable[[Path], Transcript]
    endings: frozenset[str] = frozenset({".jsonl"})
    """The endings that a transcript may have, such as `.jsonl.gz`; a file can be read if `.jsonl` is the last one."""


AGENTS: Mapping[str, TranscriptHome] = {
    "claude": TranscriptHome(
        ("projects",),
        (
            "projects/*/*.jsonl",
            "projects/*/*/subagents/agent-*.jsonl",
            "projects/*/*/subagents/workflows/*/agent-*.jsonl",
            "projects/*/*/subagents/workflows/*/journal.jsonl",
        ),
        claude.read,
    ),
    "codex": TranscriptHome(
        ("sessions", "archived_sessions"),
        ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
        codex.read,
        frozenset({".jsonl", ".zst"}),
    ),
    "gemini": TranscriptHome(
        ("tmp/*/chats",),
        ("tmp/*/chats/session-*.jsonl", "tmp/*/chats/*/*.jsonl"),
        gemini.read,
        frozenset({".jsonl", ".json"}),
    ),
}
# Deeper than any agent nests its sessions.
_DEEPEST = 8


class Found(NamedTuple):
    """The transcripts of an agent."""

    files: tuple[Path, ...]
    """All that can be read, oldest first; those in unknown places included."""
    unknown: tuple[Path, ...] = ()
    """Files in unknown places, files that can't be read (compressed, FIFOs, broken links), unlistable directories."""

    def unknown_since(self, since: str | None) -> tuple[str, ...]:
        """The unknown ones that were changed at this time or later."""
        return tuple(str(path) for path in self.unknown if since is None or utc_timestamp(_modified_at(path)) >= since)


def transcripts_of(agent: str, environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Return the transcripts of an agent, or of hookline's own, oldest first."""
    yield from find_transcripts(agent, environ).files


def find_transcripts(agent: str, environ: Mapping[str, str] = os.environ) -> Found:
    """Return the transcripts of an agent, and other files that may hold calls."""
    if agent == OWN:
        return Found(_oldest_first(path for path in state_path("sessions").glob("*.jsonl") if path.is_file()))
    home, known = agent_home(agent, environ), AGENTS[agent]
    usual = {path for pattern in known.patterns for path in home.glob(pattern)}
    files, unlisted = {*usual}, list[Path]()
    for root in (root for pattern in known.roots for root in home.glob(pattern)):
        files.update(path for path in _walk(root, unlisted) if not known.endings.isdisjoint(path.suffixes))
    readable = {path for path in files if path.suffix == ".jsonl" and path.is_file()}
    unknown = _oldest_first(path for path in files if path not in usual or path not in readable)
    return Found(_oldest_first(readable), (*unknown, *unlisted))


def _walk(root: Path, unlisted: list[Path]) -> Iterator[Path]:
    """The files below a directory, behind links too; directories that can't be listed are added to `unlisted`."""
    seen: set[str] = set()
    pending = [(root, _DEEPEST)]
    while pending:
        folder, depth = pending.pop()
        if (real := os.path.realpath(folder)) in seen:
            continue
        seen.add(real)
        try:
            entries = list(os.scandir(folder)) if depth else None
        except OSError:
            entries = None
        if entries is None:
            unlisted.append(folder)
            continue
        pending += [(Path(entry.path), depth - 1) for entry in entries if entry.is_dir()]
        yield from (Path(entry.path) for entry in entries if not entry.is_dir())


def _oldest_first(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path for _, path in sorted((_modified_at(path), path) for path in paths))


def _modified_at(path: Path) -> float:
    """When a file was changed last; now, if that can't be known."""
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def read_transcript(agent: str, path: Path) -> Transcript:
    """The calls of one transcript; one that can't be opened counts as unread."""
    try:
        return _read_own(path) if agent == OWN else AGENTS[agent].read(path)
    except OSError:
        return Transcript(unread=1)


_OWN_FATES = {"success": Fate.RAN, "error": Fate.RAN, "idle": Fate.REFUSED, "cancelled": Fate.REFUSED}


def _read_own(path: Path) -> Transcript:
    """The calls of a session of hookline's agent: sessions/SESSION.jsonl in the state directory."""
    calls: list[MadeCall] = []
    project, lines = "", JsonLines(path)
    for number, line in lines:
        if line.get("type") == "session":
            project = text(line.get("project")) or project
        elif line.get("type") == "tool":
            calls.append(_own_call(line, project, path, number))
    return Transcript(calls=tuple(calls), unread=lines.unread)


def _own_call(line: Mapping[str, Any], project: str, path: Path, number: int) -> MadeCall:
    return MadeCall(
        agent=OWN,
        session=path.stem,
        id=text(line.get("id")) or f"{path}:{number}",
        tool=text(line.get("name")),
        arguments=arguments_of(line.get("input")),
        fate=_OWN_FATES.get(text(line.get("status")), Fate.OPEN),
        time=text(line.get("timestamp")),
        cwd=project,
        origin=f"{path}:{number}",
    )
