"""Requests of a model API ↔ hook form: what the APIs have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.contract.llm import HookToolConfig, LLMConfig, LLMRequest, ToolMode
from hookline.contract.text import tell, whole_text
from hookline.errors import FormatError
from hookline.formats.conversation import ContentFormat, read_messages_of, rewrite_contents
from hookline.formats.hook_format import GENERATION, wanted_request
from hookline.formats.native import given, listed, shape_of

Native = Mapping[str, Any]
GONE = object()
_reported: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """How one model API writes its requests."""

    name: str
    form: ContentFormat
    contents: Callable[[Native], list[Any]]
    """The conversation, with the system prompt first if that stands elsewhere; FormatError for an unknown shape."""
    put_contents: Callable[[Native, Sequence[Any]], dict[str, Any]]
    """The parameters to change for this conversation."""
    config: Mapping[str, tuple[str, ...]]
    """The generation parameters under their names in hook form; the first name is for a new value."""
    read_choice: Callable[[Any], HookToolConfig]
    """The API's `tool_choice` in hook form."""
    write_choice: Callable[[HookToolConfig], Any]
    tool_name: Callable[[Any], str | None]
    """The name of a tool that is offered."""
    can_forbid: bool = True
    """Whether `tool_choice` can forbid all tools."""

    def to_hook(self, native: Any) -> LLMRequest:
        """What hooks see of a request; FormatError for a shape in which a text could be missed."""
        return to_hook(native, self)

    def from_hook(self, hook_request: Mapping[str, Any], base: Native) -> dict[str, Any]:
        """The request to send; the base itself when hooks changed nothing."""
        return from_hook(hook_request, base, self)

    def with_note(self, native: Native, text: str) -> dict[str, Any]:
        """The request with a hook's note as its last message, for this call only."""
        return with_note(native, text, self)

    def offer(self, native: Native, permits: Callable[[str], bool], mode: ToolMode | None = None) -> dict[str, Any]:
        """The request with those of its tools that a `Selection` permits, and with its mode."""
        return offer(native, permits, mode, self)

    def tool_names(self, native: Native) -> list[str]:
        """The names of the tools that are offered, but those without a name, which the API runs itself."""
        return [name for tool in given(native.get("tools")) or () if (name := self.tool_name(tool)) is not None]


def to_hook(native: Any, api: Api) -> LLMRequest:
    """What hooks see of a request: its texts, its generation parameters and its choice of tools."""
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
    if choice := api.read_choice(native.get("tool_choice")):
        request["toolConfig"] = choice
    return request


def from_hook(hook_request: Mapping[str, Any], base: Native, api: Api) -> dict[str, Any]:
    """The parameters of the request that hooks ask for; whatever they left alone, or could not see, is the base's.

    Returns the base itself when they change nothing.
    """
    told = to_hook(base, api)
    wanted = wanted_request(told, hook_request)
    changes: dict[str, Any] = {}
    if wanted["model"] != told["model"]:
        changes["model"] = wanted["model"]
    if wanted["messages"] != told["messages"]:
        # A request without any message can't be sent, so hooks that drop everything change nothing.
        rewritten = rewrite_contents(api.contents(base), wanted["messages"], api.form)
        changes |= api.put_contents(base, rewritten) if rewritten else {}
    changes |= _changed_parameters(base, told["config"], wanted["config"], api)
    choice = wanted.get("toolConfig", {})
    if choice != told.get("toolConfig", {}):
        changes |= _tools(base, _permission(choice), choice.get("mode"), api)
    return _with(base, changes)


def with_note(native: Native, text: str, api: Api) -> dict[str, Any]:
    """The request with a note for the model's eyes as its last message."""
    note = api.form.make("user", f"[System] {whole_text(text)}")
    return _with(native, api.put_contents(native, [*api.contents(native), note]))


def offer(native: Native, permits: Callable[[str], bool], mode: ToolMode | None, api: Api) -> dict[str, Any]:
    """The request with those of its tools that are permitted; the request itself when all are."""
    return _with(native, _tools(native, permits, mode, api))


def _permission(choice: HookToolConfig) -> Callable[[str], bool]:
    names = choice.get("allowedFunctionNames")
    return lambda name: choice.get("mode") != "NONE" and (names is None or name in names)


def _tools(native: Native, permits: Callable[[str], bool], mode: ToolMode | None, api: Api) -> dict[str, Any]:
    tools = listed(given(native.get("tools")) or (), "tools")
    # A tool without a name of its own, which the API runs itself, stays unless all tools are forbidden.
    kept = [tool for tool in tools if (name := api.tool_name(tool)) is None or permits(name)]
    is_none = mode == "NONE" or (not any(map(api.tool_name, kept)) and any(map(api.tool_name, tools)))
    current = api.read_choice(native.get("tool_choice"))
    if is_none:
        return _forbidden(native, tools, current, api)
    changes: dict[str, Any] = {} if len(kept) == len(tools) else {"tools": kept}
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
    return {"tools": tools if has_calls else [], "tool_choice": GONE}


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
            _report(f"a hook set {name}, which {api.name} does not have; it is not used")
            continue
        used = next((key for key in api.config[name] if base.get(key) is not None), api.config[name][0])
        changes[used] = after.get(name, GONE)
    return changes


def _with(base: Native, changes: Mapping[str, Any]) -> dict[str, Any]:
    if not changes:
        same: dict[str, Any] = base  # type: ignore[assignment]
        return same
    return {name: value for name, value in {**base, **changes}.items() if value is not GONE}


def _report(message: str) -> None:
    if message not in _reported:
        _reported.add(message)
        tell(message)
