"""Model requests and responses in hook form: foreign JSON, read tolerantly and without any SDK."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from hookline.protocol.answers import read_tool_selection
from hookline.protocol.llm import HookToolConfig, LLMConfig, LLMMessage, LLMRequest
from hookline.protocol.text.strings import whole_text

Role = Literal["user", "model", "system"]

_ROLES: Mapping[str, Role] = {"user": "user", "model": "model", "assistant": "model", "system": "system"}
NOTHING_LEFT = "it drops every message, so the request is sent without any text"
NOTHING_LEFT_REMEDY = "to keep the model from being called, answer with a decision of block"

# Model APIs hold these numbers in 32 bits.
_LIMIT = 2**31 - 1


def merge_llm_requests(
    earlier: Mapping[str, Any], later: Mapping[str, Any], *, is_told: bool = False
) -> dict[str, Any]:
    """Merge two hooks' changes of a request: later values win, in `config` and `toolConfig` key by key.

    A value of a wrong type replaces nothing. If the later hook was told the earlier changes, system texts among them
    that it does not repeat are gone; else they stay.
    """
    if not earlier:
        return _usable(later)
    before, after = _usable(earlier), _usable(later)
    merged = {**before, **after}
    for name in ("config", "toolConfig"):
        if before.get(name) and merged[name] is not None:
            merged[name] = {**before[name], **merged[name]}
    if is_told and after.get("messages") is not None and "systemInstruction" not in after:
        merged.pop("systemInstruction", None)  # it was shown as a system message
    if before.get("messages"):
        merged["messages"] = _merge_messages(before["messages"], after, is_told=is_told)
        if not merged["messages"] and after.get("messages") is None:
            del merged[
                "messages"
            ]  # nothing is left of the earlier change, which is not the same as dropping every text
    elif before.get("messages") == [] and _is_of_system(read_messages(after.get("messages")) or []):
        merged["messages"] = []  # system messages alone don't bring back what the earlier hook dropped
    return merged


def _merge_messages(earlier: Any, after: Mapping[str, Any], *, is_told: bool) -> list[Any]:
    before = read_messages(earlier) or []
    if after.get("messages") is None:
        # A system instruction replaces the system messages that its hook was shown.
        is_replaced = is_told and bool(message_text(after.get("systemInstruction")))
        return [one for one in before if one["role"] != "system"] if is_replaced else earlier
    later = read_messages(after["messages"]) or []
    if not later:
        return []
    unseen = [one for one in before if one["role"] == "system" and one not in later and not is_told]
    if _is_of_system(later):
        # System messages alone are not a conversation: the earlier hook's messages stay.
        return [*unseen, *after["messages"], *(one for one in before if one["role"] != "system")]
    return [*unseen, *after["messages"]]


def _is_of_system(messages: Sequence[LLMMessage]) -> bool:
    return all(message["role"] == "system" for message in messages)


def overlay_llm_request(request: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The request as it would be sent with a hook's changes, or with the merged changes of several hooks.

    A system instruction takes the place of the request's system messages, and comes before those of the same answer.
    New system messages alone are no conversation: the request's other messages follow them. An empty list of messages
    drops every text.
    """
    wanted, given = normalize_llm_request(request), normalize_llm_request(changes)
    read = {name: reader(given[name]) for name, reader in _READERS.items() if name in given}
    changed = {name: value for name, value in read.items() if value or (name == "messages" and value == [])}
    if "model" in changed:
        wanted["model"] = changed["model"]
    if "messages" in changed or "systemInstruction" in changed:
        wanted["messages"] = _conversation(changed, read_messages(wanted.get("messages")) or [])
    if "config" in changed:
        config = {**(wanted.get("config") or {}), **changed["config"]}
        wanted["config"] = {name: value for name, value in config.items() if value is not None}
    if "toolConfig" in changed:
        wanted["toolConfig"] = overlay_hook_tool_config(wanted.get("toolConfig") or {}, changed["toolConfig"])
        if not wanted["toolConfig"]:
            del wanted["toolConfig"]
    return wanted


def overlay_hook_tool_config(current: Mapping[str, Any], changes: Any) -> HookToolConfig:
    """The tool configuration with a hook's own laid over it, key by key; null unsets a key."""
    given = read_tool_config(changes) or {}
    wanted: Any = {name: value for name, value in {**current, **given}.items() if value is not None}
    # The SDK does not send an empty list, so only the mode can forbid all tools.
    if given.get("allowedFunctionNames") == []:
        wanted["mode"] = "NONE"
    elif given.get("mode") == "NONE":
        wanted.pop("allowedFunctionNames", None)
    config: HookToolConfig = wanted
    return config


def read_tool_config(value: Any) -> dict[str, Any] | None:
    """The usable part of a hook's `toolConfig`, with null for a key that it unsets; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    selection, _ = read_tool_selection(value)
    read: dict[str, Any] = {name: None for name in HookToolConfig.__annotations__ if value.get(name, "") is None}
    if selection.mode is not None:
        read["mode"] = selection.mode
    if selection.names is not None:
        read["allowedFunctionNames"] = [whole_text(name) for name in selection.names]
    return read


def settle_llm_response(given: Any, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an AfterModel hook's response with its effective texts in the candidates, or None if it has none.

    `text` counts when there are no candidates, or when the hook changed it and left the candidates as it was told
    them; otherwise the parts of the candidates count.
    """
    if not isinstance(given, Mapping):
        return None
    candidates, text = hook_candidates(given), given.get("text")
    if isinstance(text, str) and (not candidates or _is_text_changed(text, candidates, told)):
        only = {**(candidates[0] if candidates else {}), "content": {"role": "model", "parts": [text]}}
        return {**given, "candidates": [only]}
    if not candidates:
        return None
    return {**given, "text": "".join(candidate_texts(candidates[0])), "candidates": candidates}


def hook_candidates(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates of a hook's response that have a content."""
    candidates = response.get("candidates")
    if not isinstance(candidates, list):
        return []
    return [
        candidate
        for candidate in candidates
        if isinstance(candidate, Mapping) and isinstance(candidate.get("content"), Mapping | str | list)
    ]


def candidate_texts(candidate: Mapping[str, Any]) -> list[str]:
    """The texts of a candidate's parts, which hooks write as strings or as objects with `text`."""
    content = candidate["content"]
    parts = content.get("parts") if isinstance(content, Mapping) else content
    return [text for part in listed(parts) if (text := _piece_text(part)) is not None]


def normalize_llm_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with `contents` read as `messages` and `generationConfig` as `config`; other keys as they are."""
    normal = dict(request)
    contents = normal.pop("contents", None)
    messages = None if contents is None else read_messages(listed(contents))
    if "messages" not in normal and messages is not None:
        normal["messages"] = messages
    generation = normal.pop("generationConfig", None)
    if isinstance(generation, Mapping) and "config" not in normal:
        normal["config"] = dict(generation)
    return normal


def read_messages(given: Any) -> list[LLMMessage] | None:
    """The messages of a list that have a text; None for anything else, and for a list of values of the wrong type."""
    if not isinstance(given, list):
        return None
    messages = [message for entry in given if (message := _message(entry))]
    # A message whose text was taken away is an answer: its text must not come back.
    return messages if messages or not given or any(map(_is_blank, given)) else None


def message_text(content: Any) -> str | None:
    """The text of a message in any form that hooks write: a string, pieces with `text`, or `parts` of them."""
    if isinstance(content, Mapping):
        content = content.get("parts", [content])
    pieces = [_piece_text(piece) for piece in listed(content)]
    return "".join(piece for piece in pieces if piece is not None) or None


def with_note(request: LLMRequest, text: str) -> LLMRequest:
    """The request with a note for the model's eyes as its last message."""
    note: LLMMessage = {"role": "user", "content": f"[System] {whole_text(text)}"}
    noted: Any = {**request, "messages": [*request.get("messages", ()), note]}
    changed: LLMRequest = noted
    return changed


def listed(value: Any) -> list[Any]:
    """A list of one, many or no values."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _conversation(changed: Mapping[str, Any], current: Sequence[LLMMessage]) -> list[LLMMessage]:
    messages: list[LLMMessage] = changed.get("messages", [])
    if changed.get("messages") == []:
        return []
    # A list with a system message that the hook was sent is the whole conversation, of which the hook dropped the rest.
    if _is_of_system(messages) and not any(message in current for message in messages):
        messages = [*messages, *(message for message in current if message["role"] != "system")]
    if "systemInstruction" not in changed:
        return messages
    first: LLMMessage = {"role": "system", "content": changed["systemInstruction"]}
    return [first, *(message for message in messages if message != first)]


def _usable(changes: Mapping[str, Any]) -> dict[str, Any]:
    """A hook's changes without values of a wrong type; null stays, because it replaces an earlier hook's value."""
    usable = normalize_llm_request(changes)
    for name, read in _READERS.items():
        if usable.get(name) is not None:
            value = read(usable[name])
            if value is None:
                del usable[name]
            elif isinstance(value, dict):
                usable[name] = value
    return usable


def _read_model(model: Any) -> str | None:
    return model if isinstance(model, str) and model else None


def _read_config(config: Any) -> dict[str, Any] | None:
    """The parameters with a usable value, or with null, which unsets one."""
    if not isinstance(config, Mapping):
        return None
    known = {name: read(config[name]) for name, read in GENERATION.items() if name in config}
    return {name: value for name, value in known.items() if value is not None or config[name] is None}


def _is_text_changed(text: str, candidates: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> bool:
    is_new = text != told.get("text", "")
    return is_new and [*map(candidate_texts, candidates)] == [*map(candidate_texts, hook_candidates(told))]


def _message(entry: Any) -> LLMMessage | None:
    given = entry if isinstance(entry, Mapping) else {"content": entry}
    text = message_text(given.get("content", given))
    role = given.get("role")
    return {"role": _ROLES.get(role, "user") if isinstance(role, str) else "user", "content": text} if text else None


def _is_blank(entry: Any) -> bool:
    """True for a message without a text, in any form that hooks write; False for a value of the wrong type."""
    content = entry
    if isinstance(entry, Mapping):
        content = next((entry[name] for name in ("content", "parts", "text") if entry.get(name) is not None), None)
        if content is None:
            return "role" in entry
        if isinstance(content, Mapping):
            content = content.get("parts", content.get("text", 0))
    elif not isinstance(entry, str):
        return False
    return all(_piece_text(piece) is not None for piece in listed(content))


def _piece_text(piece: Any) -> str | None:
    text = piece.get("text") if isinstance(piece, Mapping) else piece
    return whole_text(text) if isinstance(text, str) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _LIMIT else None


def _integer(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _strings(value: Any) -> list[str] | None:
    return [whole_text(entry) for entry in value if isinstance(entry, str)] if isinstance(value, list) else None


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "model": _read_model,
    "messages": read_messages,
    "systemInstruction": message_text,
    "config": _read_config,
    "toolConfig": read_tool_config,
}
_READER_OF: Mapping[object, Callable[[Any], Any]] = {float: _number, int: _integer, list[str]: _strings}
# The generation parameters that hooks can change, each with a function that reads a usable value or returns None.
GENERATION = {name: _READER_OF[kind] for name, kind in LLMConfig.__annotations__.items()}
