"""How hooks of each kind are run: one row per kind."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hookline.extensions import lazy_module
from hookline.protocol.constants import OnError
from hookline.protocol.hook_entry import (
    Callback,
    CommandLine,
    HttpTarget,
    PackCallback,
    Plugin,
    RemoteSubject,
    Unsupported,
    WorkerCommand,
)
from hookline.runners.context import RunContext, Runner, current_session
from hookline.runners.invocation import HookInvocation
from hookline.runners.process.batch import ChildJob, ChildOutcome
from hookline.shell.quoting import quote_project_variables

if TYPE_CHECKING:
    from hookline.protocol.messages import AskerFacts
    from hookline.runners import remote
    from hookline.runners.function import calls
    from hookline.runners.http import http
else:  # most hooks are commands
    calls = lazy_module("hookline.runners.function.calls")
    http = lazy_module("hookline.runners.http.http")
    remote = lazy_module("hookline.runners.remote")

_POWERSHELLS = ("pwsh", "powershell")
# The variables that Claude Code itself replaces in the words of a command with `args`.
_VARIABLE = re.compile(r"\$\{(CLAUDE_[A-Z_]+)\}|\$(CLAUDE_[A-Z_]+)")


async def run_all(invocations: Sequence[HookInvocation], context: RunContext) -> list[ChildOutcome]:
    """Run hooks at the same time, and return their outcomes in order."""
    if len({_row(each) for each in invocations}) == 1:
        return await _row(invocations[0])(invocations, context)
    kinds: dict[Runner, list[int]] = {}
    for index, each in enumerate(invocations):
        kinds.setdefault(_row(each), []).append(index)
    runs = [runner([invocations[index] for index in indices], context) for runner, indices in kinds.items()]
    outcomes: dict[int, ChildOutcome] = {}
    for indices, ended in zip(kinds.values(), await asyncio.gather(*runs), strict=True):
        outcomes.update(zip(indices, ended, strict=True))
    return [outcomes[index] for index in range(len(invocations))]


def _row(invocation: HookInvocation) -> Runner:
    return _fail if invocation.fault is not None else RUNNERS[type(invocation.hook.run)]


async def run_commands(invocations: Sequence[HookInvocation], context: RunContext) -> list[ChildOutcome]:
    """Run each command in an interpreter that waits for it, or start a process."""
    hooks = [each.hook for each in invocations]
    jobs = [_job(each, context) for each in invocations]
    return await context.warm_policy.run(hooks, jobs, limits=context.limits, on_end=context.indexed_on_end(hooks))


async def call_functions(invocations: Sequence[HookInvocation], context: RunContext) -> list[ChildOutcome]:
    """Call functions of this process."""
    hooks = [each.hook for each in invocations]
    return await calls.run_callables(hooks, invocations[0].stdin, context.indexed_on_end(hooks))


async def _fail(invocations: Sequence[HookInvocation], context: RunContext) -> list[ChildOutcome]:
    outcomes = []
    for each in invocations:
        why = each.fault or f'hooks of type "{each.hook.type}" cannot be run; use "type": "command"'
        outcomes.append(ChildOutcome(error=f"could not be started: {why}", is_shortage=each.is_own_fault))
        context.ended(each.hook)
    return outcomes


def _one_by_one(run: Callable[[HookInvocation, RunContext], Awaitable[ChildOutcome]]) -> Runner:
    """Return a runner that runs each hook in a separate task."""

    async def run_one(invocation: HookInvocation, context: RunContext) -> ChildOutcome:
        outcome = await run(invocation, context)
        context.ended(invocation.hook)
        return outcome

    async def run_each(invocations: Sequence[HookInvocation], context: RunContext) -> list[ChildOutcome]:
        if len(invocations) == 1:
            return [await run_one(invocations[0], context)]
        return await asyncio.gather(*(run_one(each, context) for each in invocations))

    return run_each


async def _ask_worker(invocation: HookInvocation, context: RunContext) -> ChildOutcome:
    outcome = await context.resources.workers.ask(invocation, context.cwd, context.limits)
    if outcome is not None:
        return outcome
    job = _job(invocation, context)
    (outcome,) = await context.warm_policy.run([invocation.hook], [job], limits=context.limits)
    return outcome


async def _post(invocation: HookInvocation, context: RunContext) -> ChildOutcome:
    hook = invocation.hook
    assert isinstance(hook.run, HttpTarget)
    return await http.post(
        hook.run,
        invocation.stdin,
        env=invocation.env,
        timeout_ms=hook.timeout_ms,
        most_bytes=context.limits.output_bytes,
        allowed=context.http_allow,
        connections=context.resources.connections,
    )


async def _ask_remote(invocation: HookInvocation, context: RunContext) -> ChildOutcome:
    hook, session = invocation.hook, current_session.get()
    assert isinstance(hook.run, RemoteSubject)
    agent = (None if session is None else session.agent) or context.agent
    facts: AskerFacts = {
        "sessionId": str(invocation.hook_input["session_id"]),
        "cwd": str(invocation.hook_input["cwd"]),
        "project": context.cwd,
        "user": context.user_name(),
    }
    if agent is not None:
        facts["agent"] = agent
    job = remote.RemoteJob(
        subject=hook.run.subject,
        hook_input=invocation.hook_input,
        facts=facts,
        timeout_ms=hook.timeout_ms,
        most_bytes=context.limits.output_bytes,
        is_strict=hook.on_error is OnError.BLOCK,
    )
    return await context.resources.remote.ask(job)


def _job(invocation: HookInvocation, context: RunContext) -> ChildJob:
    hook = invocation.hook
    return ChildJob(
        command=hook.command or "",
        argv=_argv(hook.run, invocation.env) if isinstance(hook.run, CommandLine) else None,
        stdin=invocation.stdin,
        cwd=context.cwd,
        env=invocation.env,
        timeout_ms=hook.timeout_ms,
        limits=hook.limits,
    )


def _argv(command: CommandLine, env: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the program and its arguments, for `args` or another shell; None for the usual shell."""
    if command.args is not None:
        return tuple(_filled(word, env) for word in (command.text, *command.args))
    if command.shell is None:
        return None
    if command.shell in _POWERSHELLS:
        return command.shell, "-NoProfile", "-NonInteractive", "-Command", command.text
    return command.shell, "-c", quote_project_variables(command.text)


def _filled(word: str, env: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: env.get(found[1] or found[2], found[0]), word)


RUNNERS: Mapping[type, Runner] = {
    CommandLine: run_commands,
    WorkerCommand: _one_by_one(_ask_worker),
    HttpTarget: _one_by_one(_post),
    Callback: call_functions,
    PackCallback: call_functions,
    Plugin: call_functions,
    RemoteSubject: _one_by_one(_ask_remote),
    Unsupported: _fail,
}
