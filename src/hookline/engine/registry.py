"""The hooks in force, by event, ordered by where they come from."""

import threading
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.matcher import foreign_matcher_fault, is_literal, matches_everything
from hookline.errors import HookRegistryNotInitializedError
from hookline.log.write.logger import HookLogger
from hookline.protocol.constants import OWN_DIALECT, ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.records import LogLevel, SettingsRecord
from hookline.settings.decode.settings import Settings


class HookRegistry:
    """All configured hooks, by event."""

    def __init__(self, read: Callable[[], Settings], log: HookLogger) -> None:
        self._read = read
        self._log = log
        self.by_event: dict[HookEventName, tuple[HookEntry, ...]] = {}
        """The hooks of each event; changed in one step, and empty before the first `initialize()`."""
        self._program: list[HookEntry] = []
        self._switched: dict[str, bool] = {}
        # Loops in other threads may change the hooks at the same time.
        self._lock = threading.RLock()

    def initialize(self) -> None:
        """Takes over the hooks of the settings as they are now, and logs what is wrong with them."""
        with self._lock:
            settings = self._read()
            for problem in settings.problems:
                self._warn(str(problem), problem.origin, problem.path)
            # `enableHooks` is about the hooks of settings: what the program registers itself runs in any case.
            hooks = (*(settings.hooks if settings.enabled else ()), *self._program)
            self._warn_of_literal_matchers(hooks)
            self._arrange(hooks)

    def add(self, hook: HookEntry) -> None:
        """Adds a hook of the program, after all others of its event."""
        with self._lock:
            self._program.append(hook)
            if self.by_event:
                self._warn_of_literal_matchers((hook,))
                self._arrange((*self.get_all_hooks(), hook))

    def get_hooks_for_event(self, event: HookEventName) -> tuple[HookEntry, ...]:
        """The hooks of one event, disabled ones included, project first and extensions last.

        It is the very same tuple as long as nothing has changed.
        """
        if not self.by_event:
            raise HookRegistryNotInitializedError
        return self.by_event[event]

    def get_all_hooks(self) -> tuple[HookEntry, ...]:
        """The hooks of all events."""
        return tuple(hook for event in HookEventName for hook in self.get_hooks_for_event(event))

    def set_hook_enabled(self, name: str, *, enabled: bool) -> bool:
        """Switches every hook of this name on or off until the end of the program; False when there is none.

        Hooks of the company's policy are not switched.
        """
        with self._lock:
            hooks = self.get_all_hooks()
            if all(hook.label != name or hook.policy is not None for hook in hooks):
                return False
            self._switched[name] = enabled
            self._arrange(hooks)
            return True

    def _arrange(self, hooks: Sequence[HookEntry]) -> None:
        by_event: dict[HookEventName, list[HookEntry]] = {event: [] for event in HookEventName}
        for hook in hooks:
            by_event[hook.event].append(self._as_switched(hook))
        self.by_event.update({event: tuple(own) for event, own in by_event.items()})

    def _as_switched(self, hook: HookEntry) -> HookEntry:
        if hook.source is ConfigSource.PROGRAM:
            hook = replace(hook, disabled_by=self._read().disabled.get(hook.label))
        enabled = self._switched.get(hook.label)
        if hook.policy is not None:  # whatever is typed into an agent: a policy's hooks are the company's to switch
            return hook
        return hook if enabled is None else replace(hook, disabled_by=None if enabled else "set_hook_enabled")

    def _warn_of_literal_matchers(self, hooks: Sequence[HookEntry]) -> None:
        for hook in hooks:
            # The pattern of an untrusted hook is not compiled.
            if not hook.needs_trust and (fault := foreign_matcher_fault(hook)):
                self._warn(f"{hook.origin}: {hook.location}: matcher {fault}", hook.origin, hook.location)
            if (
                hook.needs_trust
                or hook.dialect != OWN_DIALECT
                or EVENT_TABLE[hook.event].matching is not Matching.REGEX
            ):
                continue
            if hook.matcher and not matches_everything(hook.matcher) and is_literal(hook.matcher):
                text = (
                    f"{hook.origin}: {hook.location}: matcher {hook.matcher!r} is not a regular expression, so it"
                    " matches only a tool of exactly that name; for a prefix write ^write_, for a suffix _file$"
                )
                self._warn(text, hook.origin, hook.location)

    def _warn(self, message: str, origin: str, location: str) -> None:
        self._log.write(SettingsRecord(level=LogLevel.WARN, message=message, origin=origin, location=location))
