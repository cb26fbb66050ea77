"""google-genai's requests and responses ↔ hook form; the package itself is imported on first use."""

from hookline.formats.genai.neutral import from_hook_llm_response, offer
from hookline.formats.genai.request import append_system_note as with_note
from hookline.formats.genai.request import from_hook_llm_request, to_hook_llm_request
from hookline.formats.genai.response import to_hook_llm_response

__all__ = [
    "from_hook_llm_request",
    "from_hook_llm_response",
    "offer",
    "to_hook_llm_request",
    "to_hook_llm_response",
    "with_note",
]
