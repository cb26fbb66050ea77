"""LangChain's requests and answers ↔ hook form."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from hookline.adapters.table import report_once
from hookline.contract.llm import HookToolConfig, LLMRequest, LLMResponse
from hookline.errors import FormatError
from hookline.formats import requests, responses
from hookline.formats.conversation import Turn
from hookline.formats.hook_format import Role
from hookline.formats.native import shape_of
from hookline.formats.parts import replace_text
from hookline.formats.texts import TEXTS

_ROLES: Mapping[str, Role] = {"human": "user", "ai": "model", "system": "system"}
_CHAT_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "model", "system": "system", "developer": "system"}
_OWN = ("model", "system", "messages", "tools", "tool_choice")


def to_native(request: Any) -> dict[str, Any]:
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


def to_hook_request(native: Mapping[str, Any]) -> LLMRequest:
    """What hooks see of a request; FormatError for a message of an unknown type."""
    return requests.to_hook(native, _API)


def apply_request(request: Any, wanted: Mapping[str, Any], native: Mapping[str, Any]) -> Any:
    """The `ModelRequest` that hooks ask for; the request itself when they change nothing."""
    changed = requests.from_hook(wanted, native, _API)
    if changed is native:
        return request
    if changed["model"] != native["model"]:
        report_once(
            f"a hook asks for the model {changed['model']}; LangChain has no model by name here, so it is not used"
        )
    return request.override(
        messages=changed["messages"],
        system_message=changed.get("system"),
        tools=changed.get("tools", []),
        tool_choice=changed.get("tool_choice"),
        model_settings={name: value for name, value in changed.items() if name not in _OWN},
    )


def to_hook_response(message: AIMessage) -> LLMResponse:
    """What hooks see of the model's answer."""
    candidate = responses.Candidate([str(message.text)], None, 0)
    return responses.in_hook_form(
        [candidate], message.usage_metadata, ("input_tokens", "output_tokens", "total_tokens")
    )


def with_text(message: Any, text: str) -> Any:
    """The message with another text; everything else stays, but not what would show the old text beside it."""
    content = message.content
    changed = text if isinstance(content, str) else _replaced(content, text)
    update: dict[str, Any] = {"content": changed}
    if "logprobs" in message.response_metadata:
        update["response_metadata"] = {k: v for k, v in message.response_metadata.items() if k != "logprobs"}
    return message.model_copy(update=update)


def note(text: str) -> HumanMessage:
    """A hook's note to the model."""
    return HumanMessage(f"[System] {text}")


def name_of(tool: Any) -> str | None:
    """The name of a tool that is offered; None for one that the provider runs."""
    if not isinstance(tool, Mapping):
        return str(tool.name)
    name = tool.get("name") or (tool.get("function") or {}).get("name")
    return name if isinstance(name, str) else None


def _replaced(parts: Sequence[Any], text: str) -> list[Any]:
    if any(TEXTS.text_of_part(part) is not None for part in parts):
        return replace_text(parts, text, TEXTS)
    return [{"type": "text", "text": text}, *parts]


class _Form:
    """LangChain's messages as contents."""

    @staticmethod
    def read(content: BaseMessage) -> Turn:
        if content.type in ("tool", "function"):
            return Turn(content, "user", "", has_response=True)
        parts = [content.content] if isinstance(content.content, str) else content.content
        text = "".join(TEXTS.text_of_part(part) or "" for part in parts)
        has_call = bool(getattr(content, "tool_calls", None) or getattr(content, "invalid_tool_calls", None))
        return Turn(content, _role_of(content), text, has_call=has_call)

    @staticmethod
    def make(role: Role, text: str) -> BaseMessage:
        return {"user": HumanMessage, "model": AIMessage, "system": SystemMessage}[role](text)

    @staticmethod
    def with_text(content: BaseMessage, text: str) -> BaseMessage:
        changed: BaseMessage = with_text(content, text)
        return changed

    @staticmethod
    def without_text(content: BaseMessage) -> BaseMessage | None:
        parts = [] if isinstance(content.content, str) else content.content
        left = [part for part in parts if TEXTS.text_of_part(part) is None]
        has_calls = bool(getattr(content, "tool_calls", None))
        return content.model_copy(update={"content": left or ""}) if left or has_calls else None


def _role_of(message: BaseMessage) -> Role:
    role = _ROLES.get(message.type) or _CHAT_ROLES.get(getattr(message, "role", ""))
    if role is None:
        raise FormatError("a message", shape_of(message), "a human, AI, system or tool message of LangChain")
    return role


def _contents(native: Mapping[str, Any]) -> list[Any]:
    system = native.get("system")
    return [*([] if system is None else [system]), *native["messages"]]


def _put(_native: Mapping[str, Any], contents: Sequence[Any]) -> dict[str, Any]:
    """The first message is the system prompt if it is a system message; later ones stay in their places."""
    is_system = bool(contents) and contents[0].type == "system"
    return {"system": contents[0] if is_system else None, "messages": list(contents[1:] if is_system else contents)}


def _read_choice(choice: Any) -> HookToolConfig:
    modes: Mapping[Any, HookToolConfig] = {
        "auto": {"mode": "AUTO"},
        "any": {"mode": "ANY"},
        "required": {"mode": "ANY"},
        "none": {"mode": "NONE"},
    }
    if not isinstance(choice, str):
        return {}
    return modes.get(choice, {"mode": "ANY", "allowedFunctionNames": [choice]})


def _write_choice(choice: HookToolConfig) -> Any:
    return {"AUTO": "auto", "ANY": "any", "NONE": "none"}[choice.get("mode", "AUTO")]


_API = requests.Api(
    name="LangChain",
    form=_Form(),
    contents=_contents,
    put_contents=_put,
    config={
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens", "max_output_tokens"),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop",),
    },
    read_choice=_read_choice,
    write_choice=_write_choice,
    tool_name=name_of,
)
