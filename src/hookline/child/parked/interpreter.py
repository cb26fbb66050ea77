"""Speaks with a parked interpreter: a Python process that has stopped before its script; see site/sitecustomize.py.

One socket leads to it. It is sent `fork`, with a socket for the copy that it makes, `load` with names of modules, or
`pages` with ranges of memory; it answers `parked` with files and folders that matter, `loaded` with names and files, or
`refused` with a reason. The other socket leads to the copy, a spare. It sends its process id, gets one event (folder,
report, mark, changes of the environment, three descriptors), and sends `taken` right before the script runs. `soon` may
announce the event; the spare answers `kept` with the process id and a pidfd of its keeper (see
site/_hookline_keeper.py), or `alone`. When a socket is closed, the process at its other end exits.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Sequence

from hookline.child import strays
from hookline.child.parked import archive
from hookline.child.parked.recipe import Recipe
from hookline.child.parked.spare import LONGEST_MESSAGE, Spare, leave, wake_stopped
from hookline.child.reaper import REAPER
from hookline.child.spawn import Invocation, spawn
from hookline.contract.vocabulary import CHILD_MARK

VARIABLE = "HOOKLINE_PARK"

_PATIENCE_S = 20.0
# Room in its environment for values that are longer at an event than they were when it was parked.
_SLACK = "." * 256


class NotParkedError(Exception):
    """The interpreter can't be parked; the message has the reason."""


class Interpreter:
    """A parked interpreter. Whoever makes it has to `end` it."""

    def __init__(self, invocation: Invocation, cwd: str, recipe: Recipe) -> None:
        """Start the hook's own command, and wait until it has stopped; raise NotParkedError or OSError."""
        self._control, self.pid = start(invocation, cwd, "park", recipe.script)
        try:
            self.paths = answer(self._control, b"parked")
        except BaseException:
            self._control.close()
            leave(self.pid, 0)
            raise
        self.room = sum(len(entry) + 1 for entry in invocation.env) + len(_SLACK)
        """How long the text of the environment may be at an event."""

    def fork(self) -> "Spare":
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
        return Spare(ours)

    def load(self, names: Sequence[bytes]) -> list[str]:
        """Import modules of its standard library; return the outermost ones of them, and the files of all it has."""
        wake_stopped(self.pid)
        self._control.settimeout(_PATIENCE_S)
        self._control.send(b"\0".join([b"load", *names]), socket.MSG_NOSIGNAL)
        return [os.fsdecode(each) for each in answer(self._control, b"loaded")]

    def copy_ahead(self, pages: Sequence[bytes]) -> None:
        """Have new spares get these pages of memory for themselves before their event: runs write to them."""
        message = b"\0".join([b"pages", *pages])
        if len(message) <= LONGEST_MESSAGE:
            self._control.send(message, socket.MSG_NOSIGNAL)

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
    # Python looks at its streams when it starts, and pipes are what it will get. Nobody reads or writes these.
    read_end, write_end = os.pipe()
    wish = f"{VARIABLE}={theirs.fileno()}:{os.getpid()}:{purpose}:{script}"
    try:
        with archive.opened() as site:
            env = (*_with_site(invocation.env, f"/proc/self/fd/{site}"), os.fsencode(wish))
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
    """The environment with our modules in front of PYTHONPATH, and a mark of its own."""
    entries: dict[bytes, bytes] = {}
    for entry in env:
        name, _, value = entry.partition(b"=")
        entries[name] = value
    path = entries.get(b"PYTHONPATH", b"")
    entries[b"PYTHONPATH"] = os.fsencode(site) + (os.pathsep.encode() + path if path else b"")
    entries[CHILD_MARK.encode()] = entries.get(CHILD_MARK.encode(), b"") + next(strays.MARKS) + _SLACK.encode()
    return [name + b"=" + value for name, value in entries.items()]


def answer(control: socket.socket, wanted: bytes) -> list[bytes]:
    """What it answers behind this word; raise NotParkedError if it says something else, or nothing."""
    control.settimeout(_PATIENCE_S)
    _WAITING[threading.get_ident()] = control
    try:
        word, *rest = control.recv(LONGEST_MESSAGE).split(b"\0")
    except OSError as error:
        raise NotParkedError(f"it did not answer ({error})") from error
    finally:
        del _WAITING[threading.get_ident()]
    if word == wanted:
        return rest
    if word == b"refused":
        raise NotParkedError(b" ".join(rest).decode("utf-8", "replace"))
    raise NotParkedError("it does not import sitecustomize from PYTHONPATH")


def stop_waiting(thread: int | None) -> None:
    """Have `answer`, if this thread waits there, raise NotParkedError at once."""
    control = None if thread is None else _WAITING.get(thread)
    if control is not None:
        with contextlib.suppress(OSError):  # the answer has come
            control.shutdown(socket.SHUT_RDWR)


_WAITING: dict[int, socket.socket] = {}
