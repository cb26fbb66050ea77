"""The key `use`: packs of guards that come with hookline, as hooks of a layer."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from hookline.contract.answers import kind_of
from hookline.contract.hooks import Callback, HookEntry
from hookline.contract.vocabulary import HookMode, HookType, OnError
from hookline.packs.catalog import PACKS
from hookline.settings._fields import LayerProblems, Path
from hookline.settings.jsonc import show_path
from hookline.settings.merge import authority

_LISTS = ("allow", "deny", "ask")
_KEYS = ("pack", *_LISTS, "enabled", "mode")
# A pack waits for nothing; a command of any length takes it far less.
_TIMEOUT_MS = 10_000.0

_PACKS_EXPECTED = 'expected an array of packs, such as ["hookline:shell"]'


class PackReader:
    """Reads the packs that one layer uses, and reports what it can't use."""

    def __init__(self, problems: LayerProblems, disabled: Mapping[str, str], silenced_by: str | None = None) -> None:
        self._layer = problems.layer
        self._problems = problems
        self._disabled = disabled
        self._silenced_by = silenced_by

    def entries(self) -> Iterator[HookEntry]:
        """A hook for each event of each pack."""
        raw = self._layer.values.get("use")
        if raw is None:
            return
        if not isinstance(raw, list | tuple):
            self._problems.error(("use",), f"is {kind_of(raw)}, {_PACKS_EXPECTED}; none of them runs")
            return
        # Those that decide are kept with their options: a later pack does not repeat their reasons.
        self._deciding: list[tuple[str, Mapping[str, Any]]] = []
        seen: set[str] = set()
        for index, each in enumerate(raw):
            yield from self._pack(each, ("use", index), seen)

    def _pack(self, raw: Any, path: Path, seen: set[str]) -> Iterator[HookEntry]:
        given = {"pack": raw} if isinstance(raw, str) else raw
        if not isinstance(given, Mapping) or not isinstance(given.get("pack"), str):
            message = (
                f'is {kind_of(raw)}, expected a name such as "hookline:shell", or an object with pack; it does not run'
            )
            self._problems.error(path, message)
            return
        name = given["pack"]
        if name not in PACKS:
            from difflib import get_close_matches  # noqa: PLC0415 - only where something is wrong

            near = get_close_matches(name, PACKS, 1, 0.5)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(PACKS)}"
            self._problems.error(path, f"names the pack {name!r}, which does not exist, so it does not run; {advice}")
        elif name in seen:
            self._problems.error(path, f"names {name} a second time in this file, which has no effect; join the two")
        else:
            seen.add(name)
            options = self._options(given, path)
            mode = self._mode(given, path)
            off = self._silenced_by or self._disabled.get(name) or self._switched_off(given, path)
            for event in PACKS[name].events:
                yield replace(self._entry(name, event, options, off, path), mode=mode)
            if off is None and mode is HookMode.ENFORCE:
                self._deciding.append((name, options))

    def _options(self, given: Mapping[str, Any], path: Path) -> dict[str, list[str]]:
        for key in given:
            if key not in _KEYS:
                self._problems.warn((*path, key), f"is not an option of a pack; known are {', '.join(_KEYS)}")
        options = {}
        for name in _LISTS:
            value = given.get(name, [])
            if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
                options[name] = list(value)
            else:
                self._problems.error((*path, name), f"is {kind_of(value)}, expected an array of texts; it is not used")
        return {name: value for name, value in options.items() if value}

    def _mode(self, given: Mapping[str, Any], path: Path) -> HookMode:
        mode = given.get("mode", HookMode.ENFORCE)
        if mode not in set(HookMode):
            self._problems.error((*path, "mode"), f"is not one of {', '.join(HookMode)}; the pack is enforced")
            return HookMode.ENFORCE
        return HookMode(mode)

    def _switched_off(self, given: Mapping[str, Any], path: Path) -> str | None:
        enabled = given.get("enabled", True)
        if enabled not in (True, False):
            self._problems.warn((*path, "enabled"), f"is {kind_of(enabled)}, expected true or false; the pack runs")
        return f"{self._layer.origin}: {show_path((*path, 'enabled'))}" if enabled is False else None

    def _entry(self, name: str, event: Any, options: Mapping[str, Any], off: str | None, path: Path) -> HookEntry:
        from hookline.packs.hook import PackHook  # noqa: PLC0415 - most settings have no packs

        return HookEntry(
            event=event,
            source=self._layer.source,
            origin=self._layer.origin,
            location=show_path(path),
            type=HookType.PACK,
            name=name,
            description=PACKS[name].about,
            pack=options,
            call=Callback(function=PackHook(name, options, tuple(self._deciding)), in_thread=False),
            timeout_ms=_TIMEOUT_MS,
            disabled_by=off,
            # What a pack can't judge must not pass.
            on_error=OnError.BLOCK,
            rank=authority(self._layer),
            needs_trust=self._layer.is_guest,
            policy=self._layer.policy and self._layer.policy.mark,
        )
