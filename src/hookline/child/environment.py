"""The environment as the kernel takes it, and as bash would hand it on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

# Variables that bash acts on or rewrites when it starts: with one of these only bash knows what a command sees.
_BASH_REWRITES = frozenset(
    (
        *("IFS", "PS4", "OPTIND", "OPTERR", "LINENO", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME"),
        *("PPID", "HISTCMD", "COMP_WORDBREAKS", "SHELLOPTS", "POSIXLY_CORRECT"),
    )
)
_BASH_SETS_OR_DROPS = frozenset(("SHLVL", "_", "PS1", "PS2"))
_HIGHEST_SHELL_LEVEL = 998


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """A child's variables, encoded."""

    encoded: tuple[bytes, ...]
    needs_bash: bool
    handed_on: tuple[bytes, ...]
    """What a program started by bash sees, but for `_`, which is the program's own path."""


def prepare(env: Mapping[str, str], cwd: str) -> Environment:
    """The environment encoded, from a small cache: events in a row mostly have the same one, and so have their hooks.

    PWD names the directory that the child runs in, as after a `cd` in a shell; OLDPWD, which is about another shell, is
    left out.
    """
    global _last  # noqa: PLW0603 - a cache of one, replaced as a whole
    last_env, last_cwd, prepared = _last
    if env is not last_env or cwd != last_cwd:
        prepared = _prepare(tuple(env.items()), cwd)
        _last = env, cwd, prepared
    return prepared


@lru_cache(maxsize=8)
def _prepare(items: tuple[tuple[str, str], ...], cwd: str) -> Environment:
    encoded = [os.fsencode(f"PWD={cwd}")] if cwd.startswith("/") else []
    handed_on = list(encoded)
    needs_bash, level = not encoded, "0"
    for name, value in items:
        if not name or "=" in name:
            raise ValueError(f"{name!r} is no name for an environment variable")
        if name in {"PWD", "OLDPWD"}:
            continue
        entry = os.fsencode(f"{name}={value}")
        encoded.append(entry)
        if name not in _BASH_SETS_OR_DROPS:
            handed_on.append(entry)
        if name == "SHLVL":
            level = value
        needs_bash = needs_bash or name in _BASH_REWRITES or name.startswith("BASH")
    if level.isascii() and level.isdecimal() and int(level) <= _HIGHEST_SHELL_LEVEL:
        handed_on.append(f"SHLVL={int(level)}".encode())
    else:
        needs_bash = True
    return Environment(tuple(encoded), needs_bash, tuple(handed_on))


_last: tuple[Mapping[str, str], str, Environment] = ({}, "", Environment((), needs_bash=True, handed_on=()))
