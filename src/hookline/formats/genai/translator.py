from collections.abc import Callable, Mapping
from typing import Any

from hookline.formats.genai import request, response, tool_config


class HookTranslatorGenAIv1:
    """The first version of the hook format, from and to the types of google-genai."""

    to_hook_llm_request = staticmethod(request.to_hook_llm_request)
    from_hook_llm_request = staticmethod(request.from_hook_llm_request)
    to_hook_llm_response = staticmethod(response.to_hook_llm_response)
    from_hook_llm_response = staticmethod(response.from_hook_llm_response)
    to_hook_tool_config = staticmethod(tool_config.to_hook_tool_config)
    from_hook_tool_config = staticmethod(tool_config.from_hook_tool_config)


default_hook_translator = HookTranslatorGenAIv1()


def needs_translation(value: Any, is_sdk: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return False for an object in hook form, and for what is no request or response at all."""
    return is_sdk(value) if isinstance(value, Mapping) else not isinstance(value, str | int | float | list | None)
