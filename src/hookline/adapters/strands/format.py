"""Strands' model calls and answers ↔ hook form: messages as Bedrock's Converse has them. No SDK is imported.

A request is a dictionary: `model`, `system` (a text or blocks), `messages`, `tools` (their specifications) and
`tool_choice`. A response is also a dictionary: `message`, `stop_reason`, `usage` and `metrics`. They come from the
context of a model call, and go back into it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.hook_format import Role
from hookline.formats.messages import MessageForm, TextParts
from hookline.formats.native import check_name, listed, shape_of, words
from hookline.protocol.llm import HookToolConfig, LLMResponse, ToolMode

_MODES: Mapping[str, ToolMode] = {"auto": "AUTO", "any": "ANY", "none": "NONE"}
_ENDINGS = {
    "end_turn": "STOP",
    "stop_sequence": "STOP",
    "tool_use": "STOP",
    "max_tokens": "MAX_TOKENS",
    "content_filtered": "SAFETY",
    "guardrail_intervened": "SAFETY",
}
_BLOCKS = words(
    """
    audio cachePoint citationsContent document guardContent image reasoningContent text toolResult toolUse
    video
    """
)
_EXPECTED = 'a message such as {"role": "user", "content": [{"text": "hi"}]}'


def request_of(model: Any, system: Any, messages: Any, tools: Any, choice: Any = None) -> dict[str, Any]:
    """A model call as one dictionary."""
    config = model.get_config()
    name = config.get("model_id") if isinstance(config, Mapping) else getattr(config, "model_id", None)
    own = {"system": system, "messages": list(messages), "tools": list(tools), "tool_choice": choice}
    return {"model": name if isinstance(name, str) else "", **own}


def changed(context: Any, wanted: Mapping[str, Any]) -> Any:
    """The context of a model call with what hooks changed of it."""
    is_same = wanted["messages"] == context.messages
    return context.replace(
        messages=wanted["messages"],
        system_prompt=wanted.get("system"),
        tool_specs=wanted["tools"],
        tool_choice=wanted.get("tool_choice"),
        # They are counted from the end of the last message, which may be another one now.
        dynamic_trailing_blocks=context.dynamic_trailing_blocks if is_same else 0,
    )


def to_tool_content(blocks: Sequence[Any]) -> Any:
    """Return a tool's result as hooks see it: a single text as a string, anything else as blocks."""
    return blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"text"} else list(blocks)


def from_tool_content(content: Any) -> list[Any]:
    """The blocks of a tool's result."""
    return content if isinstance(content, list) else [{"text": str(content)}]


def to_hook_llm_response(response: Mapping[str, Any]) -> LLMResponse:
    """Return the model's answer as hooks see it."""
    blocks = response["message"]["content"]
    _check_blocks(blocks, "message.content")
    counts = ("inputTokens", "outputTokens", "totalTokens")
    ending = _ENDINGS.get(response["stop_reason"])
    return responses.of_one_candidate(_TEXTS.texts(blocks), ending, response["usage"], counts)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The response with the hooks' text; without one, a new response of text alone."""
    (text,) = responses.texts_by_candidate(hook_response, 1)
    if base is None:
        message = {"role": "assistant", "content": [{"text": text}]}
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        return {"stop_reason": "end_turn", "message": message, "usage": usage, "metrics": {"latencyMs": 0}}
    content = _TEXTS.with_text(base["message"]["content"], text) or [{"text": text}]
    return {**base, "message": {**base["message"], "content": content}}


class _TextBlocks(TextParts):
    """The blocks of a message that hold a text."""

    def text_of_part(self, part: Any) -> str | None:
        if "guardContent" in part:
            text = part["guardContent"].get("text")
            return None if text is None else str(text["text"])
        if "citationsContent" in part:
            return "".join(one.get("text", "") for one in part["citationsContent"].get("content", ()))
        text = part.get("text")
        return text if isinstance(text, str) else None

    def part_with_text(self, part: Any, text: str) -> Any | None:
        """The block with another text; citations go, because they quote the old one."""
        if not text:
            return None
        if "guardContent" in part:
            guard = part["guardContent"]
            return {**part, "guardContent": {**guard, "text": {**guard["text"], "text": text}}}
        return {"text": text}

    def new_part(self, text: str) -> Any:
        return {"text": text}


_TEXTS = _TextBlocks()


class _BlocksForm(MessageForm):
    texts = _TEXTS

    def has_call(self, message: Any) -> bool:
        return any("toolUse" in block for block in message["content"])

    def has_response(self, message: Any) -> bool:
        return any("toolResult" in block for block in message["content"])

    def new_message(self, role: Role, text: str) -> Any:
        return {"role": "assistant" if role == "model" else role, "content": [{"text": text}]}

    def without_text(self, content: Any) -> Any | None:
        return None if content["role"] == "system" else super().without_text(content)


def _contents(native: Mapping[str, Any]) -> list[Any]:
    for number, message in enumerate(listed(native["messages"], "messages")):
        blocks = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(blocks, list) or message.get("role") not in ("user", "assistant"):
            raise FormatError(f"messages[{number}]", shape_of(message), _EXPECTED)
        _check_blocks(blocks, f"messages[{number}].content")
    system = native.get("system")
    blocks = [{"text": system}] if isinstance(system, str) else listed(system or [], "system")
    _check_blocks(blocks, "system")
    return [*([{"role": "system", "content": blocks}] if blocks else []), *native["messages"]]


def _check_blocks(blocks: Sequence[Any], where: str) -> None:
    """FormatError for a block in which a text could be missed."""
    for number, block in enumerate(blocks):
        if not isinstance(block, Mapping) or not block or not isinstance(block.get("text", ""), str):
            raise FormatError(f"{where}[{number}]", shape_of(block), 'a block such as {"text": "hi"}')
        for kind in block:
            check_name(kind, f"{where}[{number}]", _BLOCKS)


def _put(_native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    system = [block for one in contents if one["role"] == "system" for block in one["content"]]
    return {"system": system or None, "messages": _alternating(one for one in contents if one["role"] != "system")}


def _alternating(messages: Iterable[Any]) -> list[Any]:
    """The messages, with neighbours of the same role as one: Bedrock refuses two of them in a row."""
    joined: list[Any] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *message["content"]]}
        else:
            joined.append(message)
    return joined


def _read_choice(choice: Any) -> HookToolConfig:
    if not isinstance(choice, Mapping):
        return {}
    if "tool" in choice:
        return {"mode": "ANY", "allowedFunctionNames": [choice["tool"]["name"]]}
    return {"mode": next((mode for word, mode in _MODES.items() if word in choice), "AUTO")}


_API = requests.Api(
    name="Strands",
    form=_BlocksForm(),
    contents=_contents,
    put_contents=_put,
    config={},  # a model has its own configuration, which is not that of one call
    modes=_MODES,
    read_choice=_read_choice,
    write_choice=lambda word: {word: {}},
    tool_name=lambda tool: str(tool["name"]),
    can_forbid=False,
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
