"""The connection to a warm interpreter: a Python process that has stopped before its script.

site/sitecustomize.py is the other end. One socket leads to the interpreter. hookline sends `fork` with a socket for the
copy, or `load` with names of modules. The interpreter answers `parked` with the files and folders that decide how it
starts, `loaded` with names and files, or `refused` with a reason.

The other socket leads to the copy, a standby. The standby sends its process id, receives one event (cwd, report, mark,
changes of the environment, three file descriptors), and sends `taken` right before the script runs. hookline may send
`soon` before an event; the standby answers `kept` with the process id and a pidfd of its exit helper (see
site/_hookline_exit_helper.py), or `alone`. When a socket is closed, the process at its other end exits.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Sequence

from hookline.protocol.constants import CHILD_MARK
from hookline.runners.process import orphans
from hookline.runners.process.command import Invocation, spawn
from hookline.runners.process.reaper import REAPER
from hookline.runners.warm import archive
from hookline.runners.warm.launch_spec import LaunchSpec
from hookline.runners.warm.standby import LONGEST_MESSAGE, Standby, leave, wake_stopped

VARIABLE = "HOOKLINE_WARM"

_PATIENCE_S = 20.0
# Room in its environment for values that are longer at an event than they were when it was parked.
_SLACK = "." * 256


class NotWarmError(Exception):
    """The interpreter can't be started before its event; the message has the reason."""


class Interpreter:
    """A warm interpreter. The caller must `end` it."""

    def __init__(self, invocation: Invocation, cwd: str, spec: LaunchSpec) -> None:
        """Start the hook's own command, and wait until it has stopped; raise NotWarmError or OSError."""
        self._control, self.pid = start(invocation, cwd, "park", spec.script)
        try:
            self.paths = answer(self._control, b"parked")
        except BaseException:
            self._control.close()
            leave(self.pid, 0)
            raise
        self.room = sum(len(entry) + 1 for entry in invocation.env) + len(_SLACK)
        """How long the text of the environment may be at an event."""

    def fork(self) -> "Standby":
        """Ask for a copy, which is ready a moment later; raise OSError if the interpreter is gone."""
        wake_stopped(self.pid)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._control.settimeout(_PATIENCE_S)
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()], socket.MSG_NOSIGNAL)
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)  # noqa: FBT003
        return Standby(ours)

    def load(self, names: Sequence[bytes]) -> list[str]:
        """Import modules of its standard library; return the outermost ones of them, and the files of all it has."""
        wake_stopped(self.pid)
        self._control.settimeout(_PATIENCE_S)
        self._control.send(b"\0".join([b"load", *names]), socket.MSG_NOSIGNAL)
        return [os.fsdecode(each) for each in answer(self._control, b"loaded")]

    def close(self) -> None:
        """Close the socket alone."""
        self._control.close()

    def end(self) -> None:
        """Let it exit."""
        self._control.close()
        leave(self.pid)


def start(invocation: Invocation, cwd: str, purpose: str, script: str) -> tuple[socket.socket, int]:
    """Start Python so that it stops before the script; return the socket that leads to it, and its process id."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Python looks at its streams when it starts, and pipes are what it will get. These are never used.
    read_end, write_end = os.pipe()
    command = f"{VARIABLE}={theirs.fileno()}:{os.getpid()}:{purpose}:{script}"
    try:
        with archive.opened() as site:
            env = (*_with_site(invocation.env, f"/proc/self/fd/{site}"), os.fsencode(command))
            keep = theirs.fileno(), site
            pid = spawn(invocation._replace(env=env), cwd, (read_end, write_end, write_end), keep)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(read_end)
        os.close(write_end)
    REAPER.running.add(pid)
    return ours, pid


def _with_site(env: tuple[bytes, ...], site: str) -> list[bytes]:
    """Return the environment with the archive in front of PYTHONPATH and with a new mark."""
    entries: dict[bytes, bytes] = {}
    for entry in env:
        name, _, value = entry.partition(b"=")
        entries[name] = value
    path = entries.get(b"PYTHONPATH", b"")
    entries[b"PYTHONPATH"] = os.fsencode(site) + (os.pathsep.encode() + path if path else b"")
    entries[CHILD_MARK.encode()] = entries.get(CHILD_MARK.encode(), b"") + next(orphans.MARKS) + _SLACK.encode()
    return [name + b"=" + value for name, value in entries.items()]


def answer(control: socket.socket, wanted: bytes) -> list[bytes]:
    """Return the fields of the answer that begins with this word; raise NotWarmError for any other answer."""
    control.settimeout(_PATIENCE_S)
    _WAITING[threading.get_ident()] = control
    try:
        word, *rest = control.recv(LONGEST_MESSAGE).split(b"\0")
    except OSError as error:
        raise NotWarmError(f"it did not answer ({error})") from error
    finally:
        del _WAITING[threading.get_ident()]
    if word == wanted:
        return rest
    if word == b"refused":
        raise NotWarmError(b" ".join(rest).decode("utf-8", "replace"))
    raise NotWarmError("it does not import sitecustomize from PYTHONPATH")


def stop_waiting(thread: int | None) -> None:
    """Have `answer`, if this thread waits there, raise NotWarmError at once."""
    control = None if thread is None else _WAITING.get(thread)
    if control is not None:
        with contextlib.suppress(OSError):  # the answer has come
            control.shutdown(socket.SHUT_RDWR)


_WAITING: dict[int, socket.socket] = {}
