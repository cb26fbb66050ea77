"""Which hooks may have an interpreter parked; what that takes is loaded when a hook runs for the second time."""

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hookline.child.environment import is_for_bash
from hookline.child.features import FEATURES
from hookline.contract.hooks import HookEntry

if TYPE_CHECKING:
    from hookline.child.parked.parking import Parking

# A program may make up commands without end.
_MOST_SEEN = 1000


class Warmth:
    """The parked interpreters of one engine, if it has any."""

    def __init__(self, most: int) -> None:
        """Park at most so many; 0 means that every hook runs cold."""
        self._most = most if FEATURES.warm else 0
        self.cold: set[str] = set()
        """Commands that are known to run no Python script; one that becomes such a script later stays cold."""
        self._seen: set[str] = set()
        self._parking: Parking | None = None
        self._lock = threading.Lock()

    def parking_for(self, hook: HookEntry) -> "Parking | None":
        """Where to look for an interpreter that waits for this hook; None for a hook that must be started."""
        if not self._most or not hook.warm or hook.limits is not None or hook.command is None:
            return None
        if hook.command not in self._seen:
            if len(self._seen) < _MOST_SEEN:
                self._seen.add(hook.command)
            return None
        return self._parking or self._open()

    def wait_until_parked(self, timeout_s: float) -> bool:
        """Wait until the interpreters of all scripts that are to have one have started; return whether they have."""
        parking = self._parking
        return parking is None or parking.wait_until_idle(timeout_s)

    def why_cold(self, hook: HookEntry, env: Mapping[str, str], cwd: str) -> str | None:
        """Why a Python script is not warm although it ran often enough; None for other hooks."""
        from hookline.child.command import direct_invocation  # noqa: PLC0415 - only where somebody measures hooks
        from hookline.child.parked.recipe import recipe_of, why_no_recipe  # noqa: PLC0415

        command = hook.command or ""
        usual = {name: value for name, value in env.items() if not is_for_bash(name)}
        try:
            invocation = direct_invocation(command, cwd, usual)
        except (OSError, ValueError):
            return None  # starting it has reported that
        has_recipe = invocation is not None and recipe_of(invocation, cwd) is not None
        other_form = None if has_recipe else why_no_recipe(command, invocation, cwd)
        if not has_recipe and other_form is None:
            return None
        parking = self._parking
        return (
            self._why_off(hook)
            or other_form
            or _why_confined(hook)
            or cold_variable(env)
            or (parking and invocation and parking.why_not_parked(invocation, cwd))
            or "its interpreter could not be started before the event"
        )

    def _why_off(self, hook: HookEntry) -> str | None:
        if FEATURES.why_cold is not None:
            return FEATURES.why_cold
        if not self._most:
            return "hooksConfig.warm switches it off"
        return None if hook.warm else 'it has "warm": false'

    def close(self) -> None:
        """End all of them; hooks that run later run cold."""
        with self._lock:
            self._most = 0
            parking, self._parking = self._parking, None
        if parking is not None:
            parking.close()

    def _open(self) -> "Parking | None":
        from hookline.child.parked.parking import Parking  # noqa: PLC0415 - most programs fire each hook once

        with self._lock:  # loops in other threads may be here
            if self._parking is None and self._most:
                self._parking = Parking(self._most, cold=self.cold)
            return self._parking


def _why_confined(hook: HookEntry) -> str | None:
    given = {} if hook.limits is None else hook.limits.to_dict()
    names = [name for key, name in (("limits", "limits"), ("network", '"network": false')) if key in given]
    start = "needs a start of its own" if names == ['"network": false'] else "need a start of their own"
    return f"it has {' and '.join(names)}, which {start}" if names else None


def cold_variable(env: Mapping[str, str]) -> str | None:
    """Which variable keeps every Python script cold, and what to do; None without one."""
    from hookline.child.parked.surroundings import why_cold  # noqa: PLC0415 - only where somebody asks

    if name := next(filter(is_for_bash, env), None):
        return f"{name} is set, so bash has to start each command; unset it"
    return why_cold(os.fsencode(f"{name}={value}") for name, value in env.items())
