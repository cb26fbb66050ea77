import collections
import datetime as dt
import enum
import json
import math
import re
import types
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest
from google.genai import types as genai

from hookline.protocol.text.json_text import (
    MAX_DEPTH,
    cut_depth,
    parse_json,
    stringify_json,
    to_plain,
    trim,
    utc_timestamp,
)


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
        pytest.param([2.0, -1.25e20, 1e21], "[2,-125000000000000000000,1e21]", id="large-floats"),
        pytest.param({"v": "1.0"}, '{"v":"1.0"}', id="a-version-stays-text"),
        pytest.param({"v": "[1.0,2.0]"}, '{"v":"[1.0,2.0]"}', id="an-array-in-text-stays-text"),
        pytest.param(['a"1.0,\\', 2.0], r'["a\"1.0,\\",2]', id="text-beside-a-float"),
        pytest.param([1.0, nested(150)], "[1," + "[" * 150 + "1" + "]" * 150 + "]", id="deep-beside-a-float"),
        pytest.param({"k\ud800": "\udfff"}, r'{"k\ud800":"\udfff"}', id="lone-surrogates"),
        pytest.param(2**70, "1180591620717411303424", id="big-integer"),
        pytest.param([10**5000], "[null]", id="integer-too-long-to-write"),
        pytest.param({1: "a", None: "b"}, '{"1":"a","null":"b"}', id="odd-keys"),
        pytest.param({True: 1, 2.0: 1, 2.5: 1}, '{"true":1,"2":1,"2.5":1}', id="keys-that-are-numbers"),
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


class Text(str):
    """A text with its own `__str__`, like `markupsafe.Markup`."""

    __slots__ = ()

    def __str__(self) -> str:
        return "hidden"

    __repr__ = __str__


class Number(int):
    """A number with its own `__str__`, like `bool`."""

    def __str__(self) -> str:
        return "hidden"


class Real(float):
    """A float with its own `__str__`, like `numpy.float64`."""

    def __str__(self) -> str:
        return "hidden"


class Bytes(bytes):
    """Bytes of another name."""


class Table(dict[str, Any]):
    """A dictionary of another name."""


class Row(list[Any]):
    """A list of another name."""


class Colour(enum.Enum):
    """A plain enumeration."""

    RED = "red"


class Level(enum.IntEnum):
    """An enumeration of numbers."""

    HIGH = 3


class Kind(enum.StrEnum):
    """An enumeration of texts."""

    FILE = "file"


class OlderKind(str, enum.Enum):  # noqa: UP042 - still the usual spelling in tools
    """The same in the older spelling."""

    FILE = "file"


class Pair(NamedTuple):
    """A tuple with names, which JSON has no form for."""

    left: Any
    right: Any


class Struct(msgspec.Struct):
    """A value of msgspec's."""

    command: Any


@attrs.define
class Attributes:
    """A value of attrs'."""

    command: Any


class Model(pydantic.BaseModel):
    """A value of pydantic's."""

    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    command: Any = pydantic.Field(alias="theCommand")
    unset: int | None = None


class Scalar:
    """A number as numpy has them: no subclass of anything."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def tolist(self) -> Any:
        """The value as Python's own."""
        return self._value


@pytest.mark.parametrize(
    ("value", "arrived"),
    [
        pytest.param(Text("rm -rf"), "rm -rf", id="str-subclass"),
        pytest.param(collections.UserString("rm"), "rm", id="user-string"),
        pytest.param(Kind.FILE, "file", id="str-enum"),
        pytest.param(OlderKind.FILE, "file", id="str-and-enum"),
        pytest.param(Number(3), 3, id="int-subclass"),
        pytest.param(Level.HIGH, 3, id="int-enum"),
        pytest.param(Colour.RED, "red", id="enum"),
        pytest.param(True, True, id="bool"),
        pytest.param(Real(1.5), 1.5, id="float-subclass"),
        pytest.param(Real(2.0), 2, id="whole-float-subclass"),
        pytest.param(Real("nan"), None, id="nan-subclass"),
        pytest.param(Decimal("12.50"), 12.5, id="decimal"),
        pytest.param(Decimal("3.0"), 3, id="whole-decimal"),
        pytest.param(Decimal("Infinity"), None, id="infinite-decimal"),
        pytest.param(Fraction(1, 4), 0.25, id="fraction"),
        pytest.param(Scalar(True), True, id="numpy-bool"),
        pytest.param(Scalar(7), 7, id="numpy-int"),
        pytest.param(Scalar([[1.0, 2.5]]), [[1, 2.5]], id="numpy-array"),
        pytest.param(Table(a=Text("x")), {"a": "x"}, id="dict-subclass"),
        pytest.param(collections.OrderedDict(a=1), {"a": 1}, id="ordered-dict"),
        pytest.param(collections.defaultdict(list, a=[1]), {"a": [1]}, id="defaultdict"),
        pytest.param(collections.UserDict(a=Number(1)), {"a": 1}, id="user-dict"),
        pytest.param(collections.ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}, id="chain-map"),
        pytest.param(types.SimpleNamespace(a=Text("x")), {"a": "x"}, id="namespace"),
        pytest.param(Row([Text("x")]), ["x"], id="list-subclass"),
        pytest.param(collections.UserList([1]), [1], id="user-list"),
        pytest.param(Pair(Text("x"), 1), ["x", 1], id="named-tuple"),
        pytest.param({"a": 1}.keys(), ["a"], id="keys"),
        pytest.param({"a": 1}.values(), [1], id="values"),
        pytest.param(range(3), [0, 1, 2], id="range"),
        pytest.param(b"ab", "YWI=", id="bytes"),
        pytest.param(Bytes(b"ab"), "YWI=", id="bytes-subclass"),
        pytest.param(bytearray(b"ab"), "YWI=", id="bytearray"),
        pytest.param(dt.datetime(2025, 2, 18, 16, 30, tzinfo=dt.UTC), "2025-02-18T16:30:00Z", id="datetime"),
        pytest.param(dt.date(2025, 2, 18), "2025-02-18", id="date"),
        pytest.param(uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", id="uuid"),
        pytest.param(Path("/etc/passwd"), "/etc/passwd", id="path"),
        pytest.param(Point(Text("x")), {"x": "x"}, id="dataclass"),
        pytest.param(Struct(Text("x")), {"command": "x"}, id="struct"),
        pytest.param(Attributes(Number(1)), {"command": 1}, id="attrs"),
        pytest.param(Model(theCommand="x"), {"theCommand": "x"}, id="pydantic"),
        pytest.param(Model(theCommand=object()), "<Model>", id="pydantic-that-cannot-be-written"),
        pytest.param(
            [genai.Part(text="x"), genai.Part(function_call=genai.FunctionCall(name="f", args={"n": 1.0}))],
            [{"text": "x"}, {"functionCall": {"name": "f", "args": {"n": 1}}}],
            id="sdk-parts",
        ),
        pytest.param({Text("k"): 1, Number(2): 2, Kind.FILE: 3}, {"k": 1, "2": 2, "file": 3}, id="keys-of-subclasses"),
    ],
)
@pytest.mark.parametrize(
    "beside", [None, "\ud800", "x" * 5000], ids=["alone", "beside-a-surrogate", "beside-long-text"]
)
def test_every_value_arrives_as_what_it_is(value: object, arrived: object, beside: str | None) -> None:
    """A text arrives as text, a number as a number, a list as a list and an object as an object, on every path."""
    if arrived == "<Model>":
        arrived = str(value)
    assert json.loads(stringify_json({"value": value, "beside": beside}))["value"] == arrived
    plain = to_plain(value)
    assert plain == arrived
    assert json.loads(json.dumps(plain)) == arrived


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param([1.0, 2.5, {"a": [-3.0]}], '[1,2.5,{"a":[-3]}]', id="nested"),
        pytest.param({2.0: (4.0, {6.0})}, '{"2":[4,[6]]}', id="keys-tuples-and-sets"),
        pytest.param(Point(1.0), '{"x":1}', id="dataclass"),
        pytest.param("1.0,2.0]", '"1.0,2.0]"', id="text"),
        pytest.param([0.5, 1.25], "[0.5,1.25]", id="fractions"),
    ],
)
def test_floats_in_a_long_text_are_javascripts(value: object, written: str) -> None:
    """However long the text beside it, 1.0 is written as 1, and text stays as it is."""
    assert stringify_json([LONG, value]).decode() == f'["{LONG}",{written}]'


def test_to_plain_leaves_only_json_types() -> None:
    """Subclasses and foreign objects become plain values that any JSON library takes."""
    plain = to_plain({"a": Text("x"), "b": Number(3), "c": True, "d": object})
    assert plain == {"a": "x", "b": 3, "c": True, "d": "<class 'object'>"}
    assert [type(value) for value in plain.values()] == [str, int, bool, str]


def test_timestamps_are_javascripts() -> None:
    """A moment is written as `Date.toISOString()` does it: UTC, three digits and a Z."""
    assert utc_timestamp(1739896200) == "2025-02-18T16:30:00.000Z"
    assert utc_timestamp(1739896200.9996) == "2025-02-18T16:30:00.999Z"
    assert utc_timestamp(1739896200.123) == "2025-02-18T16:30:00.123Z"
    assert utc_timestamp(1739896201.007) == "2025-02-18T16:30:01.007Z"
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
    """A value whose own code fails is written as text, and guards get everything else."""
    assert json.loads(stringify_json({"odd": odd, "command": "rm"}))["command"] == "rm"
    assert to_plain({"odd": odd, "command": "rm"})["command"] == "rm"
