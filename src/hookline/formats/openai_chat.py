"""Chat completions; this module is their `ContentFormat`."""

from collections.abc import Mapping, Sequence
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import Turn
from hookline.formats.hook_format import Role
from hookline.formats.native import field, given, kind_of, listed, shape_of, with_fields
from hookline.formats.parts import replace_text
from hookline.formats.texts import TEXTS, check_content, check_part
from hookline.protocol.llm import HookToolConfig, LLMResponse

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
    "tool": "user",
    "function": "user",
}
_NAMES: Mapping[Role, str] = {"system": "system", "user": "user", "model": "assistant"}
_RESULTS = frozenset({"tool", "function"})
PARTS = frozenset({"text", "refusal", "image_url", "input_audio", "file"})
_OTHERS = ("tool_calls", "function_call", "refusal", "audio")
ENDINGS = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "tool_calls": "STOP",
    "function_call": "STOP",
}
_EXPECTED = 'a message such as {"role": "user", "content": "hi"} of the role system, developer, user, assistant or tool'


def read(content: Any) -> Turn:
    """The message as a turn; hooks do not see what tools returned."""
    role = field(content, "role")
    if role in _RESULTS:
        return Turn(content, "user", "", has_response=True)
    text = "".join(TEXTS.text_of_part(part) or "" for part in _parts(content))
    has_call = bool(field(content, "tool_calls") or field(content, "function_call"))
    return Turn(content, _ROLES[role], text, has_call=has_call)


def make(role: Role, text: str) -> Any:
    """A new message with this text alone."""
    return {"role": _NAMES[role], "content": text}


def with_text(content: Any, text: str) -> Any:
    """The message with another text."""
    old = field(content, "content")
    return with_fields(content, content=text if isinstance(old, str) else replace_text(old, text, TEXTS))


def without_text(content: Any) -> Any | None:
    """The message without its text, or None if nothing is left of it."""
    left = [part for part in _parts(content) if TEXTS.text_of_part(part) is None]
    if not left and not any(field(content, name) for name in _OTHERS):
        return None
    return with_fields(content, content=left or None)


def _parts(message: Any) -> list[Any]:
    content = field(message, "content")
    if content is None:
        return []
    return [content] if isinstance(content, str) else list(content)


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
    for number, part in enumerate(() if isinstance(content, str | None) else content):
        check_part(part, f"{where}.content[{number}]", PARTS)


def _may_lack_content(message: Any) -> bool:
    """Whether this is an answer without a text, and no shape in which the text has another name."""
    has_content = "content" in message if isinstance(message, Mapping) else hasattr(message, "content")
    return has_content or any(field(message, name) for name in _OTHERS)


def read_choice(choice: Any) -> HookToolConfig:
    """`tool_choice` in hook form."""
    if isinstance(choice, str):
        return _MODES.get(choice, {})
    allowed = field(choice, "allowed_tools")
    if kind_of(choice) == "allowed_tools":
        chosen = choice if allowed is None else allowed
        names = [name for tool in field(chosen, "tools") or () if (name := _chosen_name(tool)) is not None]
        return {"mode": "ANY" if field(chosen, "mode") == "required" else "AUTO", "allowedFunctionNames": names}
    name = _chosen_name(choice)
    return {} if name is None else {"mode": "ANY", "allowedFunctionNames": [name]}


def _chosen_name(tool: Any) -> str | None:
    """What a tool is called in a choice: by its name, or by its type if the API runs it itself."""
    return tool_name(tool) or kind_of(tool) or None


def write_choice(choice: HookToolConfig) -> Any:
    """A mode as `tool_choice`; names are enforced by the tools that are offered."""
    return {"AUTO": "auto", "ANY": "required", "NONE": "none"}[choice.get("mode", "AUTO")]


def tool_name(tool: Any) -> str | None:
    """The name of a tool; None for one that the API runs itself."""
    for place in (field(tool, "function"), field(tool, "custom"), tool):
        name = field(place, "name")
        if isinstance(name, str):
            return name
    return None


_MODES: Mapping[str, HookToolConfig] = {"auto": {"mode": "AUTO"}, "required": {"mode": "ANY"}, "none": {"mode": "NONE"}}


def _read_function_call(native: Mapping[str, Any]) -> HookToolConfig:
    """The older `function_call` in hook form."""
    call = given(native.get("function_call"))
    if isinstance(call, str):
        return _MODES.get(call, {})
    name = field(call, "name")
    return {"mode": "ANY", "allowedFunctionNames": [name]} if isinstance(name, str) else {}


def _restrict_functions(native: Mapping[str, Any], restriction: requests.Restriction) -> dict[str, Any]:
    """The older `functions` and `function_call`, which have no word for "call any of them"."""
    functions = listed(given(native.get("functions")) or (), "functions")
    kept = [one for one in functions if restriction.permits(str(field(one, "name") or ""))]
    call, mode = given(native.get("function_call")), restriction.mode
    if not functions:
        return {}
    if mode == "NONE" or not kept:
        return {} if call == "none" else {"function_call": "none"}
    changes: dict[str, Any] = {} if len(kept) == len(functions) else {"functions": kept}
    forced = field(call, "name")
    if mode == "AUTO" and call not in (None, "auto"):
        changes["function_call"] = "auto"
    elif forced is not None and not restriction.permits(str(forced)):
        changes["function_call"] = requests.GONE
    if mode == "ANY" and len(kept) == 1:
        changes["function_call"] = {"name": field(kept[0], "name")}
    return changes


def _put(_native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    return {"messages": list(contents)}


class _Form:
    read = staticmethod(read)
    make = staticmethod(make)
    with_text = staticmethod(with_text)
    without_text = staticmethod(without_text)


API = requests.Api(
    name="OpenAI's chat completions",
    form=_Form(),
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_completion_tokens", "max_tokens"),
        "topP": ("top_p",),
        "stopSequences": ("stop",),
        "candidateCount": ("n",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    },
    read_choice=read_choice,
    write_choice=write_choice,
    tool_name=tool_name,
    read_more=_read_function_call,
    restrict_more=_restrict_functions,
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
        texts = [text for part in _parts(message) if (text := TEXTS.text_of_part(part)) is not None]
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
    parts = _parts(message)
    if text == "".join(TEXTS.text_of_part(part) or "" for part in parts):
        return choice
    old = field(message, "content")
    content: Any = text or None
    if isinstance(old, list | tuple) and any(TEXTS.text_of_part(part) is not None for part in old):
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
