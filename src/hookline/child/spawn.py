"""Starts a process in its own session."""

import contextlib
import errno
import fcntl
import os
import select
import sys
from importlib import import_module
from typing import Any, NamedTuple

from hookline.child.features import FEATURES
from hookline.child.job import Stdio

# These may end when other processes exit.
SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM))
# This one, when somebody has finished writing the program.
BEING_WRITTEN = errno.ETXTBSY

HIGHEST_STDIO = 2
_ERROR_BYTES = 256
_ERROR_WAIT_MS = 1000

# Private, so used only in versions whose arguments are known: see features.py.
_fork_exec: Any = getattr(import_module("_posixsubprocess"), "fork_exec", None)
_CLOSE_FDS = True
# restore_signals, start_new_session, process_group, gid, groups, uid, umask, preexec_fn, allow_vfork: with vfork a
# start takes the same time however much memory this program uses.
_LAST_ARGUMENTS = (True, True, -1, None, None, None, -1, None, True)


class Invocation(NamedTuple):
    """A program ready to be executed."""

    executable: bytes
    argv: tuple[str, ...]
    env: tuple[bytes, ...]


class ExecError(OSError):
    """The program could not be executed; its working directory and everything else was fine."""


def spawn(invocation: Invocation, cwd: str, stdio: Stdio, keep: tuple[int, ...] = ()) -> int:
    """Return the id of the new process; raise ExecError or another OSError if there is none.

    Besides its stdio it inherits the descriptors in `keep`.
    """
    if not FEATURES.fork_exec:
        return _spawn_with_popen(invocation, cwd, stdio, keep)
    executable, argv, env = invocation
    stdin, stdout, stderr = stdio
    sys.audit("subprocess.Popen", executable, argv, cwd, None)
    error_read, error_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        try:
            if error_write <= HIGHEST_STDIO:
                error_write = move_above_stdio(error_write)
            pipes = (stdin, -1, -1, stdout, -1, stderr, error_read, error_write)
            kept = tuple(sorted((error_write, *keep))) if keep else (error_write,)
            pid: int = _fork_exec(argv, (executable,), _CLOSE_FDS, kept, cwd, env, *pipes, *_LAST_ARGUMENTS)
        finally:
            os.close(error_write)
        try:
            message = os.read(error_read, _ERROR_BYTES)
        except BlockingIOError:
            message = _wait_for_error(error_read)
    finally:
        os.close(error_read)
    if message:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise _error(message, cwd, executable)
    return pid


def move_above_stdio(fd: int) -> int:
    """Give the descriptor another number: in a program without stdin, stdout or stderr the child would overwrite it."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGHEST_STDIO + 1)
    os.close(fd)
    return moved


def _wait_for_error(fd: int) -> bytes:
    """Return the child's error message, or nothing once it has been executed.

    After vfork the message is there, or the child is about to close its end. Wait for that, but not forever: another
    thread may have forked a process that holds the pipe open.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return os.read(fd, _ERROR_BYTES) if poll.poll(_ERROR_WAIT_MS) else b""


def _error(message: bytes, cwd: str, executable: bytes) -> OSError:
    # _posixsubprocess writes "OSError:<errno in hex>:<where>"; "noexec" or "noexec:chdir" means before the exec.
    _, code, where = message.split(b":", 2)
    number = int(code, 16)
    if where.startswith(b"noexec"):
        return OSError(number, os.strerror(number), cwd)
    return ExecError(number, os.strerror(number), os.fsdecode(executable))


def _spawn_with_popen(invocation: Invocation, cwd: str, stdio: Stdio, keep: tuple[int, ...]) -> int:
    executable, argv, env = invocation
    stdin, stdout, stderr = stdio
    pairs = (entry.partition(b"=") for entry in env)
    try:
        import subprocess  # noqa: PLC0415 - only where the faster way is not known

        process = subprocess.Popen(  # noqa: S603 - we are here to run the user's commands
            argv,
            executable=executable,
            cwd=cwd,
            env={name: value for name, _, value in pairs},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=keep,
        )
    except OSError as error:
        if error.filename == cwd or error.errno in SHORTAGES:
            raise
        raise ExecError(error.errno, error.strerror, os.fsdecode(executable)) from error
    # We reap the child ourselves, so Popen must neither warn about it nor wait for it.
    process.returncode = 0
    return process.pid
