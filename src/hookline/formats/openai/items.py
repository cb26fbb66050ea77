"""Requests and responses of OpenAI's Responses API, whose messages are items among others."""

from collections.abc import Mapping, Sequence
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import ContentView
from hookline.formats.hook_format import Role
from hookline.formats.messages import (
    TEXTS,
    MessageForm,
    SystemPrompt,
    check_content,
    check_parts,
    replace_texts,
    split_prompt,
    spread,
)
from hookline.formats.native import check_type, field, given, kind_of, listed, shape_of, with_fields, words
from hookline.formats.openai import chat
from hookline.protocol.llm import LLMResponse

_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "model"}
_CALLS = words(
    """
    apply_patch_call code_interpreter_call computer_call custom_tool_call file_search_call function_call
    image_generation_call local_shell_call mcp_approval_request mcp_call mcp_list_tools program shell_call
    tool_search_call web_search_call
    """
)
_RESULTS = words(
    """
    apply_patch_call_output computer_call_output custom_tool_call_output function_call_output
    local_shell_call_output mcp_approval_response program_output shell_call_output tool_search_output
    """
)
_OTHERS = words("reasoning item_reference compaction compaction_trigger additional_tools configuration_update")
_HIDDEN = _CALLS | _RESULTS | _OTHERS
ITEMS = _HIDDEN | {"message"}
# This includes stored conversations: their messages can be sent again.
PARTS = words(
    """
    computer_screenshot input_audio input_file input_image input_text output_text reasoning_text refusal
    summary_text text
    """
)
_ENDINGS = {"completed": "STOP", "max_output_tokens": "MAX_TOKENS", "content_filter": "SAFETY"}
# Parameters that can replace `input`, because OpenAI stores the texts.
_STORED = ("prompt", "previous_response_id", "conversation")
_EXPECTED = 'a text, a message such as {"role": "user", "content": "hi"}, or an item of a known type'


def _is_message(item: Any) -> bool:
    return kind_of(item) == "message" or (not kind_of(item) and field(item, "role") is not None)


class _ItemForm(MessageForm):
    roles = _ROLES

    def read(self, content: Any) -> ContentView:
        """The item as a turn; hooks see the texts of messages only."""
        if isinstance(content, str):
            return ContentView(content, "user", content)
        if isinstance(content, SystemPrompt) or _is_message(content):
            return super().read(content)
        kind = kind_of(content)
        return ContentView(content, "user", "", has_call=kind in _CALLS, has_response=kind in _RESULTS)

    def with_text(self, content: Any, text: str) -> Any:
        return text if isinstance(content, str) else super().with_text(content, text)

    def without_text(self, content: Any) -> Any | None:
        return None if isinstance(content, str) else super().without_text(content)


_FORM = _ItemForm()


def _contents(native: Mapping[str, Any]) -> list[Any]:
    items, instructions = given(native.get("input")), given(native.get("instructions"))
    if items is None and not any(given(native.get(name)) for name in _STORED):
        raise FormatError("input", "missing", f"a text or a list of items, or one of {', '.join(_STORED)}")
    found = [items] if isinstance(items, str) else [] if items is None else listed(items, "input")
    for number, item in enumerate(found):
        _check(item, f"input[{number}]")
    if not isinstance(instructions, str | None):
        raise FormatError("instructions", f"of the type {type(instructions).__name__}", "a text")
    _check_prompt(given(native.get("prompt")))
    return [SystemPrompt(instructions), *found] if instructions else found


def _check_prompt(prompt: Any) -> None:
    """FormatError for a prompt with texts: hooks see those of `input` and `instructions` only."""
    if isinstance(prompt, str | list | tuple):
        raise FormatError("prompt", shape_of(prompt), "a stored prompt; text completions have no messages")
    if variables := field(prompt, "variables"):
        raise FormatError("prompt.variables", shape_of(variables), "none: hooks could not see them; use `input`")


def _check(item: Any, where: str) -> None:
    kind = kind_of(item)
    if isinstance(item, str) or kind in _HIDDEN or _is_reference(item):
        return
    if kind:
        check_type(item, where, ITEMS)
    role, content = field(item, "role"), field(item, "content")
    if (
        not _is_message(item)
        or not isinstance(role, str)
        or role not in _ROLES
        or not isinstance(content, str | list | tuple)
    ):
        raise FormatError(where, shape_of(item), _EXPECTED)
    check_parts(content, f"{where}.content", PARTS)


def _is_reference(item: Any) -> bool:
    """True for a reference to a stored item, whose type may be left out."""
    return isinstance(item, Mapping) and item.keys() == {"id"}


def _put(native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    instructions, left = split_prompt(contents)
    changes = {} if instructions == (native.get("instructions") or None) else {"instructions": instructions}
    if len(left) == 1 and isinstance(left[0], str):
        return {**changes, "input": left[0]}
    return {**changes, "input": [_FORM.new_message("user", one) if isinstance(one, str) else one for one in left]}


def _restrict_additional(native: Mapping[str, Any], restriction: requests.Restriction) -> dict[str, Any]:
    """The items that add tools in the middle of a conversation, without those that are not permitted."""
    found = given(native.get("input"))
    if not isinstance(found, list | tuple):
        return {}
    changed = [_with_permitted_tools(item, restriction) for item in found]
    if all(new is old for new, old in zip(changed, found, strict=True)):
        return {}
    return {"input": [item for item in changed if item is not None]}


def _with_permitted_tools(item: Any, restriction: requests.Restriction) -> Any | None:
    if kind_of(item) != "additional_tools":
        return item
    tools = listed(field(item, "tools"), "the tools of additional_tools")
    kept = [] if restriction.mode == "NONE" else requests.permitted_tools(tools, restriction.permits, chat.tool_name)
    if len(kept) == len(tools) and all(new is old for new, old in zip(kept, tools, strict=True)):
        return item
    return with_fields(item, tools=kept) if kept else None


API = requests.Api(
    name="OpenAI's Responses API",
    form=_FORM,
    contents=_contents,
    put_contents=_put,
    config={"temperature": ("temperature",), "maxOutputTokens": ("max_output_tokens",), "topP": ("top_p",)},
    modes=chat.MODES,
    read_choice=chat.read_choice,
    tool_name=chat.tool_name,
    restrict_more=_restrict_additional,
)


def to_hook_response(response: Any) -> LLMResponse:
    """Return a response as hooks see it: the texts of its messages as one candidate."""
    texts = TEXTS.texts(_text_parts(response))
    why = field(field(response, "incomplete_details"), "reason") or field(response, "status")
    counts = ("input_tokens", "output_tokens", "total_tokens")
    ending = _ENDINGS.get(why) if isinstance(why, str) else None
    return responses.of_one_candidate(texts, ending, field(response, "usage"), counts)


def replace_response_text(hook_response: Mapping[str, Any], base: Any) -> Any:
    """The response with the hooks' text; every item and part that is not text stays."""
    parts = _text_parts(base)
    (text,) = responses.texts_by_candidate(hook_response, 1)
    if text == TEXTS.text(parts):
        return base
    output = listed(field(base, "output"), "output")
    if not parts:
        said = {"type": "output_text", "text": text, "annotations": []}
        message = {"type": "message", "id": "hookline", "role": "assistant", "status": "completed", "content": [said]}
        return with_fields(base, output=[message, *output])
    remaining = iter(spread(text, parts, TEXTS))
    changed = [_with_texts(item, remaining) for item in output]
    kept = {"output_text": text} if isinstance(base, Mapping) and "output_text" in base else {}
    return with_fields(base, output=[item for item in changed if item is not None], **kept)


def _with_texts(item: Any, texts: Any) -> Any | None:
    if not _is_message(item):
        return item
    parts = _FORM.parts(item)
    own = [next(texts) for _ in TEXTS.texts(parts)]
    changed = replace_texts(parts, own, TEXTS)
    if len(changed) == len(parts) and all(new is old for new, old in zip(changed, parts, strict=True)):
        return item
    return _FORM.with_parts(item, changed) if changed else None


def _text_parts(response: Any) -> list[Any]:
    """The text parts of a response's messages."""
    found: list[Any] = []
    for number, item in enumerate(listed(field(response, "output"), "output")):
        if not kind_of(item):
            raise FormatError(f"output[{number}]", shape_of(item), "an item with a type, such as message")
        check_type(item, f"output[{number}]", ITEMS)
        if _is_message(item):
            check_content(field(item, "content"), f"output[{number}].content", PARTS)
            found += [part for part in _FORM.parts(item) if TEXTS.text_of_part(part) is not None]
    return found


def make_response(hook_response: Mapping[str, Any]) -> dict[str, Any]:
    """A response of text alone, as JSON."""
    text = "".join(responses.texts_of(hook_response)[:1])
    base = {"id": "hookline", "object": "response", "created_at": 0, "model": "hookline", "status": "completed"}
    empty = {**base, "output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    made: dict[str, Any] = replace_response_text({"text": text}, empty)
    return made
