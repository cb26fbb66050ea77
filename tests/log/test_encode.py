import json
from typing import Any

import pytest

from hookline.log.redact.redactor import Redactor
from hookline.log.write.encode import Encoder
from hookline.log.write.logger import Loggable
from hookline.protocol.records import HookRecord, LogLevel, LogRecord, SkipRecord
from hookline.protocol.text.secret_names import SECRET_NAMES


def run(message: str = "m", **fields: Any) -> HookRecord:
    texts = {"stdin": "", "stdout": "", "stderr": "", **fields}
    return HookRecord(time="2025-02-18T16:30:00.000Z", level=LogLevel.INFO, message=message, truncated=False, **texts)


def encoded(entry: Loggable, field_limit: int = 1000, redactor: Redactor | None = None) -> dict[str, Any]:
    (line,) = Encoder(field_limit, redactor or Redactor((), {})).lines(entry)
    assert (line[-1:], line.count(b"\n")) == (b"\n", 1)
    value: dict[str, Any] = json.loads(line)
    return value


@pytest.mark.parametrize("field_limit", [8, 1000])
@pytest.mark.parametrize("text", ["a\nb\u2028", "\ud800", 'a"\\', "ä😀"])
def test_any_text_stands_in_one_line(text: str, field_limit: int) -> None:
    """Line breaks are escaped, and a lone surrogate survives, whether or not the record has to be cut."""
    assert encoded(run(stdout=text), field_limit)["stdout"] == text


@pytest.mark.parametrize("field_limit", [8, 1000])
def test_a_value_of_a_foreign_type_is_written_as_text(field_limit: int) -> None:
    """A program may have a session id of any type."""

    class Session:
        def __str__(self) -> str:
            return "mine"

    assert encoded(run(session=Session()), field_limit)["session"] == "mine"


def test_long_fields_are_cut() -> None:
    """A long text is cut at any depth, and says how much is missing; a text of the limit's length is whole."""
    line = encoded(run("12345", stdin="1234", stdout="123456", env={"X": "1234567"}), 4)
    assert (line["message"], line["stdin"], line["stdout"], line["env"]) == (
        "1234… (1 more characters)",
        "1234",
        "1234… (2 more characters)",
        {"X": "1234… (3 more characters)"},
    )
    line = encoded(SkipRecord(level=LogLevel.INFO, message="m", hooks=["12345", "1"]), 4)
    assert line["hooks"] == ["1234… (1 more characters)", "1"]


@pytest.mark.parametrize("before", range(0, 24, 3))
@pytest.mark.parametrize(
    "secret",
    ["AKIAIOSFODNN7EXAMPLE", "very-secret-value", 'password="hunter22abc"', "Bearer abc.def-1234", "q" * 9000 + "z"],
    ids=["form", "environment", "name", "header", "long"],
)
def test_a_secret_across_the_cut_does_not_leave_its_beginning(secret: str, before: int) -> None:
    """A text is cut a little further than shown, then cleaned, then cut, wherever the end falls in the secret."""
    redactor = Redactor(SECRET_NAMES, {"MY_TOKEN": "very-secret-value", "LONG_TOKEN": "q" * 9000 + "z"})
    text = "." * (100 - before) + secret + " " + "!" * 20_000
    shown = encoded(run(stdout=text), 100, redactor)["stdout"]
    assert shown.startswith("." * (100 - before))
    assert shown.endswith(f"… ({len(text) - 100} more characters)")
    for part in ("AKIA", "very", "hunt", "abc.", "qqqq"):
        assert part not in shown


def test_secrets_that_make_a_text_shorter_do_not_show_what_is_behind_the_cut() -> None:
    """Half a secret at the end of what is searched is never reached, however much was replaced before it."""
    secret = "AKIAIOSFODNN7EXAMPLE"  # noqa: S105 - the usual example
    redactor = Redactor((), {})
    text = (secret + " ") * 100 + "." * (100 + redactor.margin - 2100 - 6) + secret
    shown = encoded(run(stdout=text), 100, redactor)["stdout"]
    assert shown == f"{'[redacted] ' * 4}[redacted]… ({len(text) - 100} more characters)"


def test_a_secret_behind_the_cut_is_replaced_where_a_hook_printed_it() -> None:
    """The input's end is not written, and the secrets there are known all the same."""
    given = json.dumps({"tool_input": {"content": "x" * 100_000, "password": "hunter22"}}).encode()
    shown = encoded(run(stdin=given.decode(), stderr="hunter22"), 100, Redactor(SECRET_NAMES, {}))
    assert shown["stderr"] == "[redacted]"
    assert shown["stdin"].endswith(f"… ({len(given) - 100} more characters)")
    stdout = json.dumps({"x": "x" * 100_000, "password": "hunter22", "reason": "hunter22"})
    shown = encoded(run(stdout=stdout, error="hunter22"), 100, Redactor(SECRET_NAMES, {}))
    assert shown["error"] == "[redacted]"


def test_a_secret_of_one_record_is_replaced_in_the_others_of_its_entry() -> None:
    """The record of an event has the reason that a hook gave."""

    class Event:
        def records(self) -> list[LogRecord]:
            return [run("first hunter22", stdin='{"password":"hunter22"}'), run("second hunter22")]

    lines = list(Encoder(1000, Redactor(SECRET_NAMES, {})).lines(Event()))
    assert [json.loads(line)["message"] for line in lines] == ["first [redacted]", "second [redacted]"]


def test_a_record_that_cannot_be_redacted_is_not_shown() -> None:
    """When replacing secrets fails, the record is left out, and a record of the fault takes its place."""

    class BrokenRedactor(Redactor):
        def suspects(self, text: bytes) -> bool:
            raise RuntimeError(text)

    assert encoded(run("secret"), redactor=BrokenRedactor([], {})) == {
        "kind": "fault",
        "time": "2025-02-18T16:30:00.000Z",
        "level": "warn",
        "message": "a record could not be written",
        "error": "RuntimeError",
        "stage": "logging",
    }
