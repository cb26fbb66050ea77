"""Starts a command: a simple one directly, everything else by bash; within limits, by a launcher in front of it.

Limits can't be set on the calling process, which has other threads, nor between vfork and exec, where no Python code
runs, nor from outside, which would be too late. So a hook with limits takes the start of a Python interpreter longer
(about 10 ms).
"""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from hookline.protocol.hook_entry import ResourceLimits
from hookline.runners.process import limit_launcher
from hookline.runners.process.environment import Environment, prepare
from hookline.runners.process.features import FEATURES
from hookline.runners.process.job import ChildJob, Stdio
from hookline.shell.direct import direct_argv, find_program
from hookline.shell.quoting import quote_project_variables

# These may end when other processes exit.
RESOURCE_ERRNOS = frozenset((errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM))
# This one ends when the program file is closed by its writer.
BEING_WRITTEN = errno.ETXTBSY

HIGHEST_STDIO = 2

_LOCALE = b"LC_CTYPE"


class Invocation(NamedTuple):
    """A program ready to be executed."""

    executable: bytes
    argv: tuple[str, ...]
    env: tuple[bytes, ...]


class ExecError(OSError):
    """The program could not be executed; its working directory and everything else was fine."""


def start(job: ChildJob, stdio: Stdio, mark: bytes, *, report: int | None = None) -> int:
    """Return the id of the new process; raise an OSError if there is none, and a ValueError for impossible limits.

    The mark is added to its environment. With `report`, a descriptor, a program in front of the command waits for it
    and writes its exit status there.
    """
    if report is not None:
        reported = confined(_plain_invocation(job, mark), job.limits or ResourceLimits(), report=report)
        return spawn(reported, job.cwd, stdio, (report,))
    if job.ends_with_us and (invocation := _lasting(job, mark)):
        return spawn(invocation, job.cwd, stdio)
    if job.argv is not None:
        invocation = program_invocation(job.argv, job.cwd, job.env, mark)
        return spawn(invocation if job.limits is None else confined(invocation, job.limits), job.cwd, stdio)
    if job.limits is not None:
        return spawn(confined(shell_invocation(job.command, job.cwd, job.env, mark), job.limits), job.cwd, stdio)
    if FEATURES.direct and (direct := direct_invocation(job.command, job.cwd, job.env, mark)):
        try:
            return spawn(direct, job.cwd, stdio)
        except ExecError as error:
            if error.errno == BEING_WRITTEN:
                raise
            # For others bash can run it, or has the usual message for it.
    return spawn(shell_invocation(job.command, job.cwd, job.env, mark), job.cwd, stdio)


def invocation_of(job: ChildJob) -> Invocation | None:
    """The program that the job's process becomes without any other in front of it; None if there is one.

    Raise an OSError or a ValueError where starting it would.
    """
    if job.limits is not None:
        return None
    if job.argv is not None:
        return program_invocation(job.argv, job.cwd, job.env)
    return direct_invocation(job.command, job.cwd, job.env) if FEATURES.direct else None


def _plain_invocation(job: ChildJob, mark: bytes) -> Invocation:
    """The program without a shell that was asked for, or else bash with the command."""
    if job.argv is not None:
        return program_invocation(job.argv, job.cwd, job.env, mark)
    return shell_invocation(job.command, job.cwd, job.env, mark)


def _lasting(job: ChildJob, mark: bytes) -> Invocation | None:
    """Return the launcher that makes the command end with this program; None without an interpreter for it."""
    if not can_confine() and job.limits is None:
        return None
    direct = direct_invocation(job.command, job.cwd, job.env, mark) if FEATURES.direct and not job.limits else None
    invocation = direct or shell_invocation(job.command, job.cwd, job.env, mark)
    return confined(invocation, job.limits or ResourceLimits(), ends_with=os.getpid())


def direct_invocation(command: str, cwd: str, env: Mapping[str, str], mark: bytes = b"") -> Invocation | None:
    """Return the program that the command executes directly; None if bash has to run the command."""
    environment = prepare(env, cwd)
    argv = _argv(command, environment)
    if argv is None:
        return None
    # A name with a slash is for the kernel to judge. Where another is found may change with every installation.
    executable = argv[0] if "/" in argv[0] else find_program(argv[0], cwd, env)
    if executable is None:
        return None
    path = os.fsencode(executable)
    return Invocation(path, argv, (*environment.handed_on, environment.marks + mark, b"_=" + path))


def program_invocation(argv: tuple[str, ...], cwd: str, env: Mapping[str, str], mark: bytes = b"") -> Invocation:
    """A program that is run without a shell; raise a FileNotFoundError if there is none of this name."""
    folders = (os.path.join(cwd, folder) for folder in env.get("PATH", "").split(os.pathsep))
    executable = argv[0] if "/" in argv[0] else _which(argv[0], folders)
    if executable is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    environment = prepare(env, cwd)
    return Invocation(os.fsencode(executable), argv, (*environment.encoded, environment.marks + mark))


def shell_invocation(command: str, cwd: str, env: Mapping[str, str], mark: bytes = b"") -> Invocation:
    """Return the invocation of bash with the command, or of sh on a system without bash."""
    path, name = _shell()
    text = quote_project_variables(command)
    if text.startswith(("-", "+")):
        text = f" {text}"  # or the shell would take it for options
    environment = prepare(env, cwd)
    return Invocation(os.fsencode(path), (name, "-c", text), (*environment.encoded, environment.marks + mark))


@lru_cache(maxsize=256)
def _argv(command: str, environment: Environment) -> tuple[str, ...] | None:
    return None if environment.needs_bash else direct_argv(command, environment.variables)


@lru_cache(maxsize=1)
def _shell() -> tuple[str, str]:
    # A relative entry of PATH is a directory of whichever project this is.
    bash = _which("bash", filter(os.path.isabs, os.get_exec_path()))
    return (bash, "bash") if bash else ("/bin/sh", "sh")


def _which(name: str, folders: Iterable[str]) -> str | None:
    # As shutil.which, but `shutil` loads three libraries for archives.
    candidates = (os.path.join(folder, name) for folder in folders if folder)
    return next((path for path in candidates if os.access(path, os.X_OK) and os.path.isfile(path)), None)


def spawn(invocation: Invocation, cwd: str, stdio: Stdio, keep: tuple[int, ...] = ()) -> int:
    """Return the id of the new process; raise ExecError or another OSError if there is none.

    Besides its stdio it inherits the file descriptors in `keep`.
    """
    executable, argv, env = invocation
    stdin, stdout, stderr = stdio
    pairs = (entry.partition(b"=") for entry in env)
    try:
        process = subprocess.Popen(
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


def can_confine() -> bool:
    """Whether there is an interpreter for the program in front."""
    # A frozen program is its own interpreter: it would be started again.
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def confined(
    invocation: Invocation, limits: ResourceLimits, *, ends_with: int | None = None, report: int | None = None
) -> Invocation:
    """The same program within limits; raise a ValueError if they can't be set from here.

    With `ends_with`, the number of its parent, it is killed when the parent's thread that starts it ends. With
    `report`, a descriptor that it inherits, its exit status is written there.
    """
    if not can_confine():
        raise ValueError("limits and network need a Python interpreter, and this program has none; remove them")
    path, argv, env = invocation
    given = {
        **limits.to_dict().get("limits", {}),
        **({} if limits.network else {"network": "off"}),
        **({} if ends_with is None else {"parent": ends_with}),
        **({} if report is None else {"report": report}),
    }
    words = " ".join(f"{name}={value}" for name, value in given.items())
    # Python changes this variable for programs that it executes.
    locale = next((entry.removeprefix(_LOCALE) for entry in env if entry.startswith(_LOCALE + b"=")), b"")
    stage = (sys.executable, "-I", "-S", limit_launcher.__file__, words, os.fsdecode(locale), os.fsdecode(path), *argv)
    return Invocation(os.fsencode(sys.executable), stage, env)


def refusal(exit_code: int | None, stderr: bytes) -> str | None:
    """Why the program in front refused to start the command; None if the command was started."""
    text = stderr.decode("utf-8", "replace")
    if exit_code != limit_launcher.REFUSED or not text.startswith(limit_launcher.PREFIX):
        return None
    return f"could not be started: {text.removeprefix(limit_launcher.PREFIX)}"
