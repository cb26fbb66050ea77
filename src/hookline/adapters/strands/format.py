"""Strands' model calls and answers ↔ hook form: messages as Bedrock's Converse has them. No SDK is imported.

A request is a dictionary: `model`, `system` (a text or blocks), `messages`, `tools` (their specifications) and
`tool_choice`. A response is one, too: `message`, `stop_reason`, `usage` and `metrics`. They come from the context of a
model call, and go back into it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import Turn
from hookline.formats.hook_format import Role
from hookline.formats.native import check_name, listed, shape_of
from hookline.formats.parts import replace_text
from hookline.protocol.llm import HookToolConfig, LLMResponse

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "model", "system": "system"}
_NAMES: Mapping[Role, str] = {"user": "user", "model": "assistant", "system": "system"}
_ENDINGS = {
    "end_turn": "STOP",
    "stop_sequence": "STOP",
    "tool_use": "STOP",
    "max_tokens": "MAX_TOKENS",
    "content_filtered": "SAFETY",
    "guardrail_intervened": "SAFETY",
}
_BLOCKS = frozenset(
    {
        "audio",
        "cachePoint",
        "citationsContent",
        "document",
        "guardContent",
        "image",
        "reasoningContent",
        "text",
        "toolResult",
        "toolUse",
        "video",
    }
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
    texts = [text for block in blocks if (text := _Texts.text_of_part(block)) is not None]
    candidate = responses.Candidate(texts, _ENDINGS.get(response["stop_reason"]), 0)
    return responses.in_hook_form([candidate], response["usage"], ("inputTokens", "outputTokens", "totalTokens"))


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The response with the hooks' text; without one, a new response of text alone."""
    (text,) = responses.texts_by_candidate(hook_response, 1)
    if base is None:
        message = {"role": "assistant", "content": [{"text": text}]}
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        return {"stop_reason": "end_turn", "message": message, "usage": usage, "metrics": {"latencyMs": 0}}
    return {**base, "message": _with_text(base["message"], text)}


def _with_text(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The message with another text; its other blocks stay."""
    blocks = message["content"]
    if any(_Texts.text_of_part(block) is not None for block in blocks):
        content = replace_text(blocks, text, _Texts)
    else:
        content = [{"text": text}, *blocks]
    return {**message, "content": content or [{"text": text}]}


class _Texts:
    """The blocks of a message that hold a text."""

    @staticmethod
    def text_of_part(part: Any) -> str | None:
        """The text of a block, or None for a block of another kind."""
        if "guardContent" in part:
            text = part["guardContent"].get("text")
            return None if text is None else str(text["text"])
        if "citationsContent" in part:
            return "".join(one.get("text", "") for one in part["citationsContent"].get("content", ()))
        text = part.get("text")
        return text if isinstance(text, str) else None

    @staticmethod
    def is_thought(_part: Any) -> bool:
        """False: thoughts are separate blocks, which hooks do not see."""
        return False

    @staticmethod
    def part_with_text(part: Any, text: str) -> Any | None:
        """The block with another text; citations go, because they quote the old one."""
        if not text:
            return None
        if "guardContent" in part:
            guard = part["guardContent"]
            return {**part, "guardContent": {**guard, "text": {**guard["text"], "text": text}}}
        return {"text": text}


class _Form:
    """The messages and the system prompt as contents."""

    @staticmethod
    def read(content: Any) -> Turn:
        blocks = content["content"]
        return Turn(
            content,
            _ROLES[content["role"]],
            "".join(_Texts.text_of_part(block) or "" for block in blocks),
            has_call=any("toolUse" in block for block in blocks),
            has_response=any("toolResult" in block for block in blocks),
        )

    @staticmethod
    def make(role: Role, text: str) -> Any:
        return {"role": _NAMES[role], "content": [{"text": text}]}

    @staticmethod
    def with_text(content: Any, text: str) -> Any:
        return _with_text(content, text)

    @staticmethod
    def without_text(content: Any) -> Any | None:
        left = [block for block in content["content"] if _Texts.text_of_part(block) is None]
        return {**content, "content": left} if left and content["role"] != "system" else None


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
    if "any" in choice:
        return {"mode": "ANY"}
    return {"mode": "NONE"} if "none" in choice else {"mode": "AUTO"}


def _write_choice(choice: HookToolConfig) -> Any:
    return {"AUTO": {"auto": {}}, "ANY": {"any": {}}, "NONE": {"none": {}}}[choice.get("mode", "AUTO")]


_API = requests.Api(
    name="Strands",
    form=_Form(),
    contents=_contents,
    put_contents=_put,
    config={},  # a model has its own configuration, which is not that of one call
    read_choice=_read_choice,
    write_choice=_write_choice,
    tool_name=lambda tool: str(tool["name"]),
    can_forbid=False,
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
