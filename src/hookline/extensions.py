"""Finds what lower layers use without importing it: packs, a company's layers of settings, hooks on other machines.

Parts that come with hookline are rows of a table; hooks of other packages are entry points of their distributions.

`lazy_module` is for what is slow to load and seldom used, and for optional packages. It works as `lazy import` of
Python 3.15 does, and belongs at the top of a module, in place of an import in each function. Type checkers read the
usual import:

    if TYPE_CHECKING:
        import difflib
    else:
        difflib = lazy_module("difflib")
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hookline.errors import HooklineError, MissingExtraError, MissingPartError


class _LazyModule:
    """Stands in for a module. Every attribute is the module's own, looked up whenever it is used."""

    __slots__ = ("_distribution", "_extra", "_name")

    def __init__(self, name: str, extra: str | None, distribution: str | None) -> None:
        self._name = name
        self._extra = extra
        self._distribution = distribution

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._load(), attribute)

    def _load(self) -> object:
        try:
            return import_module(self._name)
        except ModuleNotFoundError as error:
            package = self._name.partition(".")[0]
            if self._extra is None or (error.name or "").partition(".")[0] != package:
                raise
            raise MissingExtraError(self._distribution or package, self._extra) from error


def lazy_module(name: str, *, extra: str | None = None, distribution: str | None = None) -> Any:
    """Return a stand-in for a module.

    With `extra`, its first use raises MissingExtraError if its package is missing; `distribution` is the name that pip
    knows the package by, where that is another one.
    """
    return _LazyModule(name, extra, distribution)


@contextmanager
def needing(package: str, extra: str) -> Iterator[None]:
    """Wrap the imports of an optional package: MissingExtraError, with the extra to install, if it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(package, extra) from error


if TYPE_CHECKING:
    from importlib import metadata
    from importlib.metadata import EntryPoint
else:
    metadata = lazy_module("importlib.metadata")  # many milliseconds, and few programs use hooks of other packages

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
    package, _, name = reference.partition(":")
    try:
        offered = {point.name: point for point in metadata.distribution(package).entry_points.select(group=group)}
    except metadata.PackageNotFoundError:
        raise HooklineError(f"could not be loaded: the package {package} is not installed here") from None
    if name not in offered:
        others = f"it has {', '.join(sorted(offered))}" if offered else f"it has no entry points of {group}"
        raise HooklineError(f"could not be loaded: the package {package} has no hook {name}; {others}")
    return offered[name]
