"""google-genai's requests and responses ↔ hook form; each name is loaded on first use, and so is the package itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline.formats.genai.neutral import from_hook_llm_response, offer, tool_names
    from hookline.formats.genai.request import append_system_note as with_note
    from hookline.formats.genai.request import from_hook_llm_request, to_hook_llm_request
    from hookline.formats.genai.response import to_hook_llm_response

__all__ = [
    "from_hook_llm_request",
    "from_hook_llm_response",
    "offer",
    "to_hook_llm_request",
    "to_hook_llm_response",
    "tool_names",
    "with_note",
]
_HOMES = {
    "from_hook_llm_request": ("request", "from_hook_llm_request"),
    "from_hook_llm_response": ("neutral", "from_hook_llm_response"),
    "offer": ("neutral", "offer"),
    "to_hook_llm_request": ("request", "to_hook_llm_request"),
    "to_hook_llm_response": ("response", "to_hook_llm_response"),
    "tool_names": ("neutral", "tool_names"),
    "with_note": ("request", "append_system_note"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: an agent without hooks loads the SDK through this package, and nothing else of it.
    module, own_name = _HOMES[name]
    return getattr(import_module(f"{__name__}.{module}"), own_name)
