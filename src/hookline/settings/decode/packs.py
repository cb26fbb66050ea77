"""The key `use`: packs of guards that come with hookline, as hooks of a layer."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from hookline.errors import MissingPartError
from hookline.extensions import PACK_NAMES, load_part
from hookline.protocol.answers import kind_of
from hookline.protocol.constants import HookMode, HookType, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry, PackCallback, Unsupported
from hookline.protocol.text.strings import nearest
from hookline.settings.decode.fields import LayerProblems, Path, decode_fields
from hookline.settings.decode.hooks import layer_entry
from hookline.settings.decode.schema import PackSettings
from hookline.settings.read.jsonc import show_path

_LISTS = ("allow", "deny", "ask")
# A pack waits for nothing; a command of any length takes it far less.
_TIMEOUT_MS = 10_000.0


class PackReader:
    """Reads the packs that one layer uses, and reports what it can't use."""

    def __init__(self, problems: LayerProblems, disabled: Mapping[str, str], silenced_by: str | None = None) -> None:
        self._layer = problems.layer
        self._problems = problems
        self._disabled = disabled
        self._silenced_by = silenced_by
        # A later pack does not repeat the reasons of these.
        self._deciding: list[tuple[str, Mapping[str, Any]]] = []

    def entries(self) -> Iterator[HookEntry]:
        """A hook for each event of each pack."""
        raw = self._layer.values.get("use")
        if raw is None:
            return
        if not isinstance(raw, list | tuple):
            expected = 'an array of packs, such as ["hookline:shell"]'
            self._problems.error(("use",), f"is {kind_of(raw)}, expected {expected}; none of them runs")
            return
        seen: set[str] = set()
        for index, each in enumerate(raw):
            yield from self._pack(each, ("use", index), seen)

    def _pack(self, raw: Any, path: Path, seen: set[str]) -> Iterator[HookEntry]:
        given = {"pack": raw} if isinstance(raw, str) else raw
        if not isinstance(given, Mapping) or not isinstance(given.get("pack"), str):
            expected = 'a name such as "hookline:shell", or an object with pack'
            self._problems.error(path, f"is {kind_of(raw)}, expected {expected}; it does not run")
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
            pack = decode_fields(given, PackSettings, path, self._problems)
            options = {key: given for key in _LISTS if (given := getattr(pack, key))}
            switched_off = None if pack.enabled else f"{self._layer.origin}: {show_path((*path, 'enabled'))}"
            off = self._silenced_by or self._disabled.get(name) or switched_off
            for entry in self._entries(name, options, path):
                yield replace(entry, mode=pack.mode or HookMode.ENFORCE, disabled_by=off)
            if off is None and pack.mode is not HookMode.SHADOW:
                self._deciding.append((name, options))

    def _entries(self, name: str, options: Mapping[str, Any], path: Path) -> Iterator[HookEntry]:
        """A hook for each event of a pack; one that fails, and blocks, where this installation has no packs."""
        entry = replace(
            layer_entry(self._layer, HookEventName.BEFORE_TOOL, path),
            run=Unsupported(HookType.PACK),
            name=name,
            timeout_ms=_TIMEOUT_MS,
            # A call that a pack can't judge must not pass.
            on_error=OnError.BLOCK,
        )
        try:
            pack = load_part("hookline.packs", name)
        except MissingPartError as error:
            self._problems.error(path, f"names {name}, which can't run, so it blocks every tool call: {error}")
            yield replace(entry, refusal=str(error))
            return
        function = pack.hook(options, tuple(self._deciding))
        run = PackCallback(function=function, in_thread=False, name=name, options=options)
        for event in pack.events:
            yield replace(entry, event=event, description=pack.about, run=run)
