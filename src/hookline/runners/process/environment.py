"""Encodes a process environment for exec, as given and as bash would pass it on."""

import os
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from hookline.protocol.constants import CHILD_MARK, PROJECT_DIR_VARIABLES
from hookline.protocol.hook_entry import HookEntry

# Bash acts on these variables or rewrites them when it starts, so with one of them only bash can run a command right.
_BASH_REWRITES = frozenset(
    (
        *("IFS", "PS4", "OPTIND", "OPTERR", "LINENO", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME"),
        *("PPID", "HISTCMD", "COMP_WORDBREAKS", "SHELLOPTS", "POSIXLY_CORRECT"),
    )
)
_BASH_SETS_OR_DROPS = frozenset(("SHLVL", "_", "PS1", "PS2"))
_HIGHEST_SHELL_LEVEL = 998


class Environment(msgspec.Struct, frozen=True, eq=False):
    """The encoded variables of a process."""

    variables: Mapping[str, str]
    encoded: tuple[bytes, ...]
    needs_bash: bool
    handed_on: tuple[bytes, ...]
    """The variables that a program started by bash sees, without `_`, which is the program's own path."""
    marks: bytes
    """The beginning of the variable of marks, which is in neither of these; the mark of a run is appended to it."""


_last: tuple[Mapping[str, str], str, Environment | None] = ({}, "", None)


def prepare(env: Mapping[str, str], cwd: str) -> Environment:
    """Encode an environment, or return the cached result: the same object for equal ones.

    PWD is set to the directory that the process runs in, as after a `cd` in a shell. OLDPWD is left out.
    """
    global _last  # noqa: PLW0603 - events in a row, and their hooks, mostly have the very same environment
    last_env, last_cwd, environment = _last
    if environment is None or env is not last_env or cwd != last_cwd:
        environment = _prepare(tuple(env.items()), cwd)
        _last = env, cwd, environment
    return environment


@lru_cache(maxsize=32)
def _prepare(items: tuple[tuple[str, str], ...], cwd: str) -> Environment:
    encoded = [os.fsencode(f"PWD={cwd}")] if cwd.startswith("/") else []
    handed_on = list(encoded)
    needs_bash, level, marks = not encoded, "0", ""
    for name, value in items:
        if not name or "=" in name:
            raise ValueError(f"{name!r} is not a name of an environment variable")
        if name in {"PWD", "OLDPWD"}:
            continue
        if name == CHILD_MARK:
            marks = value
            continue
        entry = os.fsencode(f"{name}={value}")
        encoded.append(entry)
        if name not in _BASH_SETS_OR_DROPS:
            handed_on.append(entry)
        if name == "SHLVL":
            level = value
        needs_bash = needs_bash or is_for_bash(name)
    if level.isascii() and level.isdecimal() and int(level) <= _HIGHEST_SHELL_LEVEL:
        handed_on.append(f"SHLVL={int(level)}".encode())
    else:
        needs_bash = True
    marked = os.fsencode(f"{CHILD_MARK}={marks}")
    return Environment(dict(items), tuple(encoded), needs_bash, tuple(handed_on), marked)


def is_for_bash(name: str) -> bool:
    """Whether only bash can run a command right that has this variable."""
    return name in _BASH_REWRITES or name.startswith("BASH")


def own_environment(hook: HookEntry, inherited: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment of a hook: the same object if the hook adds no variable."""
    if not hook.env:
        return inherited
    # The project's directory is a fact that no hook's own settings can change.
    kept = {name: inherited[name] for name in PROJECT_DIR_VARIABLES if name in inherited}
    return {**inherited, **hook.env, **kept}
