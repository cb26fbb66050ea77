"""The agent that asks: what it asks about, in our words, and what can be answered in its own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hookline.bridge.versions import CHECKED
from hookline.contract.answers import kind_of
from hookline.contract.arguments import ToolArguments
from hookline.contract.events import TOOL_EVENTS, HookEventName
from hookline.contract.verdict import Verdict
from hookline.dialects.spellings import must_be_text
from hookline.dialects.table import Arguments, Tool
from hookline.errors import HooklineError
from hookline.shell.patches import ChangeKind, FileChange, paths_in_patch

Payload = Mapping[str, Any]
NO_PART = (
    "a change to one file of a patch or one reading of the arguments, which can't be sent back, so the call is denied"
)
NO_PROMPT = "another prompt, which can't be sent back, so the prompt is blocked"


class UnreadableQuestionError(HooklineError):
    """The agent asked something that can't be read, so nobody knows what it is about to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One question of the agent."""

    theirs: str
    """Its own name of the event."""
    event: HookEventName | None
    """Ours, or None where there is no counterpart."""
    session_id: str = ""
    cwd: str = ""
    root: str = ""
    """The project's root, where the agent names it beside the directory that it works in."""
    transcript_path: str = ""
    questions: tuple[Mapping[str, Any], ...] = ()
    """The event's own fields, once for each event of ours that stands for it: a patch of three files is three."""
    tool: Tool | None = None
    arguments: Arguments = field(default_factory=dict)
    """The tool's arguments as the agent gave them."""
    result: Any = None
    """The tool's result as the agent gave it."""
    has_whole: bool = True
    """Whether the first question is about the call itself, and not about a part of it, such as one file of a patch."""
    fault: str = ""
    """Why the call can't be judged, such as arguments that are not an object: it is denied, and no hook is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What our hooks decided about a question, all its events together."""

    blocked: bool = False
    stop: bool = False
    ask: bool = False
    reason: str = ""
    stop_reason: str = ""
    context: str = ""
    """Notes and context for the model."""
    message: str = ""
    """A text for the person."""
    result: str | None = None
    """What the model is to read in place of the tool's result."""
    suppress: bool = False
    arguments: Arguments | None = None
    """The rewritten arguments in the agent's words, whole; None where nothing changed."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """What hooks make of a model call: `llm_request`, `llm_response` or `toolConfig`, in our words and whole."""
    lost: tuple[str, ...] = ()
    """What could not be put into the agent's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The answer as the agent reads it."""

    stdout: Mapping[str, Any] | None = None
    stderr: str = ""
    exit_code: int = 0
    lost: tuple[str, ...] = ()
    """What our hooks decided and this agent can't do."""
    unsaid_stop: str = ""
    """The reason of a stop that this agent can't be told here, so that the rest of its session has to be refused."""
    is_broken: bool = False
    """True for the answer of a bridge that could not ask the hooks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One agent that can have hookline as its hook command."""

    name: str
    agent: str
    """Its name, for people."""
    events: Mapping[str, HookEventName]
    """Its events that we can be asked about → ours."""
    hear: Callable[[Payload, str | None], Heard]
    """Reads what the agent wrote on stdin; the second argument is the event's name, if the command line gives it."""
    say: Callable[[Heard, Outcome], Said]
    unheard: frozenset[str] = frozenset()
    """Its events that we are not asked about, or have no counterpart of: they pass."""
    call_keys: frozenset[str] = frozenset({"tool_name", "tool_input", "toolName", "toolArgs", "toolInput"})
    """The fields of a question that only one about a tool call has."""
    exit_2_blocks: bool = True
    """Whether exit code 2 with a text is a no at every event that can be refused."""
    remarks: tuple[str, ...] = ()
    """What holds for this agent whatever the hooks decide; shown by `hookline bridge explain`."""

    def has_call(self, payload: Payload) -> bool:
        """Whether a question is about a tool call, whatever it calls the event."""
        return not self.call_keys.isdisjoint(payload)

    def has_event(self, name: str) -> bool:
        """Whether the agent has an event of this name."""
        return name in self.events or name in self.unheard

    @property
    def known_version(self) -> str:
        """The version whose contract was checked."""
        checked = CHECKED[self.name]
        return checked.version if checked.was_run else f"{checked.version} (not run)"


def required(payload: Payload, key: str, what: str, agent: str) -> str:
    """A text without which nobody knows what a question is about: the name of the event, or of the tool."""
    if not (value := text(payload.get(key))):
        raise UnreadableQuestionError(f"{agent} did not say which {what} it asks about: no {key}")
    return value


def with_question(
    heard: Heard,
    payload: Payload,
    fields: Callable[[HookEventName, Payload], dict[str, Any]],
    call: Callable[[Payload], tuple[Tool, Arguments]],
    response: Callable[[Payload], dict[str, Any]],
) -> Heard:
    """What is heard, with the event's own fields: those of a call and its response, or those that `fields` returns."""
    if heard.event is None:
        return heard
    if heard.event not in TOOL_EVENTS:
        return replace(heard, questions=(fields(heard.event, payload),))
    try:
        tool, arguments = call(payload)
    except UnreadableQuestionError as error:
        return replace(heard, fault=str(error))
    others = {"tool_response": response(payload)} if heard.event is HookEventName.AFTER_TOOL else {}
    return with_call(heard, tool, arguments, {"tool_name": tool.ours, **others})


def with_call(heard: Heard, tool: Tool, arguments: Arguments, fields: Mapping[str, Any]) -> Heard:
    """What is heard about a tool call: a question for each reading of its arguments."""
    for name, value in arguments.items():
        if not isinstance(value, str | None) and must_be_text(tool.ours, name):
            fault = f"the argument `{name}` of {tool.theirs} is {kind_of(value)}, not a text, so it can't be judged"
            return replace(heard, fault=fault)
    readings = tool.readings(arguments)
    questions = tuple({**fields, "tool_input": reading} for reading in readings)
    # Which reading a rewrite would have to change is not known.
    return replace(heard, questions=questions, tool=tool, arguments=arguments, has_whole=len(readings) == 1)


def with_patch(heard: Heard, changes: Iterable[FileChange], *, is_whole: bool) -> Heard:
    """What is heard, with a question for each file that a patch changes; `is_whole` keeps those about the call."""
    asked = heard.questions[0]
    files = tuple({**asked, **call} for change in changes for call in _calls(change))
    if not files and not is_whole:
        return replace(heard, questions=tuple({**each, "tool_name": "apply_patch"} for each in heard.questions))
    own = heard.questions if is_whole else ()
    return replace(heard, questions=(*own, *files), has_whole=is_whole and heard.has_whole)


PATCH_TOOLS = frozenset({"apply_patch", "applypatch"})


def with_patches_inside(heard: Heard) -> Heard:
    """What is heard, with a question for each path in the arguments of a patch tool, whichever format they have."""
    if heard.tool is None or heard.tool.theirs not in PATCH_TOOLS:
        return heard
    texts = [value for value in heard.arguments.values() if isinstance(value, str)]
    paths = dict.fromkeys(path for text in texts for path in paths_in_patch(text))
    if not paths:
        return replace(heard, fault="this patch names no file in a known format, so it is not known what it changes")
    return with_patch(heard, [FileChange(ChangeKind.UPDATE, path) for path in paths], is_whole=True)


def _calls(change: FileChange) -> Iterator[dict[str, Any]]:
    """One file of a patch, as calls of our own tools."""
    if change.move_to is not None:
        yield {"tool_name": "write_file", "tool_input": {"file_path": change.move_to, "content": change.new}}
    if change.kind is ChangeKind.ADD:
        yield {"tool_name": "write_file", "tool_input": {"file_path": change.path, "content": change.new}}
    else:
        texts = {"old_string": change.old, "new_string": change.new}
        yield {"tool_name": "replace", "tool_input": {"file_path": change.path, **texts}}


def object_of(value: Any, key: str, agent: str) -> Arguments:
    """The arguments of a tool call; they are never read as empty when they are something else, or not there."""
    if not isinstance(value, Mapping):
        what = "no arguments" if value is None else f"arguments that are {kind_of(value)}, not an object"
        raise UnreadableQuestionError(f"{agent} sent a tool call with {what} ({key}), so it can't be judged")
    return value


def rules_of(heard: Heard) -> ToolArguments | None:
    """The rules for the arguments of a call: every change is judged in the form in which the agent will run it."""
    tool = heard.tool
    if tool is None or not heard.has_whole or heard.event is not HookEventName.BEFORE_TOOL:
        return None

    def as_sent(arguments: dict[str, Any], _changes: Mapping[str, Any]) -> dict[str, Any]:
        return tool.in_our_words(tool.rewritten(heard.arguments, arguments, heard.cwd))

    return ToolArguments(as_sent)


def combine(heard: Heard, verdicts: Sequence[Verdict]) -> Outcome:
    """One outcome of the verdicts on all events that stand for a question."""
    notes = [text for verdict in verdicts for text in (verdict.context, verdict.note) if text]
    objecting = [verdict for verdict in verdicts if verdict.denied or verdict.ask or verdict.stop]
    reasons = [verdict.reason for verdict in objecting if verdict.reason]
    stops = [verdict.stop_reason or "A hook of hookline stopped the agent" for verdict in verdicts if verdict.stop]
    changed = [verdict.arguments for verdict in verdicts]
    arguments = _rewritten(heard, changed[0]) if changed and heard.has_whole else None
    blocked = any(verdict.denied for verdict in verdicts)
    lost: tuple[str, ...] = ()
    if not blocked and (unsendable := _unsendable(heard, verdicts)):
        # Otherwise the agent would go on with what a guard meant to take out.
        blocked, lost = True, (unsendable,)
        reasons.append(f"A hook of hookline wants {unsendable}")
    return Outcome(
        blocked=blocked,
        stop=bool(stops),
        ask=not blocked and any(verdict.ask for verdict in verdicts),
        reason="\n".join(dict.fromkeys(reasons)) or ("Blocked by a hook of hookline" if blocked else ""),
        stop_reason="\n".join(dict.fromkeys(stops)),
        context="\n\n".join(dict.fromkeys(notes)),
        suppress=any(verdict.suppress for verdict in verdicts),
        message="\n".join(dict.fromkeys(verdict.user_message for verdict in verdicts if verdict.user_message)),
        result=next((verdict.tool_output for verdict in verdicts if verdict.tool_output is not None), None),
        arguments=arguments,
        model=next((verdict.effect for verdict in verdicts if verdict.effect and heard.tool is None), {}),
        lost=lost,
    )


def _unsendable(heard: Heard, verdicts: Sequence[Verdict]) -> str | None:
    """What hooks want to be changed and no agent can be told to change."""
    if any(verdict.prompt is not None for verdict in verdicts):
        return NO_PROMPT
    parts = verdicts[1:] if heard.has_whole else verdicts
    return NO_PART if any(verdict.arguments is not None for verdict in parts) else None


def _rewritten(heard: Heard, changed: Arguments | None) -> Arguments | None:
    """The changed arguments in the agent's words, whole."""
    if changed is None or heard.tool is None:
        return None
    return heard.tool.rewritten(heard.arguments, changed, heard.cwd)


def losses(
    agent: str,
    heard: Heard,
    outcome: Outcome,
    *,
    has_context: bool,
    has_message: bool = False,
    keeps_history: bool = False,
) -> list[str]:
    """What most agents can't do with an outcome.

    `has_context` says whether this event has a place for notes, `has_message` whether it has one for messages to the
    person, `keeps_history` whether a compression can be blocked.
    """
    lost = list(outcome.lost)
    if outcome.message and not has_message:
        lost.append(f"a message for the person: {heard.theirs} of {agent} has no place for it")
    if outcome.blocked and heard.event is HookEventName.PRE_COMPRESS and not keeps_history:
        lost.append(f"a block: {agent} compresses the history whatever a hook says")
    if outcome.context and not has_context:
        lost.append(f"a note for the model: {heard.theirs} of {agent} has no place for it")
    if outcome.suppress:
        lost.append(f"suppressOutput: {agent} can't hide a tool's result")
    return lost


AT_START = frozenset({HookEventName.SESSION_START})


def with_unsaid_stop(
    said: Said, agent: str, heard: Heard, outcome: Outcome, events: frozenset[HookEventName] = TOOL_EVENTS | AT_START
) -> Said:
    """The answer, and a stop that it can't say: at these events the agent takes a deny at most."""
    if not outcome.stop or not outcome.stop_reason or heard.event not in events:
        return said
    lost = f"a stop: {agent} can't stop here, so every later prompt and tool of this session is denied as well"
    return replace(said, lost=(*said.lost, lost), unsaid_stop=outcome.stop_reason)


def in_place(outcome: Outcome) -> str:
    """What an agent reads in place of a tool's result, or as the reason of a deny: never empty."""
    result = "" if outcome.result is None else outcome.result or "(no output)"
    reason = (outcome.reason or outcome.stop_reason) if outcome.blocked or outcome.stop or outcome.ask else ""
    return "\n\n".join(filter(None, (result, reason)))


def text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Arguments:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}
