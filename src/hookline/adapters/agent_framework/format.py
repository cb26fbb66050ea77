"""Requests and answers of Agent Framework ↔ hook form; it needs `agent-framework-core`.

A request is a dictionary: `messages` and the options of a chat client. A response is a `ChatResponse`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from copy import copy
from typing import Any

from agent_framework import ChatResponse, Content, Message, ResponseStream

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.hook_format import Role
from hookline.formats.messages import TEXTS, MessageForm, SystemPrompt, TextParts, check_parts, split_prompt
from hookline.formats.native import shape_of, words
from hookline.protocol.llm import HookToolConfig, LLMResponse, ToolMode

_MODES: Mapping[str, ToolMode] = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_CALLS = frozenset({"function_call", "function_approval_request"})
_RESULTS = frozenset({"function_result", "function_approval_response"})
_CONTENTS = (
    _CALLS
    | _RESULTS
    | words(
        """
    code_interpreter_tool_call code_interpreter_tool_result computer_tool_call computer_tool_result data error
    hosted_file hosted_vector_store image_generation_tool_call image_generation_tool_result
    mcp_server_tool_call mcp_server_tool_result oauth_consent_request search_tool_call search_tool_result
    shell_command_output shell_tool_call shell_tool_result text text_reasoning uri usage
    """
    )
)
_ENDINGS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def to_hook_llm_response(response: Any) -> LLMResponse:
    """Return the model's answer as hooks see it: the texts of all its messages."""
    for number, message in enumerate(response.messages):
        check_parts(message.contents, f"messages[{number}].contents", _CONTENTS)
    texts = [text for message in response.messages for text in _TEXTS.texts(message.contents)]
    counts = ("input_token_count", "output_token_count", "total_token_count")
    ending = _ENDINGS.get(str(response.finish_reason))
    return responses.of_one_candidate(texts, ending, response.usage_details, counts)


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
    spoken = [message for message in response.messages if _TEXTS.texts(message.contents)]
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


def _replaced(message: Any, text: str) -> Any:
    has_text = bool(_TEXTS.texts(message.contents))
    return _with_contents(message, _TEXTS.with_text(message.contents, text)) if has_text else message


def _with_contents(message: Any, contents: Sequence[Any]) -> Any:
    changed = copy(message)
    changed.contents = list(contents)
    changed.raw_representation = None
    return changed


class _TextContents(TextParts):
    """The contents of a message that hold a text."""

    def text_of_part(self, part: Any) -> str | None:
        return part.text if part.type == "text" and isinstance(part.text, str) else None

    def part_with_text(self, part: Any, text: str) -> Any | None:
        """The content with another text; annotations go, because they quote the old one."""
        return Content.from_text(text, additional_properties=part.additional_properties) if text else None


_TEXTS = _TextContents()


class _ContentsForm(MessageForm):
    roles: Mapping[str, Role] = {**MessageForm.roles, "developer": "system", "tool": "user"}
    texts = _TEXTS
    has_system_parameter = True

    def parts(self, message: Any) -> list[Any]:
        return list(message.contents)

    def with_parts(self, message: Any, parts: list[Any]) -> Any:
        return _with_contents(message, parts)

    def has_call(self, message: Any) -> bool:
        return any(one.type in _CALLS for one in message.contents)

    def has_response(self, message: Any) -> bool:
        return any(one.type in _RESULTS for one in message.contents)

    def new_message(self, role: Role, text: str) -> Any:
        return Message("assistant" if role == "model" else role, [text])


_FORM = _ContentsForm()


def _contents(native: Mapping[str, Any]) -> list[Any]:
    for number, message in enumerate(native["messages"]):
        if not isinstance(message, Message) or str(message.role) not in _FORM.roles:
            found = f"of the role {message.role!r}" if isinstance(message, Message) else shape_of(message)
            raise FormatError(f"messages[{number}]", found, f"a Message of the role {', '.join(_FORM.roles)}")
        check_parts(message.contents, f"messages[{number}].contents", _CONTENTS)
    prompt = native.get("instructions")
    if not isinstance(prompt, str | list | tuple | None):
        raise FormatError("instructions", shape_of(prompt), "a text or a list of texts")
    for number, part in enumerate(() if isinstance(prompt, str | None) else prompt):
        if TEXTS.text_of_part(part) is None:
            raise FormatError(f"instructions[{number}]", shape_of(part), "a text")
    return [*([SystemPrompt(prompt)] if prompt else []), *native["messages"]]


def _put(native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    prompt, messages = split_prompt(contents)
    changes: dict[str, Any] = {"messages": messages}
    if prompt != native.get("instructions"):
        changes["instructions"] = prompt if prompt is not None else requests.GONE
    return changes


def _read_choice(choice: Any) -> HookToolConfig:
    given: Mapping[str, Any] = choice if isinstance(choice, Mapping) else {}
    mode = _MODES.get(given.get("mode", ""))
    if mode is None:
        return {}
    name = given.get("required_function_name")
    names = [name] if name is not None else given.get("allowed_tools")
    config: HookToolConfig = {"mode": mode}
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
    form=_FORM,
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
    modes=_MODES,
    read_choice=_read_choice,
    tool_name=_tool_name,
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
