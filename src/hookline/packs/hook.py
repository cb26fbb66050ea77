"""A pack as a hook: called with an event, it answers. The rules are loaded with the first event."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline.hook import Answer, Event


class PackHook:
    """The function of a hook that settings configure with `use`."""

    __slots__ = ("earlier", "options", "use")

    def __init__(
        self, use: str, options: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]] = ()
    ) -> None:
        self.use = use
        self.options = options
        self.earlier = earlier
        """The packs of the same file that decide before it, with their options: it does not repeat their reasons."""

    def __call__(self, event: "Event") -> "Answer | None":
        """What the pack answers."""
        # Loaded on use: most programs have no packs.
        from hookline.packs.judges import judge  # noqa: PLC0415

        return judge(self.use, event, self.options, self.earlier)
