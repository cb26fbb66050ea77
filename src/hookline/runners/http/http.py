"""A hook that is asked over HTTP: one POST of the input, and the body of the answer in place of stdout."""

import asyncio
import ipaddress
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from hookline.protocol.constants import RunWay
from hookline.protocol.hook_entry import HEADER_VARIABLE, HttpTarget
from hookline.runners.function.threads import DaemonThreads
from hookline.runners.http.answer import BadAnswerError, read_answer
from hookline.runners.http.connections import Connection, Connections, Target
from hookline.runners.process.command import RESOURCE_ERRNOS
from hookline.runners.process.job import ChildOutcome
from hookline.runners.process.limit import ON_SHORTAGE

_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# A user, an address in brackets or a name, and a port.
_AUTHORITY = re.compile(r"(?:.*@)?(?:\[[^][]*\]|[^][]*)(?::\d*)?", re.DOTALL)
# The characters that a request's path and query keep; the rest is sent as %XX.
_URL_MARKS = "%/?:@!$&'()*+,;=~[]|"
# Headers of the client itself; a second one could make a server read another request.
_OURS = frozenset({"host", "content-length", "content-type", "connection", "transfer-encoding"})
_LONGEST_TIMEOUT_S = 86400.0
_LOCAL_THREADS, _OTHER_THREADS = DaemonThreads(), DaemonThreads()


class _NotAskedError(Exception):
    """The policy does not allow this URL."""


async def post(
    target: HttpTarget,
    body: bytes,
    *,
    env: Mapping[str, str],
    timeout_ms: float,
    most_bytes: int,
    allowed: Sequence[str] = (),
    connections: Connections | None = None,
) -> ChildOutcome:
    """Send the body and return the answer as a process's outcome; a status that is not 2xx is a failure.

    Only this machine is asked, and the hosts in `allowed`. Redirects are not followed. A request is sent once.
    Raises only CancelledError.
    """
    started = time.monotonic()
    timeout_s = min(timeout_ms / 1000, _LONGEST_TIMEOUT_S)
    exchange = None
    try:
        if why_not := why_not_allowed(target.url, allowed):
            raise _NotAskedError(why_not)  # noqa: TRY301 - all failures become outcomes below
        exchange = _Exchange(target, body, env, most_bytes, started + timeout_s, connections)
        async with asyncio.timeout(timeout_s):
            outcome = await asyncio.get_running_loop().run_in_executor(exchange.threads, exchange.run)
    except TimeoutError:
        outcome = ChildOutcome(timed_out=True)
    except _NotAskedError as error:
        outcome = ChildOutcome(error=f"was not asked: {error}", is_unasked=True)
    except BadAnswerError as error:
        outcome = ChildOutcome(error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the hook's own onError decides
        is_ours = not isinstance(error, OSError | ValueError)
        outcome = ChildOutcome(error=f"could not be asked: {_reason(error)}", is_shortage=is_ours)
    finally:
        if exchange is not None:
            exchange.give_up()
    return msgspec.structs.replace(outcome, duration_ms=(time.monotonic() - started) * 1000, way=RunWay.HTTP)


def why_not_allowed(url: str, allowed: Sequence[str]) -> str | None:
    """Why a URL may not be asked, or None: it is on this machine, or its host is allowed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        if port == 0:
            raise ValueError("Port is 0")  # noqa: TRY301 - as urlsplit says of others
        if not _AUTHORITY.fullmatch(parts.netloc):
            raise ValueError("Text behind the address in brackets")  # noqa: TRY301
    except ValueError as error:
        return f"{url} is no URL that can be asked ({error})"
    if not host:
        return f"{url} names no host (write it behind the scheme, as in http://127.0.0.1:8080/guard)"
    if _is_loopback(host) or host.lower() in {name.strip().lower() for name in allowed}:
        return None
    setting = f'"hooksConfig": {{"http": {{"allow": ["{host}"]}}}}'
    return f"{host} is not this machine; to allow it, write {setting} into the user's settings"


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Exchange:
    """One request and its answer, in a thread that the event loop waits for."""

    def __init__(
        self,
        target: HttpTarget,
        body: bytes,
        env: Mapping[str, str],
        most_bytes: int,
        deadline: float,
        connections: Connections | None,
    ) -> None:
        url = urlsplit(target.url)
        self._request = _head(target, url, len(body), env, keeps=connections is not None) + body
        self._host = url.hostname or ""
        is_secure = url.scheme == "https"
        # A name of this machine must not be looked up: another machine could answer for it.
        address = "127.0.0.1" if self._host.lower() == "localhost" and not is_secure else self._host
        self._server = Target(address, (443 if is_secure else 80) if url.port is None else url.port, is_secure)
        self._most_bytes = most_bytes
        self._deadline = deadline
        self._connections = connections
        self._connection: Connection | None = None
        self._is_given_up = False
        # Name servers and machines that do not answer must not hold up the hooks on this machine.
        self.threads = _LOCAL_THREADS if _is_loopback(self._host) else _OTHER_THREADS

    def run(self) -> ChildOutcome:
        """Send the request and read the answer; raise a BadAnswerError for one that is not good."""
        try:
            connection = self._connection = self._sent()
        except (OSError, ValueError) as error:
            if time.monotonic() >= self._deadline:
                return ChildOutcome(timed_out=True)
            why = _why_unreachable(error, self._host, self._server.port)
            is_shortage = getattr(error, "errno", None) in RESOURCE_ERRNOS
            return ChildOutcome(error=f"could not be asked: {why}", is_shortage=is_shortage)
        keeps = False
        try:
            answer = read_answer(connection, self._most_bytes)
            keeps = self._connections is not None and answer.can_be_used_again and not self._is_given_up
        except OSError as error:
            if time.monotonic() >= self._deadline:
                return ChildOutcome(timed_out=True)
            raise BadAnswerError(f"gave no usable answer: {_reason(error)}") from error
        finally:
            self._connection = None
            if not keeps:
                connection.close()
        if keeps and self._connections is not None:
            self._connections.put(connection)
        return ChildOutcome(exit_code=0, stdout=answer.body, stdout_truncated=answer.is_cut)

    def give_up(self) -> None:
        """End the exchange if it still runs; called on the loop."""
        self._is_given_up = True
        if (connection := self._connection) is not None:
            connection.interrupt()

    def _sent(self) -> Connection:
        """Return the connection that the whole request was sent on: an idle one, or else a new one."""
        kept = None if self._connections is None else self._connections.take(self._server)
        connection = self._connection = kept or self._connected()
        try:
            if self._is_given_up:
                connection.interrupt()
            connection.send(self._request, self._deadline)
        except BaseException:
            self._connection = None
            connection.close()
            raise
        return connection

    def _connected(self) -> Connection:
        """Return a new connection; without descriptors, what waits for other events is given up for it."""
        try:
            return Connection(self._server, self._deadline)
        except OSError as error:
            if error.errno not in RESOURCE_ERRNOS:
                raise
        for give_up in ON_SHORTAGE:
            give_up()
        return Connection(self._server, self._deadline)


def _why_unreachable(error: Exception, host: str, port: int) -> str:
    """Return the cause, the place, and in parentheses what to check."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    match error:
        case ConnectionRefusedError():
            return f"no server answers at {place} (connection refused; is it running?)"
        case socket.gaierror():
            return f"the host {host} was not found ({_reason(error)}; is its name right, and is the network there?)"
        case ssl.SSLCertVerificationError():
            return f"the certificate of {place} is not accepted ({error.verify_message})"
        case ssl.SSLError():
            why = (error.reason or _reason(error)).replace("_", " ").lower()
            return f"no secure connection to {place} ({why}; does it speak https?)"
        case OSError(errno=int(number)):
            return f"no connection to {place} ({os.strerror(number)})"
    return f"no connection to {place} ({_reason(error)})"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _head(target: HttpTarget, url: SplitResult, length: int, env: Mapping[str, str], *, keeps: bool) -> bytes:
    path = quote((url.path or "/") + (f"?{url.query}" if url.query else ""), safe=_URL_MARKS)
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {url.netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        f"Connection: {'keep-alive' if keeps else 'close'}",
    ]
    for name, value in target.headers.items():
        if not _FIELD_NAME.fullmatch(name) or name.lower() in _OURS:
            raise BadAnswerError(f"has a header that can't be sent: {name!r}")
        # A token that was read from a file often ends with a line break.
        lines.append(f"{name}: {_filled(value, target.variables, env).strip()}")
    for line in lines:
        if _CONTROL.search(line) or len(line.splitlines()) > 1:
            name = line.partition(":")[0]
            raise BadAnswerError(f"has a header or a URL with a line break or control character in it ({name!r})")
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"


def _filled(value: str, variables: Sequence[str], env: Mapping[str, str]) -> str:
    """The value with each variable that may be used; any other one is empty, as in Claude Code."""

    def of(place: re.Match[str]) -> str:
        name = place[1] or place[2]
        return env.get(name, "") if name in variables else ""

    return HEADER_VARIABLE.sub(of, value)
