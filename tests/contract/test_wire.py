import collections
import datetime as dt
import json
import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from hookline.contract.wire import MAX_DEPTH, cut_depth, parse_json, stringify_json, to_plain, trim, utc_timestamp


@dataclass
class Point:
    """A foreign value."""

    x: object


class Unspeakable:
    """An object of foreign code that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def nested(depth: int, innermost: Any = 1) -> Any:
    for _ in range(depth):
        innermost = [innermost]
    return innermost


def own_member() -> Any:
    ring: list[Any] = []
    ring += [ring, ring]
    return ring


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [
        pytest.param("\ufeff a \u00a0\u2028\r\n", "a", id="what-javascript-takes"),
        pytest.param("\x1ca\x85", "\x1ca\x85", id="what-only-python-takes"),
        pytest.param(" \t\n", "", id="nothing-left"),
    ],
)
def test_trim_is_javascripts(text: str, trimmed: str) -> None:
    """White space is what `String.prototype.trim()` takes: the byte-order mark too, and no control characters."""
    assert trim(text) == trimmed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"a":[1,2.5,true,null,"é"]}', {"a": [1, 2.5, True, None, "é"]}, id="ordinary"),
        pytest.param(r'"x\ud800y"', "x\ud800y", id="lone-surrogate"),
        pytest.param(r'"\ud83d\ude00"', "\U0001f600", id="surrogate-pair"),
        pytest.param("[1e999,-1e999]", [math.inf, -math.inf], id="beyond-a-double"),
        pytest.param("9" * 5000, math.inf, id="more-digits-than-python-reads"),
        pytest.param("18446744073709551617", 2**64 + 1, id="more-than-64-bits"),
        pytest.param('{"a":1,"a":2}', {"a": 2}, id="of-equal-keys-the-last"),
        pytest.param(' \n{"a" : 1} ', {"a": 1}, id="spaces"),
        pytest.param(json.dumps(nested(MAX_DEPTH)), nested(MAX_DEPTH), id="deep"),
        pytest.param(json.dumps(nested(MAX_DEPTH + 1)), nested(MAX_DEPTH, None), id="one-too-deep"),
        pytest.param("[" * 10_000 + "]" * 10_000, nested(MAX_DEPTH, None), id="ten-thousand-deep"),
    ],
)
def test_parse_takes_what_javascript_takes(text: str, value: object) -> None:
    """The value is that of `JSON.parse`, only that what lies too deep becomes null."""
    assert parse_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NaN",
        "[Infinity]",
        "-Infinity",
        "{'a':1}",
        "[1,]",
        '{"a":1} x',
        '"\n"',
        "01",
        "[" * 10_000,
        pytest.param("[" * 101 + '"' + r"\"" * 500_000, id="a-long-string-without-end"),
        pytest.param("[" * 101 + '"' + "a\\" * 500_001, id="a-long-string-with-a-backslash-at-its-end"),
    ],
)
def test_parse_refuses_what_javascript_refuses(text: str) -> None:
    """Anything else is a ValueError, also when it is long or deep, and without taking long."""
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param('{"s":"[[[["}', '{"s":"[[[["}', id="brackets-in-a-string"),
        pytest.param(
            '{"a":' + "[" * 200 + r'"]\"]"' + "]" * 200 + ',"b":' + "[" * 200 + "]" * 200 + ',"c":1}',
            '{"a":' + "[" * 99 + "null" + "]" * 99 + ',"b":' + "[" * 99 + "null" + "]" * 99 + ',"c":1}',
            id="twice-too-deep",
        ),
        pytest.param("[]," * 101, "[]," * 101, id="many-but-flat"),
    ],
)
def test_cut_depth_keeps_all_that_is_not_too_deep(text: str, cut: str) -> None:
    """Only values below the limit are replaced; what follows them stays."""
    assert cut_depth(text) == cut


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param({"a": [1, "é", None, True]}, '{"a":[1,"é",null,true]}', id="one-line-no-spaces"),
        pytest.param('\x00\x1f\b\f\n\r\t"\\\x7f/\u2028', r'"\u0000\u001f\b\f\n\r\t\"\\' + '\x7f/\u2028"', id="escapes"),
        pytest.param([1.0, -0.0, 1.5, 1e20], "[1,0,1.5,100000000000000000000]", id="floats-without-a-fraction"),
        pytest.param([math.nan, math.inf, 1.0], "[null,null,1]", id="not-a-number"),
        pytest.param([math.nan], "[null]", id="not-a-number-alone"),
        pytest.param(1.0, "1", id="a-float-alone"),
        pytest.param({"a": 1.0, "b": {"c": -2.0}}, '{"a":1,"b":{"c":-2}}', id="floats-in-objects"),
        pytest.param([2.0, -1.25e20, 1e21], "[2,-125000000000000000000,1e+21]", id="large-floats"),
        pytest.param({"v": "1.0"}, '{"v":"1.0"}', id="a-version-stays-text"),
        pytest.param({"v": "[1.0,2.0]"}, '{"v":"[1.0,2.0]"}', id="an-array-in-text-stays-text"),
        pytest.param(['a"1.0,\\', 2.0], r'["a\"1.0,\\",2]', id="text-beside-a-float"),
        pytest.param([1.0, nested(150)], "[1," + "[" * 150 + "1" + "]" * 150 + "]", id="deep-beside-a-float"),
        pytest.param({"k\ud800": "\udfff"}, r'{"k\ud800":"\udfff"}', id="lone-surrogates"),
        pytest.param(2**70, "1180591620717411303424", id="big-integer"),
        pytest.param([10**5000], "[null]", id="integer-too-long-to-write"),
        pytest.param({1: "a", None: "b"}, '{"1":"a","None":"b"}', id="odd-keys"),
        pytest.param(types.MappingProxyType({"a": 1}), '{"a":1}', id="read-only-mapping"),
        pytest.param({"m": types.MappingProxyType({"a": "\ud800"})}, r'{"m":{"a":"\ud800"}}', id="mapping-slowly"),
        pytest.param(collections.deque([1, 2]), "[1,2]", id="deque"),
        pytest.param([collections.deque([1.0])], "[[1]]", id="deque-slowly"),
        pytest.param(Point(Point("\ud800")), r'{"x":{"x":"\ud800"}}', id="dataclass-slowly"),
        pytest.param((1, {"a"}, frozenset()), '[1,["a"],[]]', id="tuple-and-sets"),
        pytest.param([(1.0, {2.0}, b"ab")], '[[1,[2],"YWI="]]', id="the-same-slowly"),
        pytest.param(dt.date(2025, 2, 18), '"2025-02-18"', id="date"),
        pytest.param([1j, 1.0], '["1j",1]', id="what-json-has-no-form-for"),
        pytest.param(Unspeakable(), '"<Unspeakable>"', id="what-cannot-be-shown"),
        pytest.param({Unspeakable(): [Unspeakable()]}, '{"<Unspeakable>":["<Unspeakable>"]}', id="nor-as-a-key"),
        pytest.param(own_member(), "[null,null]", id="its-own-member"),
        pytest.param(nested(10_000), "[" * 100 + "null" + "]" * 100, id="too-deep"),
        pytest.param(Point(nested(10_000)), '"<Point>"', id="too-deep-inside-an-object"),
    ],
)
def test_stringify_writes_what_javascript_writes(value: object, written: str) -> None:
    """The bytes are those of `JSON.stringify`, whatever is to be written."""
    assert stringify_json(value).decode() == written


def test_to_plain_leaves_only_json_types() -> None:
    """Subclasses and foreign objects become plain values that any JSON library takes."""

    class Text(str):
        __slots__ = ()

    class Number(int):
        pass

    plain = to_plain({"a": Text("x"), "b": Number(3), "c": True, "d": object})
    assert plain == {"a": "x", "b": 3, "c": True, "d": "<class 'object'>"}
    assert [type(value) for value in plain.values()] == [str, int, bool, str]


def test_timestamps_are_javascripts() -> None:
    """A moment is written as `Date.toISOString()` does it: UTC, three digits and a Z."""
    assert utc_timestamp(1739896200) == "2025-02-18T16:30:00.000Z"
    assert utc_timestamp(1739896200.9996) == "2025-02-18T16:30:00.999Z"
    now = utc_timestamp()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", now)
    told = dt.datetime.fromisoformat(now)
    assert abs((dt.datetime.now(dt.UTC) - told).total_seconds()) < 10


class FailingMapping(Mapping[str, int]):
    """A row of a closed cursor, say."""

    def __getitem__(self, key: str) -> int:
        raise RuntimeError("closed")

    def __iter__(self) -> Iterator[str]:
        raise KeyError("closed")

    def __len__(self) -> int:
        return 1


class FailingClass:
    """A proxy whose object is gone."""

    @property
    def __class__(self) -> type:
        raise RuntimeError("gone")

    @__class__.setter
    def __class__(self, _new: type) -> None:
        raise RuntimeError("gone")

    def __str__(self) -> str:
        return "a proxy"


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(FailingMapping(), id="mapping"),
        pytest.param(FailingClass(), id="class"),
        pytest.param(range(10**15), id="endless"),
        pytest.param({"deep": [FailingMapping()]}, id="deep"),
    ],
)
def test_nothing_keeps_the_rest_from_being_told(odd: object) -> None:
    """A value whose own code fails is told as text, and a guard is asked about everything beside it."""
    assert json.loads(stringify_json({"odd": odd, "command": "rm"}))["command"] == "rm"
    assert to_plain({"odd": odd, "command": "rm"})["command"] == "rm"
