"""Requests of a model API ↔ hook form: what the APIs have in common."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.errors import FormatError
from hookline.formats.conversation import ContentFormat, read_messages_of, rewrite_contents
from hookline.formats.hook_format import GENERATION, overlay_llm_request
from hookline.formats.native import field, given, kind_of, listed, shape_of, with_fields
from hookline.protocol.llm import HookToolConfig, LLMConfig, LLMRequest, ToolMode
from hookline.protocol.text.strings import whole_text
from hookline.stderr import warn_user

Native = Mapping[str, Any]
Permits = Callable[[str], bool]
# Tools that the program runs, and so passes to `before_tool`, are permitted by their names alone.
_OWN_TOOLS = frozenset({"", "function", "custom"})
_DATE = re.compile(r"_(?:\d{8}|\d{4}_\d\d_\d\d)$")
GONE = object()
_reported: set[str] = set()


@dataclass(frozen=True, slots=True)
class Restriction:
    """Which tools may be offered."""

    permits: Permits
    mode: ToolMode | None
    is_closed: bool
    """True when none of the request's tools may be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """How one model API writes its requests."""

    name: str
    form: ContentFormat
    contents: Callable[[Native], list[Any]]
    """Return the conversation, with the system prompt first; raise FormatError for an unknown shape."""
    put_contents: Callable[[Native, Sequence[Any]], dict[str, Any]]
    """The parameters to change for this conversation."""
    config: Mapping[str, tuple[str, ...]]
    """The generation parameters under their names in hook form; the first name is for a new value."""
    modes: Mapping[str, ToolMode]
    """The words of `tool_choice` for the modes; the first one for a mode is written."""
    read_choice: Callable[[Any], HookToolConfig] = lambda _: {}
    """A `tool_choice` that is not such a word, in hook form."""
    write_choice: Callable[[str], Any] = lambda word: word
    """The `tool_choice` of a word."""
    tool_name: Callable[[Any], str | None]
    """The name of a tool that is offered; None for one without."""
    can_forbid: bool = True
    """Whether `tool_choice` can forbid all tools."""
    restrict_more: Callable[[Native, Restriction], dict[str, Any]] = lambda *_: {}
    """Return the changes of other parameters that offer tools."""

    def to_hook(self, native: Any) -> LLMRequest:
        """Return the request as hooks see it; raise FormatError for a shape in which a text could be missed."""
        if not isinstance(native, Mapping):
            raise FormatError("the request", shape_of(native), f"the parameters of {self.name} as a dictionary")
        seen: LLMConfig = self._parameters(native)  # type: ignore[assignment]
        model = native.get("model")
        request: LLMRequest = {
            "model": model if isinstance(model, str) else "",
            "messages": read_messages_of(self.contents(native), self.form),
            "config": seen,
        }
        if choice := self._choice(native):
            request["toolConfig"] = choice
        return request

    def from_hook(self, hook_request: Mapping[str, Any], base: Native) -> dict[str, Any]:
        """The request to send; what hooks left alone, or could not see, is the base's.

        Returns the base itself when they change nothing.
        """
        shown = self.to_hook(base)
        return _with(base, self.changes(base, shown, overlay_llm_request(shown, hook_request)))

    def changes(self, base: Native, shown: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the base that differ between the request that hooks were shown and the wanted one.

        A parameter that goes has the value `GONE`.
        """
        changes: dict[str, Any] = {}
        if wanted["model"] != shown["model"]:
            changes["model"] = wanted["model"]
        if wanted["messages"] != shown["messages"]:
            rewritten = rewrite_contents(self.contents(base), wanted["messages"], self.form)
            changes |= self.put_contents(base, rewritten)
        changes |= self._changed_parameters(base, shown.get("config") or {}, wanted.get("config") or {})
        before: Any = shown.get("toolConfig") or {}
        choice: Any = wanted.get("toolConfig") or {}
        return changes if choice == before else {**changes, **self.changed_choice(base, before, choice)}

    def changed_choice(self, base: Native, _before: HookToolConfig, choice: HookToolConfig) -> dict[str, Any]:
        """Return the parameters to change for another choice of tools."""
        return self.restricted(base, _permission(choice), choice.get("mode"))

    def with_note(self, native: Native, text: str) -> dict[str, Any]:
        """The request with a hook's note as its last message, for this call only."""
        note = self.form.make("user", f"[System] {whole_text(text)}")
        return _with(native, self.put_contents(native, [*self.contents(native), note]))

    def offer(self, native: Native, permits: Permits, mode: ToolMode | None = None) -> dict[str, Any]:
        """The request with those of its tools that a `Selection` permits, and with its mode.

        Returns the request itself when all are permitted.
        """
        return _with(native, self.restricted(native, permits, mode))

    def tool_names(self, native: Native) -> list[str]:
        """The names of the tools that are offered, but those without a name, which the API runs itself."""
        return [name for tool in given(native.get("tools")) or () if (name := self.tool_name(tool)) is not None]

    def _choice(self, native: Native) -> HookToolConfig:
        if (choice := native.get("tool_choice")) is None:
            return {}
        mode = self.modes.get(choice) if isinstance(choice, str) else None
        return {"mode": mode} if mode else self.read_choice(choice)

    def _written(self, mode: ToolMode) -> Any:
        return self.write_choice(next(word for word, one in self.modes.items() if one == mode))

    def restricted(self, native: Native, permits: Permits, mode: ToolMode | None) -> dict[str, Any]:
        """Return the parameters to change so that only permitted tools are offered."""
        tools = listed(given(native.get("tools")) or (), "tools")
        kept = permitted_tools(tools, permits, self.tool_name)
        is_closed = mode == "NONE" or not kept
        changes = self.restrict_more(native, Restriction(permits, mode, is_closed))
        current = self._choice(native)
        if is_closed:
            return {**changes, **self._forbidden(native, tools, current)}
        if len(kept) < len(tools) or any(new is not old for new, old in zip(kept, tools, strict=True)):
            changes["tools"] = kept
        forced = current.get("allowedFunctionNames") or []
        if mode is not None and mode != current.get("mode") and kept:
            changes["tool_choice"] = self._written(mode)
        elif forced and not all(map(permits, forced)):
            changes["tool_choice"] = GONE
        return changes

    def _forbidden(self, native: Native, tools: list[Any], current: HookToolConfig) -> dict[str, Any]:
        # The tools stay declared, because APIs refuse a conversation with calls of tools that they don't know.
        if not tools or current.get("mode") == "NONE":
            return {}
        if self.can_forbid:
            return {"tool_choice": self._written("NONE")}
        has_calls = any(self.form.read(content).has_call for content in self.contents(native))
        # The API runs its own tools whatever the choice is.
        own = [tool for tool in tools if kind_of(tool) in _OWN_TOOLS]
        return {"tools": own if has_calls else [], "tool_choice": GONE}

    def _parameters(self, native: Native) -> dict[str, Any]:
        """The generation parameters under their names in hook form."""
        config: dict[str, Any] = {}
        for name, keys in self.config.items():
            found = next((native[key] for key in keys if native.get(key) is not None), None)
            if found is None:
                continue
            # One stop sequence may be a bare text; an SDK's mark for "not given" is nothing.
            sequences = [found] if isinstance(found, str) else list(found) if isinstance(found, tuple) else found
            value = GENERATION[name](sequences if name == "stopSequences" else found)
            if value is not None:
                # As JavaScript writes it: otherwise the whole request has to be written a second time.
                config[name] = int(value) if type(value) is float and value.is_integer() else value
        return config

    def _changed_parameters(self, base: Native, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        for name in GENERATION:
            if before.get(name) == after.get(name):
                continue
            if name not in self.config:
                report(f"a hook set {name}, which {self.name} does not have; it is not used")
                continue
            used = next((key for key in self.config[name] if base.get(key) is not None), self.config[name][0])
            changes[used] = after.get(name, GONE)
        return changes


def permitted_tools(tools: Sequence[Any], permits: Permits, name_of: Callable[[Any], str | None]) -> list[Any]:
    """Return the tools that may be offered; a group keeps only its permitted tools.

    A tool that the API runs itself never comes to `before_tool`, so it must be permitted as well: by its name, by its
    type with or without a date, or by the label of its server.
    """
    kept = (_permitted(tool, permits, name_of) for tool in tools)
    return [tool for tool in kept if tool is not None]


def _permitted(tool: Any, permits: Permits, name_of: Callable[[Any], str | None]) -> Any | None:
    kind, name = kind_of(tool), name_of(tool)
    names = [name] if name else []
    if kind not in _OWN_TOOLS:
        labels = (field(tool, "server_label"), field(tool, "mcp_server_name"))
        names += [kind, _DATE.sub("", kind), *(label for label in labels if isinstance(label, str))]
    if any(map(permits, names or [""])):
        return tool
    if kind != "namespace":
        return None
    inner = permitted_tools(listed(field(tool, "tools"), "the tools of a namespace"), permits, name_of)
    return with_fields(tool, tools=inner) if inner else None


def _permission(choice: HookToolConfig) -> Permits:
    names = choice.get("allowedFunctionNames")
    return lambda name: choice.get("mode") != "NONE" and (names is None or name in names)


def _with(base: Native, changes: Mapping[str, Any]) -> dict[str, Any]:
    if not changes:
        same: dict[str, Any] = base  # type: ignore[assignment]
        return same
    return {name: value for name, value in {**base, **changes}.items() if value is not GONE}


def report(message: str) -> None:
    """Reports on stderr what hooks wanted and can't have, once."""
    if message not in _reported:
        _reported.add(message)
        warn_user(message)
