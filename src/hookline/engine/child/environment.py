"""The environment as the kernel takes it, and as bash would hand it on."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

# Variables that bash acts on or rewrites when it starts: with one of these only bash knows what a command sees.
_BASH_REWRITES = frozenset(
    [
        "IFS",
        "PS4",
        "OPTIND",
        "OPTERR",
        "LINENO",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "PPID",
        "HISTCMD",
        "COMP_WORDBREAKS",
        "SHELLOPTS",
        "POSIXLY_CORRECT",
    ]
)
_BASH_SETS = frozenset(("PWD", "OLDPWD", "SHLVL", "_"))
_BASH_DROPS = frozenset(("PS1", "PS2"))
_HIGHEST_SHELL_LEVEL = 998


class Environment(NamedTuple):
    """A child's variables, encoded."""

    encoded: tuple[bytes, ...]
    needs_bash: bool
    handed_on: tuple[bytes, ...]
    """What bash hands on unchanged."""
    shell_level: bytes


def prepare(env: Mapping[str, str]) -> Environment:
    """The environment encoded, from a small cache: events in a row mostly have the same one."""
    return _prepare(tuple(env.items()))


@lru_cache(maxsize=8)
def _prepare(items: tuple[tuple[str, str], ...]) -> Environment:
    encoded: list[bytes] = []
    handed_on: list[bytes] = []
    needs_bash, level = False, "0"
    for name, value in items:
        if not name or "=" in name:
            raise ValueError(f"{name!r} is no name for an environment variable")
        entry = os.fsencode(f"{name}={value}")
        encoded.append(entry)
        if name not in _BASH_SETS and name not in _BASH_DROPS:
            handed_on.append(entry)
        if name == "SHLVL":
            level = value
        needs_bash = needs_bash or name in _BASH_REWRITES or name.startswith("BASH")
    if not (level.isascii() and level.isdecimal() and int(level) <= _HIGHEST_SHELL_LEVEL):
        needs_bash = True
    return Environment(
        tuple(encoded), needs_bash, tuple(handed_on), f"SHLVL={int(level) if not needs_bash else 0}".encode()
    )


def as_bash_hands_on(prepared: Environment, env: Mapping[str, str], cwd: str, executable: str) -> tuple[bytes, ...]:
    """The variables that a program started by bash in this directory would see."""
    own = [prepared.shell_level, os.fsencode(f"_={executable}"), os.fsencode(f"PWD={_working_directory(env, cwd)}")]
    if (previous := env.get("OLDPWD")) and os.path.isdir(previous):  # noqa: PTH112 - Path costs more than the look
        own.append(b"OLDPWD=" + os.fsencode(previous))
    return (*prepared.handed_on, *own)


def _working_directory(env: Mapping[str, str], cwd: str) -> str:
    """The name that bash gives the directory: the inherited one if it is true, else the physical one."""
    inherited = env.get("PWD", "")
    if inherited == cwd:
        return cwd
    try:
        status = os.stat(cwd)  # noqa: PTH116 - Path costs more than the look
    except OSError:
        return cwd  # the spawn says what is wrong with it
    if inherited.startswith("/") and _is(inherited, status):
        return inherited
    return _physical(cwd, status.st_dev, status.st_ino)


@lru_cache(maxsize=8)
def _physical(cwd: str, device: int, inode: int) -> str:  # noqa: ARG001 - another directory has another name
    return os.path.realpath(cwd)


def _is(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)  # noqa: PTH116 - Path costs more than the look
    except OSError:
        return False
