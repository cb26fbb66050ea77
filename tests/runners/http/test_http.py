"""Hooks that are asked over HTTP, on real sockets."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from hookline.protocol.hook_entry import HttpTarget
from hookline.runners.http.http import post, why_not_allowed
from hookline.runners.process.job import ChildOutcome

OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Answers every request with the same bytes, and keeps what it was sent."""

    def __init__(self, *answer: bytes, hangs: bool = False) -> None:
        self._answer = answer
        self._hangs = hangs
        self.requests: list[bytes] = []
        self.finished: asyncio.Event | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.finished = asyncio.Event()
        try:
            await self._answer_one(reader, writer)
        except ConnectionError:
            pass  # the client has closed with bytes that it did not read
        finally:
            writer.close()
            self.finished.set()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        self.requests.append(head + await reader.readexactly(length))
        for piece in self._answer:
            writer.write(piece)
            await writer.drain()
        if self._hangs:
            await reader.read()  # until the other side gives up


def ask(server: Server, path: str = "/hook", body: bytes = b"{}", **options: Any) -> ChildOutcome:
    """The outcome of one hook on this server."""

    async def both() -> ChildOutcome:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        given: dict[str, Any] = {"env": {}, "timeout_ms": 5000, "most_bytes": 1000, **options}
        headers, variables = given.pop("headers", {}), given.pop("variables", ())
        target = HttpTarget(url=f"http://127.0.0.1:{port}{path}", headers=headers, variables=variables)
        try:
            return await post(target, body, **given)
        finally:
            listening.close()
            if server.finished is not None:
                await server.finished.wait()

    return asyncio.run(both())


@pytest.mark.parametrize(
    ("answer", "stdout"),
    [
        pytest.param([OK, b"Content-Length: 5\r\n\r\nhello"], b"hello", id="length"),
        pytest.param([OK, b"\r\nhel", b"lo"], b"hello", id="to-the-end"),
        pytest.param(
            [OK, b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n"], b"hello", id="chunks"
        ),
        pytest.param([b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"], b"", id="nothing"),
        pytest.param([OK, b"Content-Length: 0\r\n\r\n"], b"", id="an-empty-body"),
    ],
)
def test_the_body_of_a_good_answer_is_read_as_stdout(answer: list[bytes], stdout: bytes) -> None:
    """However the server says where it ends."""
    server = Server(*answer)
    outcome = ask(server, "/a?b=c", b'{"x":1}')
    assert (outcome.exit_code, outcome.stdout, outcome.error, outcome.way) == (0, stdout, None, "http")
    (request,) = server.requests
    assert request.startswith(b"POST /a?b=c HTTP/1.1\r\n")
    assert request.endswith(b'\r\n\r\n{"x":1}')


@pytest.mark.req("WARM-032")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 500 Oops\r\n\r\n", "answered with status 500"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "answered with status 302 (redirects are not followed)"),
        (b"SSH-2.0-x\r\n\r\n", "did not answer with HTTP"),
        (b"", "gave no usable answer: "),
        (OK + b"Content-Length: x\r\n\r\n", "gave no usable answer: the answer has the length 'x'"),
        (OK + b"Content-Length: 9\r\n\r\nhalf", "gave no usable answer: "),
        (OK + b"\r\n", "ended its answer behind the head; use Content-Length: 0 or status 204 for an empty one"),
        (OK + b"Content-Length: 0\r\n\r\n{}", "answered with a body behind the length 0"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}", "answered with a body behind status 204"),
        (b"HTTP/1.1 204 No Content\r\n\r\n{}", "answered with a body behind status 204"),
        (b"HTTP/1.1 205 X\r\nTransfer-Encoding: chunked\r\n\r\n", "answered with a body behind status 205"),
        (
            OK + b"X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b"X: y\r\n\tContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b" Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b"Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b"Transfer-Encoding chunked\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b": x\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b"X: y\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
        (
            OK + b"X: y\rTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
            "gave no usable answer: the answer has a header ",
        ),
    ],
)
def test_any_other_answer_is_a_failure(answer: bytes, error: str) -> None:
    """It has no exit code, so `onError` decides."""
    outcome = ask(Server(answer))
    assert outcome.exit_code is None
    assert str(outcome.error).startswith(error)  # behind the hook's name


@pytest.mark.req("WARM-032")
def test_a_server_that_hangs_times_out() -> None:
    """The whole exchange has one limit."""
    assert ask(Server(OK, hangs=True), timeout_ms=100).timed_out


@pytest.mark.req("WARM-032")
@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 2000\r\n\r\n" + b"x" * 2000,
        OK + b"\r\n" + b"x" * 2000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"x" * 2000 + b"\r\n0\r\n\r\n",
    ],
)
def test_a_long_answer_is_cut(answer: bytes) -> None:
    """As a process's output is."""
    outcome = ask(Server(answer))
    assert (outcome.stdout_truncated, outcome.stdout) == (True, b"x" * 1000)


@pytest.mark.req("WARM-032")
def test_headers_use_named_variables_only() -> None:
    """No other secret of the environment can be sent away."""
    server = Server(OK, b"Content-Length: 0\r\n\r\n")
    headers = {"Authorization": "Bearer $TOKEN", "X-Other": "a${HOME}b"}
    ask(server, headers=headers, variables=("TOKEN",), env={"TOKEN": "t1", "HOME": "/h"})
    assert b"Authorization: Bearer t1\r\n" in server.requests[0]
    assert b"X-Other: ab\r\n" in server.requests[0]


@pytest.mark.parametrize(
    ("headers", "env"),
    [
        ({"Content-Length": "3"}, {}),
        ({"A b": "x"}, {}),
        ({"A": "$T"}, {"T": "x\r\nB: y"}),
        ({"A": "x\0"}, {}),
        ({"A": "\x7fx"}, {}),
        ({"A": "a\nb"}, {}),
    ],
)
def test_a_header_that_could_change_the_request_is_refused(headers: dict[str, str], env: dict[str, str]) -> None:
    """Nothing is sent."""
    server = Server(OK)
    outcome = ask(server, headers=headers, variables=("T",), env=env)
    assert outcome.error is not None
    assert server.requests == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " "])
def test_a_line_break_behind_a_value_is_not_sent(end: str) -> None:
    """A token from a file often has one; some servers would take it for the end of the head."""
    server = Server(OK, b"Content-Length: 0\r\n\r\n")
    ask(server, headers={"A": "$T"}, variables=("T",), env={"T": f"secret{end}"})
    assert server.requests[0].endswith(b"\r\nA: secret\r\n\r\n{}")


def test_a_url_with_spaces_and_other_letters_is_sent_as_browsers_do() -> None:
    """And what is encoded already stays."""
    server = Server(OK, b"Content-Length: 0\r\n\r\n")
    ask(server, "/a b/ü%20?x=[1]&y=|'#part")
    assert server.requests[0].startswith(b"POST /a%20b/%C3%BC%20?x=[1]&y=|' HTTP/1.1\r\n")


@pytest.mark.req("WARM-032")
@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("http://localhost:1/x", True),
        ("http://127.0.0.1/x", True),
        ("http://127.9.9.9/x", True),
        ("https://[::1]:1/x", True),
        ("http://hooks.example.com/x", True),
        ("http://example.com/x", False),
        ("http://127.0.0.1.example.com/x", False),
        ("http://localhost.example.com/x", False),
        ("http://localhost@example.com/x", False),
        ("http://10.0.0.1/x", False),
        ("http:///x", False),
        ("http://2130706433/x", False),
        ("http://0x7f.1/x", False),
        ("http://127.1/x", False),
        ("http://0.0.0.0/x", False),
        ("http://127.0.0.1\\@example.com/x", False),
        ("http://example.com?@127.0.0.1/x", False),
        ("http://\u24dbocalhost/x", False),
        ("http://[::1/x", False),
        ("http://127.0.0.1:99999/x", False),
        ("http://127.0.0.1:one/x", False),
        ("http://127.0.0.1:0/x", False),
        ("http://[::1].example.com/x", False),
        ("http://user@[::1]:8080/x", True),
    ],
)
def test_only_this_machine_and_named_hosts_are_asked(url: str, is_allowed: bool) -> None:
    """A host in the user's list is named exactly."""
    assert (why_not_allowed(url, ["Hooks.example.com"]) is None) is is_allowed


@pytest.mark.req("WARM-032")
def test_another_machine_is_not_asked() -> None:
    """The message has the line that would allow it."""
    outcome = asyncio.run(post(HttpTarget(url="http://10.1.2.3/x"), b"", env={}, timeout_ms=1000, most_bytes=10))
    assert str(outcome.error).startswith("was not asked: 10.1.2.3 is not this machine; to allow it, write")


NO_NAME_SERVER = """
import asyncio, socket, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from hookline.runners.http.http import post
from hookline.protocol.hook_entry import HttpTarget
real = socket.getaddrinfo
socket.getaddrinfo = lambda host, *more, **options: real(host, *more, **options) if host[0] == "1" else time.sleep(600)
async def main():
    target, options = HttpTarget(url="http://guard.example/x"), {"allowed": ["guard.example"], "timeout_ms": 300}
    asked = [post(target, b"", env={}, most_bytes=10, **options) for _ in range(50)]
    outcomes = await asyncio.gather(*asked)
    print(sum(outcome.timed_out for outcome in outcomes), threading.active_count() < 40)
    with socket.create_server(("127.0.0.1", 0)) as server:
        local = HttpTarget(url=f"http://127.0.0.1:{server.getsockname()[1]}/")
        asked = asyncio.ensure_future(post(local, b"", env={}, most_bytes=10, timeout_ms=60_000))
        connection, _ = await asyncio.to_thread(server.accept)
        connection.sendall(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
        connection.close()
        print((await asked).exit_code)
asyncio.run(main())
"""


@pytest.mark.req("WARM-032")
def test_a_name_server_that_does_not_answer() -> None:
    """The program can end, the number of threads is bounded, and hooks on this machine are not delayed."""
    done = subprocess.run(
        [sys.executable, "-c", NO_NAME_SERVER], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "50 True\n0\n"
