"""Connections to a company's NATS server. Only this module, `nats_bucket` and `jetstream` load its client."""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.contract.fleet import Server
from hookline.errors import HooklineError
from hookline.extras import install_command

if TYPE_CHECKING:
    from nats.aio.client import Client

CONNECT_S = 2.0
"""How long a server may take to accept a connection."""
ANSWER_S = 5.0
"""How long it may take to answer a question about a stream or a bucket."""
_CLOSE_S = 2.0
_MOST_FAULTS = 8
_AGAIN_S = 0.2
# After two of these without an answer the connection counts as lost, and another server is tried.
_PING_S = 5


class UnreachableError(HooklineError):
    """The server can't be reached, or refuses this machine."""


async def connect(server: Server, name: str, *, on_change: Callable[[str], None] | None = None) -> "Client":
    """A connection, within CONNECT_S; UnreachableError otherwise, with the address and what to do.

    It connects again by itself for as long as it is open. `on_change` hears of losses and returns, in words.
    """
    client = _client()
    tell = on_change or (lambda _words: None)
    faults: deque[BaseException] = deque(maxlen=_MOST_FAULTS)

    def complain(error: BaseException) -> None:
        faults.append(error)
        tell(f"{type(error).__name__}: {error}")

    options: dict[str, Any] = {
        "servers": list(server.addresses),
        "name": f"hookline {name}",
        "connect_timeout": CONNECT_S,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": _AGAIN_S,
        "ping_interval": _PING_S,
        "inbox_prefix": server.inbox,
        "error_cb": _callback(complain),
        "disconnected_cb": _callback(lambda: tell("the connection was lost")),
        "reconnected_cb": _callback(lambda: tell("connected again")),
        **_identity(server),
    }
    try:
        await asyncio.wait_for(client.connect(**options), CONNECT_S)
    except Exception as error:
        await close(client)
        raise UnreachableError(_words(server, _main_fault([*faults, error]))) from error
    except BaseException:
        await close(client)
        raise
    return client


def end_if_cancelled() -> None:
    """Ends a task that was cancelled, for loops that wait for the server.

    `wait_for` of Python 3.11, which the client also uses, forgets a cancellation that comes as its wait ends.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def asks_who_connects(client: "Client") -> bool:
    """Whether the server lets in only those that prove who they are, so that it can know who sends a message."""
    info: dict[str, Any] = client._server_info  # noqa: SLF001 - the client shows only parts of it
    return bool(info.get("auth_required") or info.get("tls_verify"))


@asynccontextmanager
async def connected(server: Server, name: str) -> AsyncIterator["Client"]:
    """A connection for the time of a block."""
    client = await connect(server, name)
    try:
        yield client
    finally:
        await close(client)


async def close(client: "Client") -> None:
    """Ends a connection, within a bound."""
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.close(), _CLOSE_S)


def _client() -> "Client":
    try:
        from nats.aio.client import Client  # noqa: PLC0415 - an extra, and slow to load
    except ModuleNotFoundError as error:
        raise UnreachableError(f"the client of NATS is not installed; run: {install_command('fleet')}") from error
    return Client()


def _identity(server: Server) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if server.credentials:
        options["user_credentials"] = str(_existing(server.credentials, "credentials"))
    if server.nkey:
        options["nkeys_seed"] = str(_existing(server.nkey, "nkey"))
    if server.ca or server.cert or any(address.startswith("tls://") for address in server.addresses):
        context = ssl.create_default_context(cafile=server.ca)
        if server.cert:
            context.load_cert_chain(_existing(server.cert, "tls.cert"), server.key)
        options["tls"] = context
    return options


def _existing(path: str, option: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise UnreachableError(
            f"hooksConfig.fleet.{option} names {path}, which is no file; fix the path, or put the file there"
        )
    return file


def _main_fault(faults: list[BaseException]) -> BaseException:
    """The error that says most: a refusal, which the client follows up with others, or else the last of its own."""
    refusals = (fault for fault in faults if "authorization" in str(fault).lower())
    return next(refusals, faults[-2] if len(faults) > 1 else faults[-1])


def _callback(function: Callable[..., object]) -> Callable[..., Awaitable[None]]:
    """The function as the client wants it: asynchronous."""

    async def call(*args: Any) -> None:
        function(*args)

    return call


def _words(server: Server, error: BaseException) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, TimeoutError):
        text = f"no answer within {CONNECT_S:g} s"
    return f"the server {server.shown} can't be reached ({text}); check hooksConfig.fleet and that it runs"
