"""Anthropic's requests and responses ↔ hook form.

Requests are the keyword arguments of `client.messages.create`. Messages, blocks and responses may be dictionaries or
the SDK's objects. Hooks see texts only, those of `system` first: tool calls and their results, images, documents, and
thinking with its signatures stay as they are, and so do cache marks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import Turn
from hookline.formats.hook_format import Role
from hookline.formats.native import field, given, kind_of, listed, shape_of, with_fields
from hookline.formats.parts import replace_text
from hookline.formats.texts import TEXTS, check_part
from hookline.protocol.llm import HookToolConfig, LLMRequest, LLMResponse, ToolMode

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "model", "system": "system"}
ENDINGS = {
    "end_turn": "STOP",
    "stop_sequence": "STOP",
    "tool_use": "STOP",
    "pause_turn": "OTHER",
    "max_tokens": "MAX_TOKENS",
    "model_context_window_exceeded": "MAX_TOKENS",
    "refusal": "SAFETY",
}
BLOCKS = frozenset(
    {
        "advisor_tool_result",
        "bash_code_execution_tool_result",
        "code_execution_tool_result",
        "compaction",
        "container_upload",
        "document",
        "fallback",
        "image",
        "mcp_tool_listing",
        "mcp_tool_result",
        "mcp_tool_use",
        "redacted_thinking",
        "search_result",
        "server_tool_use",
        "text",
        "text_editor_code_execution_tool_result",
        "thinking",
        "tool_addition",
        "tool_removal",
        "tool_result",
        "tool_search_tool_result",
        "tool_use",
        "web_fetch_tool_result",
        "web_search_tool_result",
    }
)
_EXPECTED = 'a message such as {"role": "user", "content": "hi"}, of the role user, assistant or system'


def to_hook_llm_request(native: Mapping[str, Any]) -> LLMRequest:
    """Return the request as hooks see it; raise FormatError for a shape in which a text could be missed."""
    return requests.to_hook(native, _API)


def from_hook_llm_request(hook_request: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The request to send; the base itself when hooks changed nothing, and its messages where they left them alone."""
    return requests.from_hook(hook_request, base, _API)


def to_hook_llm_response(response: Any) -> LLMResponse:
    """Return the response as hooks see it: its texts, the reason why it ended, and the token counts."""
    texts = [text for block in _blocks_of(response) if (text := TEXTS.text_of_part(block)) is not None]
    ending = field(response, "stop_reason")
    candidate = responses.Candidate(texts, ENDINGS.get(ending) if isinstance(ending, str) else None, 0)
    return responses.in_hook_form([candidate], field(response, "usage"), ("input_tokens", "output_tokens", None))


def from_hook_llm_response(hook_response: Mapping[str, Any], base: Any = None) -> Any:
    """Return the response with the hooks' text in place of the original; the base itself when nothing changes.

    Without a base it is a new response of text alone, as JSON.
    """
    (text,) = responses.texts_by_candidate(hook_response, 1)
    if base is None:
        return _make_response(text)
    blocks = _blocks_of(base)
    spoken = [part for block in blocks if (part := TEXTS.text_of_part(block)) is not None]
    if text == "".join(spoken):
        return base
    said = replace_text(blocks, text, TEXTS) if spoken else [{"type": "text", "text": text}, *blocks]
    return with_fields(base, content=said)


def with_note(native: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The request with a hook's note as its last message, for this call only."""
    return requests.with_note(native, text, _API)


def offer(native: Mapping[str, Any], permits: Callable[[str], bool], mode: ToolMode | None = None) -> dict[str, Any]:
    """The request with those of its tools that a `Selection` permits, and with its mode."""
    return requests.offer(native, permits, mode, _API)


def tool_names(native: Mapping[str, Any]) -> list[str]:
    """The names of the tools that are offered."""
    return _API.tool_names(native)


@dataclass(frozen=True, slots=True)
class _System:
    """The parameter `system`, as the first content of the conversation."""

    prompt: Any
    """A text, or a list of blocks."""


class _Form:
    """The messages and the system prompt as contents."""

    @staticmethod
    def read(content: Any) -> Turn:
        if isinstance(content, _System):
            return Turn(content, "system", "".join(map(_text, _listed(content.prompt))))
        blocks = _parts(content)
        return Turn(
            content,
            _ROLES[field(content, "role")],
            "".join(map(_text, blocks)),
            has_call=any(kind_of(block).endswith("tool_use") for block in blocks),
            has_response=any(kind_of(block).endswith("tool_result") for block in blocks),
        )

    @staticmethod
    def make(role: Role, text: str) -> Any:
        if role == "system":
            return _System(text)
        return {"role": "assistant" if role == "model" else "user", "content": text}

    @staticmethod
    def with_text(content: Any, text: str) -> Any:
        old = content.prompt if isinstance(content, _System) else field(content, "content")
        changed = text if isinstance(old, str) else replace_text(old, text, TEXTS)
        return _System(changed) if isinstance(content, _System) else with_fields(content, content=changed)

    @staticmethod
    def without_text(content: Any) -> Any | None:
        if isinstance(content, _System):
            return None
        left = [block for block in _parts(content) if TEXTS.text_of_part(block) is None]
        return with_fields(content, content=left) if left else None


def _contents(native: Mapping[str, Any]) -> list[Any]:
    messages = listed(native.get("messages"), "messages")
    for number, message in enumerate(messages):
        role, content = field(message, "role"), field(message, "content")
        if not isinstance(role, str) or role not in _ROLES or not isinstance(content, str | list | tuple):
            is_message = isinstance(role, str) and content is not None
            raise FormatError(
                f"messages[{number}]", f"of the role {role!r}" if is_message else shape_of(message), _EXPECTED
            )
        _check_blocks(content, f"messages[{number}].content")
    system = given(native.get("system"))
    if not isinstance(system, str | list | tuple | None):
        raise FormatError("system", shape_of(system), "a text or a list of blocks")
    _check_blocks(system or (), "system")
    return [_System(system), *messages] if system else messages


def _check_blocks(content: Any, where: str) -> None:
    for number, block in enumerate(() if isinstance(content, str) else content):
        if isinstance(block, str):
            raise FormatError(f"{where}[{number}]", "a text", 'a block such as {"type": "text", "text": "hi"}')
        check_part(block, f"{where}[{number}]", BLOCKS)


def _put(native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    prompts = [one.prompt for one in contents if isinstance(one, _System)]
    messages = [one for one in contents if not isinstance(one, _System)]
    changes: dict[str, Any] = {"messages": messages}
    system = _joined(prompts)
    if system != (native.get("system") or None):
        changes["system"] = system if system is not None else requests.GONE
    return changes


def _joined(prompts: list[Any]) -> Any:
    if not prompts:
        return None
    if len(prompts) == 1:
        return prompts[0]
    if all(isinstance(prompt, str) for prompt in prompts):
        return "\n\n".join(prompts)
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block
        for prompt in prompts
        for block in _listed(prompt)
    ]


def _parts(message: Any) -> list[Any]:
    return _listed(field(message, "content"))


def _listed(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) else list(content)


def _text(block: Any) -> str:
    return TEXTS.text_of_part(block) or ""


def _read_choice(choice: Any) -> HookToolConfig:
    kind, name = kind_of(choice), field(choice, "name")
    if kind == "tool" and isinstance(name, str):
        return {"mode": "ANY", "allowedFunctionNames": [name]}
    modes: Mapping[str, HookToolConfig] = {"auto": {"mode": "AUTO"}, "any": {"mode": "ANY"}, "none": {"mode": "NONE"}}
    return modes.get(kind, {})


def _write_choice(choice: HookToolConfig) -> Any:
    return {"type": {"AUTO": "auto", "ANY": "any", "NONE": "none"}[choice.get("mode", "AUTO")]}


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
        for block in _parts(message):
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
    form=_Form(),
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop_sequences",),
    },
    read_choice=_read_choice,
    write_choice=_write_choice,
    tool_name=_tool_name,
    restrict_more=_restrict_more,
)


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
