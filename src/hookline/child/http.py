"""A hook that is asked over HTTP: one POST of the input, and the body of the answer in place of stdout."""

import asyncio
import ipaddress
import re
import ssl
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

import msgspec

from hookline.child.job import ChildOutcome
from hookline.contract.hooks import HttpTarget
from hookline.contract.vocabulary import RunWay

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What we say ourselves; a second one could make a server read another request.
_OURS = frozenset({"host", "content-length", "content-type", "connection", "transfer-encoding"})
_LONGEST_HEAD = 64 * 1024


class _BadAnswerError(Exception):
    """Why an answer can't be used."""


async def post(
    target: HttpTarget,
    body: bytes,
    *,
    env: Mapping[str, str],
    timeout_ms: float,
    most_bytes: int,
    allowed: Sequence[str] = (),
) -> ChildOutcome:
    """Sends the body and returns the answer as a process's outcome; a status that is not 2xx is a failure.

    Only this machine is asked, and the hosts in `allowed`. Redirects are not followed. Raises only CancelledError.
    """
    started = time.monotonic()
    try:
        async with asyncio.timeout(min(timeout_ms / 1000, 1e9)):
            outcome = await _ask(target, body, env, most_bytes, allowed)
    except TimeoutError:
        outcome = ChildOutcome(timed_out=True)
    except _BadAnswerError as error:
        outcome = ChildOutcome(error=str(error))
    except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        outcome = ChildOutcome(error=f"{target.url} could not be asked: {reason}")
    return _timed(outcome, (time.monotonic() - started) * 1000)


def why_not_allowed(url: str, allowed: Sequence[str]) -> str | None:
    """Why a URL may not be asked, or None: it is on this machine, or its host is allowed."""
    host = urlsplit(url).hostname
    if not host:
        return f"{url} names no host"
    if _is_loopback(host) or host.lower() in {name.strip().lower() for name in allowed}:
        return None
    return f'{host} is not this machine; to allow it, write "hooksConfig": {{"http": {{"allow": ["{host}"]}}}}'


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _ask(
    target: HttpTarget, body: bytes, env: Mapping[str, str], most_bytes: int, allowed: Sequence[str]
) -> ChildOutcome:
    if why_not := why_not_allowed(target.url, allowed):
        raise _BadAnswerError(f"was not asked: {why_not}")
    url = urlsplit(target.url)
    request = _head(target, url, len(body), env) + body
    secure = ssl.create_default_context() if url.scheme == "https" else None
    host = url.hostname or ""
    # A name that stands for this machine must not be looked up: somebody else may answer for it.
    address = "127.0.0.1" if host.lower() == "localhost" and secure is None else host
    port = url.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(address, port, ssl=secure, limit=_LONGEST_HEAD)
    try:
        writer.write(request)
        await writer.drain()
        return await _answer(reader, target.url, most_bytes)
    finally:
        writer.close()


def _head(target: HttpTarget, url: SplitResult, length: int, env: Mapping[str, str]) -> bytes:
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {url.netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        "Connection: close",
    ]
    for name, value in target.headers.items():
        if not _FIELD_NAME.fullmatch(name) or name.lower() in _OURS:
            raise _BadAnswerError(f"has a header that can't be sent: {name!r}")
        lines.append(f"{name}: {_filled(value, target.variables, env)}")
    head = "\r\n".join(lines)
    if len(head.splitlines()) != len(lines) or "\0" in head:
        raise _BadAnswerError("has a header or a URL with a line break in it")
    return head.encode("utf-8", "surrogateescape") + b"\r\n\r\n"


def _filled(value: str, variables: Sequence[str], env: Mapping[str, str]) -> str:
    """The value with each variable that may be used; any other one is empty, as in Claude Code."""

    def of(place: re.Match[str]) -> str:
        name = place[1] or place[2]
        return env.get(name, "") if name in variables else ""

    return _VARIABLE.sub(of, value)


async def _answer(reader: asyncio.StreamReader, url: str, most_bytes: int) -> ChildOutcome:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = re.match(r"HTTP/1\.[01] (\d{3})", head[0])
    if status is None:
        raise _BadAnswerError(f"{url} did not answer with HTTP")
    code = int(status[1])
    if not HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES:
        moved = " (redirects are not followed)" if HTTPStatus.MULTIPLE_CHOICES <= code < HTTPStatus.BAD_REQUEST else ""
        raise _BadAnswerError(f"{url} answered with status {code}{moved}")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if fields.get("transfer-encoding", "").lower() == "chunked":
        body, is_cut = await _chunks(reader, most_bytes)
    elif "content-length" in fields:
        length = int(fields["content-length"])
        body, is_cut = await reader.readexactly(min(length, most_bytes)), length > most_bytes
    else:
        body, is_cut = await _rest(reader, most_bytes)
    return ChildOutcome(exit_code=0, stdout=body, stdout_truncated=is_cut)


async def _rest(reader: asyncio.StreamReader, most_bytes: int) -> tuple[bytes, bool]:
    body = b""
    while len(body) <= most_bytes and (more := await reader.read(_LONGEST_HEAD)):
        body += more
    return body[:most_bytes], len(body) > most_bytes


async def _chunks(reader: asyncio.StreamReader, most_bytes: int) -> tuple[bytes, bool]:
    body = b""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        if size == 0:
            return body, False
        if size < 0 or len(body) + size > most_bytes:
            return body + await reader.readexactly(max(0, min(size, most_bytes - len(body)))), True
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")


def _timed(outcome: ChildOutcome, duration_ms: float) -> ChildOutcome:
    return msgspec.structs.replace(outcome, duration_ms=duration_ms, way=RunWay.HTTP)
