import typing

import pytest

from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.merge import (
    merge_field_replacement,
    merge_last_wins,
    merge_or_decision,
    merge_tool_selection,
)
from hookline.engine.rewrites import no_change
from hookline.formats.outputs import AfterModelHookOutput, BeforeModelHookOutput, BeforeToolSelectionHookOutput
from hookline.protocol.answers import ANY_FIELD
from hookline.protocol.events import LIFECYCLE_EVENTS, HookEventName
from hookline.protocol.inputs import HookInput
from hookline.protocol.results import BeforeToolHookOutput, DefaultHookOutput

E = HookEventName


@pytest.mark.req("HOOK-081")
def test_every_event_has_a_row() -> None:
    """No event is forgotten, and the rows are in the order of the names."""
    assert list(EVENT_TABLE) == list(HookEventName)


@pytest.mark.req("HOOK-190")
@pytest.mark.parametrize(
    ("merge", "events"),
    [
        (merge_or_decision, {E.BEFORE_TOOL, E.AFTER_TOOL, E.BEFORE_AGENT, E.AFTER_AGENT, E.SESSION_START}),
        (merge_field_replacement, {E.BEFORE_MODEL, E.AFTER_MODEL}),
        (merge_tool_selection, {E.BEFORE_TOOL_SELECTION}),
        (merge_last_wins, {E.SESSION_END, E.PRE_COMPRESS, E.NOTIFICATION}),
    ],
)
def test_the_merge_rule_of_each_event(merge: object, events: set[E]) -> None:
    """Each event has the merge rule of its kind."""
    assert {event for event, row in EVENT_TABLE.items() if row.merge is merge} == events


@pytest.mark.req("HOOK-162", "HOOK-163", "HOOK-041", "HOOK-051", "HOOK-059", "HOOK-032")
@pytest.mark.parametrize(
    ("matching", "subjects"),
    [
        (Matching.REGEX, {E.BEFORE_TOOL: "tool_name", E.AFTER_TOOL: "tool_name"}),
        (
            Matching.EQUALITY,
            {
                E.SESSION_START: "source",
                E.SESSION_END: "reason",
                E.PRE_COMPRESS: "trigger",
                E.NOTIFICATION: "notification_type",
            },
        ),
        (
            Matching.NEVER_ASKED,
            dict.fromkeys((E.BEFORE_MODEL, E.AFTER_MODEL, E.BEFORE_TOOL_SELECTION, E.BEFORE_AGENT, E.AFTER_AGENT)),
        ),
    ],
)
def test_what_matchers_are_compared_with(matching: Matching, subjects: dict[E, str | None]) -> None:
    """Tools are matched by name, triggers by equality, and model events by nothing."""
    assert {event: row.subject for event, row in EVENT_TABLE.items() if row.matching is matching} == subjects


def test_a_subject_is_a_field_of_the_input() -> None:
    """The value that a matcher is compared with is part of the hook's input."""
    for row in EVENT_TABLE.values():
        assert typing.is_typeddict(row.input)
        assert row.subject is None or row.subject in row.input.__annotations__


@pytest.mark.req("HOOK-178", "HOOK-180", "HOOK-181")
def test_what_each_event_can_do() -> None:
    """An operation that has not begun can be blocked; only model events let a later hook undo a block."""
    assert {event for event, row in EVENT_TABLE.items() if row.can_block} == {
        E.BEFORE_TOOL,
        E.BEFORE_MODEL,
        E.BEFORE_AGENT,
        E.PRE_COMPRESS,
    }
    assert {event for event, row in EVENT_TABLE.items() if row.block_continues_turn} == {E.AFTER_AGENT}
    assert {event for event, row in EVENT_TABLE.items() if row.replaces_fields} == {E.BEFORE_MODEL, E.AFTER_MODEL}


@pytest.mark.req("HOOK-211")
def test_which_events_chain() -> None:
    """Only these three pass one hook's changes on to the next."""
    chaining = {event for event, row in EVENT_TABLE.items() if (row.chain or row.change) is not no_change}
    assert chaining == {E.BEFORE_TOOL, E.BEFORE_MODEL, E.BEFORE_AGENT}


def test_which_operations_have_not_begun() -> None:
    """A stop before an operation prevents it."""
    assert {event for event, row in EVENT_TABLE.items() if row.is_pre} == {
        E.BEFORE_TOOL,
        E.BEFORE_MODEL,
        E.BEFORE_TOOL_SELECTION,
        E.BEFORE_AGENT,
        E.PRE_COMPRESS,
    }


@pytest.mark.req("HOOK-203")
def test_which_hooks_only_watch() -> None:
    """On two events nothing that hooks answer is ever applied, so nothing is checked, blocked or rewritten there."""
    watched = {event for event, row in EVENT_TABLE.items() if row.observe_only}
    assert watched == {E.SESSION_END, E.NOTIFICATION}
    assert watched < LIFECYCLE_EVENTS
    assert {event for event, row in EVENT_TABLE.items() if row.reads is ANY_FIELD} == watched


@pytest.mark.req("HOOK-062")
def test_the_fields_of_each_event() -> None:
    """The input of hooks is the common fields and the event's own."""
    for row in EVENT_TABLE.values():
        (narrowed,) = typing.get_args(typing.get_type_hints(row.accepts)["return"])
        assert typing.is_typeddict(narrowed)
        assert row.input.__annotations__.keys() == HookInput.__annotations__.keys() | narrowed.__annotations__.keys()


def test_the_output_class_of_each_event() -> None:
    """Answers are read by the class that knows their event's own fields."""
    particular = {
        E.BEFORE_TOOL: BeforeToolHookOutput,
        E.BEFORE_MODEL: BeforeModelHookOutput,
        E.AFTER_MODEL: AfterModelHookOutput,
        E.BEFORE_TOOL_SELECTION: BeforeToolSelectionHookOutput,
    }
    assert {event: row.output for event, row in EVENT_TABLE.items()} == {
        event: particular.get(event, DefaultHookOutput) for event in HookEventName
    }
