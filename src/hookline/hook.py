"""The words of hooks written in Python: the events that a hook gets, and the answers that it gives.

A script is a function and `main`:

    from hookline.hook import BeforeTool, Deny, main

    def guard(event: BeforeTool) -> Deny | None:
        return Deny("Ask the user first.") if event.tool_name == "deploy" else None

    main(guard)

A program registers the same function with `hooks.on("BeforeTool")`. Nothing is imported here that Python itself has not
loaded: a script starts with every event.
"""

import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any, ClassVar, Literal, NoReturn, TypeAlias, TypeVar

    AnyEvent = TypeVar("AnyEvent", bound="Event")
    Returned: TypeAlias = "Answer | type[Answer] | dict[str, Any] | None"
    """What a hook may return."""
    HookOf: TypeAlias = "Callable[[AnyEvent], Returned | Awaitable[Returned]]"
    """A function that is a hook of an event."""
    Hook: TypeAlias = "Callable[[Any], Returned | Awaitable[Returned]]"
    """A function that is a hook of some event."""
    AnyHook = TypeVar("AnyHook", bound=Hook)

__all__ = [
    "AfterAgent",
    "AfterModel",
    "AfterTool",
    "Allow",
    "Answer",
    "Ask",
    "BeforeAgent",
    "BeforeModel",
    "BeforeTool",
    "BeforeToolSelection",
    "Context",
    "Deny",
    "Event",
    "InputError",
    "Note",
    "Notification",
    "PreCompress",
    "Redact",
    "Respond",
    "Restrict",
    "Rewrite",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "Suppress",
    "Tell",
    "allow",
    "ask",
    "deny",
    "main",
    "stop",
]

EXIT_ANSWERED = 0
EXIT_FAILED = 1
EXIT_DENIED = 2


class InputError(ValueError):
    """An event that can't be read, or that is not the one the hook was written for."""

    def __init__(self, message: str, *, can_block: bool = True) -> None:
        super().__init__(message)
        self.can_block = can_block
        """False only if it is certain that the event can't block anything."""


class Event:
    """An event, as a hook gets it: a copy of its own. To change anything, return an answer such as `Rewrite`."""

    can_block = False
    _kinds: "ClassVar[dict[str, type]]"
    _needed: "ClassVar[tuple[str, ...]]"

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
        for name, kind in self._kinds.items():
            value = fields.get(name, self)
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
    """What it gave: llmContent, returnDisplay, metadata and maybe error."""
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
        """What the model said."""
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
    """The user is told something."""

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


def _learn_fields() -> None:
    """Takes the types of each event's fields from its annotations, so that they are written once."""
    for event in EVENTS.values():
        hints = {name: hint for base in reversed(event.__mro__[:-1]) for name, hint in base.__annotations__.items()}
        del hints["fields"], hints["_kinds"], hints["_needed"]
        event._kinds = {name: hint if isinstance(hint, type) else dict for name, hint in hints.items()}  # noqa: SLF001
        event._needed = tuple(name for name in hints if not hasattr(event, name))  # noqa: SLF001


_learn_fields()


class Answer(Exception):  # noqa: N818 - an answer is no error, though it can be raised
    """What a hook wants: returned or raised. Several are joined with `&`."""

    fields: "dict[str, Any]"
    """The answer as JSON, in hook form."""

    def __init__(self, fields: "dict[str, Any]") -> None:
        super().__init__(fields)
        self.fields = fields

    def __and__(self, other: "Answer") -> "Answer":
        """Both answers as one; ValueError if they contradict each other."""
        return Answer(_joined(self.fields, other.fields))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fields!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and other.fields == self.fields

    __hash__ = None  # type: ignore[assignment]


class Deny(Answer):
    """Blocks the operation. The model reads the reason."""

    def __init__(self, reason: object = "") -> None:
        super().__init__({"decision": "deny", **_text("reason", reason)})


class Ask(Answer):
    """Has a person asked before the tool runs (BeforeTool)."""

    def __init__(self, reason: object = "") -> None:
        super().__init__({"decision": "ask", **_text("reason", reason)})


class Allow(Answer):
    """Has nothing against the operation. None says the same, except that it replaces no earlier answer."""

    def __init__(self, reason: object = "") -> None:
        super().__init__({"decision": "allow", **_text("reason", reason)})


class Stop(Answer):
    """Stops the agent after this event. The user reads the reason."""

    def __init__(self, reason: object = "") -> None:
        super().__init__({"continue": False, **_text("stopReason", reason)})


class Note(Answer):
    """Adds a note for the model, marked `[System]`."""

    def __init__(self, text: object) -> None:
        super().__init__({"systemMessage": str(text)})


class Tell(Answer):
    """Shows a message to the user; the model does not see it."""

    def __init__(self, text: object) -> None:
        super().__init__({"userMessage": str(text)})


class Context(Answer):
    """Adds a text to the tool's result, or to the prompt."""

    def __init__(self, text: object) -> None:
        super().__init__(_specific("additionalContext", str(text)))


class Suppress(Answer):
    """Does not show the result to the user; the model still sees it."""

    def __init__(self) -> None:
        super().__init__({"suppressOutput": True})


class Rewrite(Answer):
    """Changes what the event is about: arguments (BeforeTool) and request (BeforeModel) key by key, texts as a whole.

    The texts are the tool's result as the model reads it (AfterTool) and the prompt (BeforeAgent).
    """

    def __init__(
        self,
        *,
        tool_input: "Mapping[str, Any] | None" = None,
        llm_request: "Mapping[str, Any] | None" = None,
        tool_output: "str | None" = None,
        prompt: "str | None" = None,
    ) -> None:
        objects = {"tool_input": tool_input, "llm_request": llm_request}
        changes: dict[str, Any] = {name: dict(value) for name, value in objects.items() if value is not None}
        texts = {"tool_output": tool_output, "prompt": prompt}
        changes.update({name: value for name, value in texts.items() if value is not None})
        if not changes:
            raise TypeError("Rewrite needs tool_input, llm_request, tool_output or prompt")
        super().__init__({"hookSpecificOutput": changes})


class Respond(Answer):
    """Answers in place of the model, which is not called (BeforeModel)."""

    def __init__(self, text: object, reason: object = "") -> None:
        content = {"role": "model", "parts": [str(text)]}
        response = {"text": str(text), "candidates": [{"content": content}]}
        super().__init__({"decision": "deny", **_text("reason", reason), **_specific("llm_response", response)})


class Redact(Answer):
    """Replaces what the model said (AfterModel); its tool calls stay."""

    def __init__(self, text: object) -> None:
        super().__init__(_specific("llm_response", {"text": str(text)}))


class Restrict(Answer):
    """Restricts the tools that the model may call (BeforeToolSelection); an empty list allows none."""

    def __init__(
        self, allowed: "Iterable[str] | None" = None, *, mode: "Literal['AUTO', 'ANY', 'NONE'] | None" = None
    ) -> None:
        if allowed is None and mode is None:
            raise TypeError("Restrict needs the allowed tools, or a mode")
        config: dict[str, Any] = {} if mode is None else {"mode": mode}
        if allowed is not None:
            config["allowedFunctionNames"] = [allowed] if isinstance(allowed, str) else list(allowed)
        super().__init__(_specific("toolConfig", config))


def deny(reason: object = "") -> "NoReturn":
    """Blocks the operation at once: raises `Deny`."""
    raise Deny(reason)


def ask(reason: object = "") -> "NoReturn":
    """Has a person asked, and ends the hook: raises `Ask`."""
    raise Ask(reason)


def allow(reason: object = "") -> "NoReturn":
    """Ends the hook without an objection: raises `Allow`."""
    raise Allow(reason)


def stop(reason: object = "") -> "NoReturn":
    """Stops the agent: raises `Stop`."""
    raise Stop(reason)


def read_event(given: object) -> Event:
    """The event in a JSON value; InputError if it is none."""
    if not isinstance(given, dict):
        raise InputError("the event is not a JSON object")
    kind = EVENTS.get(str(given.get("hook_event_name")))
    if kind is None:
        name = given.get("hook_event_name")
        raise InputError(f"hook_event_name {name!r} is not an event; expected {', '.join(EVENTS)}")
    return kind(given)


def read_answer(returned: object) -> "dict[str, Any] | None":
    """What a hook returned, in hook form; TypeError if that can't be an answer."""
    if isinstance(returned, type) and issubclass(returned, Answer):
        returned = returned()  # type: ignore[call-arg]  # `return Deny` is a deny, too
    if isinstance(returned, Answer):
        return returned.fields
    if returned is None or isinstance(returned, dict):
        return returned
    kind = type(returned).__name__
    advice = "await it" if kind == "coroutine" else "return an answer such as Deny, a dict in hook form, or None"
    raise TypeError(f"returned {kind}; {advice}")


def answer_in(group: "BaseExceptionGroup[Any]") -> "Answer | None":
    """The answer that was raised inside a task group: a block or a stop in any case, others if nothing failed."""
    answers, failures = _leaves(group, [], [])
    for answer in answers:
        if answer.fields.get("decision") in ("deny", "block") or answer.fields.get("continue") is False:
            return answer
    if failures or not answers:
        return None
    joined = answers[0]
    for answer in answers[1:]:
        joined &= answer
    return joined


def _leaves(
    group: "BaseExceptionGroup[Any]", answers: "list[Answer]", failures: "list[BaseException]"
) -> "tuple[list[Answer], list[BaseException]]":
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            _leaves(error, answers, failures)
        elif isinstance(error, Answer):
            answers.append(error)
        else:
            failures.append(error)
    return answers, failures


def expected_events(handler: "Callable[[Any], Any]") -> "list[str]":
    """The events that the annotation of the handler's parameter names; empty if it has none, or names no event."""
    hints = {name: hint for name, hint in getattr(handler, "__annotations__", {}).items() if name != "return"}
    for hint in hints.values():
        text = hint if isinstance(hint, str) else hint.__name__ if isinstance(hint, type) else str(hint)
        names = [part.strip(" '\"").rpartition(".")[2] for part in text.split("|")]
        return names if all(name in EVENTS for name in names) else []
    return []


def main(handler: "HookOf[AnyEvent]") -> "NoReturn":
    """Runs a script's hook: reads the event from stdin, calls the handler, prints its answer, and exits.

    Whatever else the handler prints goes to stderr. An event that can't be read, or that the handler's annotation does
    not name, is denied (exit code 2) unless it can't block; an exception in the handler is a failed hook (exit code 1).
    As a worker (`"worker": true` in the settings) it does the same for one event after another.
    """
    import os  # noqa: PLC0415 - loaded by Python itself, in every usual start

    expected = expected_events(handler)
    if os.environ.pop("HOOKLINE_WORKER", "") == "1":
        from hookline.hook_worker import work  # noqa: PLC0415 - most hooks are started for one event

        work(lambda given: _call(handler, read_event(given), expected), _exit_code)
    answers = os.dup(1)
    os.dup2(2, 1)  # a debugging print, also of a child process, must not spoil the answer
    try:
        _write(answers, _call(handler, _parsed(sys.stdin.buffer.read()), expected))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(_exit_code(error))
    sys.exit(EXIT_ANSWERED)


def _exit_code(error: Exception) -> "int | None":
    """How a script ends with an exception that is meant for people; None for any other."""
    if not isinstance(error, InputError):
        return None
    return EXIT_DENIED if error.can_block else EXIT_FAILED


def _parsed(given: bytes) -> Event:
    import json  # noqa: PLC0415 - takes longer to load than this module

    try:
        value = json.loads(given.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"stdin is not the JSON of an event ({error}); this is a hook, run by hookline") from None
    return read_event(value)


def _call(handler: "Callable[[Any], Any]", event: Event, expected: "list[str]") -> "dict[str, Any] | None":
    if expected and type(event).__name__ not in expected:
        told = f"this hook is for {' and '.join(expected)}, and was given {type(event).__name__}"
        raise InputError(f"{told}; correct the event in the settings", can_block=event.can_block)
    try:
        returned = handler(event)
        if hasattr(returned, "__await__"):
            import asyncio  # noqa: PLC0415 - most scripts have no need of it

            returned = asyncio.run(_awaited(returned))
        return read_answer(returned)
    except Answer as raised:
        return raised.fields
    except BaseExceptionGroup as group:
        if (answer := answer_in(group)) is None:
            raise
        return answer.fields


async def _awaited(returned: "Awaitable[Any]") -> "Any":
    return await returned


def _write(to: int, answer: "dict[str, Any] | None") -> None:
    if answer is None:
        return
    import json  # noqa: PLC0415
    import os  # noqa: PLC0415

    left = json.dumps(answer, default=str).encode()
    try:
        while left:
            left = left[os.write(to, left) :]
    except OSError as error:
        if answer.get("decision") not in ("deny", "block"):
            raise
        # Nobody reads stdout any more, but the exit code can still say it.
        raise InputError(str(answer.get("reason") or "Blocked by hook")) from error


def _text(name: str, value: object) -> "dict[str, Any]":
    text = str(value)
    return {name: text} if text else {}


def _specific(name: str, value: object) -> "dict[str, Any]":
    return {"hookSpecificOutput": {name: value}}


def _joined(one: "dict[str, Any]", other: "dict[str, Any]") -> "dict[str, Any]":
    joined = dict(one)
    for name, value in other.items():
        if name == "hookSpecificOutput" and name in one:
            joined[name] = _joined(one[name], value)
        elif one.get(name, value) == value:
            joined[name] = value
        else:
            raise ValueError(f"the answers contradict each other: {name} is {one[name]!r} and {value!r}")
    return joined


def __dir__() -> "list[str]":
    return [*__all__]
