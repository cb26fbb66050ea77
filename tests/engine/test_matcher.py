import pytest

from hookline.engine._matcher import compile_matcher, is_literal, matches_everything


@pytest.mark.req("HOOK-021", "HOOK-087")
@pytest.mark.parametrize(
    ("matcher", "name", "found"),
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
def test_a_matcher_is_javascripts_regular_expression(matcher: str, name: str, found: bool) -> None:
    """The pattern is ECMAScript's and is searched for, not compared."""
    assert compile_matcher(matcher)(name) is found
    assert not is_literal(matcher)


@pytest.mark.req("HOOK-088")
@pytest.mark.parametrize("matcher", ["*_file", "(", "[", "a{2,1}", "(?i)write", "\\", "\ud800", "(?P<x>a)"])
def test_what_is_no_expression_is_compared_as_text(matcher: str) -> None:
    """A broken pattern still guards the tool of exactly that name, and nothing else."""
    assert is_literal(matcher)
    assert compile_matcher(f" {matcher} ")(matcher)
    assert not compile_matcher(matcher)("write_file")


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
    assert compile_matcher("^write$")("\ud800")
