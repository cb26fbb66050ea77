"""The key `use`: packs of guards that come with hookline, as hooks of a layer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from hookline.errors import MissingPartError
from hookline.extensions import PACK_NAMES, load_part
from hookline.protocol.answers import kind_of
from hookline.protocol.constants import HookMode, HookType, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry, PackCallback, Unsupported
from hookline.protocol.text.strings import nearest
from hookline.settings.decode.fields import LayerProblems, Path
from hookline.settings.read.jsonc import show_path
from hookline.settings.read.merge import authority

_LISTS = ("allow", "deny", "ask")
_KEYS = ("pack", *_LISTS, "enabled", "mode")
# A pack waits for nothing; a command of any length takes it far less.
_TIMEOUT_MS = 10_000.0


class LoadedPack(Protocol):
    """A pack, as the settings see it."""

    @property
    def about(self) -> str:
        """What it guards."""

    @property
    def events(self) -> Sequence[HookEventName]:
        """The events that it answers."""

    def hook(self, options: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]]) -> Callable[..., Any]:
        """Return the function that answers an event; `earlier` are the packs that decide before it."""


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
        # A later pack does not repeat the reasons of these.
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
        if name not in PACK_NAMES:
            near = nearest(name, PACK_NAMES, cutoff=0.5)
            advice = f"did you mean {near}?" if near else f"there are {', '.join(PACK_NAMES)}"
            self._problems.error(path, f"names the pack {name!r}, which does not exist, so it does not run; {advice}")
        elif name in seen:
            self._problems.error(path, f"names {name} a second time in this file, which has no effect; join the two")
        else:
            seen.add(name)
            options = self._options(given, path)
            mode = self._mode(given, path)
            off = self._silenced_by or self._disabled.get(name) or self._switched_off(given, path)
            for entry in self._entries(name, options, path):
                yield replace(entry, mode=mode, disabled_by=off)
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
            self._problems.error(
                (*path, "mode"),
                f'is {mode!r}, which is not a mode; use "shadow" or "enforce"; until then the pack is enforced',
            )
            return HookMode.ENFORCE
        return HookMode(mode)

    def _switched_off(self, given: Mapping[str, Any], path: Path) -> str | None:
        enabled = given.get("enabled", True)
        if enabled not in (True, False):
            self._problems.warn((*path, "enabled"), f"is {kind_of(enabled)}, expected true or false; the pack runs")
        return f"{self._layer.origin}: {show_path((*path, 'enabled'))}" if enabled is False else None

    def _entries(self, name: str, options: Mapping[str, Any], path: Path) -> Iterator[HookEntry]:
        """A hook for each event of a pack; one that fails, and blocks, where this installation has no packs."""
        entry = HookEntry(
            event=HookEventName.BEFORE_TOOL,
            source=self._layer.source,
            origin=self._layer.origin,
            location=show_path(path),
            run=Unsupported(HookType.PACK),
            name=name,
            timeout_ms=_TIMEOUT_MS,
            # A call that a pack can't judge must not pass.
            on_error=OnError.BLOCK,
            rank=authority(self._layer),
            needs_trust=self._layer.is_guest,
            policy=self._layer.policy and self._layer.policy.mark,
        )
        try:
            pack: LoadedPack = load_part("hookline.packs", name)
        except MissingPartError as error:
            self._problems.error(path, f"names {name}, which can't run, so it blocks every tool call: {error}")
            yield replace(entry, refusal=str(error))
            return
        function = pack.hook(options, tuple(self._deciding))
        run = PackCallback(function=function, in_thread=False, name=name, options=options)
        for event in pack.events:
            yield replace(entry, event=event, description=pack.about, run=run)
