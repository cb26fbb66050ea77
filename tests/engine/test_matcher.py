import pytest

from hookline.child.bounded_search import quick_length, search
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.vocabulary import ConfigSource
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.matcher import Match, is_literal, match, matches_everything


def hook(matcher: str | None, event: HookEventName = HookEventName.BEFORE_TOOL) -> HookEntry:
    return HookEntry(event=event, source=ConfigSource.USER, origin="o", location="l", command="c", matcher=matcher)


def found(matcher: str, name: str) -> Match:
    """Whether a tool's guard runs, with all the time that a search needs."""
    return match(hook(matcher), name, may_wait=True)


@pytest.mark.req("HOOK-022", "HOOK-089", "HOOK-163")
@pytest.mark.parametrize("event", HookEventName)
def test_what_needs_no_comparison(event: HookEventName) -> None:
    """No matcher, nothing to compare with, and an event that never asks: the hook runs."""
    assert (
        match(hook(None, event), "x") is match(hook(" * ", event), "x") is match(hook("^x$", event), None) is Match.YES
    )
    is_asked = EVENT_TABLE[event].matching is not Matching.NEVER_ASKED
    assert match(hook("^never$", event), "x") is (Match.NO if is_asked else Match.YES)


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
    assert found(matcher, name) is (Match.YES if is_found else Match.NO)
    assert not is_literal(matcher)


@pytest.mark.req("HOOK-088")
@pytest.mark.parametrize("matcher", ["*_file", "(", "[", "a{2,1}", "(?i)write", "\\", "\ud800", "(?P<x>a)"])
def test_what_is_no_expression_is_compared_as_text(matcher: str) -> None:
    """A broken pattern still guards the tool of exactly that name, and nothing else."""
    assert is_literal(matcher)
    assert found(f" {matcher} ", matcher) is Match.YES
    assert found(matcher, "write_file") is Match.NO
    assert found(matcher, f"x{matcher}") is Match.NO


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
    assert found("^write$", "\ud800") is Match.YES


LONG = "a" * 60 + "!"


@pytest.mark.parametrize(
    "matcher",
    ["^(a+)+$", "^(a|a)*$", "^(a?a?)*$", "^(?:a{1,9}){2,}$", "^([a-z]+)*$", "(.*)*=", r"(?:\w|a)+=", "a*" * 9 + "="],
)
def test_a_search_that_would_never_end_is_given_up(matcher: str) -> None:
    """Nothing hangs, whatever the pattern: the test is that it returns. Short names are searched all the same."""
    assert found(matcher, LONG) is Match.UNDECIDED
    assert found(matcher, LONG + "!") is Match.UNDECIDED
    assert found(matcher, "b") in (Match.YES, Match.NO)


@pytest.mark.parametrize(
    ("matcher", "name", "is_found"),
    [
        pytest.param("^([a-z]+_)+file$", "read_many_more_file", True, id="found"),
        pytest.param("^([a-z]+_)+file$", "read_many_more_files", False, id="not-found"),
        pytest.param("(?<x>a|b)+\\k<x>$", "_____________abb", True, id="named-group"),
        pytest.param("^.*read.*file$", "read" + "_" * 1000 + "file", True, id="long-name"),
        pytest.param("^(.é+)+$", "aé" * 20, True, id="beyond-ascii"),
        pytest.param("^(c+)+$", "c\x00" * 20, False, id="nul"),
    ],
)
def test_a_search_that_may_take_long_is_made_elsewhere(matcher: str, name: str, is_found: bool) -> None:
    """In a process of its own the same is found; without leave to wait, the caller is told that it would take long."""
    assert match(hook(matcher), name) is Match.SLOW
    assert len(name) > quick_length(matcher)
    assert found(matcher, name) is (Match.YES if is_found else Match.NO)


@pytest.mark.parametrize("matcher", ["(a?){9999999}b", "(?:b*|){50}c", "([ab]*){65535}c"])
def test_counting_takes_time_too(matcher: str) -> None:
    """However short the name is, nothing may be tried a hundred million times."""
    assert quick_length(matcher) < 3
    assert found(matcher, "xyz") is not Match.YES


@pytest.mark.parametrize("matcher", ["(?:(a?){9999}){9999}c", "(?:a|){" + "9" * 5000 + "}c", "a|" * 50_000 + "b"])
def test_a_pattern_that_could_crash_the_engine_is_not_compiled(matcher: str) -> None:
    """Its hook runs for every tool: a guard too many is safer than one too few."""
    assert found(matcher, "xyz") is Match.YES
    assert not is_literal(matcher)


def test_a_long_name_that_cannot_be_searched_is_guarded() -> None:
    """Also where it is searched elsewhere, a lone surrogate does not get past a guard."""
    assert found("^(a+_)+$", "\ud800" * 30) is not Match.NO


@pytest.mark.parametrize(
    "matcher",
    ["write_file|replace|" * 60 + "edit", "^mcp__.*__(read|write).*$", "^(?:run|exec)_[a-z_]+$", "https?", "a+?"],
)
def test_ordinary_matchers_are_searched_at_once(matcher: str) -> None:
    """No process is started for what everybody writes, with names as long as the models' makers allow."""
    assert quick_length(matcher) >= 64


def test_a_program_that_is_its_own_interpreter_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen program has no Python to ask; its guards run."""
    monkeypatch.setattr("sys.frozen", True, raising=False)
    assert found("^(b+_)+$", "b_" * 20) is Match.UNDECIDED


def test_a_search_that_was_made_is_known() -> None:
    """Once the search was made elsewhere, nobody has to wait for it again."""
    matcher, name = "^([a-y]+_)+file$", "read_many_more_files"
    assert match(hook(matcher), name) is Match.SLOW
    assert search(matcher, name) is False
    assert match(hook(matcher), name) is Match.NO
