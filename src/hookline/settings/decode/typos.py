"""Top-level keys of settings that look like hookline's but have no effect."""

from collections.abc import Iterator

from hookline.protocol.events import HookEventName
from hookline.protocol.text.strings import nearest
from hookline.settings.read.files import Layer, Problem

_OURS = ("enableHooks", "hooks", "hooksConfig", "use")


def misplaced_keys(layer: Layer) -> Iterator[Problem]:
    """Yield the ignored keys that look like hookline's, each with a suggestion; other keys belong to other programs."""
    for key in map(str, layer.values):
        meant = nearest(key, _OURS, cutoff=0.8)
        if key in set(HookEventName):
            yield layer.problem((key,), f'is ignored here; put it inside "hooks": {{"{key}": …}}')
        elif key == "disableAllHooks":  # Claude Code's
            advice = 'write "enableHooks": false' if layer.values[key] else "remove it"
            yield layer.problem((key,), f"is ignored; {advice}")
        elif meant and key not in _OURS:
            yield layer.problem((key,), f"is ignored; did you mean {meant}?")
