"""Connections to a company's NATS server. Only this module, `nats_bucket` and `jetstream` load its client."""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from hookline.errors import install_command
from hookline.extensions import lazy_module
from hookline.fleet.names import NoClientError, ServerAddress, UnreachableError
from hookline.fleet.nats.identity import identity, why_refused

if TYPE_CHECKING:
    from nats import errors as nats_errors
    from nats.aio import client as nats_client
    from nats.aio.client import Client
else:
    nats_client = lazy_module("nats.aio.client")
    nats_errors = lazy_module("nats.errors")

CONNECT_S = 2.0
"""How long a server may take to accept a connection."""
ANSWER_S = 5.0
"""How long it may take to answer a question about a stream or a bucket."""
LOST = "the connection was lost"
BACK = "connected again"
_CLOSE_S = 2.0
_MOST_FAULTS = 8
_AGAIN_S = 0.2
# After two of these without an answer the connection counts as lost, and another server is tried.
_PING_S = 5
_REFUSED_S = 5.0
_QUOTE = "'"


async def connect(server: ServerAddress, name: str, *, on_change: Callable[[str], None] | None = None) -> "Client":
    """A connection, within CONNECT_S; UnreachableError otherwise, with the address and what to do.

    It connects again by itself for as long as it is open. `on_change` hears of losses and returns, in words.
    """
    client = _client()
    tell = on_change or (lambda _words: None)
    faults: deque[BaseException] = deque(maxlen=_MOST_FAULTS)
    is_up = False

    async def hear(error: BaseException) -> None:
        faults.append(error)
        tell(f"{type(error).__name__}: {error}")
        if not is_up:
            if sum(map(_is_final, faults)) >= len(server.addresses):
                raise error  # or it would ask again and again
        elif not client.is_connected:
            # The client waits for this before it tries again, and forgets the socket of the attempt that failed.
            _close_socket(client)
            if _is_final(error):
                await asyncio.sleep(_REFUSED_S)  # thousands of machines may be refused at the same time

    options: dict[str, Any] = {
        "servers": list(server.addresses),
        "name": f"hookline {name}",
        "connect_timeout": CONNECT_S,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": _AGAIN_S,
        "ping_interval": _PING_S,
        "inbox_prefix": server.inbox,
        "error_cb": hear,
        "disconnected_cb": _callback(lambda: tell(LOST)),
        "reconnected_cb": _callback(lambda: tell(BACK)),
        **identity(server),
    }
    try:
        await asyncio.wait_for(client.connect(**options), CONNECT_S)
    except Exception as error:
        await close(client)
        raise UnreachableError(_words(server, _main_fault([*faults, error]))) from error
    except BaseException:
        await close(client)
        raise
    is_up = True
    return client


def end_if_cancelled() -> None:
    """Ends a task that was cancelled, for loops that wait for the server.

    `wait_for` of Python 3.11, which the client also uses, forgets a cancellation that comes as its wait ends.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def end_tasks() -> None:
    """Cancel all other tasks of the loop, and wait for them within a bound."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CLOSE_S)


def asks_who_connects(client: "Client") -> bool:
    """Whether the server lets in only those that prove who they are, so that it can know who sends a message."""
    info: dict[str, Any] = client._server_info  # noqa: SLF001 - the client shows only parts of it
    return bool(info.get("auth_required") or info.get("tls_verify"))


@asynccontextmanager
async def connected(server: ServerAddress, name: str) -> AsyncIterator["Client"]:
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


def _close_socket(client: "Client") -> None:
    transport: Any = client._transport  # noqa: SLF001 - it has no other way
    if transport is not None:
        with contextlib.suppress(Exception):
            transport.close()


def _client() -> "Client":
    try:
        return _client_type()()
    except ModuleNotFoundError as error:
        raise NoClientError(f"the client of NATS is not installed; run: {install_command('fleet')}") from error


@cache
def _client_type() -> "type[Client]":
    class Patient(nats_client.Client):
        """Connects again after a refusal as after any other loss: new credentials may be there by then.

        Its parent closes for good then, without a word: a worker would hear nothing any more, and a machine send
        nothing, until they are started again.
        """

        async def _process_err(self, err_msg: str) -> None:
            if not self.is_connected or "permissions violation" in err_msg.lower():
                await super()._process_err(err_msg)
                return
            error = nats_errors.Error(f"nats: {err_msg.strip(_QUOTE)}")
            await self._error_cb(error)
            await self._process_op_err(error)

    return Patient


def _main_fault(faults: list[BaseException]) -> BaseException:
    """Return the most informative error: a refusal if there is one, else the last error of the client."""
    return next(filter(_is_refusal, faults), faults[-2] if len(faults) > 1 else faults[-1])


def _callback(function: Callable[..., object]) -> Callable[..., Awaitable[None]]:
    """The function as the client wants it: asynchronous."""

    async def call(*args: Any) -> None:
        function(*args)

    return call


def _is_refusal(error: BaseException) -> bool:
    text = str(error).lower()
    return "authorization" in text or "authentication" in text


def _is_final(error: BaseException) -> bool:
    """Return whether the next attempt would fail in the same way until files or the server change."""
    if isinstance(error, ssl.SSLError):
        # Others pass, as when a server is just ending.
        return "CERTIFICATE" in (error.reason or "") or "UNKNOWN_CA" in (error.reason or "")
    return _is_refusal(error) or isinstance(error.__cause__, UnreachableError)


def _words(server: ServerAddress, error: BaseException) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, TimeoutError):
        text = f"no answer within {CONNECT_S:g} s"
    if _is_refusal(error):
        return f"the server {server.shown} refuses this machine ({text}); {why_refused(server)}"
    return f"the server {server.shown} can't be reached ({text}); check hooksConfig.fleet and that it runs"
