"""Hooks that can't be used as they are written: why, and which of them block until somebody fixes them."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hookline.contract.answers import kind_of
from hookline.contract.hooks import HookEntry
from hookline.contract.vocabulary import CONFIGURED_TYPES, OWN_DIALECT, ConfigSource, OnError
from hookline.settings._dialect import table_of, why_unknown
from hookline.settings.schema import FleetSettings

_LONGEST_TYPE = 40


def unreadable(entry: HookEntry, dialect: str) -> HookEntry:
    """A hook of an unknown dialect: what it decides could be misread, so it fails for everything, and blocks."""
    refusal = f"its dialect {why_unknown(dialect)}"
    return replace(entry, dialect=OWN_DIALECT, matcher=None, refusal=refusal, on_error=OnError.BLOCK)


def hook_fault(raw: Any, dialect: str) -> str | None:
    """Why a hook can't be used at all, or None."""
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected a hook such as {{"type": "command", "command": "…"}}'
    command, kind = raw.get("command"), raw.get("type")
    fault = None
    if "type" not in raw:
        fault = 'has no type; add "type": "command"'
    elif not isinstance(kind, str) or kind not in CONFIGURED_TYPES:
        given = f"has the type {json.dumps(kind)[:_LONGEST_TYPE]}" if isinstance(kind, str) else _type_of(kind)
        fault = f'{given}; write "type": "command", or "http", "plugin" or "remote", in small letters'
    elif kind == "http":
        fault = _url_fault(raw.get("url"))
    elif kind == "remote":
        fault = _subject_fault(raw.get("subject"))
    elif kind == "command" and command is None:
        fault = "has no command; give a command or remove the entry"
    elif not isinstance(command, str | None):
        fault = "has a command that is not a string; write the whole command line as one string"
    elif kind == "command" and not (command or "").strip():
        fault = "has an empty command; give a command or remove the entry"
    elif kind == "command" and raw.get("args") and not _takes_args(dialect):
        # Claude Code's other form. Without its args `bash` alone would run, and read the event as its script.
        fault = "has args, which are not passed to commands here; write the whole command line as one string"
    return fault


def _type_of(kind: Any) -> str:
    return f"has a type that is {kind_of(kind)}"


def _takes_args(dialect: str) -> bool:
    table = table_of(dialect)
    return table is not None and "args" in table.keys


def remote_fault(hook: HookEntry, fleet: FleetSettings | None, *, has_client: bool) -> str | None:
    """Why a hook on another machine can't be asked, with the remedy, or None."""
    if hook.dialect != OWN_DIALECT:
        return f'a remote hook answers in hookline\'s own words; add "dialect": "{OWN_DIALECT}" to its group'
    if fleet is None or not fleet.servers:
        from hookline.contract.fleet import NAME_A_SERVER  # noqa: PLC0415 - few machines have a fleet

        if hook.source in (ConfigSource.POLICY, ConfigSource.SYSTEM):
            return "the system's settings name no server that its workers listen on, and a user's don't count for it"
        return f"no server is named that its workers listen on; {NAME_A_SERVER}"
    if not has_client:
        return "the client of NATS is not installed; run: pip install 'hookline[fleet]'"
    return None


def _subject_fault(subject: Any) -> str | None:
    if not isinstance(subject, str) or not subject.strip():
        return 'has no subject that its workers listen for; add one, such as "subject": "dlp", or remove the entry'
    return None


def _url_fault(url: Any) -> str | None:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return "has no url that begins with http:// or https://; give one or remove the entry"
    return None
