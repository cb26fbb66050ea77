"""The content of a case file: the types that it is read with, and its JSON Schema for editors."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_schema import json_schema
from hookline.testing.cases.case import Outcome

Names = str | list[str]
Positive = Annotated[float, Meta(gt=0)]


class ExpectTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The expected outcome of the event."""

    outcome: Annotated[Outcome | None, Meta(description="The outcome of the event.")] = None
    reason: Annotated[str | None, Meta(description="A regular expression that the reason must match.")] = None
    by: Annotated[Names | None, Meta(description="The hook that must have decided, or all of them.")] = None
    ran: Annotated[Names | None, Meta(description="Hooks that must have run.")] = None
    fails: Annotated[Names | None, Meta(description="Hooks that must fail.")] = None
    arguments: Annotated[
        dict[str, Any] | None, Meta(description="BeforeTool: all arguments that the tool is called with.")
    ] = None
    prompt: Annotated[str | None, Meta(description="BeforeAgent: the prompt that is sent.")] = None
    request: Annotated[
        dict[str, Any] | None, Meta(description="BeforeModel: fields that the request has in the end.")
    ] = None
    response: Annotated[
        dict[str, Any] | None, Meta(description="BeforeModel, AfterModel: fields that the response has in the end.")
    ] = None
    tools: Annotated[list[str] | None, Meta(description="BeforeToolSelection: the tools that the model may call.")] = (
        None
    )
    output: Annotated[
        str | None, Meta(description="AfterTool: a regular expression for what the model reads in place of the result.")
    ] = None
    context: Annotated[
        str | None, Meta(description="A regular expression for the text that is added for the model.")
    ] = None
    note: Annotated[str | None, Meta(description="A regular expression for the systemMessage.")] = None
    unchanged: Annotated[bool, Meta(description="true: hooks change and add nothing.")] = False
    within_ms: Annotated[Positive | None, Meta(description="How many milliseconds it may take at most.")] = None


class InputTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The part of a case that says what happens."""

    tool: Annotated[str | None, Meta(description="The tool's name.")] = None
    arguments: Annotated[dict[str, Any] | None, Meta(description="The tool's arguments.")] = None
    prompt: Annotated[
        str | None, Meta(description="The prompt; on model events the user's message; Notification: its message.")
    ] = None
    answer: Annotated[
        str | None, Meta(description="AfterTool: the tool's result. AfterModel, AfterAgent: the answer.")
    ] = None
    trigger: Annotated[
        str | None,
        Meta(description="The value for matchers of SessionStart, SessionEnd, PreCompress and Notification."),
    ] = None
    input: Annotated[
        dict[str, Any] | str | None,
        Meta(description="The event's own fields as hooks read them, or a text with them as a JSON object."),
    ] = None
    environment: Annotated[dict[str, str] | None, Meta(description="Variables for the hooks.")] = None


class CaseTable(InputTable, kw_only=True, forbid_unknown_fields=True):
    """One case, with one input or many."""

    name: Annotated[str | None, Meta(description="The rule that the case shows, as a sentence.")] = None
    event: Annotated[HookEventName | None, Meta(description="The event; BeforeTool if not given.")] = None
    each: Annotated[
        dict[str, Any] | list[InputTable] | None,
        Meta(description="Many inputs: lists of values (every combination is tried), or a list of tables."),
    ] = None
    expect: Annotated[Outcome | ExpectTable | None, Meta(description="The expected outcome; required.")] = None


class CaseFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A case file of hookline: events, and what the hooks must decide about them."""

    defaults: Annotated[CaseTable | None, Meta(description="What every case has unless it says otherwise.")] = None
    case: list[CaseTable] = []


def cases_schema() -> dict[str, Any]:
    """The JSON Schema of case files."""
    return json_schema(CaseFile, "hookline case file")
