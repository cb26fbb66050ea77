"""Speaks with a parked interpreter: a Python process that has stopped before its script; see site/sitecustomize.py.

One socket leads to it. It is sent `fork`, with a socket for the copy that it makes, `load` with names of modules, or
`pages` with ranges of memory; it answers `parked` with files and folders that matter, `loaded` with names, or `refused`
with a reason. The other socket leads to the copy, a spare. That sends its process id, gets one event (directory,
report, mark, changes of the environment, three descriptors), and sends `taken` right before the script runs. `soon` may
announce the event; the spare answers `kept` with the process id and a pidfd of its keeper (see
site/_hookline_keeper.py), or `alone`. When a socket is closed, the process at its other end exits.
"""

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hookline.child import strays
from hookline.child.parked.recipe import Recipe, Signature, signature
from hookline.child.parked.spare import LONGEST_MESSAGE, Spare, leave, wake_stopped
from hookline.child.reaper import REAPER
from hookline.child.spawn import Invocation, spawn
from hookline.contract.vocabulary import CHILD_MARK

SITE = str(Path(__file__).with_name("site"))
VARIABLE = "HOOKLINE_PARK"

_MODULES = (
    "sitecustomize",
    "_hookline_c",
    "_hookline_frozen",
    "_hookline_keeper",
    "_hookline_library",
    "_hookline_pages",
    "_hookline_reports",
)
_PATIENCE_S = 20.0
_MOST_PROBES = 64
# Room in its environment for values that are longer at an event than they were when it was parked.
_SLACK = "." * 256


class NotParkedError(Exception):
    """The interpreter can't be parked; the message has the reason."""


class Interpreter:
    """A parked interpreter. Whoever makes it has to `end` it."""

    def __init__(self, invocation: Invocation, cwd: str, recipe: Recipe) -> None:
        """Start the hook's own command, and wait until it has stopped; raise NotParkedError or OSError."""
        self._control, self.pid = _start(invocation, cwd, "park", recipe.script)
        try:
            self.paths = _answer(self._control, b"parked")
        except BaseException:
            self.end()
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

    def load(self, names: Sequence[bytes]) -> set[str]:
        """Import modules of its standard library; return those that it has now, as far as they are outermost ones."""
        wake_stopped(self.pid)
        self._control.settimeout(_PATIENCE_S)
        self._control.send(b"\0".join([b"load", *names]), socket.MSG_NOSIGNAL)
        return {os.fsdecode(name) for name in _answer(self._control, b"loaded")}

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


class Trial(NamedTuple):
    """What an interpreter did when it was tried."""

    refusal: str | None
    files: dict[str, Signature]
    """What it read when it started: with other files it may not get to us, and run the script."""

    def is_current(self) -> bool:
        """Whether it would do the same now."""
        return all(signature(path) == known for path, known in self.files.items())


class Probes:
    """Asks each interpreter once, in the same surroundings, whether it can be parked."""

    def __init__(self) -> None:
        self._trials: dict[tuple[Any, ...], Trial] = {}

    def ask(self, recipe: Recipe, invocation: Invocation, cwd: str, facts: tuple[Any, ...]) -> Trial:
        """Raise NotParkedError if this Python ignores what we ask of it, so that it would run the script."""
        key = recipe.launcher, recipe.python, facts
        trial = self._trials.get(key)
        if trial is None or not trial.is_current():
            if len(self._trials) > _MOST_PROBES:
                self._trials.clear()
            trial = self._trials[key] = _try(invocation, cwd, recipe)
        if trial.refusal is not None:
            raise NotParkedError(trial.refusal)
        return trial


def _try(invocation: Invocation, cwd: str, recipe: Recipe) -> Trial:
    try:
        program, *files = _probe(invocation, cwd, recipe)
    except NotParkedError as error:
        return Trial(str(error), {})
    found = os.stat(recipe.python)  # noqa: PTH116
    if not recipe.is_shim and program != b"%d:%d" % (found.st_dev, found.st_ino):
        return Trial("the program has started another one", {})
    paths = [os.fsdecode(each[1:]) for each in files if each.startswith(b"s")]
    return Trial(None, {path: signature(path) for path in paths})


def _probe(invocation: Invocation, cwd: str, recipe: Recipe) -> list[bytes]:
    found = (*recipe.launcher, "-c", "pass")
    control, pid = _start(Invocation(os.fsencode(_program(recipe, cwd)), found, invocation.env), cwd, "probe", "-c")
    try:
        return _answer(control, b"probed")
    finally:
        control.close()
        leave(pid)


def _program(recipe: Recipe, cwd: str) -> str:
    return os.path.join(cwd, recipe.launcher[0])  # noqa: PTH118 - a name with a slash stays as it is


def installed() -> tuple[Signature, ...]:
    """The files that Python imports in order to stop before the script."""
    return tuple(signature(f"{SITE}/{name}.py") for name in _MODULES)


_INSTALLED = installed()


def _start(invocation: Invocation, cwd: str, purpose: str, script: str) -> tuple[socket.socket, int]:
    if installed() != _INSTALLED:  # without them Python would run the script
        raise NotParkedError("the files of hookline have changed since this program was started")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Python looks at its streams when it starts, and pipes are what it will get. Nobody reads or writes these.
    read_end, write_end = os.pipe()
    wish = f"{VARIABLE}={theirs.fileno()}:{os.getpid()}:{purpose}:{script}"
    env = (*_with_site(invocation.env), os.fsencode(wish))
    try:
        pid = spawn(invocation._replace(env=env), cwd, (read_end, write_end, write_end), keep=(theirs.fileno(),))
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(read_end)
        os.close(write_end)
    REAPER.running.add(pid)
    return ours, pid


def _with_site(env: tuple[bytes, ...]) -> list[bytes]:
    """The environment with our folder in front of PYTHONPATH, and a mark of its own."""
    entries: dict[bytes, bytes] = {}
    for entry in env:
        name, _, value = entry.partition(b"=")
        entries[name] = value
    path = entries.get(b"PYTHONPATH", b"")
    entries[b"PYTHONPATH"] = os.fsencode(SITE) + (os.pathsep.encode() + path if path else b"")
    entries[CHILD_MARK.encode()] = entries.get(CHILD_MARK.encode(), b"") + next(strays.MARKS) + _SLACK.encode()
    return [name + b"=" + value for name, value in entries.items()]


def _answer(control: socket.socket, wanted: bytes) -> list[bytes]:
    control.settimeout(_PATIENCE_S)
    try:
        word, *rest = control.recv(LONGEST_MESSAGE).split(b"\0")
    except OSError as error:
        raise NotParkedError(f"it did not answer ({error})") from error
    if word == wanted:
        return rest
    if word == b"refused":
        raise NotParkedError(b" ".join(rest).decode("utf-8", "replace"))
    raise NotParkedError("it does not import sitecustomize from PYTHONPATH")
