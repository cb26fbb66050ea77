import json
import re

import msgspec
import pytest

from hookline.protocol import records
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.records import CancelRecord, HookRecord, LogLevel, LogRecord, SkipRecord, hook_place

KINDS = {
    kind.__struct_config__.tag: kind
    for kind in vars(records).values()
    if isinstance(kind, type) and issubclass(kind, LogRecord) and kind.__struct_config__.tag is not None
}


def test_every_kind_has_a_type() -> None:
    """The kinds of records, by the name that their lines have."""
    assert sorted(map(str, KINDS)) == [
        "advice",
        "answer",
        "bridge",
        "cancel",
        "consent",
        "event",
        "fault",
        "hook",
        "override",
        "settings",
        "skip",
        "start",
        "unmatched",
        "worker",
    ]


def test_a_record_as_json() -> None:
    """Kind, time, level and message come first; names are camel case, and a field without a value is not written."""
    record = HookRecord(
        time="2025-02-18T16:30:00.000Z",
        level=LogLevel.WARN,
        message="slow",
        event=HookEventName.BEFORE_TOOL,
        exit_code=0,
        timed_out=False,
        truncated=False,
        stdin="{}",
        stdout="",
        stderr="",
    )
    assert json.loads(msgspec.json.encode(record)) == record.to_dict()
    assert list(record.to_dict().items()) == [
        ("kind", "hook"),
        ("time", "2025-02-18T16:30:00.000Z"),
        ("level", "warn"),
        ("message", "slow"),
        ("event", "BeforeTool"),
        ("exitCode", 0),
        ("timedOut", False),
        ("truncated", False),
        ("stdin", "{}"),
        ("stdout", ""),
        ("stderr", ""),
    ]


@pytest.mark.parametrize("record", [CancelRecord(level=LogLevel.INFO, message="m", hooks=["a", "b"])])
def test_a_line_is_read_back_as_its_record(record: LogRecord) -> None:
    """The kind chooses the type."""
    line = msgspec.json.encode(record)
    assert msgspec.json.decode(line, type=CancelRecord | SkipRecord) == record


def test_a_record_has_the_time_of_its_making() -> None:
    """Unless another is given."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z", SkipRecord(level=LogLevel.INFO, message="m").time)


def test_a_hook_is_named_with_its_place() -> None:
    """A reader finds the hook by its name and by the file that configures it."""
    hook = HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.USER,
        origin="user.json",
        location="hooks.BeforeTool[0].hooks[0]",
        run=CommandLine("true"),
    )
    record = SkipRecord(level=LogLevel.INFO, message="m", **hook_place(hook))
    assert record.to_dict() == {
        "time": record.time,
        "level": "info",
        "message": "m",
        "kind": "skip",
        "hook": "true",
        "origin": "user.json",
        "type": "command",
        "command": "true",
        "source": "user",
        "location": "hooks.BeforeTool[0].hooks[0]",
    }
