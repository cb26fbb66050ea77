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
_WITH_ANSWERS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL, HookEventName.AFTER_MODEL)
PACKS: dict[str, Pack] = {
    pack.use: pack
    for pack in (
        Pack("shell", "commands that destroy, escape or leak", _BEFORE_TOOL, "a command: git push -f origin wip-*"),
        Pack("secrets", "files with secrets, and keys in what is written or said", _WITH_ANSWERS, "a path: fixtures/*"),
        Pack(
            "paths", "files outside the project, and files that decide what runs", _BEFORE_TOOL, "a path: /srv/data/*"
        ),
        Pack(
            "git", "branches, history, hooks and configuration of a repository", _BEFORE_TOOL, "a command: git push *"
        ),
        Pack(
            "network", "hosts, uploads and open ports", _BEFORE_TOOL, "a host: *.example.com; then no other is allowed"
        ),
    )
}
