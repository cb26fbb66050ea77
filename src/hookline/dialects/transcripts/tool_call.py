"""A tool call that an agent made."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec


class Fate(StrEnum):
    """The outcome of a tool call."""

    RAN = "ran"
    REFUSED = "refused"
    """A hook, a rule or the user did not let it run."""
    OPEN = "open"
    """The transcript ends before its result."""


class MadeCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a transcript."""

    agent: str
    session: str
    id: str
    tool: str
    """The agent's own name of the tool."""
    arguments: Mapping[str, Any]
    fate: Fate
    time: str = ""
    cwd: str = ""
    version: str = ""
    """The agent's version, where the transcript has it."""
    origin: str = ""
    """The transcript's path, with the line."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """The calls that were read from one file."""

    calls: tuple[MadeCall, ...] = ()
    unread: int = 0
    """Lines that could not be read. They may hold calls."""
