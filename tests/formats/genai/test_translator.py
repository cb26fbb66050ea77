import inspect

import pytest

from hookline.formats.genai.request import HookTranslatorGenAIv1, default_hook_translator


@pytest.mark.req("HOOK-071")
def test_the_translator_has_six_translations() -> None:
    """Requests, responses and tool configurations, each from and to the hook format, and nothing else."""
    public = {name for name, _ in inspect.getmembers(HookTranslatorGenAIv1) if not name.startswith("_")}
    assert public == {
        "to_hook_llm_request",
        "from_hook_llm_request",
        "to_hook_llm_response",
        "from_hook_llm_response",
        "to_hook_tool_config",
        "from_hook_tool_config",
    }


@pytest.mark.req("HOOK-071")
def test_one_translator_serves_all() -> None:
    """The default translator is the first version of the format."""
    assert type(default_hook_translator) is HookTranslatorGenAIv1
