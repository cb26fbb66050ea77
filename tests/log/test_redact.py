import json
import time
from typing import Any

import pytest

from hookline.contract.records import HookRecord, LogLevel
from hookline.log.redact import Redactor

ENVIRON = {
    "API_TOKEN": "tok-12345",
    "API_TOKEN_LONG": "tok-12345-and-more",
    "QUOTED_TOKEN": 'pa"ss\\wörd',
    "SHORT_TOKEN": "abc",
    "HARMLESS": "harmless-value",
}


def run(message: str = "m", **fields: Any) -> HookRecord:
    texts = {"stdin": "", "stdout": "", "stderr": "", **fields}
    return HookRecord(time="2025", level=LogLevel.INFO, message=message, truncated=False, **texts)


def redacted(record: HookRecord) -> HookRecord:
    return Redactor(["*TOKEN*", "password"], ENVIRON).redact(record)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param('{"password":"x"}', '{"password":"[redacted]"}', id="exact"),
        pytest.param('{"PassWord":7}', '{"PassWord":"[redacted]"}', id="any-case"),
        pytest.param('{"my_token_2":["x"]}', '{"my_token_2":"[redacted]"}', id="glob"),
        pytest.param('{"passwords":"x"}', '{"passwords":"x"}', id="whole-names-only"),
        pytest.param('[{"a":[{"password":null}]}]', '[{"a":[{"password":"[redacted]"}]}]', id="any-depth"),
        pytest.param("is tok-12345!", "is [redacted]!", id="environment-value"),
        pytest.param("tok-12345-and-more", "[redacted]", id="longest-environment-value-first"),
        pytest.param('{"tok-12345":1}', '{"[redacted]":1}', id="environment-value-as-a-key"),
        pytest.param("abc harmless-value", "abc harmless-value", id="too-short-or-not-named"),
        pytest.param('{"password":"x","b":[1]}', '{"password":"[redacted]","b":[1]}', id="json-text"),
        pytest.param('[{"a_token": {"b": "x"}}]\n', '[{"a_token":"[redacted]"}]', id="json-array-text"),
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
    ],
)
def test_secrets_are_replaced(value: str, shown: str) -> None:
    """A value under a matching key, and the value of a matching variable anywhere, is not shown."""
    assert redacted(run(stdin=value)) == run(stdin=shown)


def test_every_field_of_a_record_is_cleaned() -> None:
    """The message, the hook's own variables and its command are texts like any other; numbers stay."""
    given = {"command": "x tok-12345", "env": {"A_TOKEN": "short", "B": "tok-12345"}, "exit_code": 3}
    shown = {"command": "x [redacted]", "env": {"A_TOKEN": "[redacted]", "B": "[redacted]"}, "exit_code": 3}
    assert redacted(run("got tok-12345", **given)) == run("got [redacted]", **shown)


def test_a_pattern_can_name_a_field_of_the_log() -> None:
    """Whoever wants no input in the log at all can have that; what is not there is not invented."""
    cleaned = Redactor(["stdin", "systemMessage", "error", "level", "time"], {}).redact(run(stdin="x", stdout="y"))
    assert cleaned == run(stdin="[redacted]", stdout="y")


def test_no_patterns_replace_nothing() -> None:
    """Without patterns every value stays."""
    record = run("tok-12345", stdin='{"password": "tok-12345"}')
    assert Redactor([], ENVIRON).redact(record).message == "tok-12345"


@pytest.mark.parametrize(
    "text",
    ['\\"' * 200_000, '"' * 200_000, '{"a":' * 100_000, '"a":"' * 100_000, '"\\' * 200_000, '"password":"' * 50_000],
    ids=["escaped-quotes", "quotes", "objects", "members", "backslashes", "secrets"],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    """No text makes the search quadratic."""
    started = time.monotonic()
    redacted(run(stdout=text))
    assert time.monotonic() - started < 5
