import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from hookline.dialects.registry import FOREIGN_DIALECTS, dialect_of
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.settings.decode.schema import HooksByEvent, SettingsFile, settings_schema
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer
from hookline.settings.read.jsonc import parse
from hookline.settings.read.merge import hooks_enabled

ROOT = Path(__file__).resolve().parents[2]
# Not those that show what `hookline check` finds wrong.
PAGES = sorted([ROOT / "README.md", *{*(ROOT / "docs").glob("**/*.md")} - {*(ROOT / "docs" / "checks").glob("*.md")}])
FENCE = re.compile(r"(?<!example: hooks\.json -->\n)^```jsonc?\n(.*?)^```", re.DOTALL | re.MULTILINE)
OURS = {"hooks", "hooksConfig", "enableHooks", "extensions"}
HOOK = {"type": "command", "command": "x"}


def examples() -> Iterator[Any]:
    for page in PAGES:
        for number, text in enumerate(FENCE.findall(page.read_text(encoding="utf-8")), start=1):
            if OURS & {*re.findall(r'^ *"(\w+)":', text, re.MULTILINE)}:
                yield pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")


def problems(values: dict[str, Any]) -> list[str]:
    layers = [Layer(source=ConfigSource.USER, origin="example", values=values)]
    return [str(problem) for problem in (*decode_settings(layers).problems, *hooks_enabled(layers)[1])]


@pytest.mark.req("HOOK-080")
@pytest.mark.parametrize("text", list(examples()))
def test_the_settings_in_the_docs_are_good(text: str) -> None:
    """Examples in the docs are accepted by the schema's types, and read without a problem."""
    values = parse(text)
    msgspec.convert(values, SettingsFile)
    assert problems(values) == []


def test_there_are_examples_in_the_docs() -> None:
    """The test above looks at something: the README and the page for configurators each show a file."""
    found = {str(example.id).rpartition("-")[0] for example in examples()}
    assert {"README.md", "docs/settings-keys.md"} <= found


@pytest.mark.req("HOOK-081")
def test_every_event_is_in_the_schema() -> None:
    """Editors complete the eleven events and those of the dialects, and mark any other name."""
    names = {field.encode_name for field in msgspec.structs.fields(HooksByEvent)}
    theirs = {name for dialect in map(dialect_of, FOREIGN_DIALECTS) for name in dialect.events}
    assert names == {*HookEventName} | theirs
    assert settings_schema()["$defs"]["HooksByEvent"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("values", "good"),
    [
        ({"theme": "dark", "$schema": "x", "tools": {"core": []}, "extensions": [{"name": "e", "version": "1"}]}, True),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "onError": "block"}]}]}, "use": [{"pack": "x"}]}, True),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "onEror": "block"}]}]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [HOOK], "match": "x"}]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "limits": {"ram": 5}}]}]}}, False),
        ({"hooksConfig": {"lifecicle": "apply"}}, False),
        ({"hooksConfig": {"log": {"file": "x"}}}, False),
        ({"hooksConfig": {"environment": {"block": []}}}, False),
        ({"hooksConfig": {"http": {"hosts": []}}}, False),
        ({"use": [{"pack": "hookline:shell", "allowed": []}]}, False),
    ],
)
def test_an_editor_marks_keys_that_nothing_reads(values: dict[str, Any], good: bool) -> None:
    """Inside of what is ours an unknown key is an error; the file itself may have keys of other programs."""
    assert jsonschema.Draft202012Validator(settings_schema()).is_valid(values) is good


def test_every_field_is_described() -> None:
    """An editor has a sentence for everything that can be written."""
    bare = [
        f"{name}.{field}"
        for name, definition in settings_schema()["$defs"].items()
        for field, schema in definition.get("properties", {}).items()
        if not schema.get("description")
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("values", "good"),
    [
        ({}, True),
        ({"theme": "dark", "enableHooks": None, "hooks": None}, True),
        ({"hooks": {"BeforeTool": [{"hooks": [HOOK], "matcher": "x", "sequential": True}], "AfterTool": None}}, True),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "timeout": 5, "onError": "block", "env": {"A": "b"}}]}]}}, True),
        ({"extensions": [{"name": "e", "isActive": False, "hooks": {"BeforeTool": [{"hooks": [HOOK]}]}}]}, True),
        ({"hooksConfig": {"disabled": ["x"], "outputLimit": 1, "log": {"path": "/x"}}}, True),
        ({"enableHooks": "yes"}, False),
        ({"hooks": []}, False),
        ({"dialect": "claude", "hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}, True),
        ({"hooks": {"PreTool": []}}, False),
        ({"hooks": {"BeforeTool": {"hooks": [HOOK]}}}, False),
        ({"hooks": {"BeforeTool": [HOOK]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [HOOK], "matcher": 5}]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [{"type": "other", "command": "x"}]}]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "timeout": -1}]}]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "timeout": "5"}]}]}}, False),
        ({"hooks": {"BeforeTool": [{"hooks": [{**HOOK, "onError": "deny"}]}]}}, False),
        ({"extensions": {}}, False),
        ({"extensions": [{"name": "e", "isActive": "no"}]}, False),
        ({"hooksConfig": {"outputLimit": 0}}, False),
        ({"hooksConfig": {"disabled": "x"}}, False),
    ],
)
def test_types_and_reader_agree(values: dict[str, Any], good: bool) -> None:
    """An editor with the schema marks exactly the keys that the reader reports."""
    assert (problems(values) == []) is good
    try:
        msgspec.convert(values, SettingsFile)
    except msgspec.ValidationError:
        assert not good
    else:
        assert good
