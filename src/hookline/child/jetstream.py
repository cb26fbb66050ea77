"""Streams of messages that a NATS server keeps."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.child.nats import ANSWER_S, UnreachableError, end_if_cancelled

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js.api import ConsumerConfig

_FETCH = 64
_FETCH_S = 5.0
_DUPLICATES_S = 120.0
_CONSUMER_S = 60.0


class Stored(NamedTuple):
    """A message as the stream has it."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    seq: int
    """Its number in the stream."""
    seconds: float
    """When the server stored it, in seconds since the epoch."""


async def make_stream(
    client: "Client",
    name: str,
    subjects: Sequence[str],
    *,
    replicas: int,
    max_age_s: float,
    max_bytes: int,
    tags: Sequence[str] = (),
) -> bool:
    """A stream whose messages nobody can delete before their time; False if there is one of this name already.

    It is kept by servers that have all of these tags.
    """
    from nats.js.api import Placement, StorageType, StoreCompression, StreamConfig  # noqa: PLC0415 - an extra
    from nats.js.errors import APIError, NotFoundError  # noqa: PLC0415

    jetstream = client.jetstream(timeout=ANSWER_S)
    config = StreamConfig(
        name=name,
        subjects=list(subjects),
        storage=StorageType.FILE,
        compression=StoreCompression.S2,
        num_replicas=replicas,
        max_age=max_age_s,
        max_bytes=max_bytes,
        duplicate_window=_DUPLICATES_S,
        deny_delete=True,
        deny_purge=True,
        placement=Placement(tags=list(tags)) if tags else None,
    )
    try:
        try:
            await jetstream.stream_info(name)
        except NotFoundError:
            await jetstream.add_stream(config)
            return True
    except (APIError, OSError, TimeoutError) as error:
        raise _refused(f"the stream {name}", error) from error
    return False


async def store(client: "Client", subject: str, data: bytes, headers: Mapping[str, str]) -> None:
    """Returns when a stream has stored the message; UnreachableError if none has within some seconds."""
    if not client.is_connected:
        # The client would keep the message and send it later, behind our back.
        raise UnreachableError("there is no connection to the server")
    try:
        await client.jetstream(timeout=ANSWER_S).publish(subject, data, headers=dict(headers))
    except Exception as error:
        raise _refused(f"{subject}", error) from error


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

    It ends with the last one, unless it follows.
    """
    jetstream = client.jetstream(timeout=ANSWER_S)
    try:
        reading = await jetstream.pull_subscribe("", stream=stream, config=_consumer(subjects, since, after))
        left = (await reading.consumer_info()).num_pending or 0
    except Exception as error:
        raise _refused(f"the stream {stream}", error) from error
    try:
        while left > 0 or follow:
            end_if_cancelled()
            try:
                messages = await reading.fetch(_FETCH, timeout=_FETCH_S)
            except TimeoutError as error:
                if follow:
                    continue
                raise UnreachableError(f"the stream {stream} stopped in the middle: no answer; try again") from error
            for message in messages:
                left = message.metadata.num_pending
                yield _stored(message)
    finally:
        with suppress(Exception):
            await reading.unsubscribe()


def _consumer(subjects: Sequence[str], since: float | None, after: int | None) -> "ConsumerConfig":
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy  # noqa: PLC0415 - an extra

    config = ConsumerConfig(
        ack_policy=AckPolicy.NONE, inactive_threshold=_CONSUMER_S, filter_subjects=list(subjects), mem_storage=True
    )
    if after is not None:
        config.deliver_policy, config.opt_start_seq = DeliverPolicy.BY_START_SEQUENCE, after + 1
    elif since is not None:
        config.deliver_policy = DeliverPolicy.BY_START_TIME
        config.opt_start_time = datetime.fromtimestamp(since, UTC).isoformat()  # type: ignore[assignment]
    return config


def _stored(message: "Msg") -> Stored:
    facts = message.metadata
    headers = {str(name): str(value) for name, value in (message.headers or {}).items()}
    return Stored(message.subject, message.data, headers, facts.sequence.stream, facts.timestamp.timestamp())


def _refused(what: str, error: BaseException) -> UnreachableError:
    from nats.js.errors import NoStreamResponseError, NotFoundError  # noqa: PLC0415 - an extra

    if isinstance(error, NoStreamResponseError | NotFoundError):
        return UnreachableError(f"{what}: the server does not have it; an administrator runs: hookline fleet setup")
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return UnreachableError(f"{what}: no answer within {ANSWER_S:g} s; does the server let this user ask?")
    said: Any = getattr(error, "description", None) or str(error) or type(error).__name__
    remedy = "; records are in one stream for all teams, or in one for each" if "overlap" in str(said) else ""
    return UnreachableError(f"{what}: {said}{remedy}")
