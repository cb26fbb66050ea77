"""Model requests: the SDK's, and what hooks see and change of them."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hookline.formats.conversation import rewrite_contents
from hookline.formats.genai import contents, sdk
from hookline.formats.genai.contents import (
    field,
    fields,
    has_call,
    is_content,
    parts_of,
    snake,
    texts_of,
    with_fields,
    with_parts,
)
from hookline.formats.genai.tool_config import apply_tool_config, to_hook_tool_config
from hookline.formats.genai.tools import without_forbidden
from hookline.formats.hook_format import (
    GENERATION,
    listed,
    message_text,
    overlay_llm_request,
    split_system,
)
from hookline.protocol.llm import GenerateContentParameters, LLMConfig, LLMMessage, LLMRequest
from hookline.protocol.text.strings import whole_text

_ATTRIBUTES = {name: snake(name) for name in GENERATION}
# Longer numbers have an exponent in JavaScript.
_LIMIT = 2**31
_REQUEST = {name: snake(name) for name in ("model", "contents", "config", "generationConfig")}


def is_sdk_request(value: Any) -> bool:
    """True for a request in the SDK's form: it has `contents`, or no `messages` but a field that hooks don't know."""
    if field(value, "contents") is not None or not isinstance(value, Mapping):
        return field(value, "contents") is not None
    return "messages" not in value and not value.keys() <= LLMRequest.__annotations__.keys()


def to_hook_llm_request(params: Any) -> LLMRequest:
    """Return a model request as hooks see it: texts, generation parameters and tool configuration.

    Raises FormatError for contents in which a text could be missed, such as those of another API.
    """
    given = fields(params, _REQUEST)
    config = given["config"] or given["generationConfig"]
    request: LLMRequest = {
        "model": given["model"] or "",
        "messages": contents.read_messages(given["contents"]),
        "config": _to_hook_config(config),
    }
    tool_config = None if config is None else field(config, "tool_config")
    if tool_config is not None and (chosen := to_hook_tool_config(tool_config)):
        request["toolConfig"] = chosen
    return request


def from_hook_llm_request(
    hook_request: Mapping[str, Any], base: GenerateContentParameters | None = None
) -> GenerateContentParameters:
    """Return the SDK request that a hook asks for; whatever the hook left out, or could not see, is the base's.

    Returns the base itself when the hook changes nothing. System messages become part of the base's system instruction.
    """
    replaces = message_text(hook_request.get("systemInstruction")) is not None
    if base is not None:
        shown = to_hook_llm_request(base)
        return write_request(base, shown, overlay_llm_request(shown, hook_request), replaces_instruction=replaces)
    empty = GenerateContentParameters(model="", contents=[])
    shown = to_hook_llm_request(empty)
    wanted = overlay_llm_request(shown, hook_request)
    return _written(empty, shown, wanted, wanted["messages"], None)


def write_request(
    base: GenerateContentParameters,
    shown: Mapping[str, Any],
    wanted: Mapping[str, Any],
    *,
    replaces_instruction: bool = False,
) -> GenerateContentParameters:
    """Return the base with the difference between the request that hooks were shown and the one that they want.

    Returns the base itself when there is none. `replaces_instruction` makes system messages that hooks added take the
    place of the base's system instruction, which hooks are not shown.
    """
    messages, texts = wanted["messages"], list[str]()
    if messages is not shown["messages"]:
        messages, texts = split_system(messages, shown["messages"])
    current = field(base.config, "system_instruction")
    return _written(base, shown, wanted, messages, _instruct(current, texts, is_replaced=replaces_instruction))


def _written(
    base: GenerateContentParameters,
    shown: Mapping[str, Any],
    wanted: Mapping[str, Any],
    messages: list[LLMMessage],
    instruction: Any,
) -> GenerateContentParameters:
    contents_now = base.contents
    if messages != shown["messages"]:
        contents_now = rewrite_contents(listed(base.contents), messages, contents)
    config = _apply_config(base.config, shown, wanted, instruction)
    if wanted["model"] == shown["model"] and contents_now is base.contents and config is base.config:
        return base
    return replace(base, model=wanted["model"] or base.model, contents=contents_now, config=config)


def append_system_note(params: GenerateContentParameters, text: str) -> GenerateContentParameters:
    """The request with a last text part for the model's eyes; the caller's own objects stay as they are."""
    *earlier, last = listed(params.contents) or [[]]
    return replace(params, contents=[*earlier, *_with_note(last, whole_text(f"[System] {text}"))])


def _with_note(content: Any, note: str) -> list[Any]:
    if isinstance(content, list | tuple):
        return [[*content, note]]
    if not is_content(content):
        # The SDK makes one content of neighbouring strings and parts, but a call is the model's.
        return [content, contents.make("user", note) if has_call(content) else note]
    if field(content, "role") not in ("user", None):
        return [content, contents.make("user", note)]
    return [_with_part(content, note)]


def _with_part(content: Any, text: str) -> Any:
    part = {"text": text} if isinstance(content, Mapping) else sdk.types().Part(text=text)
    return with_parts(content, [*parts_of(content), part])


def _apply_config(config: Any, shown: Mapping[str, Any], wanted: Mapping[str, Any], instruction: Any) -> Any:
    before, after = shown.get("config") or {}, wanted.get("config") or {}
    changes: dict[str, Any] = {
        attribute: after.get(name) for name, attribute in _ATTRIBUTES.items() if after.get(name) != before.get(name)
    }
    changes |= _changed_tools(config, shown.get("toolConfig") or {}, wanted.get("toolConfig") or {})
    if instruction is not field(config, "system_instruction"):
        changes["system_instruction"] = instruction
    if not changes:
        return config
    return sdk.types().GenerateContentConfig(**changes) if config is None else with_fields(config, **changes)


def _changed_tools(config: Any, shown: Any, wanted: Any) -> dict[str, Any]:
    if wanted == shown:
        return {}
    tools = field(config, "tools")
    kept = without_forbidden(tools, wanted)
    changes = {} if kept is tools else {"tools": kept}
    return {**changes, "tool_config": apply_tool_config(field(config, "tool_config"), shown, wanted)}


def _instruct(current: Any, texts: list[str], *, is_replaced: bool) -> Any:
    """The system instruction with these texts after it, or in its place; the same object when nothing changes."""
    text = "\n\n".join(texts)
    if not text:
        return current
    if current is None or is_replaced:
        return current if current is not None and "".join(texts_of(current)) == text else text
    if isinstance(current, str):
        return f"{current}\n\n{text}"
    return _with_part(current, f"\n\n{text}") if is_content(current) else [*listed(current), f"\n\n{text}"]


def _to_hook_config(config: Any) -> LLMConfig:
    if config is None:
        return {}
    values = fields(config, _ATTRIBUTES).items()
    seen: Any = {name: _plain(value) for name, value in values if value is not None}
    shown: LLMConfig = seen
    return shown


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return list(value)
    # As JavaScript writes it: otherwise the whole request has to be written a second time.
    return int(value) if type(value) is float and value.is_integer() and abs(value) < _LIMIT else value


def read_options(request: GenerateContentParameters) -> LLMRequest:
    """The generation parameters and the choice of tools, as hooks know them: every API's format can write these."""
    seen = to_hook_llm_request(request)
    options: Any = {"config": seen["config"], "toolConfig": seen.get("toolConfig", {})}
    wanted: LLMRequest = options
    return wanted
