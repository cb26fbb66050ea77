"""Settings → validated hooks, ordered by where they come from."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hookline.contract.events import HookEventName
from hookline.contract.hooks import SOURCE_PRIORITY, HookEntry
from hookline.engine._matcher import is_literal, matches_everything
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.errors import HookRegistryNotInitializedError
from hookline.log import HookLogger
from hookline.settings.decode import decode_hooks
from hookline.settings.load import Layer, Problem


class HookRegistry:
    """All configured hooks, by event."""

    def __init__(self, layers: Callable[[], Sequence[Layer]], log: HookLogger) -> None:
        self._layers = layers
        self._log = log
        self._by_event: Mapping[HookEventName, tuple[HookEntry, ...]] | None = None
        self._problems: tuple[Problem, ...] = ()
        self._switched: dict[str, bool] = {}
        # Loops in other threads may change the hooks at the same time.
        self._lock = threading.RLock()

    def initialize(self) -> None:
        """Reads and validates the hooks of all layers; whatever is wrong with them is logged."""
        with self._lock:
            decoded = decode_hooks(self._layers())
            self._problems = decoded.problems
            for problem in decoded.problems:
                say = self._log.error if problem.is_error else self._log.warn
                say(str(problem), kind="settings", origin=problem.origin, location=problem.path)
            self._warn_of_literal_matchers(decoded.entries)
            self._arrange(decoded.entries)

    def get_hooks_for_event(self, event: HookEventName) -> tuple[HookEntry, ...]:
        """The hooks of one event, disabled ones included, project first and extensions last.

        It is the very same tuple as long as nothing has changed.
        """
        if self._by_event is None:
            raise HookRegistryNotInitializedError
        return self._by_event[event]

    def get_all_hooks(self) -> tuple[HookEntry, ...]:
        """The hooks of all events."""
        return tuple(hook for event in HookEventName for hook in self.get_hooks_for_event(event))

    def get_problems(self) -> tuple[Problem, ...]:
        """What was wrong with the settings."""
        return self._problems

    def set_hook_enabled(self, name: str, *, enabled: bool) -> bool:
        """Switches every hook of this name on or off until the end of the program; False when there is none."""
        with self._lock:
            hooks = self.get_all_hooks()
            if all(hook.label != name for hook in hooks):
                return False
            self._switched[name] = enabled
            self._arrange(hooks)
            return True

    def _arrange(self, hooks: Sequence[HookEntry]) -> None:
        ordered = sorted(map(self._as_switched, hooks), key=lambda hook: SOURCE_PRIORITY[hook.source])
        self._by_event = {event: tuple(hook for hook in ordered if hook.event is event) for event in HookEventName}

    def _as_switched(self, hook: HookEntry) -> HookEntry:
        enabled = self._switched.get(hook.label)
        return hook if enabled is None else replace(hook, disabled_by=None if enabled else "set_hook_enabled")

    def _warn_of_literal_matchers(self, hooks: Sequence[HookEntry]) -> None:
        for hook in hooks:
            if EVENT_TABLE[hook.event].matching is not Matching.REGEX or matches_everything(hook.matcher):
                continue
            if hook.matcher and is_literal(hook.matcher):
                self._log.warn(
                    f"{hook.origin}: {hook.location}: matcher {hook.matcher!r} is not a regular expression, so it"
                    " matches only a tool of exactly that name; for a prefix write ^write_, for a suffix _file$",
                    kind="settings",
                    origin=hook.origin,
                    location=hook.location,
                )
