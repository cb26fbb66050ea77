"""Helpers for the SDK's contents, and their JSON form."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.formats.genai import sdk
from hookline.protocol.text.strings import whole_text

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import Content, GenerateContentResponse, Part


def user_content(texts: Iterable[str]) -> "Content":
    """Return a message of the user with one part for each text."""
    types = sdk.types()
    content: Content = types.Content(role="user", parts=[types.Part(text=whole_text(text)) for text in texts])
    return content


def model_content(response: "GenerateContentResponse") -> "Content | None":
    """Return the model's message, or None if it is empty."""
    content = response.candidates[0].content if response.candidates else None
    return content if content is not None and content.parts else None


def spoken_text(response: "GenerateContentResponse") -> str:
    """Return the model's text without its thoughts."""
    return content_text(model_content(response))


def content_text(content: "Content | None") -> str:
    """Return the text of a message without thoughts."""
    parts = (content.parts or []) if content is not None else []
    return "".join(part.text for part in parts if part.text and not part.thought)


def why_empty(response: "GenerateContentResponse") -> str | None:
    """Return why the response is empty, such as SAFETY; None if it ended normally."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return str(feedback.block_reason.value)
    reason = response.candidates[0].finish_reason if response.candidates else None
    return None if reason is None or reason.value == "STOP" else str(reason.value)


def function_calls(content: "Content | None", new_id: str) -> list[AgentCall]:
    """Return the model's tool calls; a call without an id gets one that starts with `new_id`."""
    parts = (content.parts or []) if content is not None else []
    calls: dict[str, AgentCall] = {}
    for number, call in enumerate((part.function_call for part in parts if part.function_call), 1):
        own_id = f"{new_id}-{number}" if not call.id or call.id in calls else call.id
        calls[own_id] = AgentCall(id=own_id, name=call.name or "", arguments=call.args or {})
    return list(calls.values())


def has_responses(content: "Content") -> bool:
    """Return True if a content has results of function calls, which must follow those calls."""
    return any(part.function_response for part in content.parts or ())


def answer_calls(content: "Content", calls: Sequence[AgentCall], texts: Iterable[str] = ()) -> "Content":
    """Return the message with the results of a content's function calls, in order, followed by texts."""
    types = sdk.types()
    requested = [part.function_call for part in content.parts or () if part.function_call]
    parts: list[Part] = []
    for function_call, call in zip(requested, calls, strict=True):
        key = "output" if call.status is CallStatus.SUCCESS else "error"
        text, media = _text_and_media("It was not run." if call.result is None else call.result.llm_content)
        # Only ids of the model are sent back, not those that the agent made.
        response = types.FunctionResponse(
            id=function_call.id, name=function_call.name, response={key: whole_text(text)}
        )
        parts += [types.Part(function_response=response), *map(types.Part.model_validate, media)]
    message: Content = types.Content(
        role="user", parts=[*parts, *(types.Part(text=whole_text(text)) for text in texts)]
    )
    return message


def to_json(value: Any) -> dict[str, Any]:
    """Return an SDK object as JSON, with the API's spelling of keys."""
    dumped: dict[str, Any] = value.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"sdk_http_response"}
    )
    return dumped


def content_from_json(value: Any) -> "Content":
    """Return a content from its JSON form. Raises ValueError if it is not valid."""
    content: Content = sdk.types().Content.model_validate(value, extra="ignore")
    return content


def _text_and_media(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a tool's result, and its other parts, such as images, in the SDK's JSON."""
    parts = list(content) if isinstance(content, list | tuple) else [content]
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | dict)]
    media = [part for part in parts if isinstance(part, dict) and "text" not in part]
    return "".join(text for text in texts if isinstance(text, str)), media
