"""Expectation and Verdict → differences. Everything is read from the Verdict; nothing is decided here a second time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.protocol.text.exit_text import show_ending, telling_line
from hookline.protocol.verdict import HookExecutionResult, Verdict
from hookline.testing.cases.case import Expectation, is_found, outcomes_of


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as expected: both sides as texts, of one line or several."""

    what: str
    expected: str
    got: str


def judge(expected: Expectation, fields: Mapping[str, Any], verdict: Verdict) -> tuple[Difference, ...]:
    """The differences from the expectation, given the event's own fields; none if the case passes."""
    return (
        *_outcome(expected, verdict),
        *_texts(expected, verdict),
        *_hooks(expected, verdict),
        *_values(expected, fields, verdict),
        *_time(expected, verdict),
    )


def why_failed(run: HookExecutionResult) -> str:
    """How a hook failed, with the line of its stderr that says most."""
    line = telling_line(run.stderr)
    return f"{show_ending(run)}{f' ({line})' if line else ''}"


def deciders_of(verdict: Verdict) -> tuple[str, ...]:
    """The hooks that blocked, stopped or asked; where none did, those that changed or added something."""
    if verdict.deciders or not verdict.runs:
        return verdict.deciders
    blockers = [run.hook.label for run in verdict.runs if run.blocks] if verdict.denied else []
    changed = [label for labels in verdict.decided_by.values() for label in labels]
    return tuple(dict.fromkeys(blockers or changed))


def _outcome(expected: Expectation, verdict: Verdict) -> Iterator[Difference]:
    fitting = outcomes_of(verdict)
    if expected.outcome is not None and expected.outcome not in fitting:
        reason = f": {verdict.reason or verdict.stop_reason}" if verdict.reason or verdict.stop_reason else ""
        yield Difference("outcome", expected.outcome, f"{fitting[0]}{reason}")


def _texts(expected: Expectation, verdict: Verdict) -> Iterator[Difference]:
    texts = {
        "reason": (expected.reason, verdict.reason or verdict.stop_reason),
        "context": (expected.context, verdict.context),
        "note": (expected.note, verdict.note),
        "output": (expected.output, verdict.tool_output),
    }
    for what, (pattern, text) in texts.items():
        if pattern is None:
            continue
        found = None if text is None else is_found(pattern, text)
        if text is None or not found:
            too_slow = " (the pattern takes too long to be searched)" if text is not None and found is None else ""
            yield Difference(what, f"matches {pattern}", f"{'nothing' if text is None else text}{too_slow}")


def _hooks(expected: Expectation, verdict: Verdict) -> Iterator[Difference]:
    deciders = deciders_of(verdict)
    ran = tuple(run.hook.label for run in verdict.runs)
    failed = {run.hook.label: run for run in verdict.runs if run.failed}
    for what, wanted, got in (("decided by", expected.by, deciders), ("ran", expected.ran, ran)):
        if not {*wanted} <= {*got}:
            yield Difference(what, ", ".join(wanted), ", ".join(got) or "no hook")
    for label in (label for label in expected.fails if label not in failed):
        yield Difference("fails", label, "it did not run" if label not in ran else "it did not fail")
    # A guard that crashes lets everything pass: a case that expects just that must not hide it.
    for label, run in failed.items():
        if label not in expected.fails:
            meaning = (
                f", and blocks, because {run.hook.fail_closed_reason}" if run.blocks else ", so it decided nothing"
            )
            yield Difference("no failure", f"{label} does its work", f"{label} {why_failed(run)}{meaning}")


def _values(expected: Expectation, fields: Mapping[str, Any], verdict: Verdict) -> Iterator[Difference]:
    if expected.unchanged and (changed := _changes(verdict)):
        yield Difference("unchanged", "nothing is changed or added", _json(changed))
    arguments = fields.get("tool_input") if verdict.arguments is None else verdict.arguments
    if expected.arguments is not None and expected.arguments != arguments:
        yield Difference("arguments", _json(expected.arguments), _json(arguments))
    prompt = verdict.prompt if verdict.prompt is not None else fields.get("prompt")
    if expected.prompt is not None and expected.prompt != prompt:
        yield Difference("prompt", expected.prompt, str(prompt))
    request = verdict.request if verdict.request is not None else fields.get("llm_request")
    yield from _parts("request", expected.request, request)
    response = verdict.response if verdict.response is not None else fields.get("llm_response")
    yield from _parts("response", expected.response, response)
    if expected.tools is not None:
        allowed = None if verdict.tools is None else _allowed(verdict.tools.mode, verdict.tools.names)
        if allowed is None or {*allowed} != {*expected.tools}:
            yield Difference("tools", _json(expected.tools), "not restricted" if allowed is None else _json(allowed))


def _allowed(mode: str | None, names: Sequence[str] | None) -> Sequence[str] | None:
    return () if mode == "NONE" else names


def _changes(verdict: Verdict) -> dict[str, Any]:
    added = {"context": verdict.context, "note": verdict.note, "user_message": verdict.user_message}
    return {**(verdict.effect or {}), **{name: text for name, text in added.items() if text}}


def _parts(what: str, wanted: Mapping[str, Any] | None, got: Any) -> Iterator[Difference]:
    """The expected fields that are different, each as far as it was expected."""
    if wanted is not None and (seen := _like(wanted, got)) != wanted:
        yield Difference(what, _json(wanted), _json(seen))


def _like(wanted: Any, got: Any) -> Any:
    """The value with those keys only that are wanted."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return {key: _like(wanted[key], got[key]) for key in wanted if key in got}
    return got


def _time(expected: Expectation, verdict: Verdict) -> Iterator[Difference]:
    if expected.within_ms is not None and verdict.duration_ms > expected.within_ms:
        yield Difference("time", f"at most {expected.within_ms:g} ms", f"{verdict.duration_ms:.0f} ms")


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
