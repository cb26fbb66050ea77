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
from hookline.protocol.text.strings import warn_user, whole_text

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
    read_choice: Callable[[Any], HookToolConfig]
    """The API's `tool_choice` in hook form."""
    write_choice: Callable[[HookToolConfig], Any]
    tool_name: Callable[[Any], str | None]
    """The name of a tool that is offered; None for one without."""
    can_forbid: bool = True
    """Whether `tool_choice` can forbid all tools."""
    read_more: Callable[[Native], HookToolConfig] = lambda _: {}
    """Another parameter for the choice of tools, where there is no `tool_choice`."""
    restrict_more: Callable[[Native, Restriction], dict[str, Any]] = lambda *_: {}
    """Return the changes of other parameters that offer tools."""

    def to_hook(self, native: Any) -> LLMRequest:
        """Return the request as hooks see it; raise FormatError for a shape in which a text could be missed."""
        return to_hook(native, self)

    def from_hook(self, hook_request: Mapping[str, Any], base: Native) -> dict[str, Any]:
        """The request to send; the base itself when hooks changed nothing."""
        return from_hook(hook_request, base, self)

    def with_note(self, native: Native, text: str) -> dict[str, Any]:
        """The request with a hook's note as its last message, for this call only."""
        return with_note(native, text, self)

    def offer(self, native: Native, permits: Permits, mode: ToolMode | None = None) -> dict[str, Any]:
        """The request with those of its tools that a `Selection` permits, and with its mode."""
        return offer(native, permits, mode, self)

    def tool_names(self, native: Native) -> list[str]:
        """The names of the tools that are offered, but those without a name, which the API runs itself."""
        return [name for tool in given(native.get("tools")) or () if (name := self.tool_name(tool)) is not None]


def to_hook(native: Any, api: Api) -> LLMRequest:
    """Return the request as hooks see it: texts, generation parameters and choice of tools."""
    if not isinstance(native, Mapping):
        raise FormatError("the request", shape_of(native), f"the parameters of {api.name} as a dictionary")
    config = {name: value for name in api.config if (value := _parameter(native, name, api)) is not None}
    seen: LLMConfig = config  # type: ignore[assignment]
    model = native.get("model")
    request: LLMRequest = {
        "model": model if isinstance(model, str) else "",
        "messages": read_messages_of(api.contents(native), api.form),
        "config": seen,
    }
    if choice := api.read_choice(native.get("tool_choice")) or api.read_more(native):
        request["toolConfig"] = choice
    return request


def from_hook(hook_request: Mapping[str, Any], base: Native, api: Api) -> dict[str, Any]:
    """The parameters of the request that hooks ask for; whatever they left alone, or could not see, is the base's.

    Returns the base itself when they change nothing.
    """
    told = to_hook(base, api)
    wanted: Any = overlay_llm_request(told, hook_request)
    changes: dict[str, Any] = {}
    if wanted["model"] != told["model"]:
        changes["model"] = wanted["model"]
    if wanted["messages"] != told["messages"]:
        rewritten = rewrite_contents(api.contents(base), wanted["messages"], api.form)
        changes |= api.put_contents(base, rewritten)
    changes |= _changed_parameters(base, told["config"], wanted["config"], api)
    choice = wanted.get("toolConfig", {})
    if choice != told.get("toolConfig", {}):
        changes |= _tools(base, _permission(choice), choice.get("mode"), api)
    return _with(base, changes)


def with_note(native: Native, text: str, api: Api) -> dict[str, Any]:
    """The request with a note for the model's eyes as its last message."""
    note = api.form.make("user", f"[System] {whole_text(text)}")
    return _with(native, api.put_contents(native, [*api.contents(native), note]))


def offer(native: Native, permits: Permits, mode: ToolMode | None, api: Api) -> dict[str, Any]:
    """The request with those of its tools that are permitted; the request itself when all are."""
    return _with(native, _tools(native, permits, mode, api))


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


def _tools(native: Native, permits: Permits, mode: ToolMode | None, api: Api) -> dict[str, Any]:
    tools = listed(given(native.get("tools")) or (), "tools")
    kept = permitted_tools(tools, permits, api.tool_name)
    is_closed = mode == "NONE" or not kept
    changes = api.restrict_more(native, Restriction(permits, mode, is_closed))
    current = api.read_choice(native.get("tool_choice"))
    if is_closed:
        return {**changes, **_forbidden(native, tools, current, api)}
    if len(kept) < len(tools) or any(new is not old for new, old in zip(kept, tools, strict=True)):
        changes["tools"] = kept
    forced = current.get("allowedFunctionNames") or []
    if mode is not None and mode != current.get("mode") and kept:
        changes["tool_choice"] = api.write_choice({"mode": mode})
    elif forced and not all(map(permits, forced)):
        changes["tool_choice"] = GONE
    return changes


def _forbidden(native: Native, tools: list[Any], current: HookToolConfig, api: Api) -> dict[str, Any]:
    # The tools stay declared, because APIs refuse a conversation with calls of tools that they don't know.
    if not tools or current.get("mode") == "NONE":
        return {}
    if api.can_forbid:
        return {"tool_choice": api.write_choice({"mode": "NONE"})}
    has_calls = any(api.form.read(content).has_call for content in api.contents(native))
    # No choice keeps the API from running its own tools.
    own = [tool for tool in tools if kind_of(tool) in _OWN_TOOLS]
    return {"tools": own if has_calls else [], "tool_choice": GONE}


def _parameter(native: Native, name: str, api: Api) -> Any:
    values = (native.get(key) for key in api.config[name])
    found = next((value for value in values if value is not None), None)
    read = GENERATION[name]
    # One stop sequence may be a bare text; an SDK's mark for "not given" is nothing.
    value = read([found] if name == "stopSequences" and isinstance(found, str) else found)
    return list(found) if name == "stopSequences" and isinstance(found, tuple) else value


def _changed_parameters(base: Native, told: LLMConfig, wanted: LLMConfig, api: Api) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    before: Mapping[str, Any] = told
    after: Mapping[str, Any] = wanted
    for name in GENERATION:
        if before.get(name) == after.get(name):
            continue
        if name not in api.config:
            report(f"a hook set {name}, which {api.name} does not have; it is not used")
            continue
        used = next((key for key in api.config[name] if base.get(key) is not None), api.config[name][0])
        changes[used] = after.get(name, GONE)
    return changes


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
