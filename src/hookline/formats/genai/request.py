"""Model requests: the SDK's, and what hooks see and change of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hookline.formats import requests
from hookline.formats.genai import contents, response, sdk, tool_config
from hookline.formats.genai.contents import (
    field,
    fields,
    has_call,
    is_content,
    new_content,
    parts_of,
    snake,
    texts_of,
    with_fields,
    with_parts,
)
from hookline.formats.genai.tools import declared_names, permitted_tools, without_forbidden
from hookline.formats.hook_format import GENERATION, listed, message_text, overlay_llm_request
from hookline.formats.messages import split_prompt
from hookline.protocol.llm import GenerateContentParameters, HookToolConfig, LLMRequest, ToolMode
from hookline.protocol.text.strings import whole_text

# Names on the wire, with the SDK's attributes.
_REQUEST = {name: snake(name) for name in ("model", "contents", "config", "generationConfig")}
_CONFIG = {name: snake(name) for name in (*GENERATION, "systemInstruction", "tools", "toolConfig")}


def is_sdk_request(value: Any) -> bool:
    """True for a request in the SDK's form: it has `contents`, or no `messages` but a field that hooks don't know."""
    if field(value, "contents") is not None or not isinstance(value, Mapping):
        return field(value, "contents") is not None
    return "messages" not in value and not value.keys() <= LLMRequest.__annotations__.keys()


def to_hook_llm_request(params: Any) -> LLMRequest:
    """Return a model request as hooks see it: texts, generation parameters and tool configuration.

    Raises FormatError for contents in which a text could be missed, such as those of another API.
    """
    return _API.to_hook(_flat(params))


def from_hook_llm_request(
    hook_request: Mapping[str, Any], base: GenerateContentParameters | None = None
) -> GenerateContentParameters:
    """Return the SDK request that a hook asks for; whatever the hook left out, or could not see, is the base's.

    Returns the base itself when the hook changes nothing. System messages become part of the base's system instruction.
    """
    if base is None:
        return _new_request(overlay_llm_request({"model": "", "messages": [], "config": {}}, hook_request))
    shown = to_hook_llm_request(base)
    replaces = message_text(hook_request.get("systemInstruction")) is not None
    return write_request(base, shown, overlay_llm_request(shown, hook_request), replaces_instruction=replaces)


def write_request(
    base: GenerateContentParameters,
    shown: Mapping[str, Any],
    wanted: Mapping[str, Any],
    *,
    replaces_instruction: bool = False,
) -> GenerateContentParameters:
    """Return the base with the difference between the request that hooks were shown and the one that they want.

    Returns the base itself when there is none. `replaces_instruction` makes system messages that hooks added take the
    place of the base's system instruction, which hooks are not shown.
    """
    given = _flat(base)
    if not replaces_instruction:
        return _with(base, _API.changes(given, shown, wanted))
    changes = _API.changes({**given, "systemInstruction": None}, shown, wanted)
    if changes.get("systemInstruction") == "".join(texts_of(given["systemInstruction"])):
        del changes["systemInstruction"]  # it keeps its form
    return _with(base, changes)


def tool_names(native: GenerateContentParameters) -> list[str]:
    """The names of the functions that are offered, but not those of the tools that the API runs itself."""
    return declared_names(field(native.config, "tools"))


def offer(
    native: GenerateContentParameters, permits: Callable[[str], bool], mode: ToolMode | None = None
) -> GenerateContentParameters:
    """The request with those of its functions that a `Selection` permits, and with its mode.

    Tools that the API runs itself are permitted by their names in the SDK, such as `google_search`.
    """
    return _with(native, _API.restricted(_flat(native), permits, mode))


def with_note(params: GenerateContentParameters, text: str) -> GenerateContentParameters:
    """The request with a last text part for the model's eyes; the caller's own objects stay as they are."""
    *earlier, last = listed(params.contents) or [[]]
    return replace(params, contents=[*earlier, *_with_note(last, whole_text(f"[System] {text}"))])


def read_options(request: GenerateContentParameters) -> LLMRequest:
    """The generation parameters and the choice of tools, as hooks know them: every API's format can write these."""
    seen = to_hook_llm_request(request)
    options: Any = {"config": seen["config"], "toolConfig": seen.get("toolConfig", {})}
    wanted: LLMRequest = options
    return wanted


class _GenAI(requests.Api):
    """Tools are restricted by a configuration that is for functions alone."""

    def changed_choice(self, base: requests.Native, before: HookToolConfig, choice: HookToolConfig) -> dict[str, Any]:
        tools, current = base["tools"], base["tool_choice"]
        kept = without_forbidden(tools, choice)
        changes = {} if kept is tools else {"tools": kept}
        return {**changes, "tool_choice": tool_config.apply_tool_config(current, before, choice)}

    def restricted(self, native: requests.Native, permits: requests.Permits, mode: ToolMode | None) -> dict[str, Any]:
        tools, current = native["tools"], native["tool_choice"]
        kept = permitted_tools(tools, permits)
        wanted = current if mode is None else tool_config.overlay_tool_config(current, {"mode": mode})
        changes = {} if kept is tools else {"tools": kept}
        return changes if wanted is current else {**changes, "tool_choice": wanted}


def _put_contents(native: requests.Native, rewritten: Sequence[Any]) -> dict[str, Any]:
    text, left = split_prompt(rewritten)
    current = native["systemInstruction"]
    return {"contents": left} if text is None else {"contents": left, "systemInstruction": _instruct(current, text)}


_API = _GenAI(
    name="google-genai",
    form=contents.FORM,
    contents=lambda native: contents.checked(native["contents"]),
    put_contents=_put_contents,
    config={name: (name,) for name in GENERATION},
    modes={},
    read_choice=tool_config.to_hook_tool_config,
    tool_name=lambda _: None,
)


def _flat(params: Any) -> dict[str, Any]:
    """The request and its configuration as one dictionary, as the other APIs have it."""
    given = fields(params, _REQUEST)
    config = given["config"] or given["generationConfig"]
    flat = {"model": given["model"], "contents": given["contents"], **fields(config, _CONFIG)}
    return {**flat, "tool_choice": flat.pop("toolConfig")}


def _with(params: GenerateContentParameters, changes: Mapping[str, Any]) -> GenerateContentParameters:
    """The request with these changes, and with its own objects for everything else."""
    if not changes:
        return params
    given = {name: None if value is requests.GONE else value for name, value in changes.items()}
    model, new_contents = given.pop("model", None) or params.model, given.pop("contents", params.contents)
    if "tool_choice" in given:
        given["toolConfig"] = given.pop("tool_choice")
    attributes = {_CONFIG[name]: value for name, value in given.items()}
    if not attributes:
        config = params.config
    elif params.config is None:
        config = sdk.types().GenerateContentConfig(**attributes)
    else:
        config = with_fields(params.config, **attributes)
    return replace(params, model=model, contents=new_contents, config=config)


def _new_request(wanted: Mapping[str, Any]) -> GenerateContentParameters:
    """A request of a hook alone: its system messages stay where they are."""
    empty = GenerateContentParameters(model="", contents=[])
    made = [new_content(message["role"], message["content"]) for message in wanted["messages"]]
    return replace(write_request(empty, {**wanted, "model": "", "config": {}, "toolConfig": {}}, wanted), contents=made)


def _with_note(content: Any, note: str) -> list[Any]:
    if isinstance(content, list | tuple):
        return [[*content, note]]
    if not is_content(content):
        # The SDK makes one content of neighbouring strings and parts, but a call is the model's.
        return [content, new_content("user", note) if has_call(content) else note]
    if field(content, "role") not in ("user", None):
        return [content, new_content("user", note)]
    return [_with_part(content, note)]


def _with_part(content: Any, text: str) -> Any:
    part = {"text": text} if isinstance(content, Mapping) else sdk.types().Part(text=text)
    return with_parts(content, [*parts_of(content), part])


def _instruct(current: Any, text: str) -> Any:
    """The system instruction with a text after it."""
    if current is None:
        return text
    if isinstance(current, str):
        return f"{current}\n\n{text}"
    return _with_part(current, f"\n\n{text}") if is_content(current) else [*listed(current), f"\n\n{text}"]


class HookTranslatorGenAIv1:
    """The first version of the hook format, from and to the types of google-genai."""

    to_hook_llm_request = staticmethod(to_hook_llm_request)
    from_hook_llm_request = staticmethod(from_hook_llm_request)
    to_hook_llm_response = staticmethod(response.to_hook_llm_response)
    from_hook_llm_response = staticmethod(response.from_hook_llm_response)
    to_hook_tool_config = staticmethod(tool_config.to_hook_tool_config)
    from_hook_tool_config = staticmethod(tool_config.from_hook_tool_config)


default_hook_translator = HookTranslatorGenAIv1()


def needs_translation(value: Any, is_sdk: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return False for an object in hook form, and for anything that is not a request or response."""
    return is_sdk(value) if isinstance(value, Mapping) else not isinstance(value, str | int | float | list | None)
