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
from hookline.formats.conversation import ContentView
from hookline.formats.hook_format import Role
from hookline.formats.messages import TextParts
from hookline.formats.native import check_name, listed, shape_of, words
from hookline.protocol.llm import HookToolConfig, LLMResponse, ToolMode

_MODES: Mapping[str, ToolMode] = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_SHOWN = (UserPromptPart, SystemPromptPart, InstructionDeltaPart, SpeechPart, CompactionPart)
_REQUEST_PARTS = words(
    """
    capability-load-delta compaction instruction-baseline instruction-delta model-settings-delta
    retry-feedback retry-prompt speech system-prompt tool-availability-delta tool-return user-prompt
    """
)
_RESPONSE_PARTS = words("builtin-tool-call builtin-tool-return compaction file speech text thinking tool-call")
_PROMPT_ITEMS = words(
    """
    audio-url binary cache-point document-url image-url structured-content text-content uploaded-file
    video-url
    """
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
    counts = ("input_tokens", "output_tokens", "total_tokens")
    return responses.of_one_candidate(_RESPONSE_TEXTS.texts(response.parts), None, response.usage, counts)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: ModelResponse | None = None) -> ModelResponse:
    """The response with the hooks' text: tool calls, thoughts and files stay; without one, a new response."""
    (text,) = responses.texts_by_candidate(hook_response, 1)
    return ModelResponse([TextPart(text)], model_name="hookline") if base is None else _with_text(base, text)


def _with_text(response: ModelResponse, text: str) -> ModelResponse:
    parts = _RESPONSE_TEXTS.with_text(response.parts, text)
    details = {name: value for name, value in (response.provider_details or {}).items() if name != "logprobs"}
    return replace(response, parts=parts, provider_details=details or None)


@dataclass
class _PartGroup:
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
    groups: list[_PartGroup] = []
    for part in message.parts:
        if not isinstance(part, _SHOWN) and groups and not isinstance(groups[-1].parts[0], _SHOWN):
            # Tool results of one request stay together, because nothing may come between a call and its results.
            groups[-1].parts.append(part)
        else:
            groups.append(_PartGroup([part], message))
    return groups or [_PartGroup([], message)]


def _joined(contents: Sequence[Any]) -> list[Any]:
    messages: list[Any] = []
    for content in contents:
        last = messages[-1] if messages else None
        if isinstance(content, _PartGroup) and isinstance(last, _PartGroup) and _are_together(last, content):
            origin = last.origin if last.origin.parts else content.origin
            messages[-1] = _PartGroup([*last.parts, *content.parts], origin)
        else:
            messages.append(content)
    return [_request(one) if isinstance(one, _PartGroup) else one for one in messages]


def _are_together(one: _PartGroup, other: _PartGroup) -> bool:
    """Whether they are of one request, or one of them is new."""
    return one.origin is other.origin or not one.origin.parts or not other.origin.parts


def _request(group: _PartGroup) -> ModelRequest:
    is_same = len(group.parts) == len(group.origin.parts) and all(
        one is other for one, other in zip(group.parts, group.origin.parts, strict=True)
    )
    return group.origin if is_same else replace(group.origin, parts=group.parts)


class _PromptTexts(TextParts):
    """The texts in a prompt of several items."""

    def text_of_part(self, part: Any) -> str | None:
        return part if isinstance(part, str) else part.content if isinstance(part, TextContent) else None

    def part_with_text(self, _part: Any, text: str) -> Any | None:
        return text or None


class _ResponseTexts(TextParts):
    """The texts in a response."""

    def text_of_part(self, part: Any) -> str | None:
        return part.content if isinstance(part, TextPart | SpeechPart) else None

    def part_with_text(self, _part: Any, text: str) -> Any | None:
        # Without the provider's id: some providers would send their own copy of the old text.
        return TextPart(text) if text else None

    def new_part(self, text: str) -> Any:
        return TextPart(text)


_PROMPT_TEXTS = _PromptTexts()
_RESPONSE_TEXTS = _ResponseTexts()


class _PartsForm:
    """Instructions, responses and parts of requests as contents."""

    @staticmethod
    def read(content: Any) -> ContentView:
        if isinstance(content, InstructionPart):
            return ContentView(content, "system", content.content)
        if isinstance(content, ModelResponse):
            text = _RESPONSE_TEXTS.text(content.parts)
            return ContentView(
                content, "model", text, has_call=any(isinstance(one, ToolCallPart) for one in content.parts)
            )
        part = content.parts[0] if content.parts else None
        if not isinstance(part, _SHOWN):
            return ContentView(content, "user", "", has_response=True)
        is_system = isinstance(part, SystemPromptPart | InstructionDeltaPart)
        return ContentView(content, "system" if is_system else "user", _text_of(part))

    @staticmethod
    def make(role: Role, text: str) -> Any:
        if role == "system":
            return InstructionPart(text)
        return from_hook_llm_response({"text": text}) if role == "model" else _PartGroup([UserPromptPart(text)])

    @staticmethod
    def with_text(content: Any, text: str) -> Any:
        if isinstance(content, InstructionPart):
            return replace(content, content=text)
        if isinstance(content, ModelResponse):
            return _with_text(content, text)
        (part,) = content.parts
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            changed: Any = replace(part, content=_PROMPT_TEXTS.with_text(part.content, text))
        elif isinstance(part, SpeechPart):
            changed = UserPromptPart(text)
        else:
            changed = replace(part, content=text)
        return _PartGroup([changed], content.origin)

    @staticmethod
    def without_text(content: Any) -> Any | None:
        if isinstance(content, ModelResponse):
            left = _RESPONSE_TEXTS.others(content.parts)
            return replace(content, parts=left) if left else None
        part = content.parts[0] if isinstance(content, _PartGroup) else None
        if isinstance(part, InstructionDeltaPart):
            # Without it the instruction that it replaces would hold again.
            return _PartGroup([replace(part, content=None)], content.origin)
        if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
            return None
        items = _PROMPT_TEXTS.others(part.content)
        return _PartGroup([replace(part, content=items)], content.origin) if items else None


def _text_of(part: Any) -> str:
    if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        return _PROMPT_TEXTS.text(part.content)
    return part.content or ""


def _read_choice(choice: Any) -> HookToolConfig:
    is_list = isinstance(choice, list | tuple)
    return {"mode": "ANY", "allowedFunctionNames": [str(name) for name in choice]} if is_list else {}


_API = requests.Api(
    name="Pydantic AI",
    form=_PartsForm(),
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop_sequences",),
    },
    modes=_MODES,
    read_choice=_read_choice,
    tool_name=lambda tool: str(tool.name),
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
