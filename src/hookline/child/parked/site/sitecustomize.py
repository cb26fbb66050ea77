"""Stops a hook's own Python before it opens the script, and lets a copy of it go on when there is an event.

Python imports this module while it starts, because this folder is the first of PYTHONPATH. It runs in whatever
Python the hook uses (3.8 and later), so it imports nothing of hookline; ../interpreter.py is the other side, and
explains the messages. For an event, the copy gets descriptors, directory and environment, and then this import ends as
if this module did not exist: Python itself opens, compiles and runs the script, and exits as it always does.
"""

import os
import sys

# The script must find neither these modules nor what they import: they are taken out of sys.modules again.
_KNOWN = set(sys.modules)
try:
    import _socket
    import _warnings
    import atexit
    import ctypes
    import gc
except BaseException:  # without any of them the script would run now, and there is no event
    os._exit(1)
for _name in set(sys.modules) - _KNOWN:
    del sys.modules[_name]

_MARK = b"HOOKLINE_RUN"

# clone(2): make the new process a child of our parent. hookline must be the parent of every run, so that it can wait
# for it, and so that no process id is used again before hookline has seen the exit.
_CLONE_PARENT, _CLONE_CHILD_SETTID, _CLONE_CHILD_CLEARTID, _SIGCHLD = 0x8000, 0x1000000, 0x200000, 17
_PR_GET_TID_ADDRESS = 40
_MADV_POPULATE_WRITE = 23
# By processor: the numbers of clone, set_robust_list and get_robust_list, and which argument is the thread's address.
_SYSTEM_CALLS = {"x86_64": (56, 273, 274, 3), "aarch64": (220, 99, 100, 4)}

# These act when they are imported, or keep something that each process must have for itself.
_NOT_LOADED = frozenset(
    ("antigravity", "this", "readline", "rlcompleter", "multiprocessing", "idlelib", "tkinter", "turtle", "curses")
)
_STDIO = 3
_PAGE = os.sysconf("SC_PAGE_SIZE")
# The uppermost bits of an entry in /proc/PID/pagemap: present, neither of a file nor mapped by another process.
_OWN_PAGE = 0x81


class Refused(Exception):
    """This interpreter can't be parked; the message has the reason."""


class _Hidden(BaseException):
    """No ImportError: a module that goes on without another one would not be as the script finds it."""


class _Guard:
    """Keeps modules of the library from importing what the script would get from somewhere else."""

    def __init__(self, hidden: "set[str]") -> None:
        self._hidden = hidden

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Never find anything."""
        if name.partition(".")[0] in self._hidden:
            raise _Hidden


class _Copier:
    """Does what os.fork does, but the new process is a sibling of this one."""

    def __init__(self) -> None:
        calls = _SYSTEM_CALLS.get(os.uname().machine)
        if calls is None or sys.maxsize < 1 << 32:
            raise Refused("this kind of processor is not known")
        clone, self._set_robust_list, get_robust_list, place = calls
        # Unlike CDLL it keeps the interpreter's lock, as os.fork does.
        self.libc = ctypes.PyDLL(None)
        self._system_call = self.libc.syscall
        self._system_call.restype = ctypes.c_long
        thread = ctypes.c_void_p()
        if self.libc.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(thread), 0, 0, 0) or not thread.value:
            raise Refused("the kernel does not say where the thread has its number")
        # The C library keeps both up to date in its own fork.
        self._robust_list, self._robust_size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call(get_robust_list, 0, ctypes.byref(self._robust_list), ctypes.byref(self._robust_size))
        flags = _CLONE_PARENT | _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID | _SIGCHLD
        self._clone = [clone, flags, 0, 0, 0, 0]
        self._clone[1 + place] = thread.value

    def _call(self, *arguments: object) -> int:
        given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
        return int(self._system_call(*given))

    def copy(self) -> bool:
        """Return False in this process and True in its copy."""
        ctypes.pythonapi.PyOS_BeforeFork()
        pid = self._call(*self._clone)
        if pid:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
            return False
        self._call(self._set_robust_list, self._robust_list, self._robust_size)
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return True

    def populate(self, ranges: "list[tuple[int, int]]") -> None:
        """Copy the pages that a run will write to now, and not one by one during the event."""
        madvise = self.libc.madvise
        madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start, end in ranges:
            madvise(start, end - start, _MADV_POPULATE_WRITE)


class _Witness:
    """Writes which pages a run has written to: it is the last object that Python deletes, or nearly so.

    Those are the pages that this process no longer shares with the interpreter that it is a copy of. Each function is
    kept here, because modules are emptied by then.
    """

    def __init__(self, path: bytes, pid: int) -> None:
        self._path = path
        self._pid = pid
        self._calls = os.getpid, os.open, os.pread, os.write, os.O_RDONLY, os.O_WRONLY | os.O_NOFOLLOW

    def __del__(self) -> None:
        try:
            self._report()
        except BaseException:
            return

    def _report(self) -> None:
        getpid, open_file, pread, write, reading, writing = self._calls
        if getpid() != self._pid:
            return
        maps, pagemap = open_file("/proc/self/maps", reading), open_file("/proc/self/pagemap", reading)
        text, part = b"", b"x"
        while part:
            part = pread(maps, 1 << 16, len(text))
            text += part
        found = []
        for line in text.splitlines():
            fields = line.split()
            if fields[1] == b"rw-p":
                start, end = (int(each, 16) for each in fields[0].split(b"-"))
                entries = pread(pagemap, (end - start) // _PAGE * 8, start // _PAGE * 8)
                uppermost = entries[7::8]
                found += [start + at * _PAGE for at, bits in enumerate(uppermost) if bits & 0xA1 == _OWN_PAGE]
        write(open_file(self._path, writing), b"\0".join([b"%x" % page for page in found]))


class _Environment:
    """os.environ, and the text in memory that is /proc/PID/environ, where hookline looks for marks of runs."""

    def __init__(self) -> None:
        # Moves each variable away from that text, which will be written over.
        for name, value in os.environb.items():
            os.putenv(name, value)
        fields = _read("/proc/self/stat").rpartition(b")")[2].split()
        self._start, self._end = int(fields[47]), int(fields[48])

    def change(self, run: bytes, changes: "list[bytes]") -> None:
        """Set the mark of the run, and whatever has changed since this interpreter was started."""
        for change in changes:
            name, _, value = change[1:].partition(b"=")
            if change[:1] == b"+":
                os.environb[name] = value
            else:
                os.environb.pop(name, None)
        os.environb[_MARK] = run
        text = b"".join([name + b"=" + value + b"\0" for name, value in os.environb.items()])
        room = self._end - self._start
        ctypes.memmove(self._start, text[:room].ljust(room, b"\0"), room)


class _Library:
    """Modules of the standard library that earlier runs have used, imported before the event."""

    def __init__(self, script: str) -> None:
        # Asked now: the working directory may be gone later.
        self._folder = os.path.dirname(os.path.realpath(script))
        self._root = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        self._names = getattr(sys, "stdlib_module_names", None)
        self._find_spec = sys.modules["_frozen_importlib"]._find_spec

    def leading_folders(self) -> "list[str]":
        """The folders that Python searches before its own library."""
        folders = []
        for entry in sys.path:
            if os.path.abspath(entry) + os.sep == self._root:
                break
            if not entry.endswith(".zip"):
                folders.append(os.path.abspath(entry))
        return folders

    def load(self, names: "list[str]") -> "set[str]":
        """Import those that are of the library for sure; return the outermost names of what was imported."""
        folders = [self._folder, *self.leading_folders()]
        guard = _Guard({entry.partition(".")[0] for folder in folders for entry in _entries(folder)} | _NOT_LOADED)
        known = set(sys.modules)
        sys.meta_path.insert(0, guard)
        # A module that warns must do so when the script imports it.
        _warnings.filters.insert(0, ("error", None, Warning, None, 0))
        _warnings._filters_mutated()  # type: ignore[attr-defined]
        for name in names:
            try:
                if name not in sys.modules and self._has(name):
                    __import__(name)
            except (Exception, _Hidden):
                continue  # the script will meet it, too, if it imports this
        del _warnings.filters[0]
        _warnings._filters_mutated()  # type: ignore[attr-defined]
        sys.meta_path.remove(guard)
        self.settle()
        return {name.partition(".")[0] for name in set(sys.modules) - known}

    def settle(self) -> None:
        """Keep the collector away from all that is there: it would write to every page."""
        if len(os.listdir("/proc/self/task")) > 1:
            raise Refused("something has started a thread")
        gc.collect()
        gc.freeze()

    def _has(self, name: str) -> bool:
        top = name.partition(".")[0]
        if self._names is not None and top not in self._names:
            return False
        parent = sys.modules.get(name.rpartition(".")[0])
        if name != top and parent is None:
            return False
        spec = self._find_spec(name, getattr(parent, "__path__", None))
        if spec is None or spec.origin is None:
            return False
        is_file = spec.origin.startswith(self._root) and "-packages" not in spec.origin
        return is_file or spec.origin in ("built-in", "frozen")


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


def _entries(folder: str) -> "list[str]":
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _leave_no_trace() -> "str | None":
    """Take this folder out of Python's path, as if it had never been there; return what hookline asks for."""
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
    return os.environ.pop("HOOKLINE_PARK", None)


def _receive(channel: _socket.socket, most: int) -> "tuple[bytes, list[int]]":
    data, extra, _, _ = channel.recvmsg(1 << 18, _socket.CMSG_SPACE(4 * most))
    fds = []
    for level, kind, payload in extra:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            fds += [int.from_bytes(payload[at : at + 4], sys.byteorder) for at in range(0, len(payload) - 3, 4)]
    return data, fds


def _site_files() -> "list[str]":
    """The folders and files that `site` has read: with others this interpreter would have started in another way."""
    folders = [entry for entry in sys.path if entry.endswith("-packages")]
    return folders + [
        os.path.join(folder, name) for folder in folders for name in _entries(folder) if name.endswith(".pth")
    ]


def _track_again(thing: object) -> None:
    """Take an object out of what gc.freeze has set aside: the collector must find cycles through the script."""
    if gc.is_tracked(thing):
        ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(thing))
        ctypes.pythonapi.PyObject_GC_Track(ctypes.py_object(thing))


def _renew() -> None:
    """Set what some modules keep about the process that imports them, where they have no way of their own."""
    if "threading" in sys.modules:
        getattr(sys.modules["threading"].main_thread(), "_set_native_id", int)()
    if "logging" in sys.modules:
        time, logging = sys.modules["time"], sys.modules["logging"]
        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()  # type: ignore[attr-defined]


def _report_modules(path: bytes, known: "set[str]", pid: int) -> None:
    """Write which modules the script has imported, at its end."""
    if os.getpid() != pid:
        return
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    # The first one is no name: it tells a report from a run that ended without one.
    os.write(fd, os.fsencode("\0".join(["-", *[name for name in list(sys.modules) if name not in known]])))
    os.close(fd)


def _park(control: _socket.socket, engine: int, script: str) -> None:
    """Return in a copy of this process that has an event to run for; this process itself never returns."""
    if os.getppid() != engine:
        raise Refused("a process between hookline and Python waits for it")
    if sys.argv[:1] != [script]:
        raise Refused("Python was given other arguments")
    copier, environment, library = _Copier(), _Environment(), _Library(script)
    known = set(sys.modules)
    pages: "list[tuple[int, int]]" = []
    library.settle()
    files = [b"s" + os.fsencode(path) for path in _site_files()]
    files += [b"l" + os.fsencode(path) for path in library.leading_folders()]
    control.send(b"\0".join([b"parked", *files]))
    while True:
        data, fds = _receive(control, 1)
        if data == b"fork" and fds:
            if copier.copy():
                break
            os.close(fds[0])
        elif data.startswith(b"load\0"):
            loaded = library.load(os.fsdecode(data).split("\0")[1:])
            control.send(b"\0".join([b"loaded", *[os.fsencode(name) for name in sorted(loaded)]]))
            pages = []
        elif data.startswith(b"pages\0"):
            pages = _ranges([int(page, 16) for page in data.split(b"\0")[1:]])
        else:  # hookline has ended, or does not need this any more
            os._exit(0)
    os.setsid()
    control.close()
    _wait_for_event(_socket.socket(fileno=fds[0]), copier, environment, known, pages)


def _ranges(pages: "list[int]") -> "list[tuple[int, int]]":
    """Pages that follow each other, as one."""
    ranges: "list[tuple[int, int]]" = []
    for page in sorted(pages):
        if ranges and ranges[-1][1] == page:
            ranges[-1] = ranges[-1][0], page + _PAGE
        else:
            ranges.append((page, page + _PAGE))
    return ranges


def _wait_for_event(
    channel: _socket.socket,
    copier: _Copier,
    environment: _Environment,
    known: "set[str]",
    pages: "list[tuple[int, int]]",
) -> None:
    """Return when there is an event, with its descriptors, directory and environment."""
    channel.send(b"%d" % os.getpid())
    try:
        channel.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
    except BlockingIOError:
        copier.populate(pages)
    data, fds = _receive(channel, _STDIO)
    if len(fds) != _STDIO:
        os._exit(0)
    cwd, report, run, *changes = data.split(b"\0")
    kind, report = report[:1], report[1:]
    os.chdir(cwd)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    environment.change(run, changes)
    _renew()
    for thing in (sys.modules["__main__"], sys.modules["__main__"].__dict__):
        _track_again(thing)
    if kind == b"m":
        atexit.register(_report_modules, report, known, os.getpid())
    elif kind == b"p":
        sys._hookline = _Witness(report, os.getpid())  # type: ignore[attr-defined]
    channel.send(b"taken")
    channel.close()


def _stop_here(wish: str) -> None:
    """Do what hookline asks for; whatever fails, the script must not run without an event."""
    number, engine, purpose, script = wish.split(":", 3)
    control = _socket.socket(fileno=int(number))
    try:
        if purpose == "probe":
            control.send(b"probed")
            os._exit(0)
        _park(control, int(engine), script)
    except Refused as error:
        control.send(b"refused\0" + str(error).encode())
        os._exit(1)


try:
    _wish = _leave_no_trace()
    if _wish is not None:
        _stop_here(_wish)
except BaseException:
    os._exit(1)

# The one that Python would have found without us. If there is none, this fails as the import that led here would have.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
