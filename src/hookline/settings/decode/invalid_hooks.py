"""Invalid hooks: why they are invalid, and which ones block until they are fixed."""

import json
from collections.abc import Mapping
from typing import Any

from hookline.protocol.answers import kind_of
from hookline.protocol.constants import CONFIGURED_TYPES, HookMode, OnError
from hookline.settings.decode.dialect import table_of
from hookline.settings.decode.fields import LayerProblems, Path, decode_fields
from hookline.settings.decode.schema import HookGroupSettings, HookSettings

_LONGEST_TYPE = 40
_LONGEST_SHOWN = 100
_NO_TEXT = "has a command that is not a string; write the whole command line as one string"
_READ_OF_BROKEN = ("name", "enabled", "onError", "onFailure", "required", "mode", "rollout")


def hook_fault(raw: Any, dialect: str) -> str | None:
    """Why a hook can't be used at all, or None."""
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected a hook such as {{"type": "command", "command": "…"}}'
    kind = raw.get("type")
    if "type" not in raw:
        return f'has no type; add "type": "{"http" if _has_only_url(raw) else "command"}"'
    if not isinstance(kind, str) or kind not in CONFIGURED_TYPES:
        given = (
            f"the type {json.dumps(kind)[:_LONGEST_TYPE]}"
            if isinstance(kind, str)
            else f"a type that is {kind_of(kind)}"
        )
        return f'has {given}; write "type": "command", or "http", "plugin" or "remote", in small letters'
    if kind == "http":
        return _url_fault(raw.get("url"))
    if kind == "command":
        return _command_fault(raw, dialect)
    if kind == "remote":
        subject = raw.get("subject")
        fault = 'has no subject that its workers listen for; add one, such as "subject": "dlp", or remove the entry'
        return None if isinstance(subject, str) and subject.strip() else fault
    return _NO_TEXT if not isinstance(raw.get("command"), str | None) else None


def _command_fault(raw: Mapping[str, Any], dialect: str) -> str | None:
    command = raw.get("command")
    if _has_only_url(raw):
        return 'has a url and no command; write "type": "http"'
    if command is None:
        return "has no command; give a command or remove the entry"
    if not isinstance(command, str):
        return _NO_TEXT
    if not command.strip():
        return "has an empty command; give a command or remove the entry"
    table = table_of(dialect)
    if raw.get("args") and (table is None or "args" not in table.keys):
        # Claude Code's other form. Without its args `bash` alone would run, and read the event as its script.
        return "has args, which are not passed to commands here; write the whole command line as one string"
    return None


def _has_only_url(raw: Mapping[str, Any]) -> bool:
    return raw.get("url") is not None and raw.get("command") is None


def _url_fault(url: Any) -> str | None:
    if not isinstance(url, str) or not url.strip():
        what = "no url" if url is None else "an empty url" if isinstance(url, str) else f"a url that is {kind_of(url)}"
        return f"has {what}; give one, such as http://127.0.0.1:8080/guard"
    if url.startswith(("http://", "https://")):
        return None
    scheme, mark, _ = url.partition("://")
    is_other = mark and scheme.isalnum() and len(scheme) <= _LONGEST_TYPE
    where = f"or https:// in place of {scheme}://" if is_other else "in front of it"
    # Without a user name, a password and its query: problems are shown and logged.
    _, at, place = url.partition("?")[0].rpartition("@")
    return f"has the url {_shown(f'…@{place}' if at else place)}; write http:// {where}"


def _shown(text: str) -> str:
    return json.dumps(text[:_LONGEST_SHOWN], ensure_ascii=False)


def named(hook: HookSettings, fault: str) -> str:
    """Return the fault of a hook with the hook's name."""
    return f"({_shown(hook.name)}) {fault}" if hook.name else fault


def read_broken(raw: Any, path: Path, problems: LayerProblems) -> HookSettings:
    """The options of an entry that can't be used which say whether it blocks until it is fixed."""
    given = raw if isinstance(raw, Mapping) else {}
    options = {key: given[key] for key in _READ_OF_BROKEN if key in given}
    return decode_fields({**options, "type": "command"}, HookSettings, path, problems)


def would_block(hook: HookSettings, group: HookGroupSettings, *, is_guard: bool) -> bool:
    """True if this hook's failure blocks. `is_guard` forces that even when the settings don't ask for it."""
    mode = hook.mode or group.mode or HookMode.ENFORCE
    is_strict = is_guard or hook.required or hook.on_failure == "block" or hook.on_error is OnError.BLOCK
    return is_strict and hook.enabled and mode is HookMode.ENFORCE
