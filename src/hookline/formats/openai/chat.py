"""Requests and responses of chat completions."""

from collections.abc import Mapping
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import ContentView
from hookline.formats.hook_format import Role
from hookline.formats.messages import TEXTS, MessageForm, check_content, check_parts, replace_text
from hookline.formats.native import field, kind_of, listed, shape_of, with_fields, words
from hookline.protocol.llm import HookToolConfig, LLMResponse, ToolMode

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
    "tool": "user",
    "function": "user",
}
MODES: Mapping[str, ToolMode] = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_RESULTS = frozenset({"tool", "function"})
PARTS = words("text refusal image_url input_audio file")
_OTHERS = ("tool_calls", "function_call", "refusal", "audio")
ENDINGS = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "tool_calls": "STOP",
    "function_call": "STOP",
}
_EXPECTED = 'a message such as {"role": "user", "content": "hi"} of the role system, developer, user, assistant or tool'


class _ChatForm(MessageForm):
    roles = _ROLES

    def read(self, content: Any) -> ContentView:
        """The message as a turn; hooks do not see what tools returned."""
        if field(content, "role") in _RESULTS:
            return ContentView(content, "user", "", has_response=True)
        return super().read(content)

    def has_call(self, message: Any) -> bool:
        return bool(field(message, "tool_calls") or field(message, "function_call"))

    def has_more(self, message: Any) -> bool:
        return any(field(message, name) for name in _OTHERS)


_FORM = _ChatForm()


def _contents(native: Mapping[str, Any]) -> list[Any]:
    messages = listed(native.get("messages"), "messages")
    for number, message in enumerate(messages):
        _check(message, f"messages[{number}]")
    return messages


def _check(message: Any, where: str) -> None:
    role, content = field(message, "role"), field(message, "content")
    is_known = isinstance(role, str) and role in _ROLES
    if not is_known or not isinstance(content, str | list | tuple | None):
        raise FormatError(where, shape_of(message) if is_known or role is None else f"of the role {role!r}", _EXPECTED)
    if content is None and (role != "assistant" or not _may_lack_content(message)):
        raise FormatError(where, "without content", _EXPECTED)
    check_parts(content, f"{where}.content", PARTS)


def _may_lack_content(message: Any) -> bool:
    """Whether this is an answer without a text, and no shape in which the text has another name."""
    has_content = "content" in message if isinstance(message, Mapping) else hasattr(message, "content")
    return has_content or any(field(message, name) for name in _OTHERS)


def read_choice(choice: Any) -> HookToolConfig:
    """A `tool_choice` that names tools, in hook form."""
    allowed = field(choice, "allowed_tools")
    if kind_of(choice) == "allowed_tools":
        chosen = choice if allowed is None else allowed
        names = [name for tool in field(chosen, "tools") or () if (name := _chosen_name(tool)) is not None]
        return {"mode": "ANY" if field(chosen, "mode") == "required" else "AUTO", "allowedFunctionNames": names}
    name = _chosen_name(choice)
    return {} if name is None else {"mode": "ANY", "allowedFunctionNames": [name]}


def _chosen_name(tool: Any) -> str | None:
    """The name of a tool in a choice, or its type if the API runs it itself."""
    return tool_name(tool) or kind_of(tool) or None


def tool_name(tool: Any) -> str | None:
    """The name of a tool; None for one that the API runs itself."""
    for place in (field(tool, "function"), field(tool, "custom"), tool):
        name = field(place, "name")
        if isinstance(name, str):
            return name
    return None


API = requests.Api(
    name="OpenAI's chat completions",
    form=_FORM,
    contents=_contents,
    put_contents=lambda _, contents: {"messages": list(contents)},
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_completion_tokens", "max_tokens"),
        "topP": ("top_p",),
        "stopSequences": ("stop",),
        "candidateCount": ("n",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    },
    modes=MODES,
    read_choice=read_choice,
    tool_name=tool_name,
)


def to_hook_response(response: Any) -> LLMResponse:
    """Return a chat completion as hooks see it."""
    expected = (
        'a ChatCompletion or its JSON, such as {"choices": [{"message": {"role": "assistant", "content": "hi"}}]}'
    )
    if field(response, "choices") is None:
        raise FormatError("the response", shape_of(response), f"{expected}, or a Response with `output`")
    candidates: list[responses.Candidate] = []
    for number, choice in enumerate(listed(field(response, "choices"), "choices")):
        message = field(choice, "message")
        if message is None or isinstance(message, str) or not _may_lack_content(message):
            raise FormatError(f"choices[{number}]", shape_of(choice), f"{expected}; a stream's chunks are not complete")
        check_content(field(message, "content"), f"choices[{number}].message.content", PARTS)
        texts = TEXTS.texts(_FORM.parts(message))
        candidates.append(responses.Candidate(texts, ENDINGS.get(str(field(choice, "finish_reason"))), number))
    usage = field(response, "usage")
    return responses.in_hook_form(candidates, usage, ("prompt_tokens", "completion_tokens", "total_tokens"))


def replace_response_text(hook_response: Mapping[str, Any], base: Any) -> Any:
    """The chat completion with the hooks' texts; a choice that hooks dropped loses its text."""
    choices = listed(field(base, "choices"), "choices")
    wanted = responses.texts_by_candidate(hook_response, len(choices))
    changed = [_with_choice_text(choice, text) for choice, text in zip(choices, wanted, strict=True)]
    if all(new is old for new, old in zip(changed, choices, strict=True)):
        return base
    return with_fields(base, choices=changed)


def _with_choice_text(choice: Any, text: str) -> Any:
    message = field(choice, "message")
    if text == TEXTS.text(_FORM.parts(message)):
        return choice
    old = field(message, "content")
    content: Any = text or None
    if isinstance(old, list | tuple) and TEXTS.texts(old):
        content = replace_text(old, text, TEXTS)
    # These quote the old text, or point into it.
    traces = {name: None for name in ("parsed", "annotations") if field(message, name) is not None}
    # The probabilities spell out the old text, token by token.
    logprobs = {"logprobs": None} if field(choice, "logprobs") is not None else {}
    return with_fields(choice, message=with_fields(message, content=content, **traces), **logprobs)


def make_response(hook_response: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion of text alone, as JSON."""
    texts = responses.texts_of(hook_response)
    choices = [
        {"index": number, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "logprobs": None}
        for number, text in enumerate(texts or [""])
    ]
    return {"id": "hookline", "object": "chat.completion", "created": 0, "model": "hookline", "choices": choices}
