"""The door to google-genai: nothing else imports it, and not before it is needed, because loading it is slow."""

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from hookline.errors import MissingExtraError

if TYPE_CHECKING:
    import google.genai.types

    GenerateContentResponse: TypeAlias = google.genai.types.GenerateContentResponse
    ToolConfig: TypeAlias = google.genai.types.ToolConfig


@cache
def types() -> ModuleType:
    """The module `google.genai.types`, loaded on the first call."""
    try:
        from google.genai import types as genai_types  # noqa: PLC0415 - loading it costs more than a whole hook
    except ImportError as error:
        raise MissingExtraError("google-genai", "genai") from error
    return genai_types
