"""What the models behind an HTTP client have in common: retries, and errors that name the address."""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from hookline.errors import ModelError
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse

NO_ENDING = "the stream ended without a finish reason"

_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = range(500, 600)
_LONGEST_PAUSE_S = 60.0
_CUT_OFF = "the answer of {} was cut off: {}; the part that arrived is not used"

Tell = Callable[[str], None]


class ClientModel(ABC):
    """A model that is reached through its vendor's client, whose own retries are off, because nobody would see them."""

    context_limit: int

    def __init__(
        self, name: str, *, attempts: int = 4, first_pause_s: float = 1.0, on_retry: Tell | None = None
    ) -> None:
        self.name = name
        self._attempts = attempts
        self._first_pause_s = first_pause_s
        self._on_retry = on_retry

    @abstractmethod
    def chunks(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """One attempt; raises anything, and NO_ENDING as a ModelError for a stream that only looks complete."""

    @abstractmethod
    def refusal(self, error: Exception) -> tuple[int | None, str] | None:
        """The status and the words of an error that is the server's answer; None for other errors."""

    @abstractmethod
    async def aclose(self) -> None:
        """Closes the connections."""

    async def stream(self, request: GenerateContentParameters) -> "AsyncGenerator[GenerateContentResponse]":
        """The answer in chunks. Only a request that fails before its first chunk is retried."""
        for attempt in range(1, self._attempts + 1):
            has_begun = False
            try:
                async with aclosing(self.chunks(request)) as chunks:
                    async for chunk in chunks:
                        has_begun = True
                        yield chunk
            except Exception as error:
                # The clients use one of several HTTP libraries, each with exceptions of its own.
                if has_begun or attempt == self._attempts or not self._is_transient(error):
                    what = _CUT_OFF if has_begun else "{} gave no answer: {}"
                    raise ModelError(what.format(self.name, self._summary(error))) from error
                await self._pause(attempt, error)
            else:
                return

    async def _pause(self, attempt: int, error: Exception) -> None:
        pause_s = min(self._first_pause_s * 2 ** (attempt - 1) * random.uniform(1, 1.25), _LONGEST_PAUSE_S)  # noqa: S311 - jitter needs no secure randomness
        if self._on_retry is not None:
            self._on_retry(f"{self.name} answered {self._summary(error)}; trying again in {pause_s:.1f} s")
        await asyncio.sleep(pause_s)

    def _is_transient(self, error: Exception) -> bool:
        status, _ = self.refusal(error) or (None, "")
        return status is not None and (status == _TOO_MANY_REQUESTS or status in _SERVER_ERRORS)

    def _summary(self, error: Exception) -> str:
        if (refusal := self.refusal(error)) is not None:
            return refusal[1]
        address = next((found for one in _chain(error) if (found := _address(one)) is not None), None)
        if address is None:
            return str(error) or type(error).__name__
        *_, cause = _chain(error)
        return f"{str(cause) or type(cause).__name__} ({address})"


def words_of(status: int | None, body: object, message: str) -> str:
    """The words of an API's refusal, without the JSON around them."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    text = inner.get("message") if isinstance(inner, Mapping) else None
    words = text if isinstance(text, str) and text else message
    return words if status is None else f"{status}: {words}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes; of the network's errors, the last one has the plainest words."""
    known: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in known:
        known.add(id(cause))
        yield cause
        cause = cause.__cause__


def _address(error: BaseException) -> str | None:
    """Where the request of a network error went; without its path and query, where a key may stand."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
        port = f":{url.port}" if url.port else ""
        address = f"{url.scheme}://{url.host}{port}"
    except Exception:  # noqa: BLE001 - errors of any library: this one has no request
        return None
    return address
