"""LangChain's requests and answers ↔ hook form; it needs `langchain-core`.

A request is a dictionary: `model`, `system`, `messages`, `tools`, `tool_choice`, and the model's settings. A response
is an `AIMessage`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from hookline.errors import FormatError
from hookline.formats import anthropic, requests, responses
from hookline.formats.conversation import ContentView
from hookline.formats.hook_format import Role
from hookline.formats.messages import TEXTS, MessageForm, check_part
from hookline.formats.native import kind_of, listed, shape_of, words
from hookline.formats.openai import chat, items
from hookline.protocol.llm import HookToolConfig, LLMResponse, ToolMode

_OWN = ("model", "system", "messages", "tools", "tool_choice")
_MODES: Mapping[str, ToolMode] = {"auto": "AUTO", "any": "ANY", "required": "ANY", "none": "NONE"}
_RESULTS = ("tool", "function")
# Of a message whose text was changed, these fields stay: calls and their signatures, and facts about the response.
_CALLS = frozenset({"function_call", "tool_calls"})
_FACTS = words(
    """
    created finish_reason id model model_id model_name model_provider object service_tier stop_reason
    system_fingerprint token_usage usage
    """
)
_OWN_BLOCKS = words(
    """
    audio file image invalid_tool_call non_standard reasoning server_tool_call server_tool_call_chunk
    server_tool_result text text-plain tool_call tool_call_chunk video
    """
)
# Of providers whose messages LangChain passes on as they are; those of OpenAI and Anthropic have their own tables.
_BLOCKS_OF_PROVIDERS = words(
    """
    cache_point code_execution_result document_url executable_code file_data function_call_signature
    guard_content input_json_delta media reasoning_content reference video_url
    """
)
_BLOCKS = _OWN_BLOCKS | _BLOCKS_OF_PROVIDERS | chat.PARTS | items.PARTS | items.ITEMS | anthropic.BLOCKS
# Amazon's block for a cache mark has no type, and a text needs none.
_UNTYPED = frozenset({"text", "cachePoint"})


def request_of(request: Any) -> dict[str, Any]:
    """A `ModelRequest` as one dictionary, its model settings included."""
    model = request.model
    name = getattr(model, "model_name", None) or getattr(model, "model", None) or getattr(model, "_llm_type", "")
    own = {
        "model": name if isinstance(name, str) else "",
        "system": request.system_message,
        "messages": list(request.messages),
        "tools": list(request.tools),
        "tool_choice": request.tool_choice,
    }
    return {**request.model_settings, **own}


def changed(request: Any, native: Mapping[str, Any]) -> Any:
    """The `ModelRequest` with what hooks changed."""
    return request.override(
        messages=native["messages"],
        system_message=native.get("system"),
        tools=native.get("tools", []),
        tool_choice=native.get("tool_choice"),
        model_settings={name: value for name, value in native.items() if name not in _OWN},
    )


def tool_message_of(output: Any, call_id: str | None) -> Any:
    """The tool message of an output, which may be a `Command` with one among its updates; None without any."""
    if isinstance(output, ToolMessage):
        return output
    update = output.update if isinstance(output.update, dict) else {}
    found = (one for one in update.get("messages", ()) if getattr(one, "tool_call_id", None) == call_id)
    return next(found, None)


def with_tool_content(output: Any, message: ToolMessage, content: Any) -> Any:
    """The output with another content of its message."""
    if not isinstance(content, str):
        # A note that a hook added to a list of blocks has no type.
        content = [one if isinstance(one, str) or "type" in one else {"type": "text", **one} for one in content]
    new = message.model_copy(update={"content": content})
    if output is message:
        return new
    return replace(
        output, update={**output.update, "messages": [_swap(one, message, new) for one in output.update["messages"]]}
    )


def with_answer(response: Any, said: AIMessage, answer: AIMessage) -> Any:
    """The `ModelResponse` with another answer; what was parsed from the old text would show it."""
    structured = response.structured_response if said.tool_calls else None
    result = [_swap(one, said, answer) for one in response.result]
    return replace(response, result=result, structured_response=structured)


def _swap(one: Any, old: Any, new: Any) -> Any:
    return new if one is old else one


def to_hook_llm_response(message: AIMessage) -> LLMResponse:
    """Return the model's answer as hooks see it."""
    _check(message, "the response")
    # Not `message.text`, which leaves out texts of other types than "text".
    counts = ("input_tokens", "output_tokens", "total_tokens")
    return responses.of_one_candidate([TEXTS.text(_FORM.parts(message))], None, message.usage_metadata, counts)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """The message with the hooks' text; without one, a new message."""
    (text,) = responses.texts_by_candidate(hook_response, 1)
    return AIMessage(text) if base is None else _FORM.with_text(base, text)


def _tool_name(tool: Any) -> str | None:
    """The name of a tool that is offered; None for one that the provider runs."""
    if not isinstance(tool, Mapping):
        return str(tool.name)
    name = tool.get("name") or (tool.get("function") or {}).get("name")
    return name if isinstance(name, str) else None


class _MessageForm(MessageForm):
    roles: Mapping[str, Role] = {**MessageForm.roles, "developer": "system", "human": "user", "ai": "model"}

    def read(self, content: Any) -> ContentView:
        if content.type in _RESULTS:
            return ContentView(content, "user", "", has_response=True)
        return super().read(content)

    def role(self, message: Any) -> Role:
        role = self.roles.get(message.type) or self.roles.get(getattr(message, "role", ""))
        if role is None:
            raise FormatError("a message", shape_of(message), "a human, AI, system or tool message of LangChain")
        return role

    def has_call(self, message: Any) -> bool:
        return bool(getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None))

    def with_parts(self, message: Any, parts: list[Any]) -> Any:
        """The message with other parts; everything else stays, but not what would show the old text beside it."""
        content = "".join(parts) if isinstance(message.content, str) else parts or ""
        return message.model_copy(update={"content": content, **_without_copies(message)})

    def new_message(self, role: Role, text: str) -> BaseMessage:
        return {"user": HumanMessage, "model": AIMessage, "system": SystemMessage}[role](text)


_FORM = _MessageForm()


def _without_copies(message: BaseMessage) -> dict[str, Any]:
    """The message's other fields without what may repeat its old text: a provider puts reasoning or tokens there."""
    kept = {
        "additional_kwargs": {
            name: value for name, value in message.additional_kwargs.items() if name in _CALLS or name.startswith("__")
        },
        "response_metadata": {name: value for name, value in message.response_metadata.items() if name in _FACTS},
    }
    return {name: values for name, values in kept.items() if values != getattr(message, name)}


def _contents(native: Mapping[str, Any]) -> list[Any]:
    system = native.get("system")
    messages = listed(native["messages"], "messages")
    for number, message in enumerate(messages):
        _check(message, f"messages[{number}]")
    if system is None:
        return messages
    _check(system, "system")
    return [system, *messages]


def _check(message: Any, where: str) -> None:
    """FormatError for a message in which a text could be missed; hooks see nothing of a tool's."""
    if not isinstance(message, BaseMessage):
        raise FormatError(where, shape_of(message), "a message of LangChain")
    content = message.content
    if message.type in _RESULTS or isinstance(content, str):
        return
    for number, part in enumerate(content):
        if not isinstance(part, Mapping) or kind_of(part) or not part.keys() <= _UNTYPED:
            check_part(part, f"{where}.content[{number}]", _BLOCKS)


def _put(_native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    """The first message is the system prompt if it is a system message; later ones stay in their places."""
    is_system = bool(contents) and contents[0].type == "system"
    return {"system": contents[0] if is_system else None, "messages": list(contents[1:] if is_system else contents)}


def _read_choice(choice: Any) -> HookToolConfig:
    return {"mode": "ANY", "allowedFunctionNames": [choice]} if isinstance(choice, str) else {}


_API = requests.Api(
    name="LangChain",
    form=_FORM,
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens", "max_output_tokens"),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop",),
    },
    modes=_MODES,
    read_choice=_read_choice,
    tool_name=_tool_name,
    can_forbid=False,  # several of its models take "none" for the name of a tool
)
to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names
