"""The packs there are. Light: settings are read with it before any pack is loaded."""

from typing import NamedTuple

from hookline.contract.events import HookEventName

PREFIX = "hookline:"


class Pack(NamedTuple):
    """One pack of guards."""

    name: str
    about: str
    events: tuple[HookEventName, ...]
    patterns: str
    """What a pattern in its options stands for."""

    @property
    def use(self) -> str:
        """Its name in settings."""
        return PREFIX + self.name


_BEFORE_TOOL = (HookEventName.BEFORE_TOOL,)
PACKS: dict[str, Pack] = {
    pack.use: pack
    for pack in (
        Pack(
            "shell",
            "commands that destroy, escape or leak",
            _BEFORE_TOOL,
            "a command, such as git push -f origin wip-*",
        ),
    )
}
