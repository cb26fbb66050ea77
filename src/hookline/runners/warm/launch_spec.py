"""The commands that can be warm: a Python script, run by a known interpreter."""

import os
from functools import lru_cache
from typing import NamedTuple

from hookline.runners.process.command import Invocation
from hookline.shell.direct import find_program
from hookline.shell.python import (
    launched_python,
    python_command,
    shebang_launcher,
)

# As much as the kernel reads.
_LONGEST_SHEBANG = 256
_ELF = b"\x7fELF"
_LONGEST_SHIM = 4096
Signature = tuple[int, ...] | None


class LaunchSpec(NamedTuple):
    """How a script is run."""

    launcher: tuple[str, ...]
    """The words in front of the script; the first one may be the program `env`."""
    python: str
    """The file of the interpreter, or of a shim that chooses one."""
    script: str
    """As the interpreter is given it: its `sys.argv[0]`."""
    name: str
    """By which PATH leads to the interpreter; empty if a path does."""
    is_shim: bool
    """True for a shim of pyenv, which looks into files and variables to choose an interpreter."""
    program: str = ""
    """The file that is executed with the words of `launcher`."""
    arguments: tuple[str, ...] = ()
    """The words behind the script."""


def launch_spec_of(invocation: Invocation, cwd: str) -> LaunchSpec | None:
    """How to park this program, or None if it is no Python script or its interpreter can't be told for sure."""
    found = _script_run(invocation, cwd)
    kind = None if found is None else _kind(found.python, signature(found.python))
    return None if found is None or kind is None else found._replace(is_shim=kind == "shim")


def _script_run(invocation: Invocation, cwd: str) -> LaunchSpec | None:
    """How Python runs a script, whatever its interpreter is; None if the program is something else."""
    program = os.fsdecode(invocation.executable)
    command = python_command(invocation.argv)
    if command is not None:
        launcher, script, python, started = command.launcher, command.script, program, program
        arguments = invocation.argv[len(launcher) + 1 :]
    else:
        found = shebang_launcher(_start_of(os.path.join(cwd, program), _LONGEST_SHEBANG))
        if found is None:
            return None
        launcher, script, python, started = found, program, launched_python(found), found[0]
        arguments = invocation.argv[1:]
        if not os.access(os.path.join(cwd, program), os.X_OK):
            return None  # starting it will report that
    name = "" if "/" in python else python
    python = os.path.join(cwd, _found(name, invocation, cwd) if name else python)
    if not os.path.isfile(os.path.join(cwd, script)):
        return None
    return LaunchSpec(launcher, python, script, name, is_shim=False, program=started, arguments=arguments)


def may_come(invocation: Invocation, cwd: str) -> bool:
    """Whether a program without a recipe may have one later: one of its files is missing, or may not be executed."""
    program = os.path.join(cwd, os.fsdecode(invocation.executable))
    command = python_command(invocation.argv)
    if command is not None:
        return signature(program) is None or not os.path.isfile(os.path.join(cwd, command.script))
    start = _start_of(program, _LONGEST_SHEBANG)
    return not start or shebang_launcher(start) is not None


def is_still_found(spec: LaunchSpec, invocation: Invocation, cwd: str) -> bool:
    """Whether PATH, if it is asked, leads to the same interpreter as before."""
    return not spec.name or _found(spec.name, invocation, cwd) == spec.python


def signature(path: str) -> Signature:
    """Return a value that changes when the file is replaced or written to; None without a file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


@lru_cache(maxsize=64)
def _kind(python: str, signed: Signature) -> str | None:
    """`binary`, or `shim` for a shim of pyenv; None for any other script: it may do anything before it runs Python."""
    if signed is None:
        return None
    start = _start_of(python, _LONGEST_SHIM)
    if start.startswith(_ELF):
        return "binary"
    is_shim = os.path.basename(os.path.dirname(python)) == "shims" and b'/libexec/pyenv" exec "$program" "$@"' in start
    return "shim" if is_shim else None


def _found(name: str, invocation: Invocation, cwd: str) -> str:
    path = next((os.fsdecode(entry[5:]) for entry in invocation.env if entry.startswith(b"PATH=")), "")
    return find_program(name, cwd, {"PATH": path}) or ""


def _start_of(path: str, most: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(fd, most)
    except OSError:  # a directory
        return b""
    finally:
        os.close(fd)
