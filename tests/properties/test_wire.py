"""JSON, whatever is in it."""

import datetime as dt
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.protocol.text.json_text import MAX_DEPTH, cut_depth, parse_json, stringify_json, to_plain, trim

# Surrogates included: hypothesis leaves them out unless it is asked for every character.
TEXT = st.text(st.characters(codec=None, exclude_categories=()))
SCALARS = st.none() | st.booleans() | st.integers(-(2**1000), 2**1000) | TEXT
JSON = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


class Odd:
    """An object that JSON knows nothing about, and that may not even have words for itself."""

    def __init__(self, words: str | None) -> None:
        self.words = words

    def __repr__(self) -> str:
        if self.words is None:
            raise RuntimeError("no words")
        return self.words


ODD = st.builds(Odd, st.none() | TEXT)
ANYTHING = st.recursive(
    SCALARS
    | st.floats()
    | st.binary()
    | st.integers(10**5000, 10**5000 + 1)
    | st.complex_numbers()
    | st.decimals()
    | st.dates()
    | st.timedeltas(max_value=dt.timedelta(days=10**6), min_value=dt.timedelta(0))
    | ODD,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(SCALARS | st.floats() | st.binary() | ODD, inner)
        | st.integers(95, 10_000).flatmap(lambda depth: inner.map(lambda value: nest(value, depth)))
    ),
    max_leaves=12,
)


@contextmanager
def deeper_recursion() -> Iterator[None]:
    """Allow a reader a little more than a writer: what could just be written must be readable elsewhere, not here."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 200)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def nest(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


@given(JSON)
def test_a_round_trip_loses_nothing(value: Any) -> None:
    """A value is read again as it was written: only whole floats become integers, and the text is one line."""
    written = stringify_json(value)
    assert parse_json(written.decode()) == value
    assert b"\n" not in written


@given(ANYTHING)
def test_anything_can_be_written(value: Any) -> None:
    """For any arguments of a tool, also NaN, the hook's input is JSON that every parser accepts."""
    written, plain = stringify_json(value).decode("utf-8"), to_plain(value)
    with deeper_recursion():
        json.loads(written, parse_constant=_refuse, parse_int=len)
        json.dumps(plain, allow_nan=False)


@given(st.text(alphabet='[]{}",:\\ a1', max_size=400) | st.text())
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    """Nothing but ValueError comes out of reading, and what is read is what Python's own reader finds."""
    try:
        value = parse_json(text)
    except ValueError:
        return
    assert value == json.loads(text)


@given(st.integers(0, 300), st.lists(st.integers(0, 300), max_size=4))
def test_cutting_keeps_what_is_not_too_deep(before: int, depths: list[int]) -> None:
    """Values around a value that is nested too deeply stay."""
    text = json.dumps({"first": before, **{f"deep{i}": nest(i, depth) for i, depth in enumerate(depths)}, "last": 1})
    value = json.loads(cut_depth(text))
    assert (value["first"], value["last"], len(value)) == (before, 1, len(depths) + 2)
    for index, depth in enumerate(depths):
        room = MAX_DEPTH - 1
        assert value[f"deep{index}"] == (nest(index, depth) if depth <= room else nest(None, room))


@given(TEXT)
def test_trimming_is_idempotent(text: str) -> None:
    """Trimming twice is the same as trimming once."""
    assert trim(trim(text)) == trim(text)


@given(st.floats(allow_nan=True))
def test_numbers_are_javascripts(number: float) -> None:
    """A whole number has no fraction, and NaN is null."""
    written = stringify_json([number]).decode()
    if math.isfinite(number):
        assert json.loads(written) == [number]
        assert not written.endswith(".0]")
    else:
        assert written == "[null]"


# Beyond these JavaScript rounds integers, and spells the exponents of floats in its own way.
COMMON_NUMBERS = st.integers(-(2**53), 2**53) | st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) >= 1e-4)
# JavaScript puts keys that are numbers first.
NAMES = TEXT.map(lambda name: f"k{name}")
COMMON_JSON = st.recursive(
    st.none() | st.booleans() | COMMON_NUMBERS | TEXT | st.sampled_from(["1.0,2.0]", "x" * 5000]),
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def node() -> Iterator[subprocess.Popen[bytes]]:
    """JavaScript itself: answers a line of JSON with what `JSON.stringify` makes of it."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("needs node")
    script = """require("readline").createInterface({input: process.stdin, crlfDelay: Infinity})
        .on("line", line => process.stdout.write(JSON.stringify(JSON.parse(line)) + "\\n"))"""
    with subprocess.Popen([program, "-e", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@given(value=COMMON_JSON)
def test_what_is_written_is_what_javascript_writes(node: subprocess.Popen[bytes], value: Any) -> None:
    """The bytes are those of JavaScript's own `JSON.stringify`."""
    assert node.stdin is not None
    assert node.stdout is not None
    node.stdin.write(json.dumps(value).encode() + b"\n")
    node.stdin.flush()
    assert stringify_json(value) + b"\n" == node.stdout.readline()


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} was written")
