"""Values in a bucket of the company's NATS server, with what can go wrong in words.

A bucket is a stream with one subject for each key, as NATS defines it. Values are read directly and written with one
message, so that a machine needs two permissions and no consumer, and none that shows it the keys of others.
"""

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.fleet.names import UnreachableError
from hookline.fleet.nats.connection import ANSWER_S
from hookline.fleet.nats.jetstream import make_stream, refused, store, stored

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import api as js_api
else:
    js_api = lazy_module("nats.js.api")

_WRONG_LAST_SEQUENCE = 10071
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"


class ConflictError(HooklineError):
    """Another writer has changed the value."""


class Value(NamedTuple):
    """A value, and the revision that a change of it has to name."""

    data: bytes
    """Empty if the value was removed."""
    revision: int


class Latest(NamedTuple):
    """The value that a key has now."""

    key: str
    data: bytes
    seconds: float
    """When the server stored it, in seconds since the epoch."""


class Bucket(NamedTuple):
    """A bucket, which the server may not have."""

    client: "Client"
    name: str

    @property
    def stream(self) -> str:
        """The stream that keeps it."""
        return f"KV_{self.name}"

    def subject(self, key: str) -> str:
        """The subject of a key, or of several with a wildcard."""
        return f"$KV.{self.name}.{key}"


async def make_bucket(client: "Client", name: str, *, history: int, replicas: int = 1, max_bytes: int = -1) -> bool:
    """Create a bucket that keeps so many values of each key; False if it exists, and then has its protections."""
    bucket = Bucket(client, name)
    limits = {"max_msgs_per_subject": history, "num_replicas": replicas, "max_bytes": max_bytes}
    return await make_stream(client, bucket.stream, [bucket.subject(">")], **limits, discard=js_api.DiscardPolicy.NEW)


async def value_of(bucket: Bucket, key: str) -> Value | None:
    """The latest value; None if there never was one."""
    subject = f"$JS.API.DIRECT.GET.{bucket.stream}.{bucket.subject(key)}"
    try:
        async with asyncio.timeout(2 * ANSWER_S):
            message = await bucket.client.request(subject, b"", timeout=ANSWER_S)
    except Exception as error:
        raise refused(f"{key} of the bucket {bucket.name}", error) from error
    headers = message.headers or {}
    if "Nats-Sequence" not in headers:
        return None
    data = b"" if "KV-Operation" in headers else message.data
    return Value(data, int(headers["Nats-Sequence"]))


async def put_value(bucket: Bucket, key: str, data: bytes, *, after: int | None) -> int:
    """Replaces the value of that revision, or makes the first one; ConflictError if it is another by now."""
    return await _put(bucket, key, data, {_EXPECTED: str(after or 0)})


async def set_value(bucket: Bucket, key: str, data: bytes) -> None:
    """Replaces whatever value there is."""
    await _put(bucket, key, data, {})


async def _put(bucket: Bucket, key: str, data: bytes, headers: dict[str, str]) -> int:
    try:
        return await store(bucket.client, bucket.subject(key), data, headers)
    except UnreachableError as error:
        if getattr(error.__cause__, "err_code", None) == _WRONG_LAST_SEQUENCE:
            why = f"{key} was changed by another user at the same time; check it and try again"
            raise ConflictError(why) from error
        raise


async def values_before(bucket: Bucket, key: str) -> list[Value]:
    """Every value that the bucket still has of a key, oldest first."""
    return [
        Value(b"" if "KV-Operation" in message.headers else message.data, message.seq)
        async for message in stored(bucket.client, bucket.stream, [bucket.subject(key)])
    ]


async def latest_values(client: "Client", name: str) -> list[Latest]:
    """The values of all keys."""
    bucket = Bucket(client, name)
    # The bucket's stream has the last message of each key.
    return [
        Latest(message.subject.removeprefix(bucket.subject("")), message.data, message.seconds)
        async for message in stored(client, bucket.stream, [bucket.subject(">")])
        if "KV-Operation" not in message.headers
    ]
