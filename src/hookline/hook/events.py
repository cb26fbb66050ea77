"""The events, as hooks in Python get them: a class for each, with the fields of its input as attributes.

Nothing is imported here that Python itself has not loaded: a script starts with every event.
"""

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar


class InputError(ValueError):
    """An event that can't be read, or that is not the one the hook was written for."""

    def __init__(self, message: str, *, can_block: bool = True) -> None:
        super().__init__(message)
        self.can_block = can_block
        """False only if it is certain that the event can't block anything."""


class _Learned:
    """Takes the types of an event's fields from its annotations, on first use: most scripts see one event."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, _event: object, kind: "type[Event]") -> object:
        hints = {name: hint for base in reversed(kind.__mro__[:-1]) for name, hint in base.__annotations__.items()}
        del hints["fields"], hints["_kinds"], hints["_needed"]
        kinds = {name: hint if isinstance(hint, type) else dict for name, hint in hints.items()}
        learned = {"_kinds": kinds, "_needed": tuple(name for name in hints if not hasattr(kind, name))}
        if not kind.__subclasses__():  # or they would inherit it
            for name, value in learned.items():
                setattr(kind, name, value)
        return learned[self._name]


class Event:
    """An event, as a copy for one hook. To change anything, return an answer such as `Rewrite`."""

    can_block = False
    _kinds: "ClassVar[dict[str, type]]" = _Learned()  # type: ignore[assignment]
    _needed: "ClassVar[tuple[str, ...]]" = _Learned()  # type: ignore[assignment]

    fields: "dict[str, Any]"
    """Everything that the hook was given, as JSON."""
    session_id: str = ""
    cwd: str = ""
    """The project's directory."""
    timestamp: str = ""
    hook_event_name: str = ""
    transcript_path: str = ""
    """The session's transcript, or an empty string."""

    def __init__(self, fields: "dict[str, Any]") -> None:
        own = self.__dict__
        own["fields"] = fields
        get = fields.get
        for name, kind in self._kinds.items():
            value = get(name, self)
            if type(value) is kind or isinstance(value, kind):
                own[name] = value
            elif value is not self:
                raise self._fault(f"{name} is not {_KINDS[kind]}")
            elif name in self._needed:
                raise self._fault(f"{name} is missing")

    def _fault(self, what: str) -> InputError:
        return InputError(f"the {type(self).__name__} event can't be read: {what}", can_block=self.can_block)

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"{name} can't be set: an event does not change; return an answer such as Rewrite")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fields!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and type(other) is type(self) and other.fields == self.fields

    __hash__ = None  # type: ignore[assignment]


class BeforeTool(Event):
    """A tool is about to run."""

    can_block = True
    tool_name: str
    tool_input: "dict[str, Any]"
    mcp_context: "dict[str, Any] | None" = None
    """Which server the tool is from; None for a tool that is not of an MCP server."""


class AfterTool(Event):
    """A tool has run."""

    tool_name: str
    tool_input: "dict[str, Any]"
    tool_response: "dict[str, Any]"
    """The tool's result: llmContent, returnDisplay, metadata and, if it failed, error."""
    mcp_context: "dict[str, Any] | None" = None


class _WithRequest(Event):
    llm_request: "dict[str, Any]"
    """The request to the model, text only: model, messages, config, toolConfig."""

    @property
    def messages(self) -> "list[dict[str, Any]]":
        """The conversation: messages with role and content."""
        messages: list[dict[str, Any]] = self.llm_request.get("messages") or []
        return messages


class BeforeModel(_WithRequest):
    """The model is about to be called."""

    can_block = True


class AfterModel(_WithRequest):
    """The model has answered."""

    llm_response: "dict[str, Any]"
    """The complete response, text only: text, candidates, usageMetadata."""

    @property
    def text(self) -> str:
        """The model's answer."""
        text = self.llm_response.get("text")
        return text if isinstance(text, str) else ""


class BeforeToolSelection(_WithRequest):
    """The tools are chosen that the model is offered."""


class BeforeAgent(Event):
    """The agent was given a prompt."""

    can_block = True
    prompt: str


class AfterAgent(Event):
    """The agent has answered a prompt."""

    can_block = True
    prompt: str
    prompt_response: str
    stop_hook_active: bool
    """True when a hook made the agent go on before."""


class SessionStart(Event):
    """A session begins."""

    source: str
    """startup, resume, clear or compress."""


class SessionEnd(Event):
    """A session has ended."""

    reason: str
    """exit, clear, logout, prompt_input_exit or other."""


class PreCompress(Event):
    """The conversation is about to be compressed."""

    can_block = True
    trigger: str
    """manual or auto."""


class Notification(Event):
    """The user gets a message."""

    notification_type: str
    message: str
    details: "dict[str, Any]"


EVENTS: "dict[str, type[Event]]" = {
    kind.__name__: kind
    for kind in (
        BeforeTool,
        AfterTool,
        BeforeModel,
        AfterModel,
        BeforeToolSelection,
        BeforeAgent,
        AfterAgent,
        SessionStart,
        SessionEnd,
        PreCompress,
        Notification,
    )
}
_KINDS = {str: "a string", bool: "true or false", dict: "an object"}


def read_event(given: object) -> Event:
    """The event in a JSON value; InputError if it is none."""
    if not isinstance(given, dict):
        raise InputError("the event is not a JSON object")
    kind = EVENTS.get(str(given.get("hook_event_name")))
    if kind is None:
        name = given.get("hook_event_name")
        raise InputError(f"hook_event_name {name!r} is not an event; expected {', '.join(EVENTS)}")
    return kind(given)


def expected_events(handler: "Callable[[Any], Any]") -> "list[str]":
    """The events that the annotation of the handler's parameter names; empty if it has none, or names no event."""
    hints = {name: hint for name, hint in getattr(handler, "__annotations__", {}).items() if name != "return"}
    for hint in hints.values():
        text = hint if isinstance(hint, str) else hint.__name__ if isinstance(hint, type) else str(hint)
        names = [part.strip(" '\"").rpartition(".")[2] for part in text.split("|")]
        return names if all(name in EVENTS for name in names) else []
    return []
