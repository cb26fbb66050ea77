"""A local HTTP server that streams events as model APIs do, with their faults."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server does with one request."""

    chunks: Sequence[Mapping[str, Any] | str | bytes] = ()
    """JSON chunks; a string is sent as the data of an event as it is, and bytes are whole events."""
    status: int = 200
    error: str = ""
    is_cut: bool = False
    """True closes the connection in the middle of the HTTP body."""
    announces_length: bool = True
    """False sends a body that ends where the connection ends, so that a client cannot see a cut."""
    release: threading.Event | None = None
    """What the server waits for before its first byte."""


@dataclass
class ModelServer:
    """What the server was asked, and for whom it waits."""

    replies: list[Reply]
    url: str = ""
    paths: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)


@contextmanager
def model_server(replies: Sequence[Reply]) -> Iterator[ModelServer]:
    """Runs the server."""
    script = ModelServer(list(replies))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            script.paths.append(self.path)
            script.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            script.asked.set()
            _answer(self, script.replies.pop(0))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    handler.close_connection = True
    if reply.status != 200:
        error = {"code": reply.status, "message": reply.error, "status": "REFUSED"}
        body = json.dumps({"error": error}).encode()
        handler.send_response(reply.status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return
    if reply.release is not None:
        reply.release.wait(15)
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    if reply.announces_length:
        handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for event in map(_event, reply.chunks):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event) if reply.announces_length else event)
        handler.wfile.flush()
    if reply.announces_length and not reply.is_cut:
        handler.wfile.write(b"0\r\n\r\n")


def _event(chunk: Mapping[str, Any] | str | bytes) -> bytes:
    if isinstance(chunk, bytes):
        return chunk
    # Anthropic's events have a name.
    name = f"event: {chunk['type']}\r\n" if isinstance(chunk, Mapping) and "type" in chunk else ""
    return f"{name}data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\r\n\r\n".encode()
