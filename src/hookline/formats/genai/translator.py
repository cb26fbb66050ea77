from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.llm import GenerateContentParameters, HookToolConfig, LLMRequest, LLMResponse
from hookline.formats.genai import request, response, tool_config

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse, ToolConfig


class HookTranslatorGenAIv1:
    """The first version of the hook format, from and to the types of google-genai."""

    def to_hook_llm_request(self, params: Any) -> LLMRequest:
        """What hooks see of a model request."""
        return request.to_hook_llm_request(params)

    def from_hook_llm_request(
        self, hook_request: Mapping[str, Any], base: GenerateContentParameters | None = None
    ) -> GenerateContentParameters:
        """The SDK request that a hook asks for, on top of the one it was shown."""
        return request.from_hook_llm_request(hook_request, base)

    def to_hook_llm_response(self, sdk_response: Any) -> LLMResponse:
        """What hooks see of a model response."""
        return response.to_hook_llm_response(sdk_response)

    def from_hook_llm_response(self, hook_response: Mapping[str, Any]) -> "GenerateContentResponse":
        """The SDK response that a hook gives, of text parts only."""
        return response.from_hook_llm_response(hook_response)

    def to_hook_tool_config(self, sdk_tool_config: Any) -> HookToolConfig:
        """The SDK's tool configuration as hooks see it."""
        return tool_config.to_hook_tool_config(sdk_tool_config)

    def from_hook_tool_config(self, hook_tool_config: Mapping[str, Any]) -> "ToolConfig":
        """A hook's tool configuration in the SDK's types."""
        return tool_config.from_hook_tool_config(hook_tool_config)


default_hook_translator = HookTranslatorGenAIv1()
