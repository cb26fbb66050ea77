"""The agents that can call the bridge: how their requests are parsed and their answers rendered."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hookline.bridge.agents.versions import CHECKED
from hookline.dialects.spellings import must_be_text
from hookline.dialects.table import Arguments, Tool
from hookline.errors import HooklineError
from hookline.protocol.answers import kind_of
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.events import TOOL_EVENTS, HookEventName
from hookline.protocol.verdict import Verdict
from hookline.shell.patches import ChangeKind, FileChange, paths_in_patch

Payload = Mapping[str, Any]
NO_PART = (
    "a change to one file of a patch or one reading of the arguments, which can't be sent back, so the call is denied"
)
NO_PROMPT = "another prompt, which can't be sent back, so the prompt is blocked"


class UnreadableQuestionError(HooklineError):
    """A request that can't be parsed, so it is unknown what the agent is about to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """One request of an agent."""

    native_event: str
    """The agent's name of the event."""
    event: HookEventName | None
    """hookline's event; None if it has no counterpart."""
    session_id: str = ""
    cwd: str = ""
    root: str = ""
    """The project's root, where the agent names it beside the directory that it works in."""
    transcript_path: str = ""
    questions: tuple[Mapping[str, Any], ...] = ()
    """The fields of each event that hookline fires for it: a patch of three files is three events."""
    tool: Tool | None = None
    arguments: Arguments = field(default_factory=dict)
    """The tool's arguments as the agent gave them."""
    result: Any = None
    """The tool's result as the agent gave it."""
    has_whole: bool = True
    """True if the first question covers the whole call, False if it covers a part such as one file of a patch."""
    fault: str = ""
    """Why the call can't be judged, such as arguments that are not an object: it is denied, and no hook is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The merged decision of the hooks about a request, over all of its events."""

    blocked: bool = False
    stop: bool = False
    ask: bool = False
    reason: str = ""
    stop_reason: str = ""
    context: str = ""
    """Notes and context for the model."""
    message: str = ""
    """A text for the user."""
    result: str | None = None
    """The text that replaces the tool's result for the model."""
    suppress: bool = False
    arguments: Arguments | None = None
    """The rewritten arguments in the agent's words, whole; None where nothing changed."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """The changed model call: a complete `llm_request`, `llm_response` or `toolConfig` in hookline's format."""
    unsupported: tuple[str, ...] = ()
    """Effects that the agent's format can't express."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResponse:
    """The rendered answer."""

    stdout: Mapping[str, Any] | None = None
    stderr: str = ""
    exit_code: int = 0
    unsupported: tuple[str, ...] = ()
    """Effects that the hooks decided and this agent doesn't support."""
    pending_stop: str = ""
    """Reason for a stop this agent cannot express; later calls in the session are denied."""
    is_broken: bool = False
    """True for the answer of a bridge that could not ask the hooks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One agent that can call hookline as its hook command."""

    name: str
    agent: str
    """Its display name."""
    events: Mapping[str, HookEventName]
    """The agent's events that hookline handles, each with hookline's event."""
    parse_request: Callable[[Payload, str | None], AgentRequest]
    """Parses the agent's input; the second argument is the event's name if the command line gives it."""
    render_response: Callable[[AgentRequest, Outcome], AgentResponse]
    unmapped_events: frozenset[str] = frozenset()
    """The agent's events without a counterpart in hookline: they are allowed."""
    call_keys: frozenset[str] = frozenset({"tool_name", "tool_input", "toolName", "toolArgs", "toolInput"})
    """The fields that only a request about a tool call has."""
    exit_2_blocks: bool = True
    """True if exit code 2 with a text blocks at every event that can be blocked."""
    remarks: tuple[str, ...] = ()
    """Limits of this agent that apply whatever the hooks decide; shown by `hookline bridge status`."""

    def has_call(self, payload: Payload) -> bool:
        """True if a request is about a tool call, whatever event it names."""
        return not self.call_keys.isdisjoint(payload)

    def has_event(self, name: str) -> bool:
        """True if the agent has an event of this name."""
        return name in self.events or name in self.unmapped_events

    @property
    def known_version(self) -> str:
        """The version whose contract was checked."""
        checked = CHECKED[self.name]
        return checked.version if checked.was_run else f"{checked.version} (not run)"


def required(payload: Payload, key: str, what: str, agent: str) -> str:
    """Return a required text of the payload: the name of the event or of the tool."""
    if not (value := text(payload.get(key))):
        raise UnreadableQuestionError(f"{agent} did not say which {what} it asks about: no {key}")
    return value


def with_question(
    request: AgentRequest,
    payload: Payload,
    fields: Callable[[HookEventName, Payload], dict[str, Any]],
    call: Callable[[Payload], tuple[Tool, Arguments]],
    response: Callable[[Payload], dict[str, Any]],
) -> AgentRequest:
    """Return the request with the event's fields: those of a call and its response, or those that `fields` returns."""
    if request.event is None:
        return request
    if request.event not in TOOL_EVENTS:
        return replace(request, questions=(fields(request.event, payload),))
    try:
        tool, arguments = call(payload)
    except UnreadableQuestionError as error:
        return replace(request, fault=str(error))
    others = {"tool_response": response(payload)} if request.event is HookEventName.AFTER_TOOL else {}
    return with_call(request, tool, arguments, {"tool_name": tool.ours, **others})


def with_call(request: AgentRequest, tool: Tool, arguments: Arguments, fields: Mapping[str, Any]) -> AgentRequest:
    """Return the request with one question for each reading of the call's arguments."""
    for name, value in arguments.items():
        if not isinstance(value, str | None) and must_be_text(tool.ours, name):
            fault = f"the argument `{name}` of {tool.theirs} is {kind_of(value)}, not a text, so it can't be judged"
            return replace(request, fault=fault)
    readings = tool.readings(arguments)
    questions = tuple({**fields, "tool_input": reading} for reading in readings)
    # Which reading a rewrite would have to change is not known.
    return replace(request, questions=questions, tool=tool, arguments=arguments, has_whole=len(readings) == 1)


def with_patch(request: AgentRequest, changes: Iterable[FileChange], *, is_whole: bool) -> AgentRequest:
    """Return the request with a question for each file that a patch changes; `is_whole` keeps those about the call."""
    asked = request.questions[0]
    files = tuple({**asked, **call} for change in changes for call in _calls(change))
    if not files and not is_whole:
        return replace(request, questions=tuple({**each, "tool_name": "apply_patch"} for each in request.questions))
    own = request.questions if is_whole else ()
    return replace(request, questions=(*own, *files), has_whole=is_whole and request.has_whole)


PATCH_TOOLS = frozenset({"apply_patch", "applypatch"})


def with_patches_inside(request: AgentRequest) -> AgentRequest:
    """Return the request with a question for each path in the arguments of a patch tool, in any known format."""
    if request.tool is None or request.tool.theirs not in PATCH_TOOLS:
        return request
    texts = [value for value in request.arguments.values() if isinstance(value, str)]
    paths = dict.fromkeys(path for text in texts for path in paths_in_patch(text))
    if not paths:
        return replace(request, fault="this patch names no file in a known format, so it is not known what it changes")
    return with_patch(request, [FileChange(ChangeKind.UPDATE, path) for path in paths], is_whole=True)


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


def rules_of(request: AgentRequest) -> ToolArguments | None:
    """The rules for the arguments of a call: every change is judged in the form in which the agent will run it."""
    tool = request.tool
    if tool is None or not request.has_whole or request.event is not HookEventName.BEFORE_TOOL:
        return None

    def as_sent(arguments: dict[str, Any], _changes: Mapping[str, Any]) -> dict[str, Any]:
        return tool.in_our_words(tool.rewritten(request.arguments, arguments, request.cwd))

    return ToolArguments(as_sent)


def combine(request: AgentRequest, verdicts: Sequence[Verdict]) -> Outcome:
    """One outcome of the verdicts on all events that stand for a question."""
    notes = [text for verdict in verdicts for text in (verdict.context, verdict.note) if text]
    objecting = [verdict for verdict in verdicts if verdict.denied or verdict.ask or verdict.stop]
    reasons = [verdict.reason for verdict in objecting if verdict.reason]
    stops = [verdict.stop_reason or "A hook of hookline stopped the agent" for verdict in verdicts if verdict.stop]
    changed = [verdict.arguments for verdict in verdicts]
    arguments = _rewritten(request, changed[0]) if changed and request.has_whole else None
    blocked = any(verdict.denied for verdict in verdicts)
    unsupported: tuple[str, ...] = ()
    if not blocked and (unsendable := _unsendable(request, verdicts)):
        # Otherwise the agent would go on with what a guard meant to take out.
        blocked, unsupported = True, (unsendable,)
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
        model=next((verdict.effect for verdict in verdicts if verdict.effect and request.tool is None), {}),
        unsupported=unsupported,
    )


def _unsendable(request: AgentRequest, verdicts: Sequence[Verdict]) -> str | None:
    """Return the change that hooks decided and no agent supports."""
    if any(verdict.prompt is not None for verdict in verdicts):
        return NO_PROMPT
    parts = verdicts[1:] if request.has_whole else verdicts
    return NO_PART if any(verdict.arguments is not None for verdict in parts) else None


def _rewritten(request: AgentRequest, changed: Arguments | None) -> Arguments | None:
    """The changed arguments in the agent's words, whole."""
    if changed is None or request.tool is None:
        return None
    return request.tool.rewritten(request.arguments, changed, request.cwd)


def unsupported_by(
    agent: str,
    request: AgentRequest,
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
    unsupported = list(outcome.unsupported)
    if outcome.message and not has_message:
        unsupported.append(f"a message for the person: {request.native_event} of {agent} has no place for it")
    if outcome.blocked and request.event is HookEventName.PRE_COMPRESS and not keeps_history:
        unsupported.append(f"a block: {agent} compresses the history whatever a hook says")
    if outcome.context and not has_context:
        unsupported.append(f"a note for the model: {request.native_event} of {agent} has no place for it")
    if outcome.suppress:
        unsupported.append(f"suppressOutput: {agent} can't hide a tool's result")
    return unsupported


AT_START = frozenset({HookEventName.SESSION_START})


def with_pending_stop(
    response: AgentResponse,
    agent: str,
    request: AgentRequest,
    outcome: Outcome,
    events: frozenset[HookEventName] = TOOL_EVENTS | AT_START,
) -> AgentResponse:
    """The answer, and a stop that it can't say: at these events the agent takes a deny at most."""
    if not outcome.stop or not outcome.stop_reason or request.event not in events:
        return response
    unsupported = f"a stop: {agent} can't stop here, so every later prompt and tool of this session is denied as well"
    return replace(response, unsupported=(*response.unsupported, unsupported), pending_stop=outcome.stop_reason)


def in_place(outcome: Outcome) -> str:
    """Return the text that replaces a tool's result, or the reason of a deny; never empty."""
    result = "" if outcome.result is None else outcome.result or "(no output)"
    reason = (outcome.reason or outcome.stop_reason) if outcome.blocked or outcome.stop or outcome.ask else ""
    return "\n\n".join(filter(None, (result, reason)))


def text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Arguments:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}
