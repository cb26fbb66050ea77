import subprocess
import sys

from hookline.formats.genai import sdk

TO_HOOK = """
import sys
import hookline.formats.genai.contents, hookline.formats.conversation
import hookline.formats.hook_format, hookline.formats.outputs, hookline.formats.genai.request
import hookline.formats.genai.response, hookline.formats.genai.sdk, hookline.formats.genai.tool_config
from hookline.protocol.llm import GenerateContentParameters
from hookline.formats.hook_format import overlay_llm_request
from hookline.engine.event_table import create_hook_output
from hookline.formats.outputs import ToolConfigTarget
from hookline.formats.genai.request import default_hook_translator as translator

request = {
    "model": "m",
    "contents": [{"role": "user", "parts": [{"text": "q"}, {"inlineData": {"data": "AA"}}]}],
    "config": {"temperature": 0.5, "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}
shown = translator.to_hook_llm_request(request)
translator.to_hook_llm_response({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]})
translator.to_hook_tool_config({"functionCallingConfig": {"mode": "ANY"}})
overlay_llm_request(shown, {"contents": "x"})
target = GenerateContentParameters(**request)
for event in ("BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeTool"):
    output = create_hook_output(event, {"decision": "allow"})
assert create_hook_output("BeforeModel", {}).get_synthetic_response() is None
assert create_hook_output("BeforeModel", {}).apply_llm_request_modifications(target) is target
assert create_hook_output("AfterModel", {}).get_modified_response() is None
tools = ToolConfigTarget(tools=[])
assert create_hook_output("BeforeToolSelection", {}).apply_tool_config_modifications(tools) is tools
print([name for name in sys.modules if name == "google" or name.startswith(("google.genai", "pydantic"))])
"""

WITHOUT_SDK = """
import sys
sys.modules["google.genai"] = None
from hookline.errors import MissingExtraError
from hookline.formats.genai.sdk import types
try:
    types()
except MissingExtraError as error:
    print(error.package, error.extra)
"""


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_the_sdk_is_not_loaded_for_what_does_not_need_it() -> None:
    """Importing every module, translating JSON for hooks and applying empty answers never load google-genai."""
    assert run(TO_HOOK) == "[]"


def test_a_missing_sdk_is_named_with_the_extra_that_brings_it() -> None:
    """A program that needs the SDK and does not have it gets the command that installs it."""
    assert run(WITHOUT_SDK) == "google-genai genai"


def test_the_module_of_types_is_loaded_once() -> None:
    """Every call gives the same module."""
    assert sdk.types() is sdk.types()
    assert sdk.types().__name__ == "google.genai.types"
