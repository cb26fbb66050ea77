"""Documents of a policy in files and in the company's bucket."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hookline.apps.cli.commands.fleet.policy.machine import server_here, system_layer
from hookline.errors import UsageError
from hookline.files import make_private_directory, state_path, write_atomically
from hookline.fleet.names import ServerAddress
from hookline.fleet.nats.connection import connected
from hookline.fleet.policy.bucket import publish, signers
from hookline.fleet.policy.documents import ALL_TEAMS, PolicyError, SignedDocument, public_key, read_signed, signer_of
from hookline.fleet.policy.layer import policy_setup
from hookline.fleet.policy.store import DocumentKind, read_data
from hookline.stderr import warn_user


@contextmanager
def about(path: str) -> Iterator[None]:
    """Has errors about a document begin with its file."""
    try:
        yield
    except PolicyError as error:
        raise UsageError(f"{path} {error}") from error


def read_document(path: str) -> SignedDocument:
    """The envelope in a file, with something usable in it; UsageError if there is none."""
    with about(path):
        data = read_data(Path(path))
        if data is None:
            raise PolicyError("does not exist; hookline fleet policy pack makes a bundle")
        envelope = read_signed(data)
        envelope.document  # noqa: B018 - decodes it: an unusable document must not be signed
        return envelope


def write_document(path: Path, envelope: SignedDocument) -> None:
    """Writes a document; it has no secrets, and a web server may have to read it."""
    try:
        write_atomically(path, envelope.to_bytes(), mode=0o644)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}") from error


def read_signed_document(path: str, keys: tuple[str, ...]) -> SignedDocument:
    """The envelope in a file; UsageError if none of these keys signed it."""
    envelope = read_document(path)
    with about(path):
        signer_of(envelope, keys)
    return envelope


async def put(envelope: SignedDocument, keys: tuple[str, ...], replicas: int = 1) -> tuple[str, ...]:
    """Publishes a document; returns its keys in the bucket."""
    journal = _Journal(server_here())
    journal.check(envelope)
    async with connected(server_here(), "policy") as client:
        published = await publish(client, envelope, keys, replicas=replicas)
    journal.add(envelope)
    return published


async def require_obeyed(key_file: str, teams: Collection[str]) -> None:
    """UsageError if machines are not known to obey this private key: by this machine's settings, or by the bucket."""
    own, known = public_key(Path(key_file)), set(_keys_here())
    if not known:
        async with connected(server_here(), "policy") as client:
            known = await signers(client, (*teams, ALL_TEAMS))
    if own in known:
        return
    if known:
        why = f"machines obey {', '.join(sorted(known))}, and {key_file} is {own}"
        raise UsageError(f"{why}; nothing was published: give a key that they obey, or --force")
    why = "neither hooksConfig.policy.publicKeys of the system's settings here nor the bucket names a key"
    raise UsageError(f"it is not known whether machines obey {own}: {why}; nothing was published: add it, or --force")


def published_before(kind: DocumentKind, teams: Collection[str]) -> int:
    """The highest version of a kind that this user has published for one of these teams; 0 for none."""
    journal = _Journal(server_here())
    return max((journal.version_of(kind, team) for team in teams), default=0)


def published_anywhere(kind: DocumentKind, teams: Collection[str]) -> int:
    """The same over all servers, for a file that may go to any machine."""
    return max(
        (known.get(f"{kind}.{team}", (0, ""))[0] for known in _published().values() for team in teams), default=0
    )


def _published() -> dict[str, dict[str, tuple[int, str]]]:
    """For each server: the highest version of each kind and team, and its digest."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(_journal_file().read_bytes(), type=dict[str, dict[str, tuple[int, str]]])
    return {}


def _journal_file() -> Path:
    return state_path("published.json")


class _Journal:
    """The highest versions that this user has published to a server, which may lose them."""

    def __init__(self, server: ServerAddress) -> None:
        self._server = ",".join(sorted(server.addresses))
        self._file = _journal_file()
        self._known = _published()
        self._own = self._known.setdefault(self._server, {})

    def version_of(self, kind: DocumentKind, team: str) -> int:
        return self._own.get(f"{kind}.{team}", (0, ""))[0]

    def check(self, envelope: SignedDocument) -> None:
        """UsageError for a version that machines have seen with other content, even if the bucket has lost it."""
        document = envelope.document
        for team in document.teams:
            version, digest = self._own.get(f"{DocumentKind.of(document)}.{team}", (0, ""))
            if version >= document.version and digest != envelope.digest:
                raise UsageError(
                    f"version {version} for {team} was published from here before, and machines would refuse"
                    f" {document.version}; give it a version from {version + 1} on"
                )

    def add(self, envelope: SignedDocument) -> None:
        document = envelope.document
        self._own |= {
            f"{DocumentKind.of(document)}.{team}": (document.version, envelope.digest) for team in document.teams
        }
        try:
            make_private_directory(self._file.parent)
            write_atomically(self._file, msgspec.json.encode(self._known))
        except OSError as error:
            warn_user(f"{self._file}, which remembers what was published, can't be written: {error.strerror}")


def own_keys(key_file: str) -> tuple[str, ...]:
    """This private key's public one, and those of this machine.

    Only documents that one of them signed may be signed again, so that no other text gets a signature.
    """
    return (public_key(Path(key_file)), *_keys_here())


def _keys_here() -> tuple[str, ...]:
    """The public keys that this machine obeys."""
    setup = policy_setup(system_layer())
    return () if setup is None else tuple(setup.place.keys)
