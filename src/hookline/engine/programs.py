"""What a worker is started from: its directory and its files, as values that differ after a change."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hookline.child.command import direct_invocation
from hookline.contract.hooks import HookEntry
from hookline.settings.fingerprint import Fingerprinter, Signature
from hookline.shell.python import python_command

_MOST_KNOWN = 8
_MOST_HOOKS = 256


class _Place(NamedTuple):
    """A directory without links, and which one it is: another may get its name."""

    path: str
    identity: tuple[int, int] | None


class Program(NamedTuple):
    """What a worker is started from, at one moment."""

    place: _Place
    files: Sequence[tuple[str, str, str | Signature]]
    """The name of each, where it is, and its content."""
    policy_fault: str | None

    def change(self, earlier: "Program") -> str:
        """What differs from an earlier one, for people."""
        before, now = set(earlier.files), set(self.files)
        changed = sorted({name for name, _, _ in before ^ now})
        return changed[0] if changed else self.place.path


class Programs:
    """Looks at the programs of hooks. Can be used by several threads."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._shortened: dict[tuple[int, str], tuple[HookEntry, Mapping[str, str], HookEntry]] = {}
        # By the PATH of the hook, where names in a command are looked for.
        self._fingerprinters: dict[str | None, Fingerprinter] = {}

    def signatures(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> object | None:
        """What differs if the directory or a file has changed, without reading any; None if that can't be told yet."""
        place = self._place(cwd)
        signatures = self._fingerprinter(env).signatures(self._started(hook, cwd, env), place.path)
        return None if signatures is None else (place, signatures)

    def program(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> Program:
        """What differs if another program would be started now, with every file of it read."""
        place = self._place(cwd)
        files = self._fingerprinter(env).program(self._started(hook, cwd, env), place.path)
        return Program(place, files, _policy_fault(hook))

    def _started(self, hook: HookEntry, cwd: str, env: Mapping[str, str]) -> HookEntry:
        """The hook with its program and script alone: further words may name a log that it writes to.

        Where trust is asked for, everything that the command names counts, as it does there.
        """
        if hook.is_asked_about:
            return hook
        key = (id(hook), cwd)
        known = self._shortened.get(key)
        if known is None or known[0] is not hook or known[1] is not env:
            if len(self._shortened) >= _MOST_HOOKS:
                self._shortened.clear()
            words = _program_words(hook, cwd, env)
            short = hook if words is None else replace(hook, command=shlex.join(words), env={})
            known = self._shortened[key] = hook, env, short
        return known[2]

    def _fingerprinter(self, env: Mapping[str, str]) -> Fingerprinter:
        search_path = env.get("PATH")
        known = self._fingerprinters.get(search_path)
        if known is None:
            if len(self._fingerprinters) >= _MOST_KNOWN:
                self._fingerprinters.clear()
            known = self._fingerprinters[search_path] = Fingerprinter(search_path)
        return known

    def _place(self, directory: str) -> _Place:
        """Where a directory is now. At every event, and `realpath` takes many times as long as a look at one name."""
        known, identity = self._places.get(directory), _identity(directory)
        # What is behind a link may have been moved, and the link with it.
        if known and known.identity == identity and (known.path == directory or _identity(known.path) == identity):
            return known
        if len(self._places) >= _MOST_KNOWN:
            self._places.clear()
        known = self._places[directory] = _Place(os.path.realpath(directory), identity)
        return known


def _identity(directory: str) -> tuple[int, int] | None:
    try:
        status = os.stat(directory)  # noqa: PTH116 - at every event, and Path is several times slower
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _program_words(hook: HookEntry, cwd: str, env: Mapping[str, str]) -> Sequence[str] | None:
    """The words that name the program and its script; None where only a shell, or the program itself, can tell."""
    try:
        invocation = direct_invocation(hook.command or "", cwd, env)
        if invocation is None:
            return None
        with open(os.path.join(os.fsencode(cwd), invocation.executable), "rb") as file:  # noqa: PTH118, PTH123 - as the kernel would
            is_script = file.read(2) == b"#!"
    except (OSError, ValueError):
        return None
    argv = invocation.argv
    if is_script:
        return argv[:1]
    command = python_command(argv)
    length = 2 if command is None else len(command.launcher) + 1
    has_script = len(argv) >= length and os.path.isfile(os.path.join(cwd, argv[length - 1]))  # noqa: PTH113, PTH118
    return argv[:length] if has_script else None


def _policy_fault(hook: HookEntry) -> str | None:
    """What is wrong with the scripts of a policy, also with those that the command does not name."""
    if hook.policy is None or not hook.policy.files:
        return None
    from hookline.settings.policy.tree import tree_fault  # noqa: PLC0415 - few machines have a policy

    return tree_fault(hook.policy)
