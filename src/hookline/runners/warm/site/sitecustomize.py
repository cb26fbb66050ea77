"""Stops a hook's own Python before it opens the script, and lets a copy of it go on when there is an event.

Python imports this module while it starts, because PYTHONPATH begins with an archive (../archive.py) that has it. It
runs in whatever Python the hook uses (3.8 and later), so it imports nothing of hookline but the modules beside it;
../interpreter.py is the other side, and explains the messages. For an event, the copy gets descriptors, directory and
environment, and then this import ends as if this module did not exist: Python itself opens, compiles and runs the
script, and exits as it always does.
"""

import os
import sys

# The script must find neither these modules nor what they import: they are taken out of sys.modules again.
_KNOWN = set(sys.modules)
try:
    import _socket

    from _hookline_c import Copier, Refused, copy_bytes, copy_pages, track_again
    from _hookline_exit_helper import ExitHelper
    from _hookline_frozen import Frozen
    from _hookline_library import Library
    from _hookline_report import register
except BaseException:  # without these modules the script would run without an event
    os._exit(1)
for _name in set(sys.modules) - _KNOWN:
    del sys.modules[_name]

_MARK = b"HOOKLINE_RUN"
_STDIO = 3
_LONGEST_MESSAGE = 1 << 18


class _Environment:
    """os.environ, and the text in memory that is /proc/PID/environ, where hookline looks for marks of runs."""

    def __init__(self) -> None:
        # Moves each variable away from that text, which will be written over.
        for name, value in os.environb.items():
            os.putenv(name, value)
        fields = _read("/proc/self/stat").rpartition(b")")[2].split()
        self._start, self._end = int(fields[47]), int(fields[48])
        self._around_mark = self._text_around_mark()

    def change(self, run: bytes, changes: "list[bytes]") -> None:
        """Set the mark of the run, and whatever has changed since this interpreter was started."""
        for change in changes:
            name, _, value = change[1:].partition(b"=")
            if change[:1] == b"+":
                os.environb[name] = value
            else:
                value = os.environb.pop(name, b"")
                if value and change[:1] == b">":  # to the end
                    os.environb[name] = value
        os.environb[_MARK] = run
        before, after = self._text_around_mark() if changes else self._around_mark
        room = self._end - self._start
        copy_bytes(self._start, (before + run + after)[:room].ljust(room, b"\0"), room)

    @staticmethod
    def _text_around_mark() -> "tuple[bytes, bytes]":
        names = list(os.environb)
        entries = [name + b"=" + os.environb[name] + b"\0" for name in names]
        at = names.index(_MARK)
        return b"".join(entries[:at]) + _MARK + b"=", b"\0" + b"".join(entries[at + 1 :])


def _read(path: str) -> bytes:
    parts: "list[bytes]" = []
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while True:
            part = os.read(fd, 1 << 18)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        os.close(fd)


def _leave_no_trace() -> "str | None":
    """Take this archive out of Python's path, as if it had never been there; return what hookline asks for."""
    here = os.path.dirname(os.path.abspath(__file__))
    rest = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if rest[0] == here:
        del rest[0]
    if rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    sys.modules["zipimport"]._zip_directory_cache.pop(here, None)
    os.close(int(os.path.basename(here)))
    return os.environ.pop("HOOKLINE_WARM", None)


def _receive(channel: _socket.socket, most: int) -> "tuple[bytes, list[int]]":
    data, extra, _, _ = channel.recvmsg(_LONGEST_MESSAGE, _socket.CMSG_SPACE(4 * most))
    fds = []
    for level, kind, payload in extra:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            fds += [int.from_bytes(payload[at : at + 4], sys.byteorder) for at in range(0, len(payload) - 3, 4)]
    return data, fds


def _renew() -> None:
    """Update process facts in modules that do not update them after a fork."""
    if "threading" in sys.modules:
        getattr(sys.modules["threading"].main_thread(), "_set_native_id", int)()
    if "logging" in sys.modules:
        time, logging = sys.modules["time"], sys.modules["logging"]
        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()  # type: ignore[attr-defined]


def _probe(control: _socket.socket) -> None:
    """Tell hookline which program this is, and what `site` has read: with other files it would have to ask again."""
    program = os.stat("/proc/self/exe")
    identity = b"%d:%d" % (program.st_dev, program.st_ino)
    control.send(b"\0".join([b"probed", identity, *Library("").files()]))


def _park(control: _socket.socket, engine: int, script: str) -> None:
    """Return in a copy of this process that has an event to run for; this process itself never returns."""
    if os.getppid() != engine:
        raise Refused("a process between hookline and Python waits for it")
    if sys.argv[:1] != [script]:
        raise Refused("Python was given other arguments")
    copier, environment, library, exit_helper, frozen = (
        Copier(),
        _Environment(),
        Library(script),
        _exit_helper(),
        Frozen(),
    )
    home = os.getcwd()
    known = set(sys.modules)
    frozen.settle()
    control.send(b"\0".join([b"parked", *library.files()]))
    while True:
        data = b""  # if the last message were still there, the room for the next one would be further on each time
        data, fds = _receive(control, 1)
        if data == b"fork" and fds:
            if copier.copy():
                break
            os.close(fds[0])
        elif data.startswith(b"load\0"):
            loaded = library.load(os.fsdecode(data).split("\0")[1:])
            frozen.settle()
            control.send(b"\0".join([b"loaded", *map(os.fsencode, [*sorted(loaded), *library.own_files()])]))
        else:  # hookline has ended, or does not need this any more
            os._exit(0)
    os.setsid()
    control.close()
    channel = _socket.socket(fileno=fds[0])
    report = _wait_for_event(channel, environment, exit_helper, home)
    frozen.register()
    register(report, library, known)
    channel.send(b"taken")
    channel.close()


def _exit_helper() -> "ExitHelper | None":
    try:
        return ExitHelper()
    except (OSError, ValueError):
        return None


def _start_exit_helper(exit_helper: "ExitHelper | None", channel: _socket.socket) -> None:
    """Start it before the descriptors of the event come: it would keep them open."""
    pid, pidfd = (-1, -1) if exit_helper is None else exit_helper.start()
    if pid < 0:
        channel.send(b"alone")
    else:
        rights = pidfd.to_bytes(4, sys.byteorder)
        channel.sendmsg([b"kept %d" % pid], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
        os.close(pidfd)


def _wait_for_event(
    channel: _socket.socket, environment: _Environment, exit_helper: "ExitHelper | None", home: str
) -> bytes:
    """Return when there is an event, with its descriptors, directory and environment; what to report is the result."""
    # The collector must find cycles through the script.
    for thing in (sys.modules["__main__"], sys.modules["__main__"].__dict__):
        track_again(thing)
    channel.send(b"%d" % os.getpid())
    try:
        channel.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
    except BlockingIOError:
        copy_pages()
    data, fds = _receive(channel, _STDIO)
    if data == b"soon":
        _start_exit_helper(exit_helper, channel)
        data, fds = _receive(channel, _STDIO)
    if len(fds) != _STDIO:
        os._exit(0)
    cwd, report, run, *changes = data.split(b"\0")
    os.chdir(cwd)
    if os.getcwd() != home:  # a link leads somewhere else: Python has made paths absolute when it started
        os._exit(0)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    environment.change(run, changes)
    _renew()
    return report


def _stop_here(command: str) -> None:
    """Do what hookline asks for; whatever fails, the script must not run without an event."""
    number, engine, purpose, script = command.split(":", 3)
    control = _socket.socket(fileno=int(number))
    try:
        if purpose == "probe":
            _probe(control)
            os._exit(0)
        _park(control, int(engine), script)
    except Refused as error:
        control.send(b"refused\0" + str(error).encode())
        os._exit(1)


try:
    _command = _leave_no_trace()
    if _command is not None:
        _stop_here(_command)
except BaseException:
    os._exit(1)

# The one that Python would have found without us. If there is none, this fails as the import that led here would have.
_this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except BaseException:
    sys.modules["sitecustomize"] = _this  # zipimport of Python 3.9 and earlier would fail to remove it
    raise
