"""The model that an agent talks to, and Gemini as one."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from hookline.contract.llm import GenerateContentParameters
from hookline.errors import HooklineError, ModelError
from hookline.formats.genai import sdk

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

DEFAULT_GEMINI = "gemini-flash-latest"
GEMINI_CONTEXT_LIMIT = 1_048_576

_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = range(500, 600)
_LONGEST_PAUSE_S = 60.0
_CUT_OFF = "the answer of {} was cut off: {}; the part that arrived is not used"


class Model(Protocol):
    """Answers requests in the SDK's types, chunk by chunk."""

    @property
    def name(self) -> str:
        """Its name in requests."""

    @property
    def context_limit(self) -> int:
        """How many tokens a conversation may have."""

    def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """The answer in chunks. Raises ModelError when there is none, or when it is cut off."""

    async def aclose(self) -> None:
        """Releases its resources."""


class GeminiModel:
    """Gemini through google-genai, which takes key, project and address from its own environment variables."""

    context_limit = GEMINI_CONTEXT_LIMIT

    def __init__(
        self,
        name: str = DEFAULT_GEMINI,
        *,
        attempts: int = 4,
        first_pause_s: float = 1.0,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self._attempts = attempts
        self._first_pause_s = first_pause_s
        self._on_retry = on_retry
        try:
            self._client = sdk.make_client()
        except HooklineError:
            raise
        except Exception as error:
            # The SDK and its libraries have different exceptions for a missing key and for missing credentials.
            raise ModelError(
                f"Gemini cannot be used: {error} Set GEMINI_API_KEY, or work without a key: --model replay:FILE"
            ) from error

    async def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """The answer in chunks. Only a request that fails before its first chunk is retried."""
        for attempt in range(1, self._attempts + 1):
            has_begun = False
            try:
                async with aclosing(self._chunks(request)) as chunks:
                    async for chunk in chunks:
                        has_begun = True
                        yield chunk
            except Exception as error:
                # The SDK uses one of several HTTP libraries, each with exceptions of its own.
                if has_begun or attempt == self._attempts or not _is_transient(error):
                    what = _CUT_OFF if has_begun else "{} gave no answer: {}"
                    raise ModelError(what.format(self.name, _summary(error))) from error
                await self._pause(attempt, error)
            else:
                return

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aio.aclose()
        self._client.close()

    async def _chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        chunks = await self._client.aio.models.generate_content_stream(
            model=request.model, contents=request.contents, config=_single_call(request.config)
        )
        is_whole = False
        async with aclosing(chunks):
            async for chunk in chunks:
                is_whole = is_whole or _ends(chunk)
                yield chunk
        if not is_whole:
            # A connection that is closed early looks like the end of the stream.
            raise ModelError("the stream ended without a finish reason")

    async def _pause(self, attempt: int, error: Exception) -> None:
        pause_s = min(self._first_pause_s * 2 ** (attempt - 1) * random.uniform(1, 1.25), _LONGEST_PAUSE_S)  # noqa: S311 - jitter needs no secure randomness
        if self._on_retry is not None:
            self._on_retry(f"{self.name} answered {_summary(error)}; trying again in {pause_s:.1f} s")
        await asyncio.sleep(pause_s)


def _single_call(config: Any) -> Any:
    """The configuration without the features by which the SDK makes calls that hooks would not see."""
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


def _is_transient(error: Exception) -> bool:
    code = error.code if isinstance(error, sdk.errors().APIError) else None
    return code == _TOO_MANY_REQUESTS or code in _SERVER_ERRORS


def _summary(error: Exception) -> str:
    if isinstance(error, sdk.errors().APIError):
        status = " ".join(str(part) for part in (error.code, error.status) if part)
        return f"{status}: {error.message}" if error.message else status
    return str(error) or type(error).__name__
