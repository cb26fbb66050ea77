"""The outcome of an event: the plan, the result of each hook, and the verdict that all callers read."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from hookline.protocol.answers import PATHS, HookAnswer, ToolSelection, or_none
from hookline.protocol.constants import LIFECYCLE_REMEDY, Decider, HookMode, OnError, RunWay
from hookline.protocol.events import BLOCKABLE_EVENTS, BLOCKING_DECISIONS, WATCHED_EVENTS, HookDecision, HookEventName
from hookline.protocol.hook_entry import HookEntry, particulars
from hookline.protocol.text.json_text import to_plain
from hookline.protocol.text.strings import shortened

# Values that are made for every event or run are Structs: making one takes a tenth of the time of a dataclass.


class SkipKind(StrEnum):
    """The reason why a configured hook does not run. An invalid hook is reported as a problem of the settings."""

    DISABLED = "disabled"
    UNMATCHED = "matcher"
    DUPLICATE = "duplicate"
    UNTRUSTED = "untrusted"
    CHAIN_STOPPED = "chain stopped"
    CONDITION = "condition"
    """The agent that the hook was written for would not run it for this call either."""


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """A configured hook that does not run, and why."""

    hook: HookEntry
    kind: SkipKind
    detail: str

    @property
    def reason(self) -> str:
        """The kind and the detail as one sentence."""
        return f"{self.kind}: {self.detail}"


class HookExecutionPlan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The hooks chosen for one event, in running order, and those that were not."""

    event: HookEventName
    subject: str | None = None
    """The subject of the event, which matchers are compared with: a tool's name, a trigger."""
    hooks: tuple[HookEntry, ...]
    sequential: bool
    skips: tuple[Skip, ...] = ()
    """Hooks that are disabled, not trusted, or duplicates."""
    unmatched: tuple[HookEntry, ...] = ()
    """Hooks whose matcher does not match: with many hooks most of them, so no sentence is made before it is needed."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the hooks in messages; computed once, because a plan is used for many events."""
        return tuple(hook.label for hook in self.hooks)

    @cached_property
    def has_trials(self) -> bool:
        """True when what some of its hooks decide does not count, because their mode is shadow."""
        return any(hook.mode is not HookMode.ENFORCE for hook in self.hooks)

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """Every hook that does not run, and why."""
        details = ((hook, f"{hook.matcher!r} does not match {self.subject!r}") for hook in self.unmatched)
        unmatched = (Skip(hook=hook, kind=SkipKind.UNMATCHED, detail=detail) for hook, detail in details)
        return (*self.skips, *unmatched)

    def to_dict(self) -> dict[str, Any]:
        """The plan as `hookline fire --json` shows it."""
        return {
            "sequential": self.sequential,
            "hooks": [describe_hook(hook) for hook in self.hooks],
            "skipped": [
                {**describe_hook(skip.hook), "kind": skip.kind.value, "reason": skip.reason} for skip in self.skipped
            ],
        }


class HookExecutionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one hook that was started, or that could not be started."""

    hook: HookEntry
    event: HookEventName
    success: bool
    """True for exit code 0 only: execution health, not policy."""
    exit_code: int | None
    """0 also for a hook that a signal ended, as the specification has it; None if it never started."""
    signal: int | None = None
    timed_out: bool = False
    truncated: bool = False
    duration_ms: float = 0.0
    way: RunWay = RunWay.COLD
    worker: str | None = None
    """The worker on another machine that ran it, with the hooks there that decided."""
    stdin: bytes = b""
    stdout: str = ""
    stderr: str = ""
    answer: HookAnswer | None = None
    error: str | None = None
    """Set for a timeout, a plugin, and a process that could not be started or watched; never for an exit code."""
    is_shortage: bool = False
    """True when it could not be started for lack of descriptors, processes or memory, which is not its fault."""
    is_unasked: bool = False
    """True when the hook never got the event, for example because its worker was given up."""
    is_running: bool = False
    """True for a hook that runs in the background and has not ended yet."""
    advice: tuple[str, ...] = ()
    """Advice for the hook's author about the answer, such as a field that has no effect."""

    @property
    def who(self) -> str:
        """The hook's name in messages, with the worker that ran it on another machine."""
        return self.hook.label if self.worker is None else f"{self.hook.label} (worker {self.worker})"

    @property
    def blocks(self) -> bool:
        """True when the hook's answer blocks."""
        return self.answer is not None and self.answer.blocks

    @property
    def decision(self) -> str | None:
        """The hook's decision; `deny` and `ask` also if they are in `permissionDecision`."""
        if self.answer is None:
            return None
        decision = or_none(self.answer.decision)
        if self.answer.blocks and decision not in BLOCKING_DECISIONS:
            return HookDecision.DENY.value
        return HookDecision.ASK.value if self.answer.asks else decision

    @property
    def failed(self) -> bool:
        """True when the hook did not do its work; a deliberate deny by exit code 2 is not a failure."""
        return not self.success and not (self.exit_code == 2 and self.error is None)  # noqa: PLR2004 - means deny

    def to_dict(self) -> dict[str, Any]:
        """The result as `hookline fire --json` shows it."""
        return {
            "command": self.hook.command,
            "name": self.hook.name,
            "success": self.success,
            "exitCode": self.exit_code,
            "signal": self.signal,
            "timedOut": self.timed_out,
            "truncated": self.truncated,
            "duration": round(self.duration_ms, 3),
            "way": self.way.value,
            **({} if self.worker is None else {"worker": self.worker}),
            "stdout": self.stdout,
            "stderr": self.stderr,
            "output": self.answer and self.answer.to_dict(),
            "error": self.error,
            "complaints": list(self.advice),
        }


class HookError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a hook, or the engine itself, could not do its work."""

    message: str
    stage: str | None = None
    """The engine's step that failed; None for a hook."""
    details: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=to_plain)
        return plain


class Override(msgspec.Struct, frozen=True):
    """A block or a stop of one hook that a later hook undid."""

    field: str
    by: str
    of: str


class Unapplied(msgspec.Struct, frozen=True):
    """The effects that one hook asked for and that were not applied, because its answers are only logged."""

    hook: HookEntry
    wishes: tuple[str, ...]
    """Such as `a block`."""

    @property
    def message(self) -> str:
        """The message for the user, with the remedy."""
        asked = " and ".join(self.wishes)
        hook = f"The {self.hook.event} hook {shortened(self.hook.label)}"
        return f"{hook} answered with {asked}, which has no effect; {LIFECYCLE_REMEDY}."


class ShadowDecision(msgspec.Struct, frozen=True):
    """The decision of one hook if its mode were enforce."""

    hook: HookEntry
    would: str
    """Such as `block`."""
    reason: str | None

    @property
    def keeps_back(self) -> bool:
        """Whether the operation would not have taken place, or the agent would have stopped."""
        return self.would in (_BLOCK, _STOP)

    @property
    def message(self) -> str:
        """The message for the user."""
        why = f": {self.reason}" if self.reason else ""
        return f"{shortened(self.hook.label)} would {self.would} this (mode {self.hook.mode}){why}"


# The decisions that allow an operation.
_YES = ("allow", "approve")


class Verdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The outcome of one event. Triggers, log, bus, command line and agent read only this."""

    event: HookEventName
    subject: str | None = None
    blocked: bool = False
    """True when the operation does not take place: a hook blocks it where that is possible, or stops before it."""
    denied: bool = False
    """True when a hook denied, whether or not this event can block."""
    stop: bool = False
    """True when the agent stops after this event."""
    ask: bool = False
    """True when the user must agree first."""
    decider: Decider | None = None
    """The part that decided, if it was no hook of this event: the kill switch, the policy, or a fault of hookline."""
    by: tuple[str, ...] = ()
    """The hooks that decided at an earlier event, such as by their choice of tools."""
    go_on: bool = False
    """True when the agent must continue its turn, with `reason` as the next message."""
    reason: str | None = None
    """Why it is blocked, denied, stopped or asked about: the reasons of all hooks that decided so."""
    stop_reason: str | None = None
    note: str | None = None
    """A text for the model (`systemMessage`)."""
    user_message: str | None = None
    """A text for the user (`userMessage`, and `systemMessage` of other agents' hooks)."""
    context: str | None = None
    """A text to add to the tool's result or the prompt (`additionalContext`)."""
    suppress: bool = False
    """True when the user is not to be shown the result."""
    arguments: dict[str, Any] | None = None
    """The whole arguments to run the tool with, where hooks changed them."""
    invalid: str | None = None
    """The fault of the arguments as hooks rewrote them; then the call is blocked."""
    tool_output: str | None = None
    """The text that the model reads in place of the tool's result, where hooks replaced it."""
    request: dict[str, Any] | None = None
    """The whole request in hook form, where hooks changed it."""
    shown_request: Mapping[str, Any] | None = None
    """The request that hooks were shown, where they changed it: the caller writes the difference to its own."""
    response: dict[str, Any] | None = None
    """A response in hook form: in place of the model's call (BeforeModel) or of its text (AfterModel)."""
    tools: ToolSelection | None = None
    """Which tools the model may call, where hooks restrict them."""
    prompt: str | None = None
    """The prompt to send in place of the user's, where hooks changed it; without their `context`."""
    holders: dict[str, tuple[int, ...]] = {}
    """For each field of the merged answer, by its path: the positions in `runs` of the answers that gave its value."""
    overridden: tuple[Override, ...] = ()
    answer: HookAnswer | None = None
    """The merged answer; None when no hook answered."""
    success: bool = True
    """True when every hook ran well: execution health, not policy."""
    errors: tuple[HookError, ...] = ()
    duration_ms: float = 0.0
    fire: str | None = None
    """The event's id in the log, if the user must be asked: the record of the answer names it."""
    plan: HookExecutionPlan | None = None
    """None when no hook had to run, or the engine failed while planning."""
    runs: tuple[HookExecutionResult, ...] = ()
    """The result of each hook that was started, in plan order."""
    skipped: tuple[Skip, ...] = ()
    """Hooks of the plan that did not run because a hook before them blocked."""

    @property
    def clear_context(self) -> bool:
        """True when a hook wants the agent to forget the conversation."""
        return self.answer is not None and self.answer.clear_context is True

    @property
    def fault(self) -> HookError | None:
        """The failure of the engine itself, or None."""
        return next((error for error in self.errors if error.stage is not None), None)

    @property
    def effect(self) -> dict[str, Any] | None:
        """The values that hooks rewrote, under their names on the wire; None where nothing changed."""
        if self.tools is not None:
            return {"toolConfig": self.tools.to_dict()}
        given: dict[str, Any] = {
            "tool_input": self.arguments,
            "tool_output": self.tool_output,
            "llm_request": self.request,
            "llm_response": self.response,
            "prompt": self.prompt,
        }
        return {name: value for name, value in given.items() if value is not None} or None

    @property
    def decided_by(self) -> dict[str, tuple[str, ...]]:
        """For each field of the merged answer, by its path, the hooks that gave its value."""
        labels = [run.who for run in self.runs if run.answer is not None]
        return {path: tuple(labels[index] for index in held) for path, held in self.holders.items()}

    @property
    def deciders(self) -> tuple[str, ...]:
        """The hooks that blocked the operation, stopped the agent, or want the user to be asked.

        If no hook blocked it, what did: `the kill switch`, for example.
        """
        if self.decider is not None and self.blocked:
            return self.by or (self.decider.shown,)
        if not (self.blocked or self.stop or self.ask or self.go_on or self.invalid is not None):
            return ()
        runs = [run for run in self.runs if run.answer is not None and run.hook.is_enforced]
        answers = [(run.hook.label, run.who, run.answer) for run in runs if run.answer is not None]
        if self.ask:
            return tuple(who for _, who, answer in answers if answer.asks)
        if self.invalid is not None:
            return self.decided_by.get(PATHS["tool_input"], ())
        undone = {override.of for override in self.overridden}
        is_decided = self.go_on or (self.blocked and self.denied)
        blockers = [label for label, _, answer in answers if is_decided and answer.blocks]
        # Hooks of several files can have the same name: then the name alone does not say which block was undone.
        standing = {label for label in blockers if label not in undone} or set(blockers)
        return tuple(
            who
            for label, who, answer in answers
            if (self.stop and answer.stops) or (answer.blocks and is_decided and label in standing)
        )

    @property
    def allowed(self) -> bool:
        """True when a hook explicitly allowed it; the absence of an objection is not an approval."""
        answers = [run.answer for run in self.runs if run.answer is not None and run.hook.is_enforced and run.success]
        return not self.blocked and any(one.is_explicit and one.decision in _YES for one in answers)

    @property
    def unapplied(self) -> tuple[Unapplied, ...]:
        """The effects that hooks of a lifecycle event asked for, and that their settings don't allow."""
        watched = [run for run in self.runs if not run.hook.is_enforced and run.hook.mode is HookMode.ENFORCE]
        answers = [(run.hook, run.answer) for run in watched if run.answer is not None]
        return tuple(Unapplied(hook, asked) for hook, answer in answers if (asked := wishes(answer)))

    @property
    def trials(self) -> tuple[ShadowDecision, ...]:
        """The decisions of hooks in the mode shadow."""
        runs = [run for run in self.runs if run.hook.mode is not HookMode.ENFORCE]
        return tuple(ShadowDecision(run.hook, word, reason) for run in runs for word, reason in would_have(run))

    def outside(self) -> "Verdict":
        """The decision alone. Commands, environments and output of the hooks stay with the program that ran them."""
        return msgspec.structs.replace(
            self, plan=None, runs=(), skipped=(), holders={}, overridden=(), shown_request=None
        )

    def as_answer(self) -> dict[str, Any]:
        """Return the answer of a single hook that leads to this outcome; empty if nothing was decided."""
        decision = "deny" if self.denied or self.blocked else "ask" if self.ask else None
        if self.blocked and self.stop and not self.denied:
            decision = None
        specific: dict[str, Any] = {
            "additionalContext": self.context,
            **(self.effect or {}),
            # All arguments, so that an argument which a hook removed is also removed here.
            "replacesInput": None if self.arguments is None else True,
            "clearContext": self.clear_context or None,
        }
        given = {name: value for name, value in specific.items() if value is not None}
        answer = {
            "decision": decision,
            "reason": self.reason,
            "continue": False if self.stop else None,
            "stopReason": self.stop_reason,
            "systemMessage": self.note,
            "userMessage": self.user_message,
            "suppressOutput": self.suppress or None,
            "hookSpecificOutput": given or None,
        }
        return {name: value for name, value in answer.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON; `from_dict` reads it again."""
        plain: dict[str, Any] = to_plain(msgspec.to_builtins(self, enc_hook=to_plain))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Verdict":
        """The verdict that `to_dict` wrote; ValueError for anything else."""
        return msgspec.convert(data, cls)


_BLOCK, _STOP = "block", "stop the agent at"


def would_have(run: HookExecutionResult) -> Iterator[tuple[str, str | None]]:
    """Yield the decisions of a run, each with its reason: its answer, or the effect of its failure.

    Only what its event lets hooks do: a block has no effect after a model call, for example.
    """
    if run.event in WATCHED_EVENTS or not run.hook.would_be_enforced:
        return
    if run.failed and run.hook.on_error is OnError.BLOCK:
        if run.event in BLOCKABLE_EVENTS:
            yield _BLOCK, run.error or f"it failed, and {run.hook.fail_closed_reason}"
        return
    if (answer := run.answer) is None:
        return
    if answer.blocks and run.event in BLOCKABLE_EVENTS:
        yield _BLOCK, answer.why
    elif answer.blocks and run.event is HookEventName.AFTER_TOOL:
        yield "change", answer.why  # the model reads the reason
    if answer.stops:
        yield _STOP, answer.why_stopped
    if answer.asks and not answer.blocks and run.event is HookEventName.BEFORE_TOOL:
        yield "ask about", answer.why
    if answer.is_specific and not answer.blocks:
        yield "change", None


def wishes(answer: HookAnswer) -> tuple[str, ...]:
    """Return the effects that an answer asks for on a lifecycle event, in words for the user."""
    asked = {
        "a block": answer.blocks,
        "a stop": answer.stops,
        "another prompt": or_none(answer.prompt) is not None,
        "context for the model": or_none(answer.context) is not None,
    }
    return tuple(name for name, is_asked in asked.items() if is_asked)


def describe_hook(hook: HookEntry) -> dict[str, Any]:
    """A hook as people are shown it, in JSON."""
    return {
        "command": hook.command,
        "name": hook.name,
        "type": hook.type.value,
        "source": hook.source.value,
        "origin": hook.origin,
        "location": hook.location,
        "matcher": hook.matcher,
        "timeout": hook.timeout_ms,
        "sequential": hook.sequential,
        "final": hook.final,
        **particulars(hook),
        **({"policyVersion": hook.policy.version} if hook.policy else {}),
        **({"refusal": hook.refusal} if hook.refusal else {}),
        **({} if hook.is_enforced else {"applied": False}),
        **(hook.limits.to_dict() if hook.limits else {}),
    }
