"""Anthropic's requests and responses ↔ hook form.

Requests are the keyword arguments of `client.messages.create`. Messages, blocks and responses may be dictionaries or
the SDK's objects. Hooks see texts only, those of `system` first: tool calls and their results, images, documents, and
thinking with its signatures stay as they are, and so do cache marks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.messages import TEXTS, MessageForm, SystemPrompt, check_part, split_prompt
from hookline.formats.native import field, given, kind_of, listed, shape_of, with_fields, words
from hookline.protocol.llm import HookToolConfig, LLMResponse, ToolMode

_MODES: Mapping[str, ToolMode] = {"auto": "AUTO", "any": "ANY", "none": "NONE"}
ENDINGS = {
    "end_turn": "STOP",
    "stop_sequence": "STOP",
    "tool_use": "STOP",
    "pause_turn": "OTHER",
    "max_tokens": "MAX_TOKENS",
    "model_context_window_exceeded": "MAX_TOKENS",
    "refusal": "SAFETY",
}
BLOCKS = words(
    """
    advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction container_upload
    document fallback image mcp_tool_listing mcp_tool_result mcp_tool_use redacted_thinking search_result
    server_tool_use text text_editor_code_execution_tool_result thinking tool_addition tool_removal
    tool_result tool_search_tool_result tool_use web_fetch_tool_result web_search_tool_result
    """
)
_EXPECTED = 'a message such as {"role": "user", "content": "hi"}, of the role user, assistant or system'


def to_hook_llm_response(response: Any) -> LLMResponse:
    """Return the response as hooks see it: its texts, the reason why it ended, and the token counts."""
    ending, counts = field(response, "stop_reason"), ("input_tokens", "output_tokens", None)
    reason = ENDINGS.get(ending) if isinstance(ending, str) else None
    return responses.of_one_candidate(TEXTS.texts(_blocks_of(response)), reason, field(response, "usage"), counts)


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """Return the response with the hooks' text in place of the original; the base itself when nothing changes.

    Without a base it is a new response of text alone, as JSON.
    """
    (text,) = responses.texts_by_candidate(hook_response, 1)
    if base is None:
        return _make_response(text)
    blocks = _blocks_of(base)
    if text == TEXTS.text(blocks):
        return base
    return with_fields(base, content=TEXTS.with_text(blocks, text))


class _BlockForm(MessageForm):
    has_system_parameter = True

    def has_call(self, message: Any) -> bool:
        return any(kind_of(block).endswith("tool_use") for block in self.parts(message))

    def has_response(self, message: Any) -> bool:
        return any(kind_of(block).endswith("tool_result") for block in self.parts(message))


_FORM = _BlockForm()


def _contents(native: Mapping[str, Any]) -> list[Any]:
    messages = listed(native.get("messages"), "messages")
    for number, message in enumerate(messages):
        role, content = field(message, "role"), field(message, "content")
        if not isinstance(role, str) or role not in _FORM.roles or not isinstance(content, str | list | tuple):
            is_message = isinstance(role, str) and content is not None
            raise FormatError(
                f"messages[{number}]", f"of the role {role!r}" if is_message else shape_of(message), _EXPECTED
            )
        _check_blocks(content, f"messages[{number}].content")
    system = given(native.get("system"))
    if not isinstance(system, str | list | tuple | None):
        raise FormatError("system", shape_of(system), "a text or a list of blocks")
    _check_blocks(system or (), "system")
    return [SystemPrompt(system), *messages] if system else messages


def _check_blocks(content: Any, where: str) -> None:
    for number, block in enumerate(() if isinstance(content, str) else content):
        if isinstance(block, str):
            raise FormatError(f"{where}[{number}]", "a text", 'a block such as {"type": "text", "text": "hi"}')
        check_part(block, f"{where}[{number}]", BLOCKS)


def _put(native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    system, messages = split_prompt(contents)
    changes: dict[str, Any] = {"messages": messages}
    if system != (native.get("system") or None):
        changes["system"] = system if system is not None else requests.GONE
    return changes


def _read_choice(choice: Any) -> HookToolConfig:
    kind, name = kind_of(choice), field(choice, "name")
    if kind == "tool" and isinstance(name, str):
        return {"mode": "ANY", "allowedFunctionNames": [name]}
    return {"mode": _MODES[kind]} if kind in _MODES else {}


def _tool_name(tool: Any) -> str | None:
    name = field(tool, "name")
    return name if isinstance(name, str) else None


def _restrict_more(native: Mapping[str, Any], restriction: requests.Restriction) -> dict[str, Any]:
    """Servers whose tools the API calls itself, and tools that a message defines."""
    servers = listed(given(native.get("mcp_servers")) or (), "mcp_servers")
    tools = listed(given(native.get("tools")) or (), "tools")
    # Where no tool may be called, declared toolsets stay, and the API wants their servers then.
    declared = {field(tool, "mcp_server_name") for tool in tools if restriction.is_closed}
    kept = [one for one in servers if field(one, "name") in declared or _permits_server(one, restriction)]
    changes: dict[str, Any] = {}
    if len(kept) < len(servers):
        changes["mcp_servers"] = kept or requests.GONE
    for number, message in enumerate(native.get("messages") or ()):
        for block in _FORM.parts(message):
            _check_definition(block, restriction, f"messages[{number}]")
    return changes


def _permits_server(server: Any, restriction: requests.Restriction) -> bool:
    if restriction.mode == "NONE":
        return False
    return any(map(restriction.permits, (str(field(server, "name") or ""), "mcp_toolset")))


def _check_definition(block: Any, restriction: requests.Restriction, where: str) -> None:
    """FormatError for a tool that a message defines and that is not permitted: it can't be taken away there."""
    definition = field(field(block, "tool"), "definition") if kind_of(block) == "tool_addition" else None
    if definition is None:
        return
    if restriction.mode == "NONE" or not requests.permitted_tools([definition], restriction.permits, _tool_name):
        name = _tool_name(definition) or kind_of(definition)
        raise FormatError(where, f"the definition of the tool {name!r}, which is not permitted now", "it in `tools`")


_API = requests.Api(
    name="Anthropic's messages",
    form=_FORM,
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
    write_choice=lambda word: {"type": word},
    tool_name=_tool_name,
    restrict_more=_restrict_more,
)


to_hook_llm_request, from_hook_llm_request = _API.to_hook, _API.from_hook
with_note, offer, tool_names = _API.with_note, _API.offer, _API.tool_names


def _blocks_of(response: Any) -> list[Any]:
    content = field(response, "content")
    if not isinstance(content, list | tuple):
        raise FormatError(
            "the response", shape_of(response), 'a Message or its JSON, with "content" as a list of blocks'
        )
    _check_blocks(content, "content")
    return list(content)


def _make_response(text: str) -> dict[str, Any]:
    return {
        "id": "hookline",
        "type": "message",
        "role": "assistant",
        "model": "hookline",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
