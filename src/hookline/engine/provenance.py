"""Which hook decided which field of the merged answer."""

from collections.abc import Iterator, Mapping
from typing import Any

from hookline.contract.outputs import DefaultHookOutput, text_of
from hookline.contract.results import AggregatedHookResult, HookExecutionResult

_JOINED = frozenset({"reason", "stopReason", "systemMessage", "additionalContext", "permissionDecisionReason"})
_OPENED = frozenset({"hookSpecificOutput", "tool_input", "llm_request", "toolConfig"})

Path = tuple[str, ...]


def decided_by(result: AggregatedHookResult) -> dict[str, list[str]]:
    """For each field of the final output, by its path, the hooks whose answer stands in it, in plan order."""
    if result.final_output is None:
        return {}
    final = result.final_output
    said = {
        path: [hook_result.hook.label for hook_result in result.results if _stands(path, value, hook_result, final)]
        for path, value in _fields(final.to_dict(), ())
    }
    return {".".join(path): hooks for path, hooks in said.items() if hooks}


def _fields(value: Mapping[str, Any], above: Path) -> Iterator[tuple[Path, Any]]:
    for key, item in value.items():
        path = (*above, key)
        if key in _OPENED and isinstance(item, Mapping):
            yield from _fields(item, path)
        else:
            yield path, item


def _stands(path: Path, final: Any, result: HookExecutionResult, output: DefaultHookOutput) -> bool:
    if result.output is None:
        return False
    own: Any = result.output.to_dict()
    for key in path:
        if not isinstance(own, Mapping) or key not in own:
            return False
        own = own[key]
    if path == ("decision",) and output.is_blocking_decision():
        return result.output.is_blocking_decision()
    if path == ("stopReason",):
        return result.output.should_stop_execution()
    if path[-1] in _JOINED:
        return text_of(own) is not None and str(text_of(own)) in str(final)
    if path[-1] == "allowedFunctionNames" and isinstance(own, list) and isinstance(final, list):
        return own == final or any(name in final for name in own)
    return bool(own == final)
