"""Starts `hookline` as a new process without loading its modules each time, which takes most of a short run.

One process for each pytest worker loads the modules, and forks for every command. The fork has the arguments, the
environment, the directory and the terminal or pipes that it is given, and from there on does what `python -m hookline`
does. Tests of the start itself (`tests/apps/cli/test_main.py`, `tests/end_to_end/test_modes.py`) don't use it.
"""

import array
import atexit
import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import hookline
from hookline.errors import MissingExtraError

PACKAGE = Path(hookline.__file__).parent
# The modules of the adapters and the gateway are large, and only their commands need them.
_LOADED = ("google.genai.types", "prompt_toolkit.shortcuts")
_NOT_LOADED = ("hookline.adapters.", "hookline.gateway")
_MOST_STDIN = 32 * 1024


class Started:
    """A command that was started; what it is asked is what `subprocess.Popen` is asked."""

    def __init__(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], files: Sequence[int], *, has_terminal: bool
    ) -> None:
        self._ours, theirs = socket.socketpair()
        self.returncode: int | None = None
        request = {"words": [*words], "cwd": str(cwd), "env": dict(env), "has_terminal": has_terminal}
        with theirs:
            _server().send(request, (theirs.fileno(), *files))
        self._status = self._ours.makefile("rb")
        self.pid = int(self._status.readline())

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the exit code."""
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("hookline", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Sends a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self.send_signal(signal.SIGKILL)

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._ours, selectors.EVENT_READ)
                if selector.select(timeout):
                    self.returncode = os.waitstatus_to_exitcode(int(self._status.readline()))
                    self._status.close()
                    self._ours.close()
        return self.returncode


def start_at_terminal(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], terminal: int) -> Started:
    """Starts `hookline` as the leader of a session with this terminal, so that Ctrl-C sends it a signal."""
    return Started(words, cwd, env, (terminal,) * 3, has_terminal=True)


def run(
    words: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout: float = 60,
) -> "subprocess.CompletedProcess[str]":
    """Runs `hookline` with these words, and returns its exit code and what it printed."""
    pipes = [os.pipe() for _ in range(3)]
    (read_in, write_in), (read_out, write_out), (read_err, write_err) = pipes
    theirs = (read_in, write_out, write_err)
    try:
        given = stdin.encode()
        assert len(given) <= _MOST_STDIN, "it must fit into the pipe, which is not read yet"
        os.write(write_in, given)
        os.close(write_in)
        environ = os.environ if env is None else env
        started = Started(words, cwd or Path.cwd(), environ, theirs, has_terminal=False)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    printed: dict[int, bytes] = {read_out: b"", read_err: b""}
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for descriptor in printed:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                started.kill()
                raise subprocess.TimeoutExpired(["hookline", *words], timeout)
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                printed[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    code = started.wait(max(0.0, deadline - time.monotonic()))
    out, err = (data.decode().replace("\r\n", "\n") for data in printed.values())
    return subprocess.CompletedProcess(["hookline", *words], code, out, err)


class _Server:
    """The process that forks, as its users see it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            # It does not stay a child of this process: tests look whether they have left any.
            subprocess.run(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                check=True,
            )

    def wait(self) -> None:
        """Waits until everything is loaded; what is sent before that waits in the socket."""
        assert self._socket.recv(1), "the process that forks has ended; its stderr says why"

    def send(self, request: Mapping[str, Any], files: Sequence[int]) -> None:
        """Sends what is to be started; the files are the one for its status, and stdin, stdout and stderr."""
        data = json.dumps(request).encode()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        self._socket.sendmsg([len(data).to_bytes(4, "big"), data], ancillary)

    def close(self) -> None:
        """Ends the process; the commands that it started go on."""
        self._socket.close()


_running: list[_Server] = []


def start() -> None:
    """Starts the process that forks, and waits until it has loaded."""
    _server().wait()


def _server() -> _Server:
    if not _running:
        server = _Server()
        atexit.register(server.close)
        _running.append(server)
    return _running[0]


def _serve(channel: socket.socket) -> None:
    modules = (path for path in sorted(PACKAGE.rglob("*.py")) if (path.parent / "__init__.py").exists())
    parts = (path.relative_to(PACKAGE.parent).with_suffix("").parts for path in modules)
    ours = (".".join(names).removesuffix(".__init__") for names in parts)
    for name in (*_LOADED, *(name for name in ours if not name.startswith(_NOT_LOADED))):
        with suppress(ModuleNotFoundError, MissingExtraError):  # no command needs it then
            importlib.import_module(name)
    from google.genai import types  # noqa: PLC0415 - only the process that forks needs it

    # Pydantic finishes a type when it is first used, which takes as long as the rest of a short run.
    for kind in (types.Content, types.Part, types.Tool, types.GenerateContentConfig, types.GenerateContentResponse):
        kind.model_rebuild()
    gc.freeze()
    channel.sendall(b".")
    while True:
        size, ancillary, _, _ = channel.recvmsg(4, socket.CMSG_SPACE(4 * array.array("i").itemsize))
        if not size:
            return
        files = array.array("i")
        for _, _, given in ancillary:
            files.frombytes(given)
        data = b""
        while len(data) < int.from_bytes(size, "big"):
            data += channel.recv(int.from_bytes(size, "big") - len(data))
        if os.fork() == 0:
            channel.close()
            _start_and_wait(json.loads(data), socket.socket(fileno=files[0]), list(files[1:]))
        for descriptor in files:
            os.close(descriptor)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def _start_and_wait(request: Mapping[str, Any], status: socket.socket, files: Sequence[int]) -> None:
    """Start the command in a new process, and report its id and, later, its end."""
    child = os.fork()
    if child == 0:
        status.close()
        _become(request, files)
    for descriptor in files:
        os.close(descriptor)
    status.sendall(f"{child}\n".encode())
    _, how = os.waitpid(child, 0)
    status.sendall(f"{how}\n".encode())
    os._exit(0)


def _become(request: Mapping[str, Any], files: Sequence[int]) -> NoReturn:
    """Does what `python -m hookline` does."""
    if request["has_terminal"]:
        os.setsid()
        fcntl.ioctl(files[0], termios.TIOCSCTTY, 0)
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
    for descriptor in set(files):
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    sys.argv = [str(Path(sys.executable).with_name("hookline")), *request["words"]]
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - open to the end
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    sys.exit(sys.modules["hookline.__main__"].main())


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    _serve(socket.socket(fileno=int(sys.argv[1])))
