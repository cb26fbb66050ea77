"""Hooks over HTTP whose connections are kept, on real sockets with servers of every kind."""

import asyncio
import errno
import os
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any

import pytest
from tests.patience import LONG_S

from hookline.protocol.hook_entry import HttpTarget
from hookline.runners.http.connections import Connections
from hookline.runners.http.http import post
from hookline.runners.process.job import ChildOutcome

OK = b"HTTP/1.1 200 OK\r\n"
GOOD = OK + b"Content-Length: 2\r\n\r\n{}"


class Server:
    """Answers each request with the next of these texts, on as few connections as the client makes."""

    def __init__(self, *answers: bytes, closes_after: int | None = None, closes_early: bool = False) -> None:
        self._answers = answers
        self._closes_after = closes_after
        self._closes_early = closes_early
        self.connections = 0
        self.requests: list[bytes] = []
        self.closed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        count = 0
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
                )
                self.requests.append(head + await reader.readexactly(length))
                if self._closes_early and len(self.requests) > 1:
                    break
                writer.write(self._answers[min(len(self.requests), len(self._answers)) - 1])
                await writer.drain()
                count += 1
                if count == self._closes_after:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.closed.set()


class OrdinaryHandler(BaseHTTPRequestHandler):
    """Keeps connections, and writes the head and the body of an answer separately."""

    protocol_version = "HTTP/1.1"
    clients: list[Any]

    def do_POST(self) -> None:
        """Answers with an empty object."""
        self.clients.append(self.client_address)
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@contextmanager
def ordinary_server() -> Iterator[tuple[int, list[Any]]]:
    """Python's own server: its port, and the client's address for each request."""
    clients: list[Any] = []
    handler = type("Handler", (OrdinaryHandler,), {"clients": clients})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1], clients
        finally:
            server.shutdown()


Ask = Callable[..., Awaitable[ChildOutcome]]


def use(server: Server, talk: Callable[[Ask, Connections], Awaitable[None]], **options: Any) -> None:
    """Has a server, and a way to ask it with kept connections."""

    async def main() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Connections()
        given: dict[str, Any] = {
            "env": {},
            "timeout_ms": 30_000,
            "most_bytes": 1000,
            "connections": connections,
            **options,
        }

        async def ask(**more: Any) -> ChildOutcome:
            return await post(HttpTarget(url=f"http://127.0.0.1:{port}/"), b'{"a":1}', **{**given, **more})

        try:
            await talk(ask, connections)
        finally:
            connections.close()
            listening.close()
            if server.connections:
                await server.closed.wait()

    asyncio.run(main())


@pytest.mark.req("WARM-031")
@pytest.mark.parametrize(
    ("answer", "connections"),
    [
        pytest.param(GOOD, 1, id="length"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: x\r\n\r\n", 1, id="chunks"
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD, 1, id="after 100"),
        pytest.param(OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", 3, id="close"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", 3, id="HTTP/1.0"),
        pytest.param(OK + b"Content-Length: 2\r\n\r\n{}more", 3, id="garbage behind it"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 3, id="two lengths"
        ),
        pytest.param(
            OK + b"Connection: close\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}", 3, id="close and keep"
        ),
    ],
)
def test_a_connection_is_kept_where_its_end_is_clear(answer: bytes, connections: int) -> None:
    """Three events; the answers are the same either way."""
    server = Server(answer)

    async def talk(ask: Ask, _: Connections) -> None:
        for outcome in [await ask() for _ in range(3)]:
            assert (outcome.exit_code, outcome.stdout, outcome.error) == (0, b"{}", None)

    use(server, talk)
    assert (server.connections, len(server.requests)) == (connections, 3)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Transfer-Encoding: gzip\r\n\r\nx",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-2\r\nxx\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
        OK + b"X: " + b"y" * 70_000,
        b"\x00\xff" * 40_000,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 204 No Content",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    ],
)
def test_an_unclear_answer_is_a_failure_and_its_connection_is_not_used_again(answer: bytes) -> None:
    """And the request is not sent again."""
    server = Server(answer, GOOD, closes_after=1)

    async def talk(ask: Ask, _: Connections) -> None:
        failed = await ask()
        assert failed.exit_code is None
        assert failed.error is not None
        assert (await ask()).stdout == b"{}"

    use(server, talk)
    assert (server.connections, len(server.requests)) == (2, 2)


def test_a_long_answer_is_cut_and_its_connection_is_not_used_again() -> None:
    """The rest of a flood is not read."""
    server = Server(OK + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1_000_000, GOOD)

    async def talk(ask: Ask, _: Connections) -> None:
        outcome = await ask()
        assert (outcome.stdout_truncated, len(outcome.stdout)) == (True, 1000)
        assert (await ask()).stdout == b"{}"

    use(server, talk)
    assert server.connections == 2


def test_an_answer_that_is_cut_where_it_pauses_ends_its_connection() -> None:
    """The rest of it would be the beginning of the next answer."""
    server = Server(OK + b"Content-Length: 2000\r\n\r\n" + b"x" * 1000, GOOD)

    async def talk(ask: Ask, _: Connections) -> None:
        assert (await ask()).stdout_truncated
        assert (await ask()).stdout == b"{}"

    use(server, talk)
    assert server.connections == 2


def test_a_connection_that_the_server_has_closed_meanwhile_is_no_failure() -> None:
    """Nothing went out on it, so a new one is made."""
    server = Server(GOOD, closes_after=1)

    async def talk(ask: Ask, connections: Connections) -> None:
        for count in range(3):
            assert (await ask()).stdout == b"{}"
            assert server.connections == count + 1
            (idle,) = connections._idle
            async with asyncio.timeout(LONG_S):  # until its end has come
                while idle.is_usable():  # noqa: ASYNC110 - the server does not report it
                    await asyncio.sleep(0.01)

    use(server, talk)
    assert len(server.requests) == 3


@pytest.mark.parametrize("said", [b"Content-Length: 44\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_a_body_behind_no_content_is_never_the_next_answer(said: bytes) -> None:
    """Even if it comes late, and looks like one."""
    server = Server(b"HTTP/1.1 204 No Content\r\n" + said + b"\r\n", GOOD)

    async def talk(ask: Ask, _: Connections) -> None:
        assert (await ask()).stdout == b""
        assert (await ask()).stdout == b"{}"

    use(server, talk)
    assert server.connections == 2


def test_a_server_that_writes_without_end_can_not_hold_up_the_program() -> None:
    """Its time ends at the deadline, though there is always more to read at once."""

    def flood(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
            while True:
                connection.sendall(b"1\r\nx\r\n" * 20_000)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        writer = threading.Thread(target=flood, args=(listening,), daemon=True)
        writer.start()
        target = HttpTarget(url=f"http://127.0.0.1:{listening.getsockname()[1]}/")
        outcome = asyncio.run(post(target, b"{}", env={}, timeout_ms=200, most_bytes=3_000_000))
        writer.join(LONG_S)
    assert outcome.timed_out


@pytest.mark.req("WARM-031")
def test_a_request_that_went_out_is_never_sent_again() -> None:
    """The server closes after it has read the second one: it may have acted on it."""
    server = Server(GOOD, closes_early=True)

    async def talk(ask: Ask, _: Connections) -> None:
        assert (await ask()).stdout == b"{}"
        lost = await ask()
        assert lost.exit_code is None
        assert "closed before the answer was complete" in str(lost.error)

    use(server, talk)
    assert (server.connections, len(server.requests)) == (1, 2)


@pytest.mark.req("WARM-031")
def test_a_request_of_which_a_part_went_out_is_never_sent_again() -> None:
    """The server resets a kept connection while it reads."""
    connections = Connections()
    seen: list[int] = []

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            while b"{}" not in connection.recv(1 << 16):
                """The head may come alone."""
            connection.sendall(GOOD)
            seen.append(len(connection.recv(1)))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        listening.setblocking(False)

    async def talk(listening: socket.socket) -> ChildOutcome:
        target = HttpTarget(url=f"http://127.0.0.1:{listening.getsockname()[1]}/")
        options: dict[str, Any] = {"env": {}, "timeout_ms": 30_000, "most_bytes": 1000, "connections": connections}
        assert (await post(target, b"{}", **options)).stdout == b"{}"
        return await post(target, b"x" * 30_000_000, **options)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve, args=(listening,), daemon=True)
        server.start()
        outcome = asyncio.run(talk(listening))
        server.join(LONG_S)
        assert seen == [1]
        assert "could not be asked" in str(outcome.error)
        with pytest.raises(BlockingIOError):
            listening.accept()
    connections.close()


def test_a_timeout_ends_the_connection() -> None:
    """Its late answer is never taken for that of the next event."""
    server = Server(b"", GOOD)

    async def talk(ask: Ask, _: Connections) -> None:
        assert (await ask(timeout_ms=1000)).timed_out
        assert (await ask()).stdout == b"{}"

    use(server, talk)
    assert server.connections == 2


def test_many_at_once_keep_a_few() -> None:
    """Each has a separate connection; a few idle ones are kept."""
    server = Server(GOOD)

    async def talk(ask: Ask, connections: Connections) -> None:
        outcomes = await asyncio.gather(*[ask() for _ in range(20)])
        assert {outcome.stdout for outcome in outcomes} == {b"{}"}
        assert len(connections._idle) <= 16

    use(server, talk)


@pytest.mark.parametrize("limit", ["_IDLE_S", "_LONGEST_S"])
def test_an_old_one_is_not_used(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it was idle or busy, and although the loop that would have closed it is gone."""
    monkeypatch.setattr(f"hookline.runners.http.connections.{limit}", 0.0)
    kept = Connections()
    with ordinary_server() as (port, clients):
        target = HttpTarget(url=f"http://127.0.0.1:{port}/")
        for _ in range(3):
            asking = post(target, b"{}", env={}, timeout_ms=5000, most_bytes=10, connections=kept)
            assert asyncio.run(asking).stdout == b"{}"
        assert len(set(clients)) == 3
        kept.close()


def test_any_loop_can_use_a_kept_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket belongs to no loop while it is idle; and a forked program leaves it alone."""
    look_up = socket.getaddrinfo

    def look_up_others(host: str, *arguments: Any, **options: Any) -> Any:
        assert host != "localhost"  # another machine may answer for it
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up_others)

    with ordinary_server() as (port, clients):
        connections = Connections()
        target = HttpTarget(url=f"http://localhost:{port}/")

        def ask() -> bytes:
            asking = post(target, b"{}", env={}, timeout_ms=5000, most_bytes=10, connections=connections)
            return asyncio.run(asking).stdout

        assert [ask(), ask()] == [b"{}", b"{}"]
        assert len(set(clients)) == 1
        child = os.fork()
        if not child:
            os._exit(0 if not connections._idle else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ask() == b"{}"
        assert len(set(clients)) == 1
        connections.close()


@pytest.mark.req("WARM-031")
@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux lets a program choose")
def test_a_server_that_writes_head_and_body_apart_does_not_wait_for_our_kernel() -> None:
    """Its kernel holds the body back until the head is acknowledged, so ours must not delay that.

    The delay is a timer of the kernel of at least 40 ms, whatever the machine; without it an event takes 0.2 ms.
    """
    connections = Connections()

    async def ask(port: int) -> ChildOutcome:
        target = HttpTarget(url=f"http://127.0.0.1:{port}/")
        return await post(target, b"{}", env={}, timeout_ms=30_000, most_bytes=10, connections=connections)

    async def talk(port: int) -> list[ChildOutcome]:
        return [await ask(port) for _ in range(20)]

    with ordinary_server() as (port, clients):
        outcomes = asyncio.run(talk(port))
        assert len(set(clients)) == 1
        connections.close()
    assert {outcome.stdout for outcome in outcomes} == {b"{}"}
    assert median(outcome.duration_ms for outcome in outcomes) < 30


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_that_is_down_is_named(scheme: str, host: str) -> None:
    """With the host as the settings have it, its port, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"{host}:{taken.getsockname()[1]}"
        outcome = ask_once(f"{scheme}://{place}/")
    why = f"no server answers at {place} (connection refused; is it running?)"
    assert outcome.error == f"could not be asked: {why}"


@pytest.mark.parametrize(("number", "is_shortage"), [(errno.EMFILE, True), (errno.ECONNREFUSED, False)])
def test_a_lack_of_descriptors_is_no_fault_of_the_hook(
    number: int, is_shortage: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So `on_fault` decides, as for processes; a server that is down is another matter."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert ask_once("http://127.0.0.1:9/").is_shortage is is_shortage


def test_an_address_of_ip_6_is_named_as_in_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where this machine has no such addresses."""

    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('::1', 9, 0, 0)")

    monkeypatch.setattr(socket, "create_connection", refuse)
    error = ask_once("http://[::1]:9/").error
    assert error == "could not be asked: no server answers at [::1]:9 (connection refused; is it running?)"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_host_that_is_not_found_is_named(scheme: str) -> None:
    """The resolver's own words are not enough. The name is one that never exists (RFC 6761)."""
    error = str(ask_once(f"{scheme}://guard.invalid/", allowed=["guard.invalid"]).error)
    assert error.startswith("could not be asked: the host guard.invalid was not found (")
    assert error.endswith("; is its name right, and is the network there?)")


def test_a_server_without_tls_is_named() -> None:
    """A URL with https for a server that speaks plain HTTP is a common mistake."""
    with ordinary_server() as (port, _):
        error = str(ask_once(f"https://127.0.0.1:{port}/").error)
    assert error.startswith(f"could not be asked: no secure connection to 127.0.0.1:{port} (")
    assert error.endswith("; does it speak https?)")  # between them are OpenSSL's words, which change


def ask_once(url: str, **options: Any) -> ChildOutcome:
    """The outcome of one event."""
    return asyncio.run(post(HttpTarget(url=url), b"", env={}, timeout_ms=15_000, most_bytes=10, **options))
