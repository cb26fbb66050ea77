"""Check whether Codex trusts the hooks that hookline installed; it doesn't run untrusted ones."""

import re
from pathlib import Path
from typing import Any

from hookline.bridge.installation.entries import settings_file
from hookline.bridge.installation.install import is_ours
from hookline.settings.read.files import read_file


def untrusted_by_codex(file: Path) -> list[str]:
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
