"""The server: keeps the engine loaded, and answers bridge calls of one user on a socket in the state directory."""

import asyncio
import faulthandler
import fcntl
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from hookline.bridge import client
from hookline.bridge.call import Bridge, BridgeCall, Reply
from hookline.bridge.engine_cache import NotServedError
from hookline.errors import HooklineError
from hookline.files import make_private_directory
from hookline.protocol.text.json_text import stringify_json

IDLE_S = 600.0
STUCK_S = 90.0
STATUS, STOP = "--status", "--stop"

_SOCKET = os.fsdecode(client.SOCKET)
_MOST_CALLS = 128
_MOST_FACTS = 4 * 1024**2
_MOST_STDIN = 32 * 1024**2
_READ_S = 10.0
_LOOK_S = 5.0
_FINISH_S = 5.0
_CREDENTIALS = struct.Struct("3i")
# A caller in another container or chroot sees other files and another network than this process, and one in a
# sandbox may do less: its hooks must not get out of it, and a sandboxed server must not run the hooks of others.
_PLACES = ("ns/mnt", "ns/net", "ns/pid", "ns/user", "root")
_RIGHTS = (b"CapEff:", b"NoNewPrivs:", b"Seccomp:", b"Groups:")

_Place = tuple[object, ...]


class Server:
    """Answers calls until it has been idle for a while or gets a stop request."""

    def __init__(self, folder: Path, idle_s: float = IDLE_S, stuck_s: float = STUCK_S) -> None:
        """Takes the state directory, and after how many quiet seconds to end; 0 means never.

        The process ends if its event loop stands still for `stuck_s`.
        """
        self.bridge = Bridge(is_server=True)
        self._folder = folder
        self._idle_s = idle_s
        self._stuck_s = stuck_s
        self._identity = client.identity()
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._started = time.time()
        self._last_call = time.monotonic()
        self._calls = 0
        self._running: set[asyncio.Task[object]] = set()
        self._ending = asyncio.Event()

    async def run(self, on_ready: Callable[[], object] = lambda: None) -> None:
        """Serves; HooklineError when another server has the directory."""
        with _alone(self._folder):
            loop = asyncio.get_running_loop()
            # Before there is a socket, which a signal must not leave behind.
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._ending.set)
            listener = _listen(self._folder)
            place = (self._folder / _SOCKET).stat()
            server = await asyncio.start_unix_server(self._connected, sock=listener)
            on_ready()
            try:
                while not self._ending.is_set() and self._is_wanted(place):
                    # Code in C that holds the interpreter's lock can be ended by no thread and no signal.
                    faulthandler.dump_traceback_later(self._stuck_s, exit=True)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._ending.wait(), self._next_look_s())
            finally:
                faulthandler.cancel_dump_traceback_later()
                server.close()
                self._remove_socket(place)
                await self._finish()
                self.bridge.systems.close()

    def _is_wanted(self, place: os.stat_result) -> bool:
        if self._idle_s and not self._running and time.monotonic() - self._last_call >= self._idle_s:
            return False
        try:
            return os.path.samestat((self._folder / _SOCKET).stat(), place)
        except OSError:  # no client can find it any more
            return False

    def _next_look_s(self) -> float:
        quiet_s = time.monotonic() - self._last_call
        return min(_LOOK_S, max(0.01, self._idle_s - quiet_s)) if self._idle_s else _LOOK_S

    def _remove_socket(self, place: os.stat_result) -> None:
        file = self._folder / _SOCKET
        with suppress(OSError):
            if os.path.samestat(file.stat(), place):
                file.unlink()

    async def _finish(self) -> None:
        """Gives calls that are being answered a few seconds; after that their clients do the work themselves."""
        if self._running:
            await asyncio.wait(self._running, timeout=_FINISH_S)
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=_FINISH_S)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        pid, uid = _peer_of(writer.get_extra_info("socket"))
        if task is None or uid != os.geteuid() or len(self._running) >= _MOST_CALLS or self._ending.is_set():
            writer.close()
            return
        self._running.add(task)
        try:
            await self._exchange(pid, reader, writer)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            pass  # a client that is gone, too slow, or not a client of hookline
        finally:
            self._running.discard(task)
            self._last_call = time.monotonic()
            writer.close()

    async def _exchange(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_READ_S):
            facts_size, stdin_size = map(int, (await reader.readline()).split())
            if not (0 < facts_size <= _MOST_FACTS and 0 <= stdin_size <= _MOST_STDIN):
                writer.write(client.REFUSED)
                return await writer.drain()
            facts = (await reader.readexactly(facts_size)).split(b"\0")
            stdin = await reader.readexactly(stdin_size)
        call = _call(facts, stdin)
        if call.words in ((STATUS,), (STOP,)):
            writer.write(client.ACCEPTED)
            reply: Reply | None = self._control(call.words[0])
        elif not self._may_answer(pid, facts, call):
            writer.write(client.REFUSED)
            return await writer.drain()
        else:
            self._calls += 1
            reply = await self._answer(call, reader, writer)
        if reply is not None:
            sizes = b"%d %d %d\n" % (reply.exit_code, len(reply.stdout), len(reply.stderr))
            writer.write(sizes + reply.stdout + reply.stderr)
            async with asyncio.timeout(_READ_S):
                await writer.drain()
        return None

    def _may_answer(self, pid: int, facts: list[bytes], call: BridgeCall) -> bool:
        if facts[0] != self._identity:
            # hookline was installed again: make room for a server of that one.
            self._ending.set()
            return False
        # Hooks inherit the umask, and `~` in settings and commands is this process's home.
        has_our_home = call.environ.get("HOME") == os.environ.get("HOME")
        return int(facts[1], 8) == self._umask and has_our_home and _shares_our_sandbox(pid)

    async def _answer(
        self, call: BridgeCall, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Reply | None:
        """The reply; None when the client has gone, and then the hooks that it waited for are ended."""
        working = asyncio.create_task(self.bridge.answer(call))
        leaving = asyncio.create_task(reader.read(1))
        writer.write(client.ACCEPTED)
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        except NotServedError:
            return None
        finally:
            for task in (working, leaving):
                task.cancel()
            await asyncio.wait((working, leaving))

    def _control(self, word: str) -> Reply:
        if word == STOP:
            self._ending.set()
        status = {
            "pid": os.getpid(),
            "socket": str(self._folder / _SOCKET),
            "uptime": round(time.time() - self._started, 1),
            "calls": self._calls,
            "running": len(self._running) - 1,
        }
        return Reply(stdout=stringify_json(status))


def _call(facts: list[bytes], stdin: bytes) -> BridgeCall:
    _, _, cwd, count, *rest = facts
    words = tuple(map(os.fsdecode, rest[: int(count)]))
    variables = (os.fsdecode(variable).partition("=") for variable in rest[int(count) :])
    return BridgeCall(
        words=words, stdin=stdin, cwd=os.fsdecode(cwd), environ={name: value for name, _, value in variables}
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the lock of the only server that a directory has."""
    make_private_directory(folder)
    descriptor = os.open(folder / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise HooklineError(f"a server is running already for {folder}; hookline serve --status shows it") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _listen(folder: Path) -> socket.socket:
    """A socket that only this user can reach; one that is there already has no server, because we hold the lock."""
    if folder.stat().st_uid == os.geteuid():
        folder.chmod(0o700)
    with suppress(FileNotFoundError):
        (folder / _SOCKET).unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    mask = os.umask(0o177)
    try:
        # Through the descriptor, because the address of a socket has no room for a long path.
        listener.bind(
            f"/proc/self/fd/{directory}/{_SOCKET}" if Path("/proc/self/fd").exists() else str(folder / _SOCKET)
        )
    finally:
        os.umask(mask)
        os.close(directory)
    listener.listen(_MOST_CALLS)
    listener.setblocking(False)  # noqa: FBT003 - the socket's own signature
    return listener


def _peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process id and the user id of the program that connected."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(data)
    return pid, uid


def _shares_our_sandbox(pid: int) -> bool:
    """True if a process has the same namespaces and rights as this one; False if that is unknown."""
    try:
        return _place(pid) == _our_place()
    except OSError:
        return False


@lru_cache(maxsize=1)
def _our_place() -> _Place:
    return _place(os.getpid())


def _place(pid: int) -> _Place:
    seen = (os.stat(f"/proc/{pid}/{name}") for name in _PLACES)
    with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
        rights = [line for line in file.read().split(b"\n") if line.startswith(_RIGHTS)]
    return (*((status.st_dev, status.st_ino) for status in seen), *rights)
