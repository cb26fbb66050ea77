"""A separate program that sets limits on itself and then becomes the command; limits.py starts it.

Arguments: the limits (`memory=1000 network=off`), LC_CTYPE as the command is to find it (`=C`, or nothing), the
program, its arguments. It imports as little as possible, because it runs before every hook that has limits.
"""

import _signal  # type: ignore[import-not-found]  # signal itself is slow to import
import errno
import mmap
import os
import resource
import sys
import time

REFUSED = 125
PREFIX = "hookline: "

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def main() -> None:
    """Sets the limits, checks that they hold, and executes the command."""
    words, locale, program, *argv = sys.argv[1:]
    given = dict(word.split("=") for word in words.split())
    if report := given.pop("report", None):
        _report_status(int(report))
    if given.pop("network", None):
        _leave_network()
    # After the namespaces, which would undo it.
    if parent := given.pop("parent", None):
        _end_with(int(parent))
    # Memory last: what follows needs some.
    for name in ("processes", "cpu", "files", "memory"):
        if name in given:
            try:
                _LIMITS[name](int(given[name]))
            except (OSError, ValueError, AttributeError) as error:
                _refuse(f"limits.{name} can't be set ({error}); choose another value, or remove it from the hook")
    _undo_changes_of_python(locale)
    for pause_s in (0.01, 0.02, 0.04, 0.08, 0.16, 0.0):
        try:
            os.execv(program, argv)  # noqa: S606 - we are here to run the user's commands
        except OSError as error:
            # The program may be open for writing at this moment.
            if error.errno != errno.ETXTBSY or not pause_s:
                _refuse(f"{program} can't be executed: {error}")
            time.sleep(pause_s)


def _report_status(descriptor: int) -> None:
    """Forks. The child returns and becomes the command; its parent stays, and writes to the pipe how it ended."""
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    os.set_inheritable(descriptor, False)  # noqa: FBT003
    # Signals to the group are for the command; only SIGKILL ends this process before it.
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    child = os.fork()
    if not child:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        return
    # Only the command may hold the pipes: a reader waits until every holder has closed them.
    os.closerange(0, descriptor)
    _, status = os.waitpid(child, 0)
    os.write(descriptor, b"%d" % status)
    os._exit(0)


def _refuse(why: str) -> None:
    os.write(2, (PREFIX + why).encode())
    os._exit(REFUSED)


def _end_with(parent: int) -> None:
    """Makes the system kill this process when its parent ends; elsewhere than on Linux EOF on stdin has to do."""
    try:
        import ctypes  # noqa: PLC0415 - slow to import

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:  # it has ended before this
        os._exit(REFUSED)


def _leave_network() -> None:
    """Moves into a network namespace without any device, as the same user."""
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        # The same user and group inside and outside, so that files keep their owner.
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    except (AttributeError, OSError) as error:
        need = '"network": false needs user and network namespaces, and this system refuses them'
        _refuse(f"{need} ({error}); allow unprivileged user namespaces, or remove it from the hook")


def _unshare(flags: int) -> None:
    if sys.version_info >= (3, 12):
        os.unshare(flags)
        return
    import ctypes  # noqa: PLC0415 - slow to import

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _limit_processes(count: int) -> None:
    # With this limit no process can start another one, unless the kernel does not apply it to this user.
    resource.setrlimit(resource.RLIMIT_NPROC, (1, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
    try:
        child = os.fork()
    except OSError:
        return _limit(resource.RLIMIT_NPROC, count)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return _refuse(
        "limits.processes has no effect for this user, who may start any number of processes (as root may); "
        "run as an ordinary user, or remove it from the hook"
    )


def _limit_cpu(seconds: int) -> None:
    # SIGXCPU at the limit, which says what happened; SIGKILL a second later for a process that ignores it.
    _limit(resource.RLIMIT_CPU, seconds, more=1)


def _limit_files(count: int) -> None:
    _limit(resource.RLIMIT_NOFILE, count)


def _limit_memory(size: int) -> None:
    _limit(resource.RLIMIT_AS, size)
    # This process uses some memory already, so as much again is too much.
    try:
        mmap.mmap(-1, size)
    except (OSError, OverflowError, ValueError):
        return
    _refuse("limits.memory has no effect on this system; remove it from the hook")


_LIMITS = {"processes": _limit_processes, "cpu": _limit_cpu, "files": _limit_files, "memory": _limit_memory}


def _limit(kind: int, value: int, more: int = 0) -> None:
    """Sets a limit that the command can't raise; a lower one that we have ourselves stays."""
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY:
        hard = value + more
    resource.setrlimit(kind, (min(value, hard), min(value + more, hard)))


def _undo_changes_of_python(locale: str) -> None:
    """Gives the command the signals and the environment that it would have without this program."""
    # Python does not change SIGCHLD, but a command that inherits it ignored loses the statuses of its children.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGCHLD):
        _signal.signal(number, _signal.SIG_DFL)
    os.environ.pop("LC_CTYPE", None)
    if locale:
        os.environ["LC_CTYPE"] = locale[1:]


if __name__ == "__main__":
    main()
