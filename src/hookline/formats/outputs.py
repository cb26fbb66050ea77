"""The three output classes that use the SDK's types."""

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from hookline.extensions import lazy_module
from hookline.formats.hook_format import hook_candidates
from hookline.protocol.answers import or_none
from hookline.protocol.results import DefaultHookOutput

if TYPE_CHECKING:
    from hookline.formats.genai import request, response, tool_config
    from hookline.formats.genai.sdk import GenerateContentResponse
    from hookline.protocol.llm import GenerateContentParameters
else:  # every event needs these classes, and few need the translation to the SDK's types
    request = lazy_module("hookline.formats.genai.request")
    response = lazy_module("hookline.formats.genai.response")
    tool_config = lazy_module("hookline.formats.genai.tool_config")


class BeforeModelHookOutput(DefaultHookOutput):
    """An answer to BeforeModel, which may change the request or replace the model's response."""

    __slots__ = ()

    def get_synthetic_response(self) -> "GenerateContentResponse | None":
        """The response to use instead of calling the model, or None when the hook gave none."""
        given = or_none(self.answer.llm_response)
        if given is None:
            return None
        made = response.from_hook_llm_response(given)
        return made if made.candidates else None

    def apply_llm_request_modifications(self, target: "GenerateContentParameters") -> "GenerateContentParameters":
        """The request to send: the hook's changes laid over the target, or the target itself."""
        given = or_none(self.answer.llm_request)
        if given is None:
            return target
        return request.from_hook_llm_request(given, target)


class AfterModelHookOutput(DefaultHookOutput):
    """An answer to AfterModel, which may replace the model's text."""

    __slots__ = ()

    def get_modified_response(self) -> "GenerateContentResponse | None":
        """The hook's response, or one that gives the reason for stopping, or None when the model's stays."""
        given = or_none(self.answer.llm_response)
        if given is not None and hook_candidates(given):
            return response.from_hook_llm_response(given)
        return response.stop_response(self.get_effective_reason()) if self.should_stop_execution() else None


class ToolConfigTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a request that decides about tools."""

    tool_config: Any = None
    """A `ToolConfig`, its dictionary form, or None."""
    tools: Any = None


class BeforeToolSelectionHookOutput(DefaultHookOutput):
    """An answer to BeforeToolSelection, which may restrict what the model can call."""

    __slots__ = ()

    def apply_tool_config_modifications(self, target: ToolConfigTarget) -> ToolConfigTarget:
        """The target with the hook's mode and names; the tools themselves are never touched."""
        changed = tool_config.overlay_tool_config(target.tool_config, self.hook_specific_output.get("toolConfig"))
        return target if changed is target.tool_config else replace(target, tool_config=changed)
