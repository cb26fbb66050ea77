"""The answers that hooks in Python give: returned, or raised.

Nothing is imported here that Python itself has not loaded: a script starts with every event.
"""

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal, NoReturn


class Answer(Exception):  # noqa: N818 - an answer is not an error, although it can be raised
    """An answer of a hook: returned or raised. `&` joins several."""

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


class WrongAnswerError(TypeError):
    """A hook returned what can't be an answer."""


class Deny(Answer):
    """Blocks the operation. The model reads the reason."""

    def __init__(self, reason: object = "") -> None:
        super().__init__({"decision": "deny", **_text("reason", reason)})


class Ask(Answer):
    """Ask the user before the tool runs (BeforeTool)."""

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
    """Ask the user to confirm. Raises `Ask`, so it never returns."""
    raise Ask(reason)


def allow(reason: object = "") -> "NoReturn":
    """Ends the hook without an objection: raises `Allow`."""
    raise Allow(reason)


def stop(reason: object = "") -> "NoReturn":
    """Stops the agent: raises `Stop`."""
    raise Stop(reason)


def read_answer(returned: object) -> "dict[str, Any] | None":
    """Return a hook's result in hook form; raise WrongAnswerError if it can't be an answer."""
    if isinstance(returned, type) and issubclass(returned, Answer):
        returned = returned()  # type: ignore[call-arg]  # `return Deny` is also a deny
    if isinstance(returned, Answer):
        return returned.fields
    if returned is None or isinstance(returned, dict):
        return returned
    kind = type(returned).__name__
    shown = f"{returned} (bool)" if isinstance(returned, bool) else kind
    advice = "await it" if kind == "coroutine" else "return an answer such as Deny, a dict in hook form, or None"
    raise WrongAnswerError(f"returned {shown}; {advice}")


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
