"""Google ADK's model calls and tool results ↔ those of google-genai, whose format they have."""

from collections.abc import Mapping
from typing import Any

from hookline.formats.genai import sdk
from hookline.protocol.llm import GenerateContentParameters

# The fields of an ADK response that quote the text of its content.
_QUOTES = ("grounding_metadata", "citation_metadata", "logprobs_result", "avg_logprobs", "output_transcription")


def request_of(llm_request: Any) -> GenerateContentParameters:
    """A model call of ADK as one of google-genai."""
    model, contents, config = llm_request.model or "", llm_request.contents, llm_request.config
    return GenerateContentParameters(model=model, contents=contents, config=config)


def put(llm_request: Any, wanted: GenerateContentParameters) -> None:
    """Changes the request in place, because ADK sends this very object."""
    llm_request.model, llm_request.contents, llm_request.config = wanted.model, wanted.contents, wanted.config


def response_of(llm_response: Any) -> Any:
    """A response of ADK as one of google-genai."""
    types = sdk.types()
    candidate = types.Candidate(content=llm_response.content, finish_reason=llm_response.finish_reason)
    return types.GenerateContentResponse(candidates=[candidate], usage_metadata=llm_response.usage_metadata)


def with_answer(llm_response: Any, answer: Any) -> Any:
    """The response with the content of another, and without what quotes its own."""
    return llm_response.model_copy(update={"content": answer.candidates[0].content, **dict.fromkeys(_QUOTES)})


def content_of(text: str) -> Any:
    """A content of the model with this text; without any part if it is empty."""
    types = sdk.types()
    return types.Content(role="model", parts=[types.Part(text=text)] if text else [])


def to_tool_content(result: Any) -> Any:
    """Return a tool's result; ADK wraps values that are not dictionaries."""
    is_wrapped = isinstance(result, Mapping) and result.keys() == {"result"} and isinstance(result["result"], str)
    return result["result"] if is_wrapped else result


def keep_note(context: Any, note: str | None) -> None:
    """Keeps a note to the model in the session's state, for the agent's next request, which may be in another run."""
    if note is not None:
        context.state[_note_key(context)] = note


def take_note(context: Any) -> str | None:
    """The note for the agent's request, which is the only one that gets it."""
    note: str | None = context.state.get(_note_key(context))
    if note is not None:
        context.state[_note_key(context)] = None
    return note


def _note_key(context: Any) -> str:
    return f"hookline:note:{context.agent_name}"
