"""Requests and answers of Agent Framework ↔ hook form; it needs `agent-framework-core`.

A request is a dictionary: `messages` and the options of a chat client. A response is a `ChatResponse`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from copy import copy
from typing import Any

from agent_framework import ChatResponse, Content, Message, ResponseStream

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import Turn
from hookline.formats.hook_format import Role
from hookline.formats.native import shape_of
from hookline.formats.parts import replace_text
from hookline.formats.texts import TEXTS, check_part
from hookline.protocol.llm import HookToolConfig, LLMResponse

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "model",
    "system": "system",
    "developer": "system",
    "tool": "user",
}
_NAMES: Mapping[Role, str] = {"user": "user", "model": "assistant"}
_CALLS = frozenset({"function_call", "function_approval_request"})
_RESULTS = frozenset({"function_result", "function_approval_response"})
_CONTENTS = frozenset(
    {
        *_CALLS,
        *_RESULTS,
        "code_interpreter_tool_call",
        "code_interpreter_tool_result",
        "computer_tool_call",
        "computer_tool_result",
        "data",
        "error",
        "hosted_file",
        "hosted_vector_store",
        "image_generation_tool_call",
        "image_generation_tool_result",
        "mcp_server_tool_call",
        "mcp_server_tool_result",
        "oauth_consent_request",
        "search_tool_call",
        "search_tool_result",
        "shell_command_output",
        "shell_tool_call",
        "shell_tool_result",
        "text",
        "text_reasoning",
        "uri",
        "usage",
    }
)
_ENDINGS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def to_hook_llm_response(response: Any) -> LLMResponse:
    """Return the model's answer as hooks see it: the texts of all its messages."""
    for number, message in enumerate(response.messages):
        _check_contents(message, f"messages[{number}]")
    texts = [content.text for message in response.messages for content in message.contents if _is_text(content)]
    candidate = responses.Candidate(texts, _ENDINGS.get(str(response.finish_reason)), 0)
    counts = ("input_token_count", "output_token_count", "total_token_count")
    return responses.in_hook_form([candidate], response.usage_details, counts)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """The answer with the hooks' text, and nothing that shows the old one; without an answer, a new one."""
    (text,) = responses.texts_by_candidate(hook_response, 1)
    if base is None:
        return ChatResponse(messages=[Message("assistant", [text])], finish_reason="stop")
    return _with_text(base, text)


def request_of(context: Any) -> dict[str, Any]:
    """The request of a middleware's context as one dictionary."""
    return {**(context.options or {}), "messages": list(context.messages)}


def put(context: Any, wanted: Mapping[str, Any]) -> None:
    """Puts what hooks changed into the context."""
    context.messages = wanted["messages"]
    context.options = {name: value for name, value in wanted.items() if name != "messages"}


def streamed(response: Any) -> Any:
    """The response as a stream."""

    async def updates() -> AsyncIterator[Any]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


def to_tool_content(output: Any) -> Any:
    """Return a tool's output as hooks see it: contents that are texts become one text."""
    if isinstance(output, list) and all(isinstance(one, Content) and one.type == "text" for one in output):
        return "".join(one.text for one in output)
    return output


def from_tool_content(content: Any) -> Any:
    """The output of a tool; a note that a hook added to a list of contents is a dictionary."""
    if not isinstance(content, list):
        return content
    return [Content.from_text(one["text"]) if isinstance(one, dict) else one for one in content]


def has_calls(response: Any) -> bool:
    """Whether the model calls tools, so that it is asked again."""
    return any(content.type in _CALLS for message in response.messages for content in message.contents)


def _with_text(response: Any, text: str) -> Any:
    spoken = [message for message in response.messages if any(map(_is_text, message.contents))]
    taker = spoken[-1] if spoken else None
    changed = [_replaced(message, text if message is taker else "") for message in response.messages]
    if taker is None:
        first, *others = changed or [Message("assistant", [])]
        changed = [_with_contents(first, [Content.from_text(text), *first.contents]), *others]
    return ChatResponse(
        messages=changed,
        response_id=response.response_id,
        conversation_id=response.conversation_id,
        model=response.model,
        created_at=response.created_at,
        finish_reason=response.finish_reason,
        usage_details=response.usage_details,
        continuation_token=response.continuation_token,
        additional_properties=response.additional_properties,
    )


def _is_text(content: Any) -> bool:
    return content.type == "text" and isinstance(content.text, str)


def _replaced(message: Any, text: str) -> Any:
    if not any(map(_is_text, message.contents)):
        return message
    return _with_contents(message, replace_text(message.contents, text, _Texts))


def _with_contents(message: Any, contents: Sequence[Any]) -> Any:
    changed = copy(message)
    changed.contents = list(contents)
    changed.raw_representation = None
    return changed


class _Texts:
    """The contents of a message that hold a text."""

    @staticmethod
    def text_of_part(part: Any) -> str | None:
        """The text of a content, or None for one of another kind."""
        return part.text if _is_text(part) else None

    @staticmethod
    def is_thought(_part: Any) -> bool:
        """False: thoughts are separate contents, which hooks do not see."""
        return False

    @staticmethod
    def part_with_text(part: Any, text: str) -> Any | None:
        """The content with another text; annotations go, because they quote the old one."""
        return Content.from_text(text, additional_properties=part.additional_properties) if text else None


class _Instructions:
    """The system prompt, which is an option and no message."""

    def __init__(self, prompt: Any) -> None:
        self.prompt = prompt

    @property
    def parts(self) -> list[Any]:
        return [self.prompt] if isinstance(self.prompt, str) else list(self.prompt)


class _Form:
    """The messages and the instructions as contents."""

    @staticmethod
    def read(content: Any) -> Turn:
        if isinstance(content, _Instructions):
            return Turn(content, "system", "".join(TEXTS.text_of_part(part) or "" for part in content.parts))
        kinds = {one.type for one in content.contents}
        return Turn(
            content,
            _ROLES[str(content.role)],
            "".join(one.text for one in content.contents if _is_text(one)),
            has_call=bool(kinds & _CALLS),
            has_response=bool(kinds & _RESULTS),
        )

    @staticmethod
    def make(role: Role, text: str) -> Any:
        return _Instructions(text) if role == "system" else Message(_NAMES[role], [text])

    @staticmethod
    def with_text(content: Any, text: str) -> Any:
        if isinstance(content, _Instructions):
            given = content.prompt
            return _Instructions(text if isinstance(given, str) else replace_text(given, text, TEXTS))
        return _replaced(content, text)

    @staticmethod
    def without_text(content: Any) -> Any | None:
        if isinstance(content, _Instructions):
            return None
        left = [one for one in content.contents if not _is_text(one)]
        return _with_contents(content, left) if left else None


def _contents(native: Mapping[str, Any]) -> list[Any]:
    for number, message in enumerate(native["messages"]):
        if not isinstance(message, Message) or str(message.role) not in _ROLES:
            found = f"of the role {message.role!r}" if isinstance(message, Message) else shape_of(message)
            raise FormatError(f"messages[{number}]", found, f"a Message of the role {', '.join(_ROLES)}")
        _check_contents(message, f"messages[{number}]")
    prompt = native.get("instructions")
    if not isinstance(prompt, str | list | tuple | None):
        raise FormatError("instructions", shape_of(prompt), "a text or a list of texts")
    for number, part in enumerate(() if isinstance(prompt, str | None) else prompt):
        if TEXTS.text_of_part(part) is None:
            raise FormatError(f"instructions[{number}]", shape_of(part), "a text")
    return [*([_Instructions(prompt)] if prompt else []), *native["messages"]]


def _check_contents(message: Any, where: str) -> None:
    """FormatError for a content in which a text could be missed."""
    for number, content in enumerate(message.contents):
        check_part(content, f"{where}.contents[{number}]", _CONTENTS)


def _put(native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    prompts = [one.prompt for one in contents if isinstance(one, _Instructions)]
    changes: dict[str, Any] = {"messages": [one for one in contents if not isinstance(one, _Instructions)]}
    if prompts != [native.get("instructions")]:
        changes["instructions"] = _joined(prompts) if prompts else requests.GONE
    return changes


def _joined(prompts: Sequence[Any]) -> Any:
    if all(isinstance(prompt, str) for prompt in prompts):
        return "\n\n".join(prompts)
    return [part for prompt in prompts for part in _Instructions(prompt).parts]


def _read_choice(choice: Any) -> HookToolConfig:
    given: Mapping[str, Any] = {"mode": choice} if isinstance(choice, str) else choice or {}
    mode = {"auto": "AUTO", "required": "ANY", "none": "NONE"}.get(given.get("mode", ""))
    if mode is None:
        return {}
    name = given.get("required_function_name")
    names = [name] if name is not None else given.get("allowed_tools")
    config: HookToolConfig = {"mode": mode}  # type: ignore[typeddict-item]
    return config if names is None else {**config, "allowedFunctionNames": list(names)}


def _tool_name(tool: Any) -> str | None:
    """The name of a tool; None for one that the provider runs."""
    if isinstance(tool, Mapping):
        given = tool.get("name") or (tool.get("function") or {}).get("name")
    else:
        given = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return given if isinstance(given, str) else None


_API = requests.Api(
    name="Agent Framework",
    form=_Form(),
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "stopSequences": ("stop",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    },
    read_choice=_read_choice,
    write_choice=lambda choice: {"AUTO": "auto", "ANY": "required", "NONE": "none"}[choice.get("mode", "AUTO")],
    tool_name=_tool_name,
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
