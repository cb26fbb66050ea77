"""The packs there are. Light: settings are read with it before any rule is loaded."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.extensions import PACK_PREFIX
from hookline.protocol.events import HookEventName

if TYPE_CHECKING:
    from hookline.hook import Answer, Event

PREFIX = PACK_PREFIX


class Pack(NamedTuple):
    """One pack of guards."""

    name: str
    about: str
    events: tuple[HookEventName, ...]
    patterns: str
    """The meaning of a pattern in its options."""

    @property
    def use(self) -> str:
        """Its name in settings."""
        return PACK_PREFIX + self.name

    def hook(self, options: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> "PackHook":
        """Return the function of a hook that settings configure with `use`."""
        return PackHook(self.use, options, earlier)


class PackHook:
    """A pack as a hook: called with an event, it answers. The rules are loaded with the first event."""

    __slots__ = ("earlier", "options", "use")

    def __init__(
        self, use: str, options: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]] = ()
    ) -> None:
        self.use = use
        self.options = options
        self.earlier = earlier
        """The packs of the same file that decide before it, with their options: it does not repeat their reasons."""

    def __call__(self, event: "Event") -> "Answer | None":
        """Return the pack's answer."""
        from hookline.guards.judges import judge  # noqa: PLC0415 - reading settings must not load the rules

        return judge(self.use, event, self.options, self.earlier)


_BEFORE_TOOL = (HookEventName.BEFORE_TOOL,)
_WITH_ANSWERS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL, HookEventName.AFTER_MODEL)

SHELL = Pack("shell", "commands that destroy, escape or leak", _BEFORE_TOOL, "a command: git push -f origin wip-*")
SECRETS = Pack(
    "secrets", "files with secrets, and keys in what is written or said", _WITH_ANSWERS, "a path: fixtures/*"
)
PATHS = Pack("paths", "files outside the project, and files that decide what runs", _BEFORE_TOOL, "a path: /srv/data/*")
GIT = Pack("git", "branches, history, hooks and configuration of a repository", _BEFORE_TOOL, "a command: git push *")
NETWORK = Pack(
    "network", "hosts, uploads and open ports", _BEFORE_TOOL, "a host: *.example.com; then no other is allowed"
)
PACKS: dict[str, Pack] = {pack.use: pack for pack in (SHELL, SECRETS, PATHS, GIT, NETWORK)}
