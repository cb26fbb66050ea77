"""Pydantic AI's requests and responses ↔ hook form; it needs `pydantic-ai-slim`.

A request is a dictionary: `model`, `messages`, `instructions` (a list of `InstructionPart`), `tools` (their
definitions), and the model's settings. A response is a `ModelResponse`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import (
    CompactionPart,
    InstructionDeltaPart,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturn,
    UserPromptPart,
)
from pydantic_core import to_json

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import Turn
from hookline.formats.hook_format import Role
from hookline.formats.native import check_name, listed, shape_of
from hookline.formats.parts import replace_text
from hookline.protocol.llm import HookToolConfig, LLMResponse

_MODES: Mapping[str, HookToolConfig] = {"auto": {"mode": "AUTO"}, "required": {"mode": "ANY"}, "none": {"mode": "NONE"}}
_SHOWN = (UserPromptPart, SystemPromptPart, InstructionDeltaPart, SpeechPart, CompactionPart)
_REQUEST_PARTS = frozenset(
    {
        "capability-load-delta",
        "compaction",
        "instruction-baseline",
        "instruction-delta",
        "model-settings-delta",
        "retry-feedback",
        "retry-prompt",
        "speech",
        "system-prompt",
        "tool-availability-delta",
        "tool-return",
        "user-prompt",
    }
)
_RESPONSE_PARTS = frozenset(
    {"builtin-tool-call", "builtin-tool-return", "compaction", "file", "speech", "text", "thinking", "tool-call"}
)
_PROMPT_ITEMS = frozenset(
    {
        "audio-url",
        "binary",
        "cache-point",
        "document-url",
        "image-url",
        "structured-content",
        "text-content",
        "uploaded-file",
        "video-url",
    }
)


def request_of(model: str, given: Any, settings: Any, parameters: Any) -> dict[str, Any]:
    """A call of a `Model` as one dictionary."""
    own = {"messages": given, "instructions": _instructions(given, parameters), "tools": [*parameters.function_tools]}
    return {**(settings or {}), "model": model, **own}


def arguments_of(wanted: Mapping[str, Any], settings: Any, parameters: Any) -> tuple[Any, Any, Any]:
    """The arguments of a call of a `Model`, with what hooks changed."""
    own = ("model", "messages", "instructions", "tools")
    changed = {name: value for name, value in wanted.items() if name not in own}
    parts = {"function_tools": wanted.get("tools", []), "instruction_parts": wanted["instructions"]}
    return wanted["messages"], changed or settings, replace(parameters, **parts)


def _instructions(given: Any, parameters: Any) -> list[Any]:
    if parameters.instruction_parts is not None:
        return list(parameters.instruction_parts)
    last = next((one for one in reversed(given) if isinstance(one, ModelRequest)), None)
    return [InstructionPart(last.instructions)] if last is not None and last.instructions else []


def to_tool_content(output: Any) -> str:
    """Return a tool's output as hooks see it."""
    value = output.return_value if isinstance(output, ToolReturn) else output
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def from_tool_content(content: str, output: Any) -> Any:
    """The tool's output, or the hooks' text in its place."""
    before = to_tool_content(output)
    if content == before:
        return output
    if isinstance(output, ToolReturn) and content.startswith(before):
        return replace(output, return_value=content)
    # A hook that hides the result also hides what the tool sends beside it.
    return content


def to_hook_llm_response(response: ModelResponse) -> LLMResponse:
    """Return the model's answer as hooks see it."""
    _check(response, "the response")
    texts = [text for part in response.parts if (text := _RESPONSE_TEXTS.text_of_part(part)) is not None]
    counts = ("input_tokens", "output_tokens", "total_tokens")
    return responses.in_hook_form([responses.Candidate(texts, None, 0)], response.usage, counts)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: ModelResponse | None = None) -> ModelResponse:
    """The response with the hooks' text: tool calls, thoughts and files stay; without one, a new response."""
    (text,) = responses.texts_by_candidate(hook_response, 1)
    return ModelResponse([TextPart(text)], model_name="hookline") if base is None else _with_text(base, text)


def _with_text(response: ModelResponse, text: str) -> ModelResponse:
    has_text = any(_RESPONSE_TEXTS.text_of_part(part) is not None for part in response.parts)
    parts = replace_text(response.parts, text, _RESPONSE_TEXTS) if has_text else [TextPart(text), *response.parts]
    details = {name: value for name, value in (response.provider_details or {}).items() if name != "logprobs"}
    return replace(response, parts=parts, provider_details=details or None)


@dataclass
class _Parts:
    """Parts of a request that belong together: one that hooks see, or several in a row that they do not."""

    parts: list[Any]
    origin: ModelRequest = field(default_factory=lambda: ModelRequest([]))


def _contents(native: Mapping[str, Any]) -> list[Any]:
    messages = listed(native["messages"], "messages")
    for number, message in enumerate(messages):
        _check(message, f"messages[{number}]")
    split = (content for message in messages for content in _split(message))
    return [*(native.get("instructions") or ()), *split]


def _check(message: Any, where: str) -> None:
    """FormatError for a message in which a text could be missed."""
    if not isinstance(message, ModelRequest | ModelResponse):
        raise FormatError(where, shape_of(message), "a ModelRequest or a ModelResponse")
    known = _REQUEST_PARTS if isinstance(message, ModelRequest) else _RESPONSE_PARTS
    for number, part in enumerate(message.parts):
        check_name(getattr(part, "part_kind", None), f"{where}.parts[{number}]", known)
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            for place, item in enumerate(part.content):
                if not isinstance(item, str):
                    kind = getattr(item, "kind", None)
                    check_name(kind, f"{where}.parts[{number}].content[{place}]", _PROMPT_ITEMS)


def _put(_native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    instructions = [one for one in contents if isinstance(one, InstructionPart)]
    others = [one for one in contents if not isinstance(one, InstructionPart)]
    return {"instructions": instructions, "messages": _joined(others)}


def _split(message: Any) -> Iterable[Any]:
    if isinstance(message, ModelResponse):
        return [message]
    groups: list[_Parts] = []
    for part in message.parts:
        if not isinstance(part, _SHOWN) and groups and not isinstance(groups[-1].parts[0], _SHOWN):
            # Tool results of one request stay together, because nothing may come between a call and its results.
            groups[-1].parts.append(part)
        else:
            groups.append(_Parts([part], message))
    return groups or [_Parts([], message)]


def _joined(contents: Sequence[Any]) -> list[Any]:
    messages: list[Any] = []
    for content in contents:
        last = messages[-1] if messages else None
        if isinstance(content, _Parts) and isinstance(last, _Parts) and _are_together(last, content):
            origin = last.origin if last.origin.parts else content.origin
            messages[-1] = _Parts([*last.parts, *content.parts], origin)
        else:
            messages.append(content)
    return [_request(one) if isinstance(one, _Parts) else one for one in messages]


def _are_together(one: _Parts, other: _Parts) -> bool:
    """Whether they are of one request, or one of them is new."""
    return one.origin is other.origin or not one.origin.parts or not other.origin.parts


def _request(group: _Parts) -> ModelRequest:
    is_same = len(group.parts) == len(group.origin.parts) and all(
        one is other for one, other in zip(group.parts, group.origin.parts, strict=True)
    )
    return group.origin if is_same else replace(group.origin, parts=group.parts)


class _PromptTexts:
    """The texts in a prompt of several items."""

    @staticmethod
    def text_of_part(part: Any) -> str | None:
        return part if isinstance(part, str) else part.content if isinstance(part, TextContent) else None

    @staticmethod
    def is_thought(_part: Any) -> bool:
        return False

    @staticmethod
    def part_with_text(_part: Any, text: str) -> Any | None:
        return text or None


class _ResponseTexts:
    """The texts in a response."""

    @staticmethod
    def text_of_part(part: Any) -> str | None:
        return part.content if isinstance(part, TextPart | SpeechPart) else None

    @staticmethod
    def is_thought(_part: Any) -> bool:
        return False

    @staticmethod
    def part_with_text(_part: Any, text: str) -> Any | None:
        # Without the provider's id: some providers would send their own copy of the old text.
        return TextPart(text) if text else None


_PROMPT_TEXTS = _PromptTexts()
_RESPONSE_TEXTS = _ResponseTexts()


class _Form:
    """Instructions, responses and parts of requests as contents."""

    @staticmethod
    def read(content: Any) -> Turn:
        if isinstance(content, InstructionPart):
            return Turn(content, "system", content.content)
        if isinstance(content, ModelResponse):
            text = "".join(_RESPONSE_TEXTS.text_of_part(part) or "" for part in content.parts)
            return Turn(content, "model", text, has_call=any(isinstance(one, ToolCallPart) for one in content.parts))
        part = content.parts[0] if content.parts else None
        if not isinstance(part, _SHOWN):
            return Turn(content, "user", "", has_response=True)
        is_system = isinstance(part, SystemPromptPart | InstructionDeltaPart)
        return Turn(content, "system" if is_system else "user", _text_of(part))

    @staticmethod
    def make(role: Role, text: str) -> Any:
        if role == "system":
            return InstructionPart(text)
        return from_hook_llm_response({"text": text}) if role == "model" else _Parts([UserPromptPart(text)])

    @staticmethod
    def with_text(content: Any, text: str) -> Any:
        if isinstance(content, InstructionPart):
            return replace(content, content=text)
        if isinstance(content, ModelResponse):
            return _with_text(content, text)
        (part,) = content.parts
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            changed: Any = replace(part, content=replace_text(part.content, text, _PROMPT_TEXTS))
        elif isinstance(part, SpeechPart):
            changed = UserPromptPart(text)
        else:
            changed = replace(part, content=text)
        return _Parts([changed], content.origin)

    @staticmethod
    def without_text(content: Any) -> Any | None:
        if isinstance(content, ModelResponse):
            left = [part for part in content.parts if _RESPONSE_TEXTS.text_of_part(part) is None]
            return replace(content, parts=left) if left else None
        part = content.parts[0] if isinstance(content, _Parts) else None
        if isinstance(part, InstructionDeltaPart):
            # Without it the instruction that it replaces would hold again.
            return _Parts([replace(part, content=None)], content.origin)
        if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
            return None
        items = [item for item in part.content if _PROMPT_TEXTS.text_of_part(item) is None]
        return _Parts([replace(part, content=items)], content.origin) if items else None


def _text_of(part: Any) -> str:
    if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        return "".join(_PROMPT_TEXTS.text_of_part(item) or "" for item in part.content)
    return part.content or ""


def _read_choice(choice: Any) -> HookToolConfig:
    if isinstance(choice, list | tuple):
        return {"mode": "ANY", "allowedFunctionNames": [str(name) for name in choice]}
    return _MODES.get(choice, {}) if isinstance(choice, str) else {}


_API = requests.Api(
    name="Pydantic AI",
    form=_Form(),
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop_sequences",),
    },
    read_choice=_read_choice,
    write_choice=lambda choice: {"AUTO": "auto", "ANY": "required", "NONE": "none"}[choice.get("mode", "AUTO")],
    tool_name=lambda tool: str(tool.name),
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
