"""Starts a process in a session of its own."""

import contextlib
import errno
import fcntl
import os
import select
import subprocess
import sys
from importlib import import_module
from typing import Any

from hookline.child.command import Invocation
from hookline.child.facilities import facilities

_HIGHEST_STDIO = 2
_ERROR_BYTES = 256
_ERROR_WAIT_MS = 1000


# Private, so used only in versions whose arguments are known: see facilities.py.
_fork_exec: Any = getattr(import_module("_posixsubprocess"), "fork_exec", None)
_CLOSE_OTHERS = True
_NO_FD = -1
_RESTORE_SIGNALS = True
_NEW_SESSION = True
_SAME_GROUP = -1
_SAME_USER = None
_SAME_UMASK = -1
_NOTHING_BEFORE_EXEC = None
# The cost does not grow with the memory of this program.
_VFORK = True

_NEITHER_INHERITED_NOR_WAITING = getattr(os, "O_CLOEXEC", 0) | os.O_NONBLOCK


class ExecError(OSError):
    """The program itself could not be executed; the directory and everything else was right."""


# The child's ends of its three pipes: stdin, stdout, stderr.
Stdio = tuple[int, int, int]


def spawn(invocation: Invocation, cwd: str, stdio: Stdio) -> int:
    """The id of the new process; ExecError or another OSError if there is none."""
    if not facilities().has_fork_exec:
        return _by_popen(invocation, cwd, stdio)
    executable, argv, env = invocation
    stdin, stdout, stderr = stdio
    sys.audit("subprocess.Popen", executable, argv, cwd, None)
    told, tells = os.pipe2(_NEITHER_INHERITED_NOR_WAITING)
    try:
        try:
            if tells <= _HIGHEST_STDIO:
                tells = _moved_above_stdio(tells)
            pid: int = _fork_exec(
                argv,
                (executable,),
                _CLOSE_OTHERS,
                (tells,),
                cwd,
                env,
                stdin,
                _NO_FD,
                _NO_FD,
                stdout,
                _NO_FD,
                stderr,
                told,
                tells,
                _RESTORE_SIGNALS,
                _NEW_SESSION,
                _SAME_GROUP,
                _SAME_USER,
                _SAME_USER,
                _SAME_USER,
                _SAME_UMASK,
                _NOTHING_BEFORE_EXEC,
                _VFORK,
            )
        finally:
            os.close(tells)
        try:
            message = os.read(told, _ERROR_BYTES)
        except BlockingIOError:
            message = _told_late(told)
    finally:
        os.close(told)
    if message:
        _reap(pid)
        raise _error(message, cwd, executable)
    return pid


def _moved_above_stdio(fd: int) -> int:
    """The descriptor under another number: in a program without standard descriptors the child would overwrite it."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGHEST_STDIO + 1)
    os.close(fd)
    return moved


def _told_late(fd: int) -> bytes:
    """What the child says about its failure, nothing if it is executed.

    After vfork the answer is there, or the child is about to close its end. That is waited for, a moment: where the
    kernel made a fork of it, or another thread forked a process that holds the pipe, it may take longer.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return os.read(fd, _ERROR_BYTES) if poll.poll(_ERROR_WAIT_MS) else b""


def _error(message: bytes, cwd: str, executable: bytes) -> OSError:
    # As _posixsubprocess writes it: "OSError:hexadecimal errno:where", where "noexec" is before the exec, in newer
    # versions "noexec:chdir".
    _, code, where = message.split(b":", 2)
    number = int(code, 16)
    if where.startswith(b"noexec"):
        return OSError(number, os.strerror(number), cwd)
    return ExecError(number, os.strerror(number), os.fsdecode(executable))


def _by_popen(invocation: Invocation, cwd: str, stdio: Stdio) -> int:
    executable, argv, env = invocation
    stdin, stdout, stderr = stdio
    pairs = (entry.partition(b"=") for entry in env)
    try:
        process = subprocess.Popen(  # noqa: S603 - running the user's commands is our purpose
            argv,
            executable=executable,
            cwd=cwd,
            env={name: value for name, _, value in pairs},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    except OSError as error:
        if error.filename == cwd or error.errno in (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise
        raise ExecError(error.errno, error.strerror, error.filename) from error
    # We reap the child ourselves: Popen must neither warn about it nor wait for it.
    process.returncode = 0
    return process.pid


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
