"""Values in a bucket of the company's NATS server, with what can go wrong in words."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from hookline.child.jetstream import stored
from hookline.child.nats import ANSWER_S, UnreachableError
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.kv import KeyValue


class ConflictError(HooklineError):
    """Somebody else has changed the value meanwhile."""


class Value(NamedTuple):
    """A value, and the revision that a change of it has to name."""

    data: bytes
    revision: int


class Latest(NamedTuple):
    """The value that a key has now."""

    key: str
    data: bytes
    seconds: float
    """When the server stored it, in seconds since the epoch."""


async def open_bucket(client: "Client", name: str) -> "KeyValue | None":
    """The bucket; None if there is none."""
    from nats.js.errors import BucketNotFoundError  # noqa: PLC0415 - an extra

    try:
        async with _answers(f"the bucket {name}"):
            return await client.jetstream(timeout=ANSWER_S).key_value(name)
    except BucketNotFoundError:
        return None


async def make_bucket(client: "Client", name: str, *, history: int, replicas: int = 1) -> "KeyValue":
    """The bucket, made if there is none."""
    found = await open_bucket(client, name)
    if found is not None:
        return found
    async with _answers(f"the bucket {name}"):
        return await client.jetstream(timeout=ANSWER_S).create_key_value(
            bucket=name, history=history, replicas=replicas, direct=True
        )


async def value_of(bucket: "KeyValue", key: str, revision: int | None = None) -> Value | None:
    """The latest value, or that of a revision; None if there is none."""
    from nats.js.errors import KeyNotFoundError  # noqa: PLC0415 - an extra

    try:
        async with _answers(key):
            entry = await bucket.get(key, revision)
    except KeyNotFoundError:
        return None
    return Value(entry.value or b"", entry.revision or 0)


async def put_value(bucket: "KeyValue", key: str, data: bytes, *, after: int | None) -> int:
    """Replaces the value of that revision, or makes the first one; ConflictError if it is another by now."""
    from nats.js.errors import KeyWrongLastSequenceError  # noqa: PLC0415 - an extra

    try:
        async with _answers(key):
            return await (bucket.create(key, data) if after is None else bucket.update(key, data, after))
    except KeyWrongLastSequenceError as error:
        raise ConflictError(f"{key} was changed by somebody else at the same time; look, and try again") from error


async def set_value(bucket: "KeyValue", key: str, data: bytes) -> None:
    """Replaces whatever value there is."""
    async with _answers(key):
        await bucket.put(key, data)


async def values_before(bucket: "KeyValue", key: str) -> list[Value]:
    """Every value that the bucket still has of a key, oldest first."""
    from nats.js.errors import NoKeysError  # noqa: PLC0415 - an extra

    try:
        async with _answers(key):
            entries = await bucket.history(key)
    except NoKeysError:
        return []
    return [Value(entry.value or b"", entry.revision or 0) for entry in entries]


async def latest_values(client: "Client", bucket: str) -> list[Latest]:
    """The values of all keys."""
    # The bucket's stream has the last message of each key.
    place = f"$KV.{bucket}."
    return [
        Latest(message.subject.removeprefix(place), message.data, message.seconds)
        async for message in stored(client, f"KV_{bucket}", [f"{place}>"])
        if "KV-Operation" not in message.headers
    ]


@asynccontextmanager
async def _answers(what: str) -> AsyncIterator[None]:
    """Turns whatever keeps the server from answering into one error; what it says of a key passes."""
    from nats.errors import Error, MaxPayloadError  # noqa: PLC0415 - an extra
    from nats.js.errors import BucketNotFoundError, KeyValueError  # noqa: PLC0415 - an extra

    try:
        async with asyncio.timeout(2 * ANSWER_S):
            yield
    except (BucketNotFoundError, KeyValueError):
        raise
    except MaxPayloadError as error:
        raise UnreachableError(
            f"{what} is larger than the server takes; raise its max_payload, or make it smaller"
        ) from error
    except (TimeoutError, Error, OSError) as error:
        text = "no answer" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        raise UnreachableError(
            f"the server does not answer about {what} ({text}); check that it runs, and lets this user ask"
        ) from error
