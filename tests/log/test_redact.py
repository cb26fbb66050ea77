import json
import time
from typing import Any

import pytest

from hookline.log import LogLevel, LogRecord, Redactor

ENVIRON = {
    "API_TOKEN": "tok-12345",
    "API_TOKEN_LONG": "tok-12345-and-more",
    "QUOTED_TOKEN": 'pa"ss\\wörd',
    "SHORT_TOKEN": "abc",
    "HARMLESS": "harmless-value",
}


def redacted(message: str = "m", **fields: Any) -> LogRecord:
    return Redactor(["*TOKEN*", "password"], ENVIRON).redact(LogRecord(1, LogLevel.INFO, message, fields))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param({"password": "x"}, {"password": "[redacted]"}, id="exact"),
        pytest.param({"PassWord": 7}, {"PassWord": "[redacted]"}, id="any-case"),
        pytest.param({"my_token_2": ["x"]}, {"my_token_2": "[redacted]"}, id="glob"),
        pytest.param({"passwords": "x"}, {"passwords": "x"}, id="whole-names-only"),
        pytest.param([{"a": ({"password": None},)}], [{"a": [{"password": "[redacted]"}]}], id="any-depth"),
        pytest.param("is tok-12345!", "is [redacted]!", id="environment-value"),
        pytest.param("tok-12345-and-more", "[redacted]", id="longest-environment-value-first"),
        pytest.param({"tok-12345": 1}, {"[redacted]": 1}, id="environment-value-as-a-key"),
        pytest.param("abc harmless-value", "abc harmless-value", id="too-short-or-not-named"),
        pytest.param('{"password":"x","b":[1]}', '{"password":"[redacted]","b":[1]}', id="json-text"),
        pytest.param('[{"a_token": {"b": "x"}}]\n', '[{"a_token":"[redacted]"}]', id="json-array-text"),
        pytest.param(b'{"password":"x"}', '{"password":"[redacted]"}', id="json-bytes"),
        pytest.param('{"p":{"password":"x"},"p":1}', '{"p":1}', id="a-key-that-stands-twice"),
        pytest.param(
            json.dumps({"s": json.dumps({"password": "x"})}, separators=(",", ":")),
            json.dumps({"s": json.dumps({"password": "[redacted]"}, separators=(",", ":"))}, separators=(",", ":")),
            id="json-text-in-json-text",
        ),
        pytest.param(json.dumps({"a": 'pa"ss\\wörd'}), '{"a":"[redacted]"}', id="escaped-environment-value"),
        pytest.param('say "pa\\"ss\\\\w\\u00f6rd" x', 'say "[redacted]" x', id="escaped-in-broken-json"),
        pytest.param(
            'log: {"password": "x\\"y", "n": 1', 'log: {"password": "[redacted]", "n": 1', id="member-in-broken-json"
        ),
        pytest.param('{"a": 1, "password": "secr', '{"a": 1, "password": "[redacted]"', id="cut-in-the-secret"),
        pytest.param('it"s {"password":"x"}', 'it"s {"password":"[redacted]"}', id="after-a-stray-quote"),
        pytest.param(
            r'say "{\"password\": \"x\\\"y\", \"n\": 1}',
            r'say "{\"password\": \"[redacted]\", \"n\": 1}',
            id="escaped-member",
        ),
        pytest.param('x {"password": ["a", "b"], "n"', 'x {"password": "[redacted]"', id="container-in-broken-json"),
        pytest.param('{"password": ', '{"password": ', id="cut-before-the-secret"),
        pytest.param('{"password": 123, ', '{"password": "[redacted]", ', id="number-in-broken-json"),
        pytest.param("plain", "plain", id="plain"),
        pytest.param(3, 3, id="number"),
    ],
)
def test_secrets_are_replaced(value: Any, shown: Any) -> None:
    """A value under a matching key, and the value of a matching variable anywhere, is not shown."""
    assert redacted(value=value) == LogRecord(1, LogLevel.INFO, "m", {"value": shown})


def test_fields_and_message_of_the_record_itself() -> None:
    """A field of a matching name and a secret in the message are replaced too."""
    assert redacted("got tok-12345", token="x") == LogRecord(  # noqa: S106 - a field's name
        1, LogLevel.INFO, "got [redacted]", {"token": "[redacted]"}
    )


def test_no_patterns_replace_nothing() -> None:
    """Without patterns every value stays."""
    record = LogRecord(1, LogLevel.INFO, "tok-12345", {"password": "tok-12345"})
    assert Redactor([], ENVIRON).redact(record) == record


@pytest.mark.parametrize(
    "text",
    ['\\"' * 200_000, '"' * 200_000, '{"a":' * 100_000, '"a":"' * 100_000, '"\\' * 200_000, '"password":"' * 50_000],
    ids=["escaped-quotes", "quotes", "objects", "members", "backslashes", "secrets"],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    """No text makes the search quadratic."""
    started = time.monotonic()
    redacted(stdout=text)
    assert time.monotonic() - started < 5
