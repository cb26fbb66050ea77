"""Hooks for tests, and assertions on what came of an event; usable with any test runner."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline.client import Hooks
from hookline.log.write.logger import MemorySink
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict
from hookline.testing.cases.case import Expectation, Outcome
from hookline.testing.cases.judge import judge


class MakeHooks:
    """Makes hooks that write nothing outside of their project, and keeps what they log."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._sink = MemorySink()
        self._made: list[Hooks] = []

    def __call__(self, settings: Mapping[str, Any] | None = None, **options: Any) -> Hooks:
        """Hooks with settings in code; without any, only functions that `on` registers. See `Hooks` for options."""
        given = {"enableHooks": True, **(settings or {})} if "settings_files" not in options else None
        sinks = (*options.pop("log_sinks", ()), self._sink)
        hooks = Hooks(self.project, settings=given, log_sinks=sinks, **{"log_file": False, **options})
        self._made.append(hooks)
        return hooks

    @property
    def log(self) -> Sequence[dict[str, Any]]:
        """The records so far, as the log file would have them."""
        return [record.to_dict() for record in self._sink.records]

    def close(self) -> None:
        """Closes all hooks."""
        for hooks in self._made:
            hooks.close()


def expect(result: Any, outcome: str | None = None, **expected: Any) -> None:
    """Raise AssertionError unless the event had the expected outcome, with both sides of each difference.

    Args:
        result: a `Verdict`, or what a method of a session returned, such as a `ToolCall`.
        outcome: "blocked", "allowed", "asked", "stopped", "continues" or "denied".
        expected: reason, context, note, output (regular expressions), by, ran, fails (names of hooks), arguments,
            prompt, request, response, tools, unchanged, within_ms: as in case files.
    """
    # A session's method returns no verdict where no hook had to run.
    nothing = Verdict(event=HookEventName.BEFORE_TOOL)
    verdict = result if isinstance(result, Verdict) else result.verdict or nothing
    fields = {"tool_input": getattr(result, "arguments", None)}
    for name in ("by", "ran", "fails"):
        if isinstance(given := expected.get(name), str):
            expected[name] = (given,)
    wanted = Expectation(outcome=None if outcome is None else Outcome(outcome), **expected)
    if differences := judge(wanted, fields, verdict):
        lines = (f"{one.what}:\n  expected {one.expected}\n  got      {one.got}" for one in differences)
        raise AssertionError("\n".join(lines))
