"""Other agents' settings: hooks there that are not read, and what would have them read."""

import json
from collections.abc import Iterator
from typing import Any

from hookline.client.config import Config
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import one_line, plural, show_place
from hookline.settings.read.merge import named_dialects


def in_dialect(dialect: str) -> str:
    """The end of a place where hooks have another dialect than ours."""
    return "" if dialect == OWN_DIALECT else f" ({dialect})"


def unread_report(config: Config) -> list[dict[str, Any]]:
    """The agents that have hooks here which are not read, as JSON, each with the remedy."""
    named = named_dialects(config.get_layers())
    enable = {} if config.get_enable_hooks() else {"enableHooks": True}
    return [
        {
            "dialect": unread.dialect,
            "agent": unread.agent,
            "files": list(unread.files),
            "hooks": unread.hooks,
            "settings": str(config.get_user_file()),
            "add": json.dumps({**enable, "hooksConfig": {"dialects": [*named, unread.dialect]}})[1:-1],
            "import": f"hookline init --from {unread.dialect}{'' if unread.is_in_project else ' --scope user'}",
        }
        for unread in config.get_unread()
    ]


def unread_lines(report: list[dict[str, Any]]) -> Iterator[str]:
    """A sentence for each of them."""
    for unread in report:
        files = " and ".join(show_place(file) for file in unread["files"])
        is_not = "is" if unread["hooks"] == 1 else "are"
        yield one_line(
            f"{plural(unread['hooks'], 'hook')} of {unread['agent']} in {files} {is_not} not read; "
            f"to run {'it' if unread['hooks'] == 1 else 'them'} here, put {unread['add']} "
            f"into {show_place(unread['settings'])}, or run: {unread['import']}"
        )


def bridge_lines(bridges: tuple[HookEntry, ...]) -> Iterator[str]:
    """Where other agents' files hold our own bridge, which is left out."""
    for file in dict.fromkeys(hook.origin for hook in bridges):
        count = plural(sum(hook.origin == file for hook in bridges), "hook")
        yield one_line(f"{count} in {show_place(file)} left out: hookline's own bridge, which asks the hooks above")
