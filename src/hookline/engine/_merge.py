"""Four ways in which several answers become one. Each takes the answers in plan order and returns the merged JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline.contract.events import BLOCKING_DECISIONS, HookEventName
from hookline.contract.outputs import BeforeToolHookOutput, DefaultHookOutput, text_of
from hookline.contract.wire import trim
from hookline.formats.hook_format import merge_llm_requests

Outputs = Sequence[DefaultHookOutput]
_LayOver = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]

TOOL_MODES = ("AUTO", "ANY", "NONE")  # least restrictive first


def merge_or_decision(outputs: Outputs) -> dict[str, Any]:
    """Any block blocks, any stop stops, any suppression suppresses; texts are joined, the rest is replaced by key."""
    merged = _stop_fields(outputs)
    suppressed, blocking = False, None
    reasons: list[str] = []
    messages: list[str] = []
    for output in outputs:
        suppressed = suppressed or output.suppress_output
        if output.is_blocking_decision():
            blocking = output
        if reason := output.reason:
            reasons.append(reason)
        if message := output.system_message:
            messages.append(message)
    merged["suppressOutput"] = suppressed
    if blocking is not None:
        merged["decision"] = _blocking_decision(blocking)
    elif merged["continue"]:
        merged["decision"] = "allow"
    if reasons:
        merged["reason"] = "\n".join(reasons)
    if messages:
        merged["systemMessage"] = "\n".join(messages)
    if specific := _merge_specific(outputs):
        merged["hookSpecificOutput"] = specific
    return merged


def merge_field_replacement(outputs: Outputs) -> dict[str, Any]:
    """A later hook's explicit value replaces an earlier one, even a block."""
    merged: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    for output in outputs:
        data = output.to_dict()
        for name in ("decision", "continue"):
            # The `allow` of a crashed hook or of plain text is ours, and "DENY" and "false" mean nothing to anybody:
            # neither must undo a block or a stop.
            if name in merged and not (output.is_explicit and output.says(name)):
                data.pop(name, None)
        merged |= data
        _overlay(specific, output.hook_specific_output, {"llm_request": merge_llm_requests})
    merged["hookSpecificOutput"] = specific
    return merged


def merge_tool_selection(outputs: Outputs) -> dict[str, Any]:
    """Allow-lists are united and the most restrictive mode wins; stops and messages are kept as on tool events."""
    merged = _stop_fields(outputs)
    _join(merged, "systemMessage", [output.system_message for output in outputs])
    configs = [
        config for output in outputs if isinstance(config := output.hook_specific_output.get("toolConfig"), dict)
    ]
    tool_config = _unite_tool_configs(configs)
    if tool_config:
        merged["hookSpecificOutput"] = {
            "hookEventName": HookEventName.BEFORE_TOOL_SELECTION.value,
            "toolConfig": tool_config,
        }
    return merged


def merge_last_wins(outputs: Outputs) -> dict[str, Any]:
    """Later fields replace earlier ones, values as they are."""
    merged: dict[str, Any] = {}
    for output in outputs:
        merged |= output.to_dict()
    return merged


def _stop_fields(outputs: Outputs) -> dict[str, Any]:
    stopping = [output for output in outputs if output.should_stop_execution()]
    fields: dict[str, Any] = {"continue": not stopping}
    if stopping:
        _join(fields, "stopReason", [output.stop_reason for output in stopping])
    return fields


def _blocking_decision(output: DefaultHookOutput) -> str:
    # A deny that was given in the compatibility field only is told to callers in the ordinary one.
    return output.decision if output.decision in BLOCKING_DECISIONS and output.decision else "deny"


def _join(merged: dict[str, Any], name: str, texts: Sequence[str | None]) -> None:
    if text := "\n".join(filter(None, texts)):
        merged[name] = text


def _merge_specific(outputs: Outputs) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for output in outputs:
        if specific := output.hook_specific_output:
            _overlay(merged, specific, _TOOL_INPUT_BY_KEY)
    if not merged:
        return merged
    _join(merged, "additionalContext", [output.get_additional_context() for output in outputs])
    if any(output.hook_specific_output.get("clearContext") is True for output in outputs):
        merged["clearContext"] = True
    return _with_surviving_permission(merged, outputs)


def _with_surviving_permission(merged: dict[str, Any], outputs: Outputs) -> dict[str, Any]:
    """The merged fields with the first denial in the compatibility fields, and the reasons of all that deny there."""
    blocking = [
        output.hook_specific_output for output in outputs if output.read_as(BeforeToolHookOutput).is_blocking_decision()
    ]
    if not blocking:
        return merged
    denials = [s for s in blocking if BeforeToolHookOutput({"hookSpecificOutput": s}).is_blocking_decision()]
    # What an approving hook says goes before every other reason, and must not be told as the reason for a block.
    kept = {key: value for key, value in merged.items() if key != "permissionDecisionReason"}
    if denials:
        kept["permissionDecision"] = denials[0]["permissionDecision"]
    _join(kept, "permissionDecisionReason", [text_of(s.get("permissionDecisionReason")) for s in blocking])
    return kept


def _overlay(target: dict[str, Any], changes: Mapping[str, Any], keywise: Mapping[str, _LayOver]) -> None:
    """Lays changes over the target; objects in the fields named by `keywise` are laid over each other key by key."""
    for key, value in changes.items():
        before = target.get(key)
        if not isinstance(before, dict) or value is None:
            target[key] = value
        elif isinstance(value, dict):
            target[key] = keywise[key](before, value) if key in keywise else value
        # Something that is not an object cannot stand for one, and must not cost an earlier hook its change.


def _lay_over(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {**before, **changes}


_TOOL_INPUT_BY_KEY: Mapping[str, _LayOver] = {"tool_input": _lay_over}


def _unite_tool_configs(configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    modes = [_mode(config["mode"]) for config in configs if config.get("mode") is not None]
    lists = [names for config in configs if (names := _names(config.get("allowedFunctionNames"))) is not None]
    if not modes and not lists:
        return {}
    mode = max(modes, key=TOOL_MODES.index, default="AUTO")
    if mode == "NONE":
        return {"mode": mode, "allowedFunctionNames": []}
    if not lists:
        return {"mode": mode}
    return {"mode": mode, "allowedFunctionNames": sorted({name for names in lists for name in names})}


def _mode(given: Any) -> str:
    """The mode that is meant: `none` in small letters is no reason to leave the tools open."""
    mode = trim(given).upper() if isinstance(given, str) else None
    return mode if mode in TOOL_MODES else "AUTO"


def _names(given: Any) -> list[str] | None:
    """The names of a list, or a single name that stands where a list should; None restricts nothing."""
    if isinstance(given, str):
        return [given]
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else None
