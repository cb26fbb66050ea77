"""The agents that can call the bridge: how their requests are parsed and their answers rendered."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hookline.dialects.spellings import must_be_text
from hookline.dialects.table import Arguments, Tool
from hookline.errors import HooklineError
from hookline.protocol.answers import kind_of
from hookline.protocol.events import TOOL_EVENTS, HookEventName
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
class MergedOutcome:
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
class HostAgent:
    """One agent that can call hookline as its hook command."""

    name: str
    agent: str
    """Its display name."""
    events: Mapping[str, HookEventName]
    """The agent's events that hookline handles, each with hookline's event."""
    version: str
    """The version whose contract was checked."""
    package: str | None = None
    """The package that `make bridge-live` installs to run it; None for an agent that was not run."""
    parse_request: Callable[[Payload, str | None], AgentRequest]
    """Parses the agent's input; the second argument is the event's name if the command line gives it."""
    render: Callable[[AgentRequest, MergedOutcome], AgentResponse]
    """Renders an outcome; `render_response` adds the effects that the agent's format has no place for."""
    context_events: frozenset[str]
    """The agent's events at which hooks can add to what the model reads."""
    deny_only: frozenset[HookEventName] = TOOL_EVENTS | {HookEventName.SESSION_START}
    """The events at which the agent takes a deny at most, so that a stop must wait for the next prompt or tool."""
    keeps_history: bool = False
    """True if a compression of the history can be blocked."""
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
    def was_run(self) -> bool:
        """True if the agent itself was run; otherwise only its documentation was read."""
        return self.package is not None

    @property
    def known_version(self) -> str:
        """The version whose contract was checked, for users."""
        return self.version if self.was_run else f"{self.version} (not run)"

    def render_response(self, request: AgentRequest, outcome: MergedOutcome) -> AgentResponse:
        """Render the agent's answer, with the effects that it does not support."""
        response = self.render(request, outcome)
        unsupported = [*outcome.unsupported]
        if outcome.message and "systemMessage" not in (response.stdout or {}):
            unsupported.append(f"a message for the user: {request.native_event} of {self.agent} has no place for it")
        if outcome.blocked and request.event is HookEventName.PRE_COMPRESS and not self.keeps_history:
            unsupported.append(f"a block: {self.agent} compresses the history whatever a hook says")
        if outcome.context and request.native_event not in self.context_events:
            unsupported.append(f"a note for the model: {request.native_event} of {self.agent} has no place for it")
        if outcome.suppress:
            unsupported.append(f"suppressOutput: {self.agent} can't hide a tool's result")
        unsupported += response.unsupported
        if not (outcome.stop and outcome.stop_reason and request.event in self.deny_only):
            return replace(response, unsupported=tuple(unsupported))
        unsupported.append(
            f"a stop: {self.agent} can't stop here, so every later prompt and tool of this session is denied as well"
        )
        return replace(response, unsupported=tuple(unsupported), pending_stop=outcome.stop_reason)


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
    """One file of a patch, as calls of hookline's tools."""
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


def permission(outcome: MergedOutcome, arguments_key: str) -> dict[str, Any]:
    """The decision on a tool call as Claude Code and Copilot CLI take it. It never says allow."""
    reason = outcome.reason or outcome.stop_reason
    if outcome.blocked or outcome.stop:
        # A stop alone would let the tool run first.
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}
    answer: dict[str, Any] = {"permissionDecision": "ask", "permissionDecisionReason": reason} if outcome.ask else {}
    if outcome.arguments is not None:  # also with a question: the user is asked about what runs
        answer[arguments_key] = dict(outcome.arguments)
    return answer


def lifecycle_fields(
    event: HookEventName, payload: Payload, reasons: Mapping[str, str], words: Mapping[str, str]
) -> dict[str, Any]:
    """The fields of an event that is not about a tool.

    `reasons` has the agent's words for the end of a session that have a counterpart, `words` those for how a session
    begins and for notifications that hookline names differently.
    """
    match event:
        case HookEventName.BEFORE_AGENT:
            return {"prompt": text(payload.get("prompt"))}
        case HookEventName.AFTER_AGENT:
            response, count = text(payload.get("last_assistant_message")), payload.get("loop_count")
            is_again = payload.get("stop_hook_active") is True or (isinstance(count, int) and count > 0)
            return {"prompt": "", "prompt_response": response, "stop_hook_active": is_again}
        case HookEventName.SESSION_START:
            source = text(payload.get("source"))
            return {"source": words.get(source, source) or "startup"}
        case HookEventName.SESSION_END:
            return {"reason": reasons.get(text(payload.get("reason")), "other")}
        case HookEventName.PRE_COMPRESS:
            return {"trigger": "manual" if payload.get("trigger") == "manual" else "auto"}
        case _:
            kind = text(payload.get("notification_type")) or "other"
            return {"notification_type": words.get(kind, kind), "message": text(payload.get("message")), "details": {}}


def in_place(outcome: MergedOutcome) -> str:
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
