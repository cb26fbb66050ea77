"""The only module that imports google-genai, and only when it is needed, because loading it is slow."""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline.errors import MissingExtraError

if TYPE_CHECKING:
    import google.genai.types

    Content: TypeAlias = google.genai.types.Content
    GenerateContentResponse: TypeAlias = google.genai.types.GenerateContentResponse
    Part: TypeAlias = google.genai.types.Part
    ToolConfig: TypeAlias = google.genai.types.ToolConfig


@cache
def _load(name: str) -> ModuleType:
    try:
        return import_module(f"google.genai.{name}")
    except ImportError as error:
        raise MissingExtraError("google-genai", "genai") from error


def types() -> ModuleType:
    """The module `google.genai.types`, loaded on the first call."""
    return _load("types")


def errors() -> ModuleType:
    """The module `google.genai.errors`, loaded on the first call."""
    return _load("errors")


def response_from_json(value: Any) -> "GenerateContentResponse":
    """Return a response, or a chunk of one, from its JSON form; unknown fields are dropped."""
    response: GenerateContentResponse = types().GenerateContentResponse.model_validate(value, extra="ignore")
    return response


def make_client(base_url: str | None = None) -> Any:
    """A client that its own environment variables configure (GEMINI_API_KEY and others); the caller closes it."""
    return _load("client").Client(http_options=None if base_url is None else types().HttpOptions(base_url=base_url))
