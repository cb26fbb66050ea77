"""A directory of settings and scripts → a bundle."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.matcher import is_literal
from hookline.errors import UsageError
from hookline.fleet.policy.documents import (
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    Bundle,
    PackedFile,
    name_fault,
    now,
    packed,
    unsigned,
)
from hookline.protocol.constants import POLICY_DIR_VARIABLE, ConfigSource
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer, read_layer
from hookline.settings.read.policy_state import PolicyState

SETTINGS = "settings.json"
# Room for signatures, which come later.
_SIGNATURES_BYTES = 16 * 256
_LEFT_OUT = ("__pycache__",)
_NAMED = re.compile(rf"\$\{{?{POLICY_DIR_VARIABLE}\}}?[\"']?/([A-Za-z0-9._/-]+)")

# Paths that may exist only on the packing machine; programs of the system are everywhere.
_ELSEWHERE = re.compile(r"""(?:^|[\s"'=])((?:~|\$\{?HOME\}?)?/(?!usr/|bin/|sbin/|dev/|etc/|proc/)[^\s"';|&<>]+)""")


class Packed(NamedTuple):
    """A bundle without a signature."""

    bundle: Bundle
    warnings: tuple[str, ...]
    """Warnings about its settings."""


def pack(directory: Path, *, version: int, expires: datetime, teams: Sequence[str]) -> Packed:
    """The settings.json of a directory and everything beside it; UsageError if machines could not use it."""
    layer = read_layer(directory / SETTINGS, ConfigSource.PROJECT)
    if layer.text is None and not layer.problems:
        raise UsageError(f"{directory} has no {SETTINGS}; put the policy's settings there, and its scripts beside it")
    files = dict(_files(directory))
    bundle = Bundle(
        version=version, issued=now(), expires=expires, teams=tuple(teams), settings=dict(layer.values), files=files
    )
    warnings = _check(layer, bundle)
    # Every machine checks these.
    envelope = unsigned(bundle)
    envelope.document  # noqa: B018
    size = len(envelope.to_bytes()) + _SIGNATURES_BYTES
    if size > MOST_BYTES:
        raise UsageError(
            f"the bundle would have {size / 2**20:.0f} MiB, and machines take {MOST_BYTES >> 20} at most (files grow by"
            " a third in it); remove files that are not scripts"
        )
    return Packed(bundle, warnings)


def renewed(bundle: Bundle, *, version: int, expires: datetime) -> Bundle:
    """The same content under another version: the only way back."""
    return replace(bundle, version=version, issued=now(), expires=expires)


def _files(directory: Path) -> Iterator[tuple[str, PackedFile]]:
    count = 0
    for folder, folders, names in os.walk(directory, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            shown = path.relative_to(directory).as_posix()
            if shown == SETTINGS or name.startswith("."):
                continue
            count += 1
            if count > MOST_FILES:
                raise UsageError(f"{directory} has more than {MOST_FILES} files; remove files that are not scripts")
            yield shown, _file(path, shown)


def _file(path: Path, shown: str) -> PackedFile:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path} is not a regular file; a policy has no links or devices")
    if status.st_size > MOST_FILE_BYTES:
        raise UsageError(f"{path} has more than {MOST_FILE_BYTES >> 20} MiB; a policy is for scripts")
    if fault := name_fault(shown):
        raise UsageError(fault)
    return packed(path.read_bytes(), executable=bool(status.st_mode & stat.S_IXUSR))


_MACHINE = {"hooksConfig": {"fleet": {"servers": ["nats://machine"]}}}


def _check(layer: Layer, bundle: Bundle) -> tuple[str, ...]:
    """Return the warnings; raises UsageError for hooks that would not run on any machine."""
    as_policy = layer._replace(source=ConfigSource.POLICY, policy=PolicyState(version=bundle.version))
    # Remote hooks of a policy ask the server that the machine's own system settings name.
    machine = layer._replace(source=ConfigSource.SYSTEM, origin="a machine", values=_MACHINE, problems=(), text=None)
    settings = decode_settings((as_policy, machine))
    errors = [str(problem) for problem in settings.problems if problem.is_error]
    errors += [fault for hook in settings.hooks for fault in (*_script_faults(hook, bundle), *_matcher_faults(hook))]
    if errors:
        raise UsageError(f"this policy would not run as it is meant: {'; '.join(errors)}")
    oddities = [
        f"{hook.label} names {path}, which is not in the bundle: it has to be on every machine"
        for hook in settings.hooks
        for path in _ELSEWHERE.findall(_words(hook))
    ]
    if not settings.hooks:
        oddities.append("it has no hooks")
    return (*oddities, *(str(problem) for problem in settings.problems))


def _script_faults(hook: HookEntry, bundle: Bundle) -> Iterator[str]:
    """Scripts of the policy that the command would not find."""
    for name in _NAMED.findall(_words(hook)):
        if name.rstrip("/") not in bundle.files and not _is_folder(name, bundle):
            yield f"{hook.label} names ${POLICY_DIR_VARIABLE}/{name}, which is not in the directory"
    without_place = _NAMED.sub("", _words(hook))
    for name in bundle.files:
        if re.search(rf"(?:^|[\s\"'=])(?:\./)?{re.escape(name)}(?:$|[\s\"';])", without_place):
            yield f"{hook.label} names {name} without its place; write ${POLICY_DIR_VARIABLE}/{name}"


def _matcher_faults(hook: HookEntry) -> Iterator[str]:
    """A matcher that would be compared as plain text: on every machine, and with no tool's name."""
    if hook.matcher and EVENT_TABLE[hook.event].matching is Matching.REGEX and is_literal(hook.matcher):
        yield f"{hook.label} has the matcher {hook.matcher!r}, which is not a regular expression"


def _words(hook: HookEntry) -> str:
    return " ".join((hook.command or "", *(hook.args or ())))


def _is_folder(name: str, bundle: Bundle) -> bool:
    return any(file.startswith(f"{name.rstrip('/')}/") for file in bundle.files)
