"""The lines between us and a worker."""

import json

import pytest

from hookline.protocol.text.json_text import stringify_json
from hookline.runners.worker.lines import WrongLineError, read_answer, read_ready, request_line


@pytest.mark.parametrize(
    ("line", "at_once"),
    [
        (b'{"ready":true}', 1),
        (b'\xef\xbb\xbf{"ready":true}\r', 1),
        (b'{"ready":true,"concurrency":8}', 8),
        (b'{"concurrency":1000,"ready":true,"x":1}', 64),
    ],
)
def test_the_first_line_says_how_many_events_it_takes(line: bytes, at_once: int) -> None:
    """One if it says nothing of it, and never more than we send."""
    assert read_ready(line) == at_once


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"ready",
        b"[]",
        b'{"ready":"true"}',
        b'{"ready":true,"concurrency":0}',
        b'{"ready":true,"concurrency":true}',
        b'{"ready":true,"concurrency":-1}',
        b'{"ready":true,"concurrency":"2"}',
        b'{"ready":true,"concurrency":1e9}',
        b'{"ready":true,"concurrency":null}',
    ],
)
def test_any_other_first_line_is_wrong(line: bytes) -> None:
    """Also one that only looks like it."""
    with pytest.raises(WrongLineError):
        read_ready(line)


def test_texts_that_are_no_unicode_lose_no_deny() -> None:
    """A lone surrogate or a wrong byte is replaced, as in what a command prints."""
    event_id, outcome = read_answer(b'{"id":"a","exit":2,"stderr":"no\xff \\ud800"}')
    assert (event_id, outcome.exit_code) == ("a", 2)
    assert outcome.stderr.decode().startswith("no")
    assert b"deny" in read_answer(b'{"id":"a","output":{"decision":"deny","reason":"\xff"}}')[1].stdout


@pytest.mark.parametrize(
    ("fields", "stderr"),
    [
        (b'"exit":2,"stderr":null', b""),
        (b'"exit":2,"stderr":{"why":1}', b'{"why":1}'),
        (b'"exit":2,"stderr":"no","output":[true]', b"no"),
    ],
)
def test_what_is_beside_an_exit_code_loses_no_deny(fields: bytes, stderr: bytes) -> None:
    """The code alone says it; where a text is expected anything can be shown, and the output is not read."""
    _, outcome = read_answer(b'{"id":"a",' + fields + b"}")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (2, b"", stderr)


@pytest.mark.parametrize("rest", [b'"stderr":null', b'"exit":null'])
def test_null_is_the_same_as_nothing(rest: bytes) -> None:
    """As where an optional value of a program is written down."""
    _, outcome = read_answer(b'{"id":"a","output":{"decision":"deny"},' + rest + b"}")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b'{"decision":"deny"}', b"")


@pytest.mark.parametrize("answer_id", [b"7", b"null", b'["a"]', b"true", b"1.5"])
@pytest.mark.parametrize("rest", [b'"output":null', b'"exit":2,"stderr":null'])
def test_an_id_is_a_text(answer_id: bytes, rest: bytes) -> None:
    """Text that is not a valid line."""
    with pytest.raises(WrongLineError, match="without the id of an event"):
        read_answer(b'{"id":' + answer_id + b"," + rest + b"}")


def test_an_answer_that_is_nested_too_deeply_loses_no_deny() -> None:
    """Beside whatever else the answer has."""
    deep = b"[" * 50_000 + b"]" * 50_000
    _, outcome = read_answer(b'{"id":"1","exit":2,"x":' + deep + b"}")
    assert outcome.exit_code == 2


def test_a_request_is_one_line() -> None:
    """Text around the JSON that a command would get."""
    assert request_line("a-1", "BeforeTool", b' {"x":1}\n') == b'{"id":"a-1","event":"BeforeTool","input":{"x":1}}\n'


def test_a_request_is_one_line_in_every_language() -> None:
    """Any text may be in it: an agent must not be able to break a guard by its arguments."""
    text = "a\x85b\u2028c\u2029d\u2027\x0b\x1c"
    line = request_line("a-1", "BeforeTool", stringify_json({"text": text})).decode()
    assert len(line.splitlines()) == 1
    assert json.loads(line)["input"] == {"text": text}


@pytest.mark.attack("30.F11", "a worker's line with a field twice")
@pytest.mark.req("DELTA-ANSW-002")
@pytest.mark.parametrize(
    "fields",
    [
        b'"output":{"decision":"deny"},"output":null',
        rb'"output":{"decision":"deny"},"outpu\u0074":null',
        b'"output":{"decision":"deny"},"output":{"decision":"allow"}',
        b'"exit":2,"output":null,"exit":0',
        b'"output":null,"decision":"deny"',
        b'"output":null,"ok":false',
        b'"output":null,"exit_code":2',
        b'"output":{},"exitCode":"2"',
        b'"output":null,"id":"a"',
        b'"output":null,"output":null,"x":"\xff"',
    ],
)
def test_a_line_that_can_be_read_in_two_ways_is_wrong(fields: bytes) -> None:
    """Of a field that is given twice, and of a no in a field that is not read, no yes is made."""
    with pytest.raises(WrongLineError):
        read_answer(b'{"id":"a",' + fields + b"}")


@pytest.mark.attack("30.F18", "a worker reports an error, with or without a deny beside it")
@pytest.mark.req("DELTA-ANSW-002")
@pytest.mark.parametrize(
    ("fields", "code", "stderr"),
    [
        (b'"error":"no rules"', 1, b"no rules"),
        (b'"error":"no rules","output":null', 1, b"no rules"),
        (b'"error":{"message":"no rules"},"output":{}', 1, b'{"message":"no rules"}'),
        (b'"error":"no rules","exit":2,"stderr":"denied"', 2, b"denied\nno rules"),
        (b'"error":"no rules","output":{"decision":"deny"}', 0, b"no rules"),
        (b'"error":"no rules","output":{"continue":false}', 0, b"no rules"),
        (b'"error":"no rules","output":{"decision":"allow"}', 1, b"no rules"),
        (b'"error":null,"output":{"decision":"allow"}', 0, b""),
        (b'"error":"","output":{"decision":"allow"}', 0, b""),
        (b'"event":"BeforeTool","output":{"decision":"allow"}', 0, b""),
    ],
)
def test_an_error_in_a_line_is_a_failure(fields: bytes, code: int, stderr: bytes) -> None:
    """Its text is the hook's stderr; a deny beside it is honored."""
    _, outcome = read_answer(b'{"id":"a",' + fields + b"}")
    assert (outcome.exit_code, outcome.stderr) == (code, stderr)
