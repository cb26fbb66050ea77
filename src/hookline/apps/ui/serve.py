"""Serves the page on loopback until it is interrupted."""

import secrets
import socket
from collections.abc import Callable

import uvicorn

from hookline.apps.ui.app import make_app
from hookline.apps.ui.backend import Backend
from hookline.errors import UsageError

_HOST = "127.0.0.1"
# Streams never end on their own.
_SHUTDOWN_S = 2


async def serve(backend: Backend, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve on this port, or on a free one for 0; `on_ready` receives the URL with the token."""
    listening = _listen(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(32)
    app, live = make_app(backend, token=token, port=port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    try:
        await _Server(config, live.close, lambda: on_ready(f"http://{_HOST}:{port}/?token={token}")).serve([listening])
    finally:
        live.close()
        listening.close()


class _Server(uvicorn.Server):
    """Calls `on_ready` after startup, and `on_end` before it waits for open streams."""

    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None], on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_end = on_end
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_end()
        await super().shutdown(sockets)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "a port is at most 65535"
        raise UsageError(f"port {port} can't be used: {why}; without --port a free one is chosen") from error
    listening.listen(128)
    return listening
