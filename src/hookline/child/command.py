"""Decides how a command is started: a simple one directly, everything else by bash."""

import os
import shutil
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from hookline.child.environment import Environment, prepare
from hookline.shell.direct import direct_argv, find_program
from hookline.shell.quoting import quote_project_variables


class Invocation(NamedTuple):
    """A program ready to be executed."""

    executable: bytes
    argv: tuple[str, ...]
    env: tuple[bytes, ...]


def direct_invocation(command: str, cwd: str, env: Mapping[str, str]) -> Invocation | None:
    """The command as a program of its own, or None if that is for bash to decide."""
    argv = direct_argv(command, env)
    if argv is None:
        return None
    prepared = prepare(env, cwd)
    if prepared.needs_bash:
        return None
    # A name with a slash is for the kernel to judge.
    executable = argv[0] if "/" in argv[0] else find_program(argv[0], cwd, env)
    return None if executable is None else _by_itself(executable, argv, prepared)


def shell_invocation(command: str, cwd: str, env: Mapping[str, str]) -> Invocation:
    """The command run by bash, or by plain sh where there is no bash."""
    return _by_shell(command, prepare(env, cwd))


@lru_cache(maxsize=64)
def _by_itself(executable: str, argv: tuple[str, ...], prepared: Environment) -> Invocation:
    path = os.fsencode(executable)
    return Invocation(path, argv, (*prepared.handed_on, b"_=" + path))


@lru_cache(maxsize=64)
def _by_shell(command: str, prepared: Environment) -> Invocation:
    path, name = _shell()
    text = quote_project_variables(command)
    if text.startswith(("-", "+")):
        text = f" {text}"  # or the shell would take it for options
    return Invocation(os.fsencode(path), (name, "-c", text), prepared.encoded)


@lru_cache(maxsize=1)
def _shell() -> tuple[str, str]:
    bash = shutil.which("bash")
    return (bash, "bash") if bash else ("/bin/sh", "sh")
