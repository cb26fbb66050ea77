"""Bundles and switches in the company's bucket: one key for each team, and one for all."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from hookline.child.nats_bucket import make_bucket, open_bucket, put_value, value_of, values_before
from hookline.contract.fleet import POLICY_BUCKET, token_of
from hookline.errors import HooklineError, UsageError
from hookline.settings.policy.documents import ALL_TEAMS, Document, PolicyError, Signed, read_signed
from hookline.settings.policy.keys import signer_of
from hookline.settings.policy.place import Kind

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.kv import KeyValue

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

    Its version must be higher than those that are there: machines would refuse it. A key that has this very document
    is left as it is, so that whoever was interrupted can do the same again. NATS has no transaction over several keys:
    if one fails, the error names the teams that have the document and those that may not.
    """
    signer_of(envelope, keys)
    document, data = envelope.document, envelope.to_bytes()
    bucket = await make_bucket(client, POLICY_BUCKET, history=_HISTORY, replicas=replicas)
    found = {key_of(Kind.of(document), team): team for team in document.teams}
    missing = {key: place for key in found if (place := await _place_in(bucket, key, data, keys)) is not None}
    for key, place in list(missing.items()):
        if place.version >= document.version:
            raise UsageError(
                f"{key} has version {place.version} already, and machines would refuse {document.version};"
                f" give it a version from {place.version + 1} on"
            )
    for key, place in list(missing.items()):
        try:
            await put_value(bucket, key, data, after=place.revision)
        except HooklineError as error:
            raise type(error)(f"{error}; {_how_far(found, missing)}") from error
        del missing[key]
    return tuple(found)


class _Place(NamedTuple):
    """What stands under a key, and has to be replaced."""

    revision: int | None
    version: int


async def _place_in(bucket: "KeyValue", key: str, data: bytes, keys: Collection[str]) -> _Place | None:
    """What has to be replaced by this document; None if it is there already."""
    value = await value_of(bucket, key)
    if value is None:
        return _Place(None, 0)
    if value.data == data:
        return None
    there = _read(value.data, keys)
    # Whatever is not signed is no policy, and must not keep the right one out.
    return _Place(value.revision, 0 if there is None else there.document.version)


def _how_far(teams: Mapping[str, str], missing: Collection[str]) -> str:
    """Which teams have a document, and what to do about the others."""
    have = [team for key, team in teams.items() if key not in missing]
    lack = [team for key, team in teams.items() if key in missing]
    those = f"{', '.join(have)} {'has' if len(have) == 1 else 'have'} it, and " if have else ""
    return f"{those}{', '.join(lack)} may not have it; do the same again: what is there already is left as it is"


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
