"""What an event came to: the plan, what each hook did, and the verdict that everybody else reads."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from hookline.contract.answers import PATHS, Answer, ToolSelection, said
from hookline.contract.denials import shortened
from hookline.contract.events import BLOCKABLE_EVENTS, BLOCKING_DECISIONS, WATCHED_EVENTS, HookDecision, HookEventName
from hookline.contract.hooks import HookEntry, particulars
from hookline.contract.vocabulary import LIFECYCLE_REMEDY, NOT_ASKED, Decider, HookMode, OnError, RunWay
from hookline.contract.wire import to_plain

# Values that are made for every event or run are Structs: making one takes a tenth of the time of a dataclass.


class SkipKind(StrEnum):
    """Why a configured hook does not run. An invalid one is no hook, but a problem of the settings, which is logged."""

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
    """What the event is about, and what matchers were compared with: a tool's name, a trigger."""
    hooks: tuple[HookEntry, ...]
    sequential: bool
    kept_back: tuple[Skip, ...] = ()
    """Hooks that are disabled, not trusted, or duplicates."""
    unmatched: tuple[HookEntry, ...] = ()
    """Hooks whose matcher does not match: with many hooks most of them, so no sentence is made before it is needed."""
    undecided: tuple[HookEntry, ...] = ()
    """Hooks that run because it can't be decided in time whether their matcher matches."""
    slow: tuple[tuple[str, str], ...] = ()
    """Patterns and names that have to be compared in a process of their own before this plan can be used."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What people call the hooks; made once, because a plan is used for many events."""
        return tuple(hook.label for hook in self.hooks)

    @cached_property
    def is_of_functions(self) -> bool:
        """True when its hooks are functions that are called at the same time; decided once for many events."""
        has_steps = self.sequential or self.hooks[0].rank != self.hooks[-1].rank or self.hooks[-1].final
        return not has_steps and all(hook.call is not None for hook in self.hooks)

    @cached_property
    def has_trials(self) -> bool:
        """True when what some of its hooks decide does not count, because their mode is warn or shadow."""
        return any(hook.mode is not HookMode.ENFORCE for hook in self.hooks)

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """Every hook that does not run, and why."""
        details = ((hook, f"{hook.matcher!r} does not match {self.subject!r}") for hook in self.unmatched)
        unmatched = (Skip(hook=hook, kind=SkipKind.UNMATCHED, detail=detail) for hook, detail in details)
        return (*self.kept_back, *unmatched)

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
    """What became of one hook that was started, or that could not be."""

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
    """Who ran it, if that was a worker on another machine; with the hooks there that decided."""
    stdin: bytes = b""
    stdout: str = ""
    stderr: str = ""
    answer: Answer | None = None
    error: str | None = None
    """Set for a timeout, a plugin, and a process that could not be started or watched; never for an exit code."""
    is_shortage: bool = False
    """True when it could not be started for lack of descriptors, processes or memory: a fault of ours, not its own."""
    is_running: bool = False
    """True for a hook that runs beside the agent and has not ended yet."""
    advice: tuple[str, ...] = ()
    """What the hook's author should know about the answer, such as a field that changes nothing."""

    @property
    def who(self) -> str:
        """What people call the hook, with the worker that ran it on another machine."""
        return self.hook.label if self.worker is None else f"{self.hook.label} (worker {self.worker})"

    @property
    def blocks(self) -> bool:
        """True when the hook's answer blocks."""
        return self.answer is not None and self.answer.blocks

    @property
    def decision(self) -> str | None:
        """What the hook decided; `deny` and `ask` also if it says so in `permissionDecision`."""
        if self.answer is None:
            return None
        decision = said(self.answer.decision)
        if self.answer.blocks and decision not in BLOCKING_DECISIONS:
            return HookDecision.DENY.value
        return HookDecision.ASK.value if self.answer.asks else decision

    @property
    def failed(self) -> bool:
        """True when the hook did not do its work; a deliberate deny by exit code 2 is no failure."""
        return not self.success and not (self.exit_code == 2 and self.error is None)  # noqa: PLR2004 - means deny

    @property
    def is_unasked(self) -> bool:
        """True when the hook never got the event, for example because its worker was given up."""
        return self.error is not None and self.error.startswith(NOT_ASKED)

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
    """What one hook asked for in vain, because its answers are only logged."""

    hook: HookEntry
    wishes: tuple[str, ...]
    """Such as `a block`."""

    @property
    def message(self) -> str:
        """What the person is told, with the remedy."""
        asked = " and ".join(self.wishes)
        hook = f"The {self.hook.event} hook {shortened(self.hook.label)}"
        return f"{hook} answered with {asked}, which has no effect; {LIFECYCLE_REMEDY}."


class Trial(msgspec.Struct, frozen=True):
    """What one hook would have decided if its mode were enforce."""

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
        """What the person is told."""
        why = f": {self.reason}" if self.reason else ""
        return f"{shortened(self.hook.label)} would {self.would} this (mode {self.hook.mode}){why}"


# What a hook answers to allow an operation.
_YES = ("allow", "approve")


class Verdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one event came to. Triggers, log, bus, command line and agent read this and nothing else."""

    event: HookEventName
    subject: str | None = None
    blocked: bool = False
    """True when the operation does not take place: a hook blocks it where that is possible, or stops before it."""
    denied: bool = False
    """True when a hook denied, whether or not this event can block."""
    stop: bool = False
    """True when the agent stops after this event."""
    ask: bool = False
    """True when a person has to agree first."""
    decider: Decider | None = None
    """Who decided, where that was no hook: the kill switch, the policy, or a fault of hookline."""
    go_on: bool = False
    """True when the agent, which wanted to end its turn, goes on with `reason` as the next message."""
    reason: str | None = None
    """Why it is blocked, denied, stopped or has to be asked about: the reasons of all hooks that want this."""
    stop_reason: str | None = None
    note: str | None = None
    """A text for the model (`systemMessage`)."""
    user_message: str | None = None
    """A text for the person (`userMessage`, and `systemMessage` of other agents' hooks)."""
    context: str | None = None
    """A text to add to the tool's result or the prompt (`additionalContext`)."""
    suppress: bool = False
    """True when the user is not to be shown the result."""
    arguments: dict[str, Any] | None = None
    """The whole arguments to run the tool with, where hooks changed them."""
    invalid: str | None = None
    """What is wrong with the arguments as hooks rewrote them; then the call is blocked."""
    tool_output: str | None = None
    """What the model reads in place of the tool's result, where hooks replaced it."""
    request: dict[str, Any] | None = None
    """The whole request in hook form, where hooks changed it."""
    response: dict[str, Any] | None = None
    """A response in hook form: in place of the model's call (BeforeModel) or of its text (AfterModel)."""
    tools: ToolSelection | None = None
    """Which tools the model may call, where hooks restrict them."""
    prompt: str | None = None
    """The prompt to send in place of the user's, where hooks changed it; without their `context`."""
    holders: dict[str, tuple[int, ...]] = {}
    """For each field of the merged answer, by its path: which of the answers in `runs` stand there."""
    overridden: tuple[Override, ...] = ()
    answer: Answer | None = None
    """The merged answer; None when no hook answered."""
    success: bool = True
    """True when every hook ran well: execution health, not policy."""
    errors: tuple[HookError, ...] = ()
    duration_ms: float = 0.0
    plan: HookExecutionPlan | None = None
    """None when no hook had to run, or the engine failed while planning."""
    runs: tuple[HookExecutionResult, ...] = ()
    """What became of each hook that was started, in plan order."""
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
        """What the caller goes on with in another form, under its name on the wire; None where nothing changed."""
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
        """For each field of the merged answer, by its path, the hooks whose value stands there."""
        labels = [run.who for run in self.runs if run.answer is not None]
        return {path: tuple(labels[index] for index in held) for path, held in self.holders.items()}

    @property
    def deciders(self) -> tuple[str, ...]:
        """The hooks that blocked the operation, stopped the agent, or want a person to be asked.

        If no hook blocked it, what did: `the kill switch`, for example.
        """
        if self.decider is not None and self.blocked:
            return (self.decider.shown,)
        runs = [run for run in self.runs if run.answer is not None and run.hook.counts]
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
        """True when a hook said yes in so many words; that nothing objects is no yes."""
        answers = [run.answer for run in self.runs if run.answer is not None and run.hook.counts and run.success]
        return not self.blocked and any(one.is_explicit and one.decision in _YES for one in answers)

    @property
    def unapplied(self) -> tuple[Unapplied, ...]:
        """What hooks of a lifecycle event answered and their settings do not let them do."""
        watched = [run for run in self.runs if not run.hook.counts and run.hook.mode is HookMode.ENFORCE]
        answers = [(run.hook, run.answer) for run in watched if run.answer is not None]
        return tuple(Unapplied(hook, asked) for hook, answer in answers if (asked := wishes(answer)))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """What hooks in the modes warn and shadow would have decided."""
        runs = [run for run in self.runs if run.hook.mode is not HookMode.ENFORCE]
        return tuple(Trial(run.hook, word, reason) for run in runs for word, reason in would_have(run))

    def outside(self) -> "Verdict":
        """The decision alone. Commands, environments and output of the hooks stay with the program that ran them."""
        return msgspec.structs.replace(self, plan=None, runs=(), skipped=(), holders={}, overridden=())

    def as_answer(self) -> dict[str, Any]:
        """What one hook would have to answer for an event to come to this; empty if nothing was decided."""
        decision = "deny" if self.denied or self.blocked else "ask" if self.ask else None
        if self.blocked and self.stop and not self.denied:
            decision = None
        specific: dict[str, Any] = {
            "additionalContext": self.context,
            "tool_input": self.arguments,
            # These are all arguments, so that one which a hook removed is removed here, too.
            "replacesInput": None if self.arguments is None else True,
            "tool_output": self.tool_output,
            "llm_request": self.request,
            "llm_response": self.response,
            "toolConfig": None if self.tools is None else self.tools.to_dict(),
            "prompt": self.prompt,
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
    """What a run would have come to, each with its reason: what it answers, or what its failure means.

    Only what its event lets hooks do: no block is heard after a model call, for example.
    """
    if run.event in WATCHED_EVENTS or not run.hook.would_count:
        return
    if run.failed and run.hook.on_error is OnError.BLOCK:
        if run.event in BLOCKABLE_EVENTS:
            yield _BLOCK, run.error or f"it failed, and {run.hook.why_strict}"
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


def wishes(answer: Answer) -> tuple[str, ...]:
    """What an answer asks for on a lifecycle event, in words for a person."""
    asked = {
        "a block": answer.blocks,
        "a stop": answer.stops,
        "another prompt": said(answer.prompt) is not None,
        "context for the model": said(answer.context) is not None,
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
        **({} if hook.counts else {"applied": False}),
        **(hook.limits.to_dict() if hook.limits else {}),
    }
