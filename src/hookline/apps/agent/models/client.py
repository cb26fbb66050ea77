"""The model that an agent calls, and what models behind a vendor's client share: retries and error messages."""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from hookline.errors import ModelError
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

NO_ENDING = "the stream ended without a finish reason"

_TOO_MANY_REQUESTS = 429
_MAX_PAUSE_S = 60.0


class Model(Protocol):
    """A model that takes requests and streams responses in the types of google-genai."""

    @property
    def name(self) -> str:
        """Its name in requests."""

    @property
    def context_limit(self) -> int:
        """The maximum number of tokens in a conversation."""

    def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """Return the answer in chunks. Raises ModelError if there is none, or if it is cut off."""

    async def aclose(self) -> None:
        """Release its resources."""


class ClientModel(ABC):
    """A model behind a vendor's client. It retries itself, because retries of the client would be invisible."""

    context_limit: int

    def __init__(
        self,
        name: str,
        *,
        attempts: int = 4,
        first_pause_s: float = 1.0,
        on_retry: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._attempts = attempts
        self._first_pause_s = first_pause_s
        self._on_retry = on_retry

    @abstractmethod
    def chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """Make one attempt; may raise anything, and ModelError for a stream without an end."""

    @abstractmethod
    def refusal(self, error: Exception) -> tuple[int | None, str] | None:
        """Return the HTTP status and the message if the error is an answer of the server, else None."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections."""

    async def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """Return the answer in chunks. Only a request that fails before its first chunk is retried."""
        for attempt in range(1, self._attempts + 1):
            has_begun = False
            try:
                async with aclosing(self.chunks(request)) as chunks:
                    async for chunk in chunks:
                        has_begun = True
                        yield chunk
            except Exception as error:
                # The clients use several HTTP libraries, each with its own exceptions.
                if has_begun:
                    what = (
                        f"the answer of {self.name} was cut off: {self._summary(error)}; the partial answer is unused"
                    )
                    raise ModelError(what) from error
                if attempt == self._attempts or not self._is_transient(error):
                    raise ModelError(f"{self.name} gave no answer: {self._summary(error)}") from error
                jitter = random.uniform(1, 1.25)  # noqa: S311 - jitter needs no secure randomness
                pause_s = min(self._first_pause_s * 2 ** (attempt - 1) * jitter, _MAX_PAUSE_S)
                self._on_retry(f"{self.name} answered {self._summary(error)}; retrying in {pause_s:.1f} s")
                await asyncio.sleep(pause_s)
            else:
                return

    def _is_transient(self, error: Exception) -> bool:
        status, _ = self.refusal(error) or (None, "")
        return status is not None and (status == _TOO_MANY_REQUESTS or status in range(500, 600))

    def _summary(self, error: Exception) -> str:
        if (refusal := self.refusal(error)) is not None:
            return refusal[1]
        chain = list(_chain(error))
        address = next(filter(None, map(_address, chain)), None)
        if address is None:
            return str(error) or type(error).__name__
        # Of a chain of network errors, the innermost has the clearest message.
        return f"{str(chain[-1]) or type(chain[-1]).__name__} ({address})"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _address(error: BaseException) -> str | None:
    """Return the server of a failed request, without path and query, which may hold a key."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
        return f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else "")
    except (AttributeError, RuntimeError):  # not a network error, or one without a request
        return None
