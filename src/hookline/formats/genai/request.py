"""Model requests: the SDK's, and what hooks see and change of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hookline.contract.llm import GenerateContentParameters, HookToolConfig, LLMConfig, LLMMessage, LLMRequest
from hookline.contract.text import whole_text
from hookline.formats.conversation import read_messages_of, rewrite_contents
from hookline.formats.genai import contents, sdk
from hookline.formats.genai.parts import field, has_call, is_content, parts_of, snake, texts_of, with_fields, with_parts
from hookline.formats.genai.tool_config import apply_tool_config, to_hook_tool_config
from hookline.formats.genai.tools import without_forbidden
from hookline.formats.hook_format import (
    GENERATION,
    listed,
    message_text,
    overlay_llm_request,
    split_system,
)

_ATTRIBUTES = {name: snake(name) for name in GENERATION}


def is_sdk_request(value: Any) -> bool:
    """True for a request in the SDK's form: it has `contents`, or no `messages` but a field that hooks don't know."""
    if field(value, "contents") is not None or not isinstance(value, Mapping):
        return field(value, "contents") is not None
    return "messages" not in value and not value.keys() <= LLMRequest.__annotations__.keys()


def to_hook_llm_request(params: Any) -> LLMRequest:
    """What hooks see of a model request: its texts, its generation parameters and its tool configuration.

    Raises FormatError for contents in which a text could be missed, such as those of another API.
    """
    config = field(params, "config") or field(params, "generation_config")
    request: LLMRequest = {
        "model": field(params, "model") or "",
        "messages": read_messages_of(contents.list_contents(field(params, "contents")), contents),
        "config": _to_hook_config(config),
    }
    tool_config = to_hook_tool_config(field(config, "tool_config"))
    if tool_config:
        request["toolConfig"] = tool_config
    return request


def from_hook_llm_request(
    hook_request: Mapping[str, Any], base: GenerateContentParameters | None = None
) -> GenerateContentParameters:
    """The SDK request that a hook asks for; whatever the hook left out, or could not see, is the base's.

    Returns the base itself when the hook changes nothing. System messages become part of the base's system instruction.
    """
    given = base or GenerateContentParameters(model="", contents=[])
    told = to_hook_llm_request(given)
    wanted: Any = overlay_llm_request(told, hook_request)
    messages, instructions = wanted["messages"], list[str]()
    if base is not None:
        messages, instructions = split_system(messages, told["messages"])
    is_replaced = message_text(hook_request.get("systemInstruction")) is not None
    instruction = _instruct(field(given.config, "system_instruction"), instructions, is_replaced=is_replaced)
    request = replace(
        given,
        model=wanted["model"],
        contents=_rewrite(given.contents, told["messages"], messages),
        config=_apply_config(given.config, told, wanted, instruction),
    )
    unchanged = request.model == given.model and request.contents is given.contents and request.config is given.config
    return given if unchanged else request


def append_system_note(params: GenerateContentParameters, text: str) -> GenerateContentParameters:
    """The request with a last text part for the model's eyes; the caller's own objects stay as they are."""
    *earlier, last = listed(params.contents) or [[]]
    return replace(params, contents=[*earlier, *_with_note(last, whole_text(f"[System] {text}"))])


def _rewrite(current: Any, told: list[LLMMessage], messages: list[LLMMessage]) -> Any:
    if messages == told:
        return current
    return rewrite_contents(listed(current), messages, contents)


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


def _apply_config(config: Any, told: LLMRequest, wanted: LLMRequest, instruction: Any) -> Any:
    before, after = told["config"], wanted["config"]
    changes: dict[str, Any] = {
        attribute: after.get(name) for name, attribute in _ATTRIBUTES.items() if after.get(name) != before.get(name)
    }
    changes |= _changed_tools(config, told.get("toolConfig", {}), wanted.get("toolConfig", {}))
    if instruction is not field(config, "system_instruction"):
        changes["system_instruction"] = instruction
    if not changes:
        return config
    return sdk.types().GenerateContentConfig(**changes) if config is None else with_fields(config, **changes)


def _changed_tools(config: Any, told: HookToolConfig, wanted: HookToolConfig) -> dict[str, Any]:
    if wanted == told:
        return {}
    tools = field(config, "tools")
    kept = without_forbidden(tools, wanted)
    changes = {} if kept is tools else {"tools": kept}
    return {**changes, "tool_config": apply_tool_config(field(config, "tool_config"), told, wanted)}


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
    values = {name: field(config, attribute) for name, attribute in _ATTRIBUTES.items()}
    copied = {name: list(value) if isinstance(value, list | tuple) else value for name, value in values.items()}
    seen: Any = {name: value for name, value in copied.items() if value is not None}
    shown: LLMConfig = seen
    return shown


def read_options(request: GenerateContentParameters) -> LLMRequest:
    """The generation parameters and the choice of tools, as hooks know them: every API's format can write these."""
    seen = to_hook_llm_request(request)
    options: Any = {"config": seen["config"], "toolConfig": seen.get("toolConfig", {})}
    wanted: LLMRequest = options
    return wanted
