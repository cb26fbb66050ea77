"""The model that an agent talks to."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Protocol

from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse


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
