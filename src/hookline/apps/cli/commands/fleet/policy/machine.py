"""The policy and the server in the settings of this machine."""

from collections.abc import Sequence

from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.fleet.names import NAME_A_SERVER, ServerAddress, server_of
from hookline.fleet.policy.documents import is_public_key
from hookline.fleet.policy.layer import PolicySetup, policy_setup
from hookline.protocol.constants import ConfigSource
from hookline.settings.read.files import Layer, read_layer
from hookline.settings.read.paths import default_paths


def system_layer() -> Layer:
    """The system's settings; only they name the policy."""
    layer = read_layer(default_paths(".").system.absolute(), ConfigSource.SYSTEM)
    if layer.problems:
        raise UsageError(str(layer.problems[0]))
    return layer


def setup_here() -> PolicySetup:
    """Return the policy in this machine's settings; UsageError if there is none."""
    layer = system_layer()
    setup = policy_setup(layer)
    if setup is None:
        snippet = '{"hooksConfig": {"policy": {"publicKeys": ["ed25519:…"]}}}'
        raise UsageError(f"this machine has no policy; to give it one, write {snippet} into {layer.origin}")
    if setup.fault is not None:
        raise UsageError(setup.fault)
    return setup


def keys_given(given: Sequence[str] | None) -> tuple[str, ...]:
    """The public keys that were named, or those of this machine."""
    if not given and policy_setup(system_layer()) is None:
        raise UsageError("this machine's settings name no key; say whose signature counts: --public-key ed25519:…")
    if not given:
        return tuple(setup_here().place.keys)
    for key in given:
        if not is_public_key(key):
            raise UsageError(f"{key} is not a public key; it looks like ed25519:… and 44 more characters")
    return tuple(given)


def server_here() -> ServerAddress:
    """The server that the settings name; UsageError if they name none."""
    fleet = Config(".", quiet=True).get_settings().options.fleet
    if fleet is None or not fleet.servers:
        raise UsageError(f"the settings name no server; {NAME_A_SERVER}, or use files: --help shows how")
    return server_of(fleet)
