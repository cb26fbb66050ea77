"""Bundles and switches in the company's bucket: one key for each team, and one for all."""

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from hookline.child.nats_bucket import make_bucket, open_bucket, put_value, value_of, values_before
from hookline.contract.fleet import POLICY_BUCKET, token_of
from hookline.errors import UsageError
from hookline.settings.policy.documents import ALL_TEAMS, Document, PolicyError, Signed, read_signed
from hookline.settings.policy.keys import signer_of
from hookline.settings.policy.place import Kind

if TYPE_CHECKING:
    from nats.aio.client import Client

# As many as NATS keeps of one key.
_HISTORY = 64


class Published(NamedTuple):
    """A document in the bucket."""

    envelope: Signed
    document: Document


def keys_for(team: str) -> tuple[str, ...]:
    """The keys that a machine of a team follows."""
    return tuple(key_of(kind, name) for kind in Kind for name in dict.fromkeys((ALL_TEAMS, team)))


def key_of(kind: Kind, team: str) -> str:
    """Where the documents of a kind for a team are."""
    return f"{kind}.{token_of(team)}"


def subject_of(key: str) -> str:
    """Where the server tells of a change of a key."""
    return f"$KV.{POLICY_BUCKET}.{key}"


async def publish(client: "Client", envelope: Signed, keys: Collection[str], *, replicas: int = 1) -> tuple[str, ...]:
    """Puts a signed document under the key of each of its teams, and returns those keys.

    Its version must be higher than those that are there: machines would refuse it.
    """
    signer_of(envelope, keys)
    document = envelope.document
    kind = Kind.of(document)
    bucket = await make_bucket(client, POLICY_BUCKET, history=_HISTORY, replicas=replicas)
    before: dict[str, int | None] = {}
    for team in document.teams:
        key = key_of(kind, team)
        found = await value_of(bucket, key)
        if found is None:
            before[key] = None
            continue
        there = _read(found.data, keys)
        # Whatever is not signed is no policy, and must not keep the right one out.
        highest = 0 if there is None else there.document.version
        if document.version <= highest:
            raise UsageError(
                f"{key} has version {highest} already, and machines would refuse {document.version};"
                f" give it a version from {highest + 1} on"
            )
        before[key] = found.revision
    for key, revision in before.items():
        await put_value(bucket, key, envelope.to_bytes(), after=revision)
    return tuple(before)


async def latest(client: "Client", kind: Kind, team: str, keys: Collection[str]) -> Published | None:
    """The document that a team has now, if one of these keys signed it."""
    bucket = await open_bucket(client, POLICY_BUCKET)
    found = None if bucket is None else await value_of(bucket, key_of(kind, team))
    return None if found is None else _read(found.data, keys)


async def all_before(client: "Client", kind: Kind, team: str, keys: Collection[str]) -> list[Published]:
    """Every document of a team that the bucket still has and one of these keys signed, oldest first."""
    bucket = await open_bucket(client, POLICY_BUCKET)
    if bucket is None:
        return []
    values = await values_before(bucket, key_of(kind, team))
    return [read for value in values if (read := _read(value.data, keys)) is not None]


def _read(data: bytes, keys: Collection[str]) -> Published | None:
    try:
        envelope = read_signed(data)
        signer_of(envelope, keys)
        return Published(envelope, envelope.document)
    except PolicyError:
        return None
