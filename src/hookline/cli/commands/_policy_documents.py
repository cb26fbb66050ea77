"""Documents of a policy in files and in the company's bucket."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookline.child.nats import connected
from hookline.cli.commands._policy_machine import server_here, system_layer
from hookline.errors import UsageError
from hookline.files import write_atomically
from hookline.settings.policy.documents import PolicyError, Signed, read_signed
from hookline.settings.policy.keys import public_key, signer_of
from hookline.settings.policy.layer import policy_setup
from hookline.settings.policy.place import read_data


@contextmanager
def about(path: str) -> Iterator[None]:
    """Has errors about a document begin with its file."""
    try:
        yield
    except PolicyError as error:
        raise UsageError(f"{path} {error}") from error


def read_document(path: str) -> Signed:
    """The envelope in a file, with something usable in it; UsageError if there is none."""
    with about(path):
        data = read_data(Path(path))
        if data is None:
            raise PolicyError("does not exist; hookline policy pack makes a bundle")
        envelope = read_signed(data)
        envelope.document  # noqa: B018 - so that nobody signs what no machine could use
        return envelope


def write_document(path: Path, envelope: Signed) -> None:
    """Writes a document; it has no secrets, and a web server may have to read it."""
    try:
        write_atomically(path, envelope.to_bytes(), mode=0o644)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}") from error


def read_signed_document(path: str, keys: tuple[str, ...]) -> Signed:
    """The envelope in a file; UsageError if none of these keys signed it."""
    envelope = read_document(path)
    with about(path):
        signer_of(envelope, keys)
    return envelope


async def put(envelope: Signed, keys: tuple[str, ...], replicas: int = 1) -> tuple[str, ...]:
    """Publishes a document; returns its keys in the bucket."""
    from hookline.fleet.policy.bucket import publish  # noqa: PLC0415 - needs the extra

    async with connected(server_here(), "policy") as client:
        return await publish(client, envelope, keys, replicas=replicas)


def own_keys(key_file: str) -> tuple[str, ...]:
    """This private key's public one, and those of this machine.

    Only documents that one of them signed may be signed again: nobody else's words get a signature that way.
    """
    setup = policy_setup(system_layer())
    machine = () if setup is None else tuple(setup.place.keys)
    return (public_key(Path(key_file)), *machine)
