"""Whether a hook that is introduced step by step runs on this machine."""

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hookline.settings.decode.schema import RolloutSettings

_PARTS = 10_000


def left_out(rollout: RolloutSettings, label: str, teams: Sequence[str]) -> str | None:
    """Why the rollout does not reach this machine and user, or None if it does."""
    if rollout.teams is not None and not set(rollout.teams) & set(teams):
        own = ", ".join(teams) or "none"
        return f"its rollout is for the teams {', '.join(rollout.teams) or 'none'}; the teams of this machine: {own}"
    if rollout.percent is not None and share(label) >= rollout.percent:
        return f"its rollout reaches {rollout.percent:g} % of machines and users, and not this one"
    return None


def share(label: str) -> float:
    """A number from 0 to 100 that is always the same for this machine, this user and this hook."""
    text = f"{_machine()}\0{os.getuid()}\0{label}"
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")
    return number % _PARTS / (_PARTS / 100)


@cache
def _machine() -> str:
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            if text := Path(name).read_text("ascii").strip():
                return text
        except (OSError, ValueError):
            continue
    return os.uname().nodename
