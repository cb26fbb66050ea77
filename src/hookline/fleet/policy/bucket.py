"""Bundles and switches in the company's bucket: one key for each team, and one for all."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookline.errors import HooklineError, UsageError
from hookline.fleet.names import POLICY_BUCKET, token_of
from hookline.fleet.nats.bucket import (
    Bucket,
    Value,
    make_bucket,
    put_value,
    value_of,
    values_before,
)
from hookline.fleet.nats.jetstream import NoStreamError
from hookline.fleet.policy.documents import ALL_TEAMS, Document, PolicyError, SignedDocument, read_signed, signer_of
from hookline.fleet.policy.store import DocumentKind, check_unexpired

if TYPE_CHECKING:
    from nats.aio.client import Client

# As many as NATS keeps of one key.
HISTORY = 64
# A copy of the bucket may be behind the one that took a value.
_AGAIN_S = (0.05, 0.2, 0.5, 1.0, 2.0)


class Published(NamedTuple):
    """A document in the bucket."""

    envelope: SignedDocument
    document: Document


def keys_for(team: str) -> tuple[str, ...]:
    """The keys that a machine of a team follows."""
    return tuple(key_of(kind, name) for kind in DocumentKind for name in dict.fromkeys((ALL_TEAMS, team)))


def key_of(kind: DocumentKind, team: str) -> str:
    """Where the documents of a kind for a team are."""
    return f"{kind}.{token_of(team)}"


def _keys_of(document: Document) -> tuple[str, ...]:
    """Where a document belongs, for each of its teams."""
    return tuple(key_of(DocumentKind.of(document), team) for team in document.teams)


def subject_of(key: str) -> str:
    """Where the server tells of a change of a key."""
    return f"$KV.{POLICY_BUCKET}.{key}"


async def publish(
    client: "Client", envelope: SignedDocument, keys: Collection[str], *, replicas: int = 1
) -> tuple[str, ...]:
    """Puts a signed document under the key of each of its teams, and returns those keys.

    Returns when the server gives back this very document under each of them. Machines would refuse one that has
    expired, or whose version is not higher than those that were there, so that is an error. A key that has this very
    document is left as it is, so that whoever was interrupted can do the same again. NATS has no transaction over
    several keys: if one fails, the error names the teams that have the document and those that may not.
    """
    signer_of(envelope, keys)
    document, data = envelope.document, envelope.to_bytes()
    check_unexpired(document)
    bucket = Bucket(client, POLICY_BUCKET)
    found = dict(zip(_keys_of(document), document.teams, strict=True))
    try:
        missing = {key: place for key in found if (place := await _place_in(bucket, key, data, keys)) is not None}
    except NoStreamError:
        await make_bucket(client, POLICY_BUCKET, history=HISTORY, replicas=replicas)
        missing = {key: _KeyPlace(None, 0) for key in found}
    for key, place in list(missing.items()):
        if place.version >= document.version:
            raise UsageError(
                f"{key} has version {place.version} already, and machines would refuse {document.version};"
                f" give it a version from {place.version + 1} on"
            )
    for key, place in list(missing.items()):
        try:
            revision = await put_value(bucket, key, data, after=place.revision)
            await _check_arrived(bucket, key, Value(data, revision))
        except HooklineError as error:
            raise type(error)(f"{error}; {_how_far(found, missing)}") from error
        del missing[key]
    return tuple(found)


async def _check_arrived(bucket: Bucket, key: str, expected: Value) -> None:
    """Returns when machines can read the value; PolicyError if they would read another."""
    for pause in (*_AGAIN_S, None):
        found = await value_of(bucket, key)
        if found == expected:
            return
        if found is not None and found.revision > expected.revision:
            break
        if pause is not None:
            await asyncio.sleep(pause)
    raise PolicyError(f"{key} was stored, and the server gives back something else, so machines would not take it")


class _KeyPlace(NamedTuple):
    """The value under a key that a new one replaces."""

    revision: int | None
    version: int


async def _place_in(bucket: Bucket, key: str, data: bytes, keys: Collection[str]) -> _KeyPlace | None:
    """Return the value that this document replaces; None if the document is there already."""
    value = await value_of(bucket, key)
    if value is None:
        return _KeyPlace(None, 0)
    if value.data == data:
        return None
    # An unsigned value is not a policy: it must neither block the signed one nor hide earlier versions.
    valid = [read for each in await values_before(bucket, key) if (read := _read(each.data, keys)) is not None]
    meant = (each.document for each in valid if key in _keys_of(each.document))
    return _KeyPlace(value.revision, max((document.version for document in meant), default=0))


def _how_far(teams: Mapping[str, str], missing: Collection[str]) -> str:
    """Which teams have a document, and what to do about the others."""
    have = [team for key, team in teams.items() if key not in missing]
    lack = [team for key, team in teams.items() if key in missing]
    those = f"{', '.join(have)} {'has' if len(have) == 1 else 'have'} it, and " if have else ""
    return f"{those}{', '.join(lack)} may not have it; do the same again: what is there already is left as it is"


async def latest(client: "Client", kind: DocumentKind, team: str, keys: Collection[str]) -> Published | None:
    """The newest document of a team that one of these keys signed, whatever was stored after it."""
    with suppress(NoStreamError):
        value = await value_of(Bucket(client, POLICY_BUCKET), key_of(kind, team))
        if value is None:
            return None
        if (found := _read(value.data, keys)) is not None:
            return found
        return max(await all_before(client, kind, team, keys), key=lambda each: each.document.version, default=None)
    return None


async def all_before(client: "Client", kind: DocumentKind, team: str, keys: Collection[str]) -> list[Published]:
    """Every document of a team that the bucket still has and one of these keys signed, oldest first."""
    with suppress(NoStreamError):
        values = await values_before(Bucket(client, POLICY_BUCKET), key_of(kind, team))
        return [read for value in values if (read := _read(value.data, keys)) is not None]
    return []


async def signers(client: "Client", teams: Collection[str]) -> set[str]:
    """The keys that signed what these teams have now."""
    found: set[str] = set()
    with suppress(NoStreamError):
        for key in (key_of(kind, team) for kind in DocumentKind for team in teams):
            if (value := await value_of(Bucket(client, POLICY_BUCKET), key)) is not None:
                with suppress(PolicyError):
                    envelope = read_signed(value.data)
                    found |= {each.key for each in envelope.signatures if signer_of(envelope, [each.key])}
    return found


def _read(data: bytes, keys: Collection[str]) -> Published | None:
    try:
        envelope = read_signed(data)
        signer_of(envelope, keys)
        return Published(envelope, envelope.document)
    except PolicyError:
        return None
