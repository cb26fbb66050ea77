import json
from typing import Any

import pytest

from hookline.contract.records import HookRecord, LogLevel, LogRecord, SkipRecord
from hookline.log.encode import Encoder
from hookline.log.redact import Redactor


def run(message: str = "m", **fields: Any) -> HookRecord:
    texts = {"stdin": "", "stdout": "", "stderr": "", **fields}
    return HookRecord(time="2025-02-18T16:30:00.000Z", level=LogLevel.INFO, message=message, truncated=False, **texts)


def encoded(record: LogRecord, field_limit: int = 1000, redactor: Redactor | None = None) -> dict[str, Any]:
    line = Encoder(field_limit, redactor).line(record)
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
    """A program may have a session id of its own type."""

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


def test_secrets_are_replaced_before_texts_are_cut() -> None:
    """A secret does not survive by being cut in two."""
    redactor = Redactor(["*KEY*"], {"MY_KEY": "abcdefgh"})
    line = encoded(run(stdin='{"padding":"abcdefgh","api_key":"x"}', stderr="123456789 abcdefgh"), 12, redactor)
    assert (line["stdin"], line["stderr"]) == (
        '{"padding":"… (35 more characters)',
        "123456789 [r… (8 more characters)",
    )


def test_a_record_that_cannot_be_redacted_is_not_shown() -> None:
    """When replacing secrets fails, the record is left out, and the log says so."""

    class BrokenRedactor(Redactor):
        def redact(self, record: Any) -> Any:
            raise RuntimeError(record.message)

    assert encoded(run("secret"), redactor=BrokenRedactor([], {})) == {
        "kind": "fault",
        "time": "2025-02-18T16:30:00.000Z",
        "level": "warn",
        "message": "a record could not be written",
        "error": "RuntimeError",
        "stage": "logging",
    }
