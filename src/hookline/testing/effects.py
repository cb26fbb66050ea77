"""The effects that hooks must have in any agent, as a test that each adapter runs with its framework's own fake model.

An adapter's test writes a `Host`, which runs one conversation in the framework, and then:

    @pytest.mark.parametrize("effect", effects.ROWS, ids=str)
    def test_effect(effect): asyncio.run(effects.check(MyHost(), effect, cannot=CANNOT))

The hooks are real processes; the tools record the calls that really ran. The first row, `NO_HOOKS`, proves the host
itself; `NO_LEAK` is for hosts that stream.
"""

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hookline.adapters.table import EffectName, events_of
from hookline.client import Hooks
from hookline.errors import HooklineError
from hookline.testing import _effect_cases as cases
from hookline.testing._effect_cases import Conversation, EffectCase, Request, RunOutcome, ToolName, Turn

__all__ = [
    "EFFECTS",
    "NO_HOOKS",
    "NO_LEAK",
    "ROWS",
    "Conversation",
    "Effect",
    "EffectCase",
    "Host",
    "Request",
    "RunOutcome",
    "Turn",
    "check",
]

Tool = Callable[..., str]


class Host(Protocol):
    """One framework with its adapter, as a test runs it."""

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Tool]) -> RunOutcome:
        """Runs the conversation in a new agent and returns what the model and the user saw.

        The tools are plain functions with annotations and docstrings. The fake model answers with the conversation's
        turns, one for each request, and fails the test if it is asked more often. An adapter that ends a run by an
        exception is right to do so: its message is a text that the user is shown.
        """


@dataclass(frozen=True, slots=True)
class Effect:
    """One row of the table."""

    name: str
    cases_for: Callable[[ToolName], tuple[EffectCase, ...]]

    @property
    def cases(self) -> tuple[EffectCase, ...]:
        """Its cases, for a host that knows the tools by their own names."""
        return self.cases_for(str)

    def __str__(self) -> str:
        return self.name


EFFECTS = (
    Effect(EffectName.DENY, cases.deny),
    Effect(EffectName.INPUT_REWRITE, cases.input_rewrite),
    Effect(EffectName.CONTEXT, cases.context),
    Effect(EffectName.REQUEST_REWRITE, cases.request_rewrite),
    Effect(EffectName.RESPONSE_REDACTION, cases.response_redaction),
    Effect(EffectName.SYNTHETIC_RESPONSE, cases.synthetic_response),
    Effect(EffectName.TOOL_RESTRICTION, cases.tool_restriction),
    Effect(EffectName.STOP, cases.stop),
)
NO_HOOKS = Effect("no hooks", cases.no_hooks)
ROWS = (NO_HOOKS, *EFFECTS)
"""The rows that every adapter must pass."""
NO_LEAK = Effect("no leak", cases.no_leak)
"""For a host that streams: a text that an AfterModel hook redacts never gets out; refusing to stream also passes."""


async def check(
    host: Host, effect: Effect, *, cannot: Mapping[str, str] | None = None, tool_name: ToolName = str
) -> None:
    """AssertionError unless every case of the effect holds, and every declared inability is real and reported.

    `cannot` maps an effect's name, or `effect: event` for the hooks of one event, to the reason why. `tool_name` is for
    a host that knows its tools by other names, such as `mcp__files__write_file`: the hooks' matchers, the model's calls
    and the tools that are offered have that name then.
    """
    declared = {(key.partition(": ")[0], event) for key in cannot or {} for event in events_of(key)}
    for case in effect.cases_for(tool_name):
        if (effect.name, case.event) in declared:
            await _check_inability(host, effect, case)
        else:
            await _check_case(host, effect, case)


async def _check_case(host: Host, effect: Effect, case: EffectCase) -> None:
    attempt = await _run(host, case)
    if problem := attempt.problem:
        raise AssertionError(f"{effect}, {case}: {problem}\n{attempt.outcome}")


async def _check_inability(host: Host, effect: Effect, case: EffectCase) -> None:
    attempt = await _run(host, case)
    if not attempt.problem:
        raise AssertionError(f"{effect}, {case}: declared as impossible, but it holds: remove the declaration")
    if not attempt.is_refused and case.event not in attempt.stderr:
        raise AssertionError(
            f"{effect}, {case}: it has no effect, and nothing on stderr says so, as report_inabilities of"
            f" hookline.adapters.table does; stderr was {attempt.stderr!r}"
        )


@dataclass(slots=True)
class _Attempt:
    outcome: RunOutcome = field(default_factory=RunOutcome)
    problem: str | None = None
    is_refused: bool = False
    stderr: str = ""


async def _run(host: Host, case: EffectCase) -> _Attempt:
    attempt, stderr = _Attempt(), io.StringIO()
    ran: list[tuple[str, dict[str, Any]]] = []
    with (
        tempfile.TemporaryDirectory() as project,
        Hooks(project, settings=case.settings) as hooks,
        contextlib.redirect_stderr(stderr),
    ):
        try:
            attempt.outcome = await host.run(hooks, case.conversation, _tools(ran))
        except HooklineError as refusal:
            attempt.is_refused = True
            attempt.problem = None if case.may_be_refused else f"the host refuses: {refusal}"
        else:
            attempt.problem = case.problem(attempt.outcome, ran)
    attempt.stderr = stderr.getvalue()
    return attempt


def _tools(ran: list[tuple[str, dict[str, Any]]]) -> tuple[Tool, ...]:
    """The tools of every conversation; calls that run are recorded."""

    def write_file(path: str, text: str) -> str:
        """Writes a text to a file."""
        ran.append(("write_file", {"path": path, "text": text}))
        return f"Wrote {path}."

    def delete_file(path: str) -> str:
        """Deletes a file."""
        ran.append(("delete_file", {"path": path}))
        return f"Deleted {path}."

    return write_file, delete_file
