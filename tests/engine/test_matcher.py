import pytest

from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.matcher import is_literal, match, matches_everything
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.text.matchers import LONGEST_NAME


def hook(matcher: str | None, event: HookEventName = HookEventName.BEFORE_TOOL) -> HookEntry:
    return HookEntry(
        event=event, source=ConfigSource.USER, origin="o", location="l", run=CommandLine("c"), matcher=matcher
    )


def found(matcher: str, name: str) -> bool:
    """Return whether a tool's guard runs."""
    return match(hook(matcher), name)


@pytest.mark.req("HOOK-022", "HOOK-089", "HOOK-163")
@pytest.mark.parametrize("event", HookEventName)
def test_what_needs_no_comparison(event: HookEventName) -> None:
    """No matcher, nothing to compare with, and an event that never asks: the hook runs."""
    assert match(hook(None, event), "x")
    assert match(hook(" * ", event), "x")
    assert match(hook("^x$", event), None)
    is_asked = EVENT_TABLE[event].matching is not Matching.NEVER_ASKED
    assert match(hook("^never$", event), "x") is not is_asked


@pytest.mark.req("HOOK-021", "HOOK-087")
@pytest.mark.parametrize(
    ("matcher", "name", "is_found"),
    [
        pytest.param("write", "overwrite_file", True, id="anywhere"),
        pytest.param("^write", "overwrite_file", False, id="anchored"),
        pytest.param("write_file|replace", "replace", True, id="alternatives"),
        pytest.param(" write \n", "write_file", True, id="trimmed"),
        pytest.param("Write", "write_file", False, id="case"),
        pytest.param("write_*", "writ", False, id="star-repeats-the-underscore"),
        pytest.param("(?<verb>read)_", "read_file", True, id="named-group-in-javascripts-spelling"),
        pytest.param(r"\d$", "tool_٣", False, id="digits-are-ascii"),
        pytest.param("file$", "file\n", False, id="dollar-is-the-end-only"),
        pytest.param("(?<!un)do", "undo", False, id="lookbehind"),
        pytest.param("^[^]+$", "a\nb", True, id="any-character"),
        pytest.param(r"^\u0077rite", "write_file", True, id="escape"),
        pytest.param("mcp__.*__write", "mcp__srv__write_x", True, id="mcp"),
    ],
)
def test_a_matcher_is_javascripts_regular_expression(matcher: str, name: str, is_found: bool) -> None:
    """The pattern is ECMAScript's and is searched for, not compared."""
    assert found(matcher, name) is is_found
    assert not is_literal(matcher)


@pytest.mark.req("HOOK-088")
@pytest.mark.parametrize("matcher", ["*_file", "(", "[", "a{2,1}", "(?i)write", "\\", "\ud800", "(?P<x>a)"])
def test_what_is_no_expression_is_compared_as_text(matcher: str) -> None:
    """A broken pattern still guards the tool of exactly that name, and nothing else."""
    assert is_literal(matcher)
    assert found(f" {matcher} ", matcher)
    assert not found(matcher, "write_file")
    assert not found(matcher, f"x{matcher}")


@pytest.mark.req("HOOK-022", "HOOK-089")
@pytest.mark.parametrize(
    ("matcher", "everything"),
    [(None, True), ("", True), (" \ufeff\t", True), ("*", True), (" * ", True), (".*", False), ("**", False)],
)
def test_matchers_of_everything(matcher: str | None, everything: bool) -> None:
    """No matcher, a blank one and `*` need no name at all."""
    assert matches_everything(matcher) is everything


def test_a_name_that_cannot_be_searched_is_guarded() -> None:
    """A name with a lone surrogate matches: a guard too many is safer than one too few."""
    assert found("^write$", "\ud800")


@pytest.mark.parametrize("length", [LONGEST_NAME, LONGEST_NAME + 1])
def test_a_name_that_is_too_long_to_compare_is_guarded(length: int) -> None:
    """Up to the limit a name is searched, and a longer one counts as matched."""
    assert found("^write$", "x" * length) is (length > LONGEST_NAME)


@pytest.mark.parametrize(
    "matcher",
    ["^(a+)+$", "(a?){9999999}b", "(?:(a?){9999}){9999}c", "(?:a|){" + "9" * 5000 + "}c", "a|" * 50_000 + "b"],
)
def test_a_pattern_that_could_keep_the_engine_busy_is_not_compiled(matcher: str) -> None:
    """Its hook runs for every tool: a guard too many is safer than one too few."""
    assert found(matcher, "a" * 60 + "!")
    assert not is_literal(matcher)
