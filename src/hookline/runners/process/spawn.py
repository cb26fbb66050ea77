"""Start a process in its own session."""

import errno
import fcntl
import os
import subprocess
from typing import NamedTuple

from hookline.runners.process.job import Stdio

# These may end when other processes exit.
RESOURCE_ERRNOS = frozenset((errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM))
# This one ends when the program file is closed by its writer.
BEING_WRITTEN = errno.ETXTBSY

HIGHEST_STDIO = 2


class Invocation(NamedTuple):
    """A program ready to be executed."""

    executable: bytes
    argv: tuple[str, ...]
    env: tuple[bytes, ...]


class ExecError(OSError):
    """The program could not be executed; its working directory and everything else was fine."""


def spawn(invocation: Invocation, cwd: str, stdio: Stdio, keep: tuple[int, ...] = ()) -> int:
    """Return the id of the new process; raise ExecError or another OSError if there is none.

    Besides its stdio it inherits the file descriptors in `keep`.
    """
    executable, argv, env = invocation
    stdin, stdout, stderr = stdio
    pairs = (entry.partition(b"=") for entry in env)
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's commands
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
        if error.filename == cwd or error.errno in RESOURCE_ERRNOS:
            raise
        raise ExecError(error.errno, error.strerror, os.fsdecode(executable)) from error
    # The caller reaps the child, so Popen must neither warn about it nor wait for it.
    process.returncode = 0
    return process.pid


def move_above_stdio(fd: int) -> int:
    """Give the descriptor another number: in a program without stdin, stdout or stderr the child would overwrite it."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGHEST_STDIO + 1)
    os.close(fd)
    return moved
