"""Streams of messages that a NATS server keeps."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.extensions import lazy_module
from hookline.fleet.names import UnreachableError
from hookline.fleet.nats.connection import ANSWER_S, end_if_cancelled

if TYPE_CHECKING:
    from nats import errors as nats_errors
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import api as js_api
    from nats.js import errors as js_errors
else:
    js_api = lazy_module("nats.js.api")
    js_errors = lazy_module("nats.js.errors")
    nats_errors = lazy_module("nats.errors")

_BATCH = 256
_BATCH_BYTES = 8 * 1024 * 1024
_POLL_S = 1.0
"""How often a reader that follows looks for more."""
_NAME_IN_USE = 10058
_NO_RESPONDERS, _NOT_FOUND, _END_OF_BATCH = "503", "404", "204"
# The server adds these to a message, behind whatever headers its sender gave it, so the last of a name is the server's.
_SUBJECT, _SEQUENCE, _TIME, _PENDING = "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Num-Pending"
_PROTECTIONS: Mapping[str, Any] = {
    "deny_delete": True,
    "deny_purge": True,
    "allow_rollup_hdrs": False,
    "allow_direct": True,
}
"""The options of every stream: a writer of one subject must not be able to remove messages of another, and reading
needs no consumer, which could deliver to any subject in the server's name."""


class NoStreamError(UnreachableError):
    """The server does not have the stream or bucket, or no server that keeps it runs."""


class Stored(NamedTuple):
    """A message as the stream has it."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    seq: int
    """Its number in the stream."""
    seconds: float
    """When the server stored it, in seconds since the epoch."""


async def make_stream(client: "Client", name: str, subjects: Sequence[str], **limits: Any) -> bool:
    """Create a stream with these limits, which are fields of a `StreamConfig`.

    Returns False if one of this name exists; it then gets the protections that it lacks.
    """
    jetstream = client.jetstream(timeout=ANSWER_S)
    s2 = js_api.StoreCompression.S2
    config = js_api.StreamConfig(name=name, subjects=list(subjects), compression=s2, **limits, **_PROTECTIONS)
    try:
        try:
            return bool((await jetstream.add_stream(config)).did_create)
        except js_errors.APIError as error:
            if error.err_code != _NAME_IN_USE:
                raise
        there = (await jetstream.stream_info(name)).config
        if any(bool(getattr(there, option)) is not value for option, value in _PROTECTIONS.items()):
            await jetstream.update_stream(there.evolve(**_PROTECTIONS))
    except (js_errors.APIError, OSError, TimeoutError) as error:
        raise refused(f"the stream {name}", error) from error
    return False


async def store(client: "Client", subject: str, data: bytes, headers: Mapping[str, str]) -> int:
    """Return the number of the message when a stream has stored it; UnreachableError if none has in time."""
    if not client.is_connected:
        # The client would keep the message and send it later, behind our back.
        raise UnreachableError("there is no connection to the server")
    try:
        async with asyncio.timeout(2 * ANSWER_S):
            stored_as = await client.jetstream(timeout=ANSWER_S).publish(subject, data, headers=dict(headers) or None)
    except Exception as error:
        raise refused(subject, error) from error
    return stored_as.seq


async def stored(
    client: "Client",
    stream: str,
    subjects: Sequence[str],
    *,
    since: float | None = None,
    after: int | None = None,
    follow: bool = False,
) -> AsyncGenerator[Stored, None]:
    """The messages of a stream about these subjects, oldest first: all of them, or since a time, or after a number.

    It ends with the last one, unless it follows. Subjects may differ in one part only, or in their wildcards.
    """
    about = {"next_by_subj": _covering(subjects), "batch": _BATCH, "max_bytes": _BATCH_BYTES}
    begin: dict[str, Any] = {"seq": (after or 0) + 1}
    if after is None and since is not None:
        begin = {"start_time": datetime.fromtimestamp(since, UTC).isoformat().replace("+00:00", "Z")}
    while True:
        end_if_cancelled()
        found, is_more = await _next_batch(client, stream, {**begin, **about})
        for message in found:
            begin = {"seq": message.seq + 1}
            yield message
        if not is_more:
            if not follow:
                return
            await asyncio.sleep(_POLL_S)


async def _next_batch(client: "Client", stream: str, request: Mapping[str, Any]) -> tuple[list[Stored], bool]:
    """Some messages of a stream, and whether there are more."""
    found: list[Stored] = []
    is_more = False
    try:
        inbox = client.new_inbox()
        reading = await client.subscribe(inbox)
        try:
            await client.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(request).encode(), reply=inbox)
            while True:
                message = await reading.next_msg(timeout=ANSWER_S)
                headers = message.headers or {}
                if _SEQUENCE in headers:  # whatever status its sender wrote into it
                    found.append(_stored(message))
                    is_more = headers.get(_PENDING, "0") != "0"
                    continue
                status = headers.get("Status")
                if status == _NO_RESPONDERS:
                    raise js_errors.NoStreamResponseError
                if status not in (_NOT_FOUND, _END_OF_BATCH):
                    raise UnreachableError(f"the stream {stream}: {status or 'an answer that is none'}")
                return found, is_more
        finally:
            with suppress(Exception):
                await reading.unsubscribe()
    except UnreachableError:
        raise
    except TimeoutError as error:
        if found:
            raise UnreachableError(f"the stream {stream} stopped in the middle: no answer; try again") from error
        raise refused(f"the stream {stream}", error) from error
    except Exception as error:
        raise refused(f"the stream {stream}", error) from error


def _covering(subjects: Sequence[str]) -> str:
    """One subject with wildcards for several that have as many parts."""
    return ".".join(
        parts[0] if len(set(parts)) == 1 else "*" for parts in zip(*(one.split(".") for one in subjects), strict=True)
    )


def _stored(message: "Msg") -> Stored:
    headers = {str(name): str(value) for name, value in (message.headers or {}).items()}
    seconds = datetime.fromisoformat(headers[_TIME]).timestamp()
    return Stored(headers[_SUBJECT], message.data, headers, int(headers[_SEQUENCE]), seconds)


def refused(what: str, error: BaseException) -> UnreachableError:
    """Return the error for a request that a server did not answer, or answered with this one."""
    if isinstance(error, js_errors.ServiceUnavailableError) and not error.err_code:
        return UnreachableError(f"{what}: the server has no JetStream; start it with: nats-server -js -sd DIRECTORY")
    if isinstance(error, nats_errors.NoRespondersError | js_errors.NoStreamResponseError | js_errors.NotFoundError):
        remedy = "an administrator runs: hookline fleet run --setup"
        return NoStreamError(f"{what}: the server does not have it ({remedy}), or too few servers run")
    if isinstance(error, nats_errors.MaxPayloadError):
        return UnreachableError(f"{what} is larger than the server takes; raise its max_payload, or make it smaller")
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return UnreachableError(f"{what}: the server does not answer within {ANSWER_S:g} s; does it let this user ask?")
    reason: Any = getattr(error, "description", None) or str(error) or type(error).__name__
    remedy = "; records are in one stream for all teams, or in one for each" if "overlap" in str(reason) else ""
    return UnreachableError(f"{what}: {reason}{remedy}")
