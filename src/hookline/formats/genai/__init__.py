"""google-genai's requests and responses ↔ hook form; each name is loaded on first use, and so is the package itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline.formats.genai.request import (
        from_hook_llm_request,
        offer,
        to_hook_llm_request,
        tool_names,
        with_note,
    )
    from hookline.formats.genai.response import from_hook_llm_response, to_hook_llm_response

__all__ = [
    "from_hook_llm_request",
    "from_hook_llm_response",
    "offer",
    "to_hook_llm_request",
    "to_hook_llm_response",
    "tool_names",
    "with_note",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: an agent without hooks loads the SDK through this package, and nothing else of it.
    module = "response" if name.endswith("_response") else "request"
    return getattr(import_module(f"{__name__}.{module}"), name)
