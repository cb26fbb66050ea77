from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hookline.contract.llm import GenerateContentParameters, LLMConfig, LLMMessage, LLMRequest
from hookline.formats import sdk
from hookline.formats._reading import (
    field,
    has_call,
    is_content,
    listed,
    parts_of,
    whole_text,
    with_fields,
    with_parts,
)
from hookline.formats.conversation import read_turns, rewrite_contents
from hookline.formats.hook_format import message_text, normalize_llm_request, read_messages
from hookline.formats.tool_config import overlay_tool_config, to_hook_tool_config

# What the model's interface holds in an integer; NaN and infinity are beyond it, too.
_LIMIT = 2**31 - 1


def to_hook_llm_request(params: Any) -> LLMRequest:
    """What hooks see of a model request: its texts, its generation parameters and its tool configuration."""
    config = field(params, "config") or field(params, "generation_config")
    request: LLMRequest = {
        "model": field(params, "model") or "",
        "messages": [
            {"role": turn.role, "content": turn.text}
            for turn in read_turns(listed(field(params, "contents")))
            if turn.text
        ],
        "config": _to_hook_config(config),
    }
    tool_config = to_hook_tool_config(field(config, "tool_config"))
    if tool_config:
        request["toolConfig"] = tool_config
    return request


def from_hook_llm_request(
    hook_request: Mapping[str, Any], base: GenerateContentParameters | None = None
) -> GenerateContentParameters:
    """The SDK request that a hook asks for; what the hook left out, or could not see, is the base's.

    The base itself comes back when the hook changes nothing.
    """
    request = normalize_llm_request(hook_request)
    given = base or GenerateContentParameters(model="", contents=[])
    model = request.get("model")
    wanted = replace(
        given,
        model=model if isinstance(model, str) and model else given.model,
        contents=_apply_messages(given.contents, _conversation(request)),
        config=_apply_config(given.config, request),
    )
    unchanged = wanted.model == given.model and wanted.contents is given.contents and wanted.config is given.config
    return given if unchanged else wanted


def append_system_note(params: GenerateContentParameters, text: str) -> GenerateContentParameters:
    """The request with a last text part for the model's eyes; the caller's own objects stay as they are."""
    *earlier, last = listed(params.contents) or [[]]
    return replace(params, contents=[*earlier, *_with_note(last, whole_text(f"[System] {text}"))])


def _with_note(content: Any, note: str) -> list[Any]:
    if isinstance(content, list | tuple):
        return [[*content, note]]
    if not is_content(content):
        # The SDK makes one content of neighbouring strings and parts, but a call is the model's.
        return [content, _make_content("user", note) if has_call(content) else note]
    if field(content, "role") not in ("user", None):
        return [content, _make_content("user", note)]
    part = {"text": note} if isinstance(content, Mapping) else sdk.types().Part(text=note)
    return [with_parts(content, [*parts_of(content), part])]


def _conversation(request: Mapping[str, Any]) -> list[LLMMessage] | None:
    """The hook's messages, without one that only repeats its system instruction: the next hook was shown it as such."""
    messages = read_messages(request)
    instruction: LLMMessage = {"role": "system", "content": message_text(request.get("systemInstruction")) or ""}
    return messages and [message for message in messages if message != instruction]


def _apply_messages(contents: Any, messages: list[LLMMessage] | None) -> Any:
    if messages is None:
        return contents
    before = listed(contents)
    shown = [(turn.role, turn.text) for turn in read_turns(before) if turn.text]
    if [(message["role"], message["content"]) for message in messages] == shown:
        return contents
    # A request without any content cannot be sent, so a hook that drops everything changes nothing.
    return rewrite_contents(before, messages, _make_content) or contents


def _apply_config(config: Any, request: Mapping[str, Any]) -> Any:
    changes = _generation_changes(config, request.get("config"))
    tool_config = field(config, "tool_config")
    wanted_tools = overlay_tool_config(tool_config, request.get("toolConfig"))
    if wanted_tools is not tool_config:
        changes["tool_config"] = wanted_tools
    instruction = message_text(request.get("systemInstruction"))
    if instruction is not None:
        changes["system_instruction"] = instruction
    if not changes:
        return config
    return sdk.types().GenerateContentConfig(**changes) if config is None else with_fields(config, **changes)


def _generation_changes(config: Any, wanted: Any) -> dict[str, Any]:
    if not isinstance(wanted, Mapping):
        return {}
    current = _to_hook_config(config)
    changes: dict[str, Any] = {}
    for name, (attribute, read) in _GENERATION.items():
        if name not in wanted:
            continue
        value = read(wanted[name])
        # Null unsets a parameter; what cannot be read leaves it alone.
        if (value is not None or wanted[name] is None) and value != current.get(name):
            changes[attribute] = value
    return changes


def _to_hook_config(config: Any) -> LLMConfig:
    seen: Any = {}
    for name, (attribute, _) in _GENERATION.items():
        value = field(config, attribute)
        if value is not None:
            seen[name] = list(value) if isinstance(value, list | tuple) else value
    shown: LLMConfig = seen
    return shown


def _make_content(role: str, text: str) -> Any:
    types = sdk.types()
    return types.Content(role=role, parts=[types.Part(text=text)])


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_LIMIT <= value <= _LIMIT else None


def _integer(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _strings(value: Any) -> list[str] | None:
    return [whole_text(entry) for entry in value if isinstance(entry, str)] if isinstance(value, list) else None


_GENERATION: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "temperature": ("temperature", _number),
    "maxOutputTokens": ("max_output_tokens", _integer),
    "topP": ("top_p", _number),
    "topK": ("top_k", _number),
    "stopSequences": ("stop_sequences", _strings),
    "candidateCount": ("candidate_count", _integer),
    "presencePenalty": ("presence_penalty", _number),
    "frequencyPenalty": ("frequency_penalty", _number),
}
