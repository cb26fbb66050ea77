"""Keys at the top of settings that look like ours and are not: nothing reads them."""

import difflib
from collections.abc import Iterator

from hookline.contract.events import HookEventName
from hookline.settings.read import Layer, Problem

_OURS = ("enableHooks", "hooks", "hooksConfig", "use")


def misplaced_keys(layer: Layer) -> Iterator[Problem]:
    """What is ignored, and what was probably meant; all other keys belong to other programs."""
    for key in map(str, layer.values):
        meant = difflib.get_close_matches(key, _OURS, n=1, cutoff=0.8)
        if key in set(HookEventName):
            yield layer.problem((key,), f'is ignored here; put it inside "hooks": {{"{key}": …}}')
        elif key == "disableAllHooks":  # Claude Code's
            advice = 'write "enableHooks": false' if layer.values[key] else "remove it"
            yield layer.problem((key,), f"is ignored; {advice}")
        elif meant and key not in _OURS:
            yield layer.problem((key,), f"is ignored; did you mean {meant[0]}?")
