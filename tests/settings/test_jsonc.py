import math

import pytest

from hookline.settings.read.jsonc import PathStep, parse, plain_json, position_of, show_path, span_of

COMMENTED = """\
// for the team
{
  "url": "http://x/*y*/", /* keep
  this */ "list": [1, 2, ], // "not": "this"
  "quote": "\\"//\\"", "last": {"a": 1, /* , */ },
}
"""


def test_comments_and_trailing_commas_are_accepted() -> None:
    """Comments and trailing commas mean nothing, and what looks like them inside a string is text."""
    assert parse(COMMENTED) == {"url": "http://x/*y*/", "list": [1, 2], "quote": '"//"', "last": {"a": 1}}


def test_every_character_keeps_its_place() -> None:
    """Blanking neither moves a character nor joins lines, so that error messages point at the right place."""
    plain = plain_json(COMMENTED)
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in COMMENTED.split("\n")]
    assert all(after in (before, " ") for before, after in zip(COMMENTED, plain, strict=True))


@pytest.mark.parametrize("text", ["", "{", "[1 2]", '{"a": NaN}', "[-Infinity]", "/* {}", '{"a": "x', "// {}"])
def test_what_is_not_json_is_refused(text: str) -> None:
    """Only comments and trailing commas are accepted."""
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize(
    ("digits", "number"), [("9" * 400, math.inf), ("-" + "9" * 5000, -math.inf), ("7" * 30, int("7" * 30))]
)
def test_a_number_of_any_length_is_a_number(digits: str, number: float) -> None:
    """A number that nothing can hold is infinite: it does not cost the file."""
    assert parse(f'{{"timeout": {digits}}}') == {"timeout": number}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 1)),
        (("url",), (3, 10)),
        (("list",), (4, 19)),
        (("list", 1), (4, 23)),
        (("list", 2), None),
        (("list", 9), None),
        (("list", "a"), None),
        (("last", "a"), (5, 36)),
        (("last", 0), None),
        (("missing",), None),
        (("url", "deeper"), None),
    ],
)
def test_values_are_found_by_their_path(path: tuple[PathStep, ...], place: tuple[int, int] | None) -> None:
    """A path leads to the line and column of its value, counted from 1, or to nothing."""
    assert position_of(COMMENTED, path) == place


def test_of_two_equal_keys_the_last_is_found() -> None:
    """The place is that of the value in use."""
    assert position_of('{"a": 1,\n "a": 2}', ["a"]) == (2, 7)


def test_long_numbers_do_not_hide_what_follows() -> None:
    """A number that Python would not read is stepped over."""
    assert position_of(f"[{'9' * 5000},\n 5]", [1]) == (2, 2)


@pytest.mark.parametrize(
    ("path", "shown"), [((), ""), (("hooks", "BeforeTool", 0, "command"), "hooks.BeforeTool[0].command"), ((1,), "[1]")]
)
def test_paths_are_shown_as_people_write_them(path: tuple[PathStep, ...], shown: str) -> None:
    """Keys with dots, indexes in brackets."""
    assert show_path(path) == shown


@pytest.mark.parametrize(
    ("path", "value"), [((), None), (("list",), "[1, 2, ]"), (("quote",), '"\\"//\\""'), (("no",), None)]
)
def test_a_value_is_found_from_its_start_to_its_end(path: tuple[PathStep, ...], value: str | None) -> None:
    """The offsets enclose the value as it is written, comments and all."""
    span = span_of(COMMENTED, path)
    if path == ():
        value = COMMENTED[COMMENTED.index("{") : -1]
    assert (span and COMMENTED[slice(*span)]) == value
