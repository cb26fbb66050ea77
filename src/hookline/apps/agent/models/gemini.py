"""Gemini through google-genai."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from hookline.apps.agent.models.client import NO_ENDING, ClientModel
from hookline.errors import HooklineError, ModelError
from hookline.formats.genai import sdk
from hookline.protocol.llm import DEFAULT_CONTEXT_LIMIT, GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

DEFAULT_GEMINI = "gemini-flash-latest"


class GeminiModel(ClientModel):
    """Gemini; the client reads key, project and address from its own environment variables."""

    context_limit = DEFAULT_CONTEXT_LIMIT

    def __init__(self, name: str = DEFAULT_GEMINI, *, base_url: str | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        try:
            self._client = sdk.make_client(base_url)
        except HooklineError:
            raise
        except Exception as error:
            # The SDK and its libraries raise different exceptions for a missing key and for missing credentials.
            raise ModelError(
                f"Gemini cannot be used: {error} Set GEMINI_API_KEY, or work without a key: --model replay:FILE"
            ) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()
        self._client.close()

    async def chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """Return the chunks of one attempt."""
        chunks = await self._client.aio.models.generate_content_stream(
            model=request.model, contents=request.contents, config=_single_call(request.config)
        )
        is_whole = False
        async with aclosing(chunks):
            async for chunk in chunks:
                is_whole = is_whole or _ends(chunk)
                yield chunk
        if not is_whole:
            # A connection that closes early looks like the end of the stream.
            raise ModelError(NO_ENDING)

    def refusal(self, error: Exception) -> tuple[int | None, str] | None:
        """Return the API's status and message."""
        if not isinstance(error, sdk.errors().APIError):
            return None
        status = " ".join(str(part) for part in (error.code, error.status) if part)
        return error.code, f"{status}: {error.message}" if error.message else status


def _single_call(config: Any) -> Any:
    """Disable the features with which the SDK makes further calls, which hooks would not see."""
    types = sdk.types()
    config = types.GenerateContentConfig.model_validate(config or {})
    changes: dict[str, Any] = {"automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True)}
    if "automatic_continuation" in types.GenerateContentConfig.model_fields:
        changes["automatic_continuation"] = False
    return config.model_copy(update=changes)


def _ends(chunk: "GenerateContentResponse") -> bool:
    feedback = chunk.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return True
    reasons = [candidate.finish_reason for candidate in chunk.candidates or ()]
    return any(reason is not None and reason.value != "CONTINUATION" for reason in reasons)
