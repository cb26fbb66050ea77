"""Finds what lower layers use without importing it: packs, a company's layers of settings, hooks on other machines.

Parts that come with hookline are rows of a table; hooks of other packages are entry points of their distributions.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hookline.errors import HooklineError, MissingPartError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# By group and name, as `module:attribute`.
_OWN: Mapping[str, Mapping[str, str]] = {
    "hookline.packs": {
        "hookline:shell": "hookline.guards.catalog:SHELL",
        "hookline:secrets": "hookline.guards.catalog:SECRETS",
        "hookline:paths": "hookline.guards.catalog:PATHS",
        "hookline:git": "hookline.guards.catalog:GIT",
        "hookline:network": "hookline.guards.catalog:NETWORK",
    },
    "hookline.layers": {"policy": "hookline.fleet.policy.layer:PolicyProvider"},
    "hookline.runners": {"remote": "hookline.fleet.remote.client:remote_of"},
}
# The packages that may be missing, each with the extra that brings it.
_PARTS: Mapping[str, str | None] = {"hookline.fleet": "fleet", "hookline.guards": None}
PACK_PREFIX = "hookline:"
PACK_NAMES = tuple(_OWN["hookline.packs"])
"""The packs that come with hookline, as settings name them."""


def load_part(group: str, name: str) -> Any:
    """Import one of hookline's own parts; raises MissingPartError where this installation does not have it."""
    module, _, attribute = _OWN[group][name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise missing_part(error) or error from error


def missing_part(error: ModuleNotFoundError) -> MissingPartError | None:
    """Return the error for users if the module that was not found belongs to one of these parts, else None."""
    part = ".".join((error.name or "").split(".")[:2])
    return MissingPartError(part, _PARTS[part]) if part in _PARTS else None


def entry_point(group: str, reference: str) -> "EntryPoint":
    """The entry point that an installed package offers as `package:name`; nothing of the package is imported."""
    # Few programs use hooks of other packages.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - takes a millisecond to load

    package, _, name = reference.partition(":")
    try:
        offered = {point.name: point for point in distribution(package).entry_points.select(group=group)}
    except PackageNotFoundError:
        raise HooklineError(f"could not be loaded: the package {package} is not installed here") from None
    if name not in offered:
        others = f"it has {', '.join(sorted(offered))}" if offered else f"it has no entry points of {group}"
        raise HooklineError(f"could not be loaded: the package {package} has no hook {name}; {others}")
    return offered[name]
