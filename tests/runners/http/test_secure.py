"""Hooks over HTTPS, with real certificates and servers: connections are kept, and a cut answer is not an answer."""

import asyncio
import os
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.authority import Authority
from tests.patience import LONG_S, descriptors, until

from hookline.protocol.hook_entry import HttpTarget
from hookline.runners.http.connections import Connections
from hookline.runners.http.http import post
from hookline.runners.process.job import ChildOutcome

pytestmark = pytest.mark.timeout(90)

OK = b"HTTP/1.1 200 OK\r\n"
GOOD = OK + b"Content-Length: 2\r\n\r\n{}"
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
Serve = Callable[["Visit"], None]


class Visit:
    """One connection, seen by the server."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self._file = connection.makefile("rb")

    def read(self) -> bytes:
        """The body of the next request; nothing if there is none."""
        length = 0
        while (line := self._file.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line[15:])
        return self._file.read(length)

    def write(self, data: bytes) -> None:
        """Sends something."""
        self._connection.sendall(data)

    def say_goodbye(self) -> None:
        """Ends TLS as it should be ended."""
        with suppress(OSError):
            self._connection.unwrap()


class Server:
    """Serves connections one after another, each in the same way."""

    def __init__(self, context: ssl.SSLContext, serve: Serve) -> None:
        self._context = context
        self._serve = serve
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}/"
        self.connections = 0

    def run(self) -> None:
        """Until it is closed."""
        with suppress(OSError):
            while True:
                plain, _ = self._listening.accept()
                threading.Thread(target=self._one, args=(plain,), daemon=True).start()

    def _one(self, plain: socket.socket) -> None:
        self.connections += 1
        with plain, suppress(OSError), self._context.wrap_socket(plain, server_side=True) as connection:
            self._serve(Visit(connection))

    def close(self) -> None:
        """Takes no more connections."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def answer_all(visit: Visit) -> None:
    """Answers every request."""
    while visit.read():
        visit.write(GOOD)


@pytest.fixture
def opened(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens a server whose certificate this program believes."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    certificate = authority.certificate(f"server-{tmp_path.name}")

    @contextmanager
    def open_server(
        serve: Serve = answer_all, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ) -> Iterator[tuple[Server, Connections]]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = version
        context.load_cert_chain(*certificate)
        server, connections = Server(context, serve), Connections()
        threading.Thread(target=server.run, daemon=True).start()
        try:
            yield server, connections
        finally:
            connections.close()
            server.close()

    return open_server


def ask(url: str, connections: Connections, body: bytes = b"{}", **options: Any) -> ChildOutcome:
    """One event, in a separate loop."""
    given: dict[str, Any] = {"env": {}, "timeout_ms": LONG_S * 1000, "most_bytes": 10_000_000, **options}
    return asyncio.run(post(HttpTarget(url=url), body, connections=connections, **given))


@pytest.mark.req("WARM-031")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_connection_with_tls_is_kept_for_any_loop(opened: Any, version: ssl.TLSVersion) -> None:
    """A forked program also leaves it alone."""
    with opened(version=version) as (server, connections):
        assert [ask(server.url, connections).stdout for _ in range(3)] == [b"{}"] * 3
        child = os.fork()
        if not child:
            os._exit(0 if not connections._idle else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ask(server.url, connections).stdout == b"{}"
        assert server.connections == 1


def test_long_requests_and_answers(opened: Any) -> None:
    """They are many records of TLS, and the pipes between fill up."""
    seen: list[bytes] = []

    def echo(visit: Visit) -> None:
        while body := visit.read():
            seen.append(body)
            visit.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    body = os.urandom(3_000_000)
    with opened(echo) as (server, connections):
        outcomes = [ask(server.url, connections, body) for _ in range(2)]
    assert [outcome.stdout == body for outcome in outcomes] == [True, True]
    assert seen == [body, body]
    assert server.connections == 1


@pytest.mark.req("WARM-032")
def test_a_certificate_for_another_name(opened: Any) -> None:
    """Also if there is a connection to the same server by the right name."""
    with opened() as (server, connections):
        assert ask(server.url, connections).stdout == b"{}"
        error = str(ask(server.url.replace("127.0.0.1", "localhost"), connections).error)
    assert "the certificate of localhost:" in error
    assert "is not accepted" in error


@pytest.mark.req("WARM-032")
def test_a_server_that_nobody_vouches_for(
    opened: Any, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificates of this machine count as they are when a connection is made."""
    believed = tmp_path / "believed.pem"
    shutil.copy(authority.ca, believed)
    monkeypatch.setenv("SSL_CERT_FILE", str(believed))
    with opened() as (server, _):
        assert ask(server.url, Connections()).stdout == b"{}"
        other = tmp_path / "other"
        other.mkdir()
        shutil.copy(Authority(other).ca, believed)
        error = str(ask(server.url, Connections()).error)
        assert error.startswith(f"could not be asked: the certificate of {server.url[8:-1]} is not accepted (")
        believed.write_text("")
        assert "is not accepted" in str(ask(server.url, Connections()).error)
        monkeypatch.delenv("SSL_CERT_FILE")
        assert "is not accepted" in str(ask(server.url, Connections()).error)


@pytest.mark.req("WARM-032")
@pytest.mark.parametrize(
    ("answer", "is_whole"),
    [
        pytest.param(OK + b"\r\ntext", True, id="text"),
        pytest.param(OK + b'\r\n{"decision":"deny"}', True, id="deny"),
        pytest.param(OK + b"\r\n", False, id="nothing, cut off"),
        pytest.param(OK + b'\r\n{"decision":"deny"}', False, id="deny, cut off"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_without_a_length_has_to_end(
    opened: Any, answer: bytes, is_whole: bool, version: ssl.TLSVersion
) -> None:
    """A machine between the two could cut a denial off, and an empty answer allows."""

    def serve(visit: Visit) -> None:
        visit.read()
        visit.write(answer)
        if is_whole:
            visit.say_goodbye()

    with opened(serve, version) as (server, connections):
        outcome = ask(server.url, connections)
    if is_whole:
        assert (outcome.exit_code, outcome.stdout) == (0, answer.partition(b"\r\n\r\n")[2])
    else:
        assert outcome.exit_code is None
        assert "(the server should send a Content-Length)" in str(outcome.error)


@pytest.mark.req("WARM-031")
def test_a_request_with_tls_that_went_out_is_never_sent_again(opened: Any) -> None:
    """The server closes after it has read the second one."""
    seen: list[bytes] = []

    def serve(visit: Visit) -> None:
        seen.append(visit.read())
        visit.write(GOOD)
        seen.append(visit.read())
        visit.say_goodbye()

    with opened(serve) as (server, connections):
        assert ask(server.url, connections).stdout == b"{}"
        lost = ask(server.url, connections)
        assert "closed before the answer was complete" in str(lost.error)
        assert (server.connections, seen) == (1, [b"{}", b"{}"])


@pytest.mark.parametrize("leaves", ["with a goodbye", "without a word", "with unexpected text"])
def test_a_kept_connection_that_the_server_has_left(opened: Any, leaves: str) -> None:
    """The next event has a new one."""

    def serve(visit: Visit) -> None:
        visit.read()
        visit.write(GOOD)
        if leaves == "with a goodbye":
            visit.say_goodbye()
        elif leaves == "with unexpected text":
            visit.write(GOOD)
            visit.read()

    with opened(serve) as (server, connections):
        for number in range(3):
            outcome = ask(server.url, connections)
            assert (outcome.stdout, outcome.error) == (b"{}", None)
            assert server.connections == number + 1
            kept = [*connections._idle]
            until = time.monotonic() + LONG_S
            while any(each.is_usable() for each in kept):
                assert time.monotonic() < until
                time.sleep(0.01)


@pytest.mark.req("WARM-032")
def test_a_cut_length_is_not_blamed_on_a_missing_one(opened: Any) -> None:
    """Nor is an end before any answer."""
    answers = [OK + b"Content-Length: 20\r\n\r\n{}", b"x"]

    def serve(visit: Visit) -> None:
        visit.read()
        visit.write(answers.pop())

    with opened(serve) as (server, connections):
        errors = [str(ask(server.url, connections).error) for _ in range(2)]
    assert errors == ["gave no usable answer: the connection was closed before the answer was complete"] * 2


def test_a_server_that_does_not_shake_hands() -> None:
    """The timeout is for all of it, and no descriptor is left."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/"
        before = descriptors()
        outcome = ask(url, Connections(), timeout_ms=200)
        assert outcome.timed_out
        until(lambda: not [each for each in descriptors() - before if "socket" in each])
