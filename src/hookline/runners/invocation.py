"""One hook and its input."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.dialects.table import Dialect, DialectEvent
from hookline.protocol.hook_entry import HookEntry


class DialectInput(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the format of another agent; made once for all its hooks."""

    dialect: Dialect
    event: DialectEvent
    stdin: bytes
    env: Mapping[str, str]
    """The whole environment of its hooks."""

    def why_not(self, hook: HookEntry) -> str | None:
        """Why the hook's own agent would not run it for this event, or None."""
        if not self.dialect.wants(self.event):
            return f"{self.dialect.agent} has another event than {self.event.theirs} for this"
        if hook.condition is not None and not self.dialect.meets(self.event, hook.condition):
            return f"its rule {hook.condition!r} does not match"
        return None


class HookInvocation(msgspec.Struct, frozen=True, kw_only=True):
    """One hook and its input."""

    hook: HookEntry
    hook_input: Mapping[str, Any]
    """The event as hookline's own hooks get it."""
    stdin: bytes
    """The text that the hook reads."""
    env: Mapping[str, str]
    dialect_input: DialectInput | None = None
    """The event in the dialect of another agent; None for a hook in hookline's own."""
    fault: str | None = None
    """The reason for which it can't be run."""
    is_own_fault: bool = False
    """True if hookline itself failed to prepare it."""
