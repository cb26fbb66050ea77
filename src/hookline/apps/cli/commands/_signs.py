"""What `hookline doctor` says about one thing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Health(StrEnum):
    """How bad it is."""

    GOOD = "good"
    ODD = "odd"
    BAD = "bad"
    """Some hook does not run because of it."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked at; its fields are what `hookline doctor --json` shows."""

    about: str
    health: Health
    message: str
    words: Mapping[str, Any] | None = None
    """Of evidence: configured, observed and enforced, with the times of the last two."""
