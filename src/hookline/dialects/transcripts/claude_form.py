"""A record of our transcript as Claude Code would have written it, for scripts that read messages and tool calls."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Our name of a tool and its arguments → theirs.
Translate = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
_USAGE = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def in_claude_form(
    record: Mapping[str, Any], facts: Mapping[str, Any], number: int, translate: Translate
) -> dict[str, Any] | None:
    """The record as Claude Code would have written it; None for one that it has no counterpart of.

    `facts` is our record of the session's start, and `number` the record's place in the transcript.
    """
    content = record.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    kind = record.get("type")
    if kind not in ("user", "model", "tool_results") or not isinstance(parts, list):
        return None
    blocks = [block for part in parts if isinstance(part, Mapping) for block in _blocks(part, translate)]
    session = str(facts.get("id", ""))
    common = {
        "parentUuid": _id(session, number - 1) if number else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": facts.get("project"),
        "sessionId": session,
        "version": "2.1.325",
        "uuid": _id(session, number),
        "timestamp": record.get("timestamp"),
    }
    if kind == "model":
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": facts.get("model")}
        return {
            **common,
            "type": "assistant",
            "message": {**message, "content": blocks, "stop_reason": stop, "usage": _USAGE},
        }
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    is_text = kind == "user" and len(texts) == len(blocks)
    return {**common, "type": "user", "message": {"role": "user", "content": "\n\n".join(texts) if is_text else blocks}}


def _blocks(part: Mapping[str, Any], translate: Translate) -> Iterator[dict[str, Any]]:
    call = part.get("functionCall") or part.get("function_call")
    answer = part.get("functionResponse") or part.get("function_response")
    if isinstance(part.get("text"), str):
        yield (
            {"type": "thinking", "thinking": part["text"]}
            if part.get("thought")
            else {
                "type": "text",
                "text": part["text"],
            }
        )
    if isinstance(call, Mapping):
        arguments = call.get("args")
        name, given = translate(str(call.get("name")), arguments if isinstance(arguments, Mapping) else {})
        yield {"type": "tool_use", "id": call.get("id") or f"toolu_{name}", "name": name, "input": dict(given)}
    if isinstance(answer, Mapping):
        answered = answer.get("response")
        response = answered if isinstance(answered, Mapping) else {}
        text = response.get("error", response.get("output", response))
        yield {
            "type": "tool_result",
            "tool_use_id": answer.get("id") or f"toolu_{answer.get('name')}",
            "content": text if isinstance(text, str) else str(text),
            "is_error": "error" in response,
        }


def _id(session: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session}/{number}"))
